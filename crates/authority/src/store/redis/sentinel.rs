//! The master that Sentinels tell.
//!
//! All of them are asked at once, and the one with the highest configuration epoch is believed: every failover raises it, so a
//! Sentinel that was cut off and still names the old master is outvoted by any that knows better. They are asked before each
//! connection, and once a second while there is one; a master that was demoted, or refuses to write, is left at once.

use super::access::Access;
use super::address::Node;
use super::link::{ask, dial};
use ::redis::Client;
use ::redis::aio::MultiplexedConnection;
use futures_util::future::join_all;
use std::collections::HashMap;

/// See the module.
pub(super) struct Sentinels {
    master: String,
    /// To the master.
    access: Access,
    sentinels: Vec<Sentinel>,
}

struct Sentinel {
    node: Node,
    client: Client,
    connection: Option<MultiplexedConnection>,
}

/// What a Sentinel says.
struct Told {
    epoch: u64,
    node: Node,
}

impl Sentinels {
    pub(super) fn new(nodes: &[Node], master: &str, access: Access, to_sentinels: &Access) -> Result<Self, String> {
        let sentinel = |node: &Node| Ok(Sentinel { node: node.clone(), client: to_sentinels.client(node)?, connection: None });
        let sentinels = nodes.iter().map(sentinel).collect::<Result<_, String>>()?;
        Ok(Self { master: master.to_owned(), access, sentinels })
    }

    /// What they call it.
    pub(super) fn master(&self) -> &str {
        &self.master
    }

    /// A client of the present master, and where it is.
    pub(super) async fn find(&mut self) -> Result<(Client, String), String> {
        let master = &self.master;
        let told = join_all(self.sentinels.iter_mut().map(|sentinel| sentinel.ask(master))).await;
        let mut reasons = Vec::new();
        let mut best: Option<Told> = None;
        for told in told {
            match told {
                Ok(told) if best.as_ref().is_none_or(|best| told.epoch > best.epoch) => best = Some(told),
                Ok(_) => {}
                Err(reason) => reasons.push(reason),
            }
        }
        match best {
            Some(Told { node, .. }) => Ok((self.access.client(&node)?, node.to_string())),
            None => Err(format!("no sentinel tells the master {:?}: {}", self.master, reasons.join("; "))),
        }
    }
}

impl Sentinel {
    async fn ask(&mut self, master: &str) -> Result<Told, String> {
        let at = |reason: String, node: &Node| format!("{reason} at {node}");
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => dial(&self.client).await.map_err(|reason| at(reason, &self.node))?,
        };
        let mut question = ::redis::cmd("SENTINEL");
        question.arg("MASTER").arg(master);
        let fields: HashMap<String, String> = ask(&mut connection, &question).await.map_err(|reason| at(reason, &self.node))?;
        self.connection = Some(connection);
        let told = (|| {
            let node = Node::of(fields.get("ip")?, fields.get("port")?.parse().ok()?, &self.node)?;
            Some(Told { epoch: fields.get("config-epoch")?.parse().ok()?, node })
        })();
        told.ok_or_else(|| at("an answer that is none".to_owned(), &self.node))
    }
}
