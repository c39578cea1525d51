//! A Redis Cluster of six processes: three masters, each with a replica.

use super::{Redis, commands};
use crate::{Error, Result, port, process};
use std::ops::RangeInclusive;

/// How many masters there are at first, and as many replicas.
const MASTERS: usize = 3;

/// After this a silent node is failed over: a busy machine must not look like one.
const PATIENT_MS: &str = "10000";

/// The same for those who wait for a failover.
const BRISK_MS: &str = "1500";

/// How many slots a cluster has.
const SLOTS: u16 = 16_384;

/// A running cluster; ended when dropped.
#[derive(Debug)]
pub struct RedisCluster {
    /// The masters, then the replicas in the order of their masters: as it was at first.
    nodes: Vec<Redis>,
    ids: Vec<String>,
}

impl RedisCluster {
    /// Starts one and waits until all its nodes find it sound, and the replicas copy.
    ///
    /// # Errors
    /// As [`Redis::start`].
    pub fn start() -> Result<Self> {
        Self::start_with(PATIENT_MS)
    }

    /// The same, and a master that dies is failed over after about two seconds.
    ///
    /// # Errors
    /// As [`Redis::start`].
    pub fn start_brisk() -> Result<Self> {
        Self::start_with(BRISK_MS)
    }

    fn start_with(node_timeout_ms: &str) -> Result<Self> {
        let nodes = (0..2 * MASTERS).map(|_| node(node_timeout_ms)).collect::<Result<Vec<_>>>()?;
        let ids = nodes.iter().map(|node| node.ask(&["CLUSTER", "MYID"])).collect::<Result<Vec<_>>>()?;
        let mut cluster = Self { nodes, ids };
        cluster.join()?;
        Ok(cluster)
    }

    /// The address as clients want it: that of its first masters.
    #[must_use]
    pub fn url(&self) -> String {
        let hosts: Vec<_> = self.nodes.iter().take(MASTERS).map(|node| format!("127.0.0.1:{}", node.port())).collect();
        format!("redis+cluster://{}", hosts.join(","))
    }

    /// All nodes: the first masters, then their replicas in the same order.
    #[must_use]
    pub fn nodes(&self) -> &[Redis] {
        &self.nodes
    }

    /// One of them, to end or to pause it.
    ///
    /// # Panics
    /// When there is none of that number.
    #[must_use]
    pub fn node(&mut self, index: usize) -> &mut Redis {
        &mut self.nodes[index]
    }

    /// The replica that a master had at first.
    #[must_use]
    pub fn replica_of(&self, master: usize) -> usize {
        master + MASTERS
    }

    /// Which of the nodes is the master of the slot that `key` belongs to, as a node that lives sees it.
    ///
    /// # Errors
    /// [`Error::Refused`] when none does.
    pub fn master_of(&self, key: &str) -> Result<usize> {
        let slot: u16 = self.anyone(&["CLUSTER", "KEYSLOT", key])?.parse().unwrap_or_default();
        let nodes = self.anyone(&["CLUSTER", "NODES"])?;
        let master = nodes.lines().find(|line| owns(line, slot)).and_then(|line| line.split(' ').next());
        let index = master.and_then(|id| self.ids.iter().position(|known| known == id));
        index.ok_or_else(|| Error::Refused { question: format!("who has slot {slot}"), port: 0, reason: nodes })
    }

    /// A key's slot.
    ///
    /// # Errors
    /// [`Error::Refused`] when no node answers.
    pub fn slot_of(&self, key: &str) -> Result<String> {
        self.anyone(&["CLUSTER", "KEYSLOT", key])
    }

    /// Begins to move a slot: from now on `from` sends on whom it has no key for.
    ///
    /// # Errors
    /// [`Error::Refused`].
    pub fn begin_to_move(&self, slot: &str, from: usize, to: usize) -> Result<()> {
        self.nodes[to].ask(&["CLUSTER", "SETSLOT", slot, "IMPORTING", &self.ids[from]])?;
        self.nodes[from].ask(&["CLUSTER", "SETSLOT", slot, "MIGRATING", &self.ids[to]]).map(drop)
    }

    /// Moves the keys of a slot that is being moved.
    ///
    /// # Errors
    /// [`Error::Refused`].
    pub fn move_keys(&self, slot: &str, from: usize, to: usize) -> Result<()> {
        let port = self.nodes[to].port().to_string();
        loop {
            let keys = self.nodes[from].ask(&["CLUSTER", "GETKEYSINSLOT", slot, "100"])?;
            if keys.is_empty() {
                return Ok(());
            }
            for key in keys.lines() {
                self.nodes[from].ask(&["MIGRATE", "127.0.0.1", &port, key, "0", "5000"])?;
            }
        }
    }

    /// Gives the slot away for good.
    ///
    /// # Errors
    /// [`Error::Refused`].
    pub fn end_to_move(&self, slot: &str, from: usize, to: usize) -> Result<()> {
        for node in [to, from] {
            self.nodes[node].ask(&["CLUSTER", "SETSLOT", slot, "NODE", &self.ids[to]])?;
        }
        Ok(())
    }

    /// Waits until `ready` is true of the cluster.
    ///
    /// # Errors
    /// [`Error::NotReady`].
    pub fn wait_until(&self, mut ready: impl FnMut(&Self) -> bool) -> Result<()> {
        process::poll("redis cluster", || ready(self))
    }

    fn anyone(&self, words: &[&str]) -> Result<String> {
        let mut last = None;
        for node in &self.nodes {
            match node.ask(words) {
                Ok(answer) => return Ok(answer),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or(Error::NoPort))
    }

    fn join(&mut self) -> Result<()> {
        for (index, node) in self.nodes.iter().enumerate() {
            node.ask(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()])?;
        }
        for (index, node) in self.nodes.iter().take(MASTERS).enumerate() {
            let slots = share(index);
            node.ask(&["CLUSTER", "ADDSLOTSRANGE", &slots.start().to_string(), &slots.end().to_string()])?;
        }
        // All with all: by gossip alone it takes seconds.
        for (index, node) in self.nodes.iter().enumerate() {
            for other in &self.nodes[index + 1..] {
                let bus = commands::ask(other.port(), &["CONFIG", "GET", "cluster-port"])?;
                let bus = bus.lines().last().unwrap_or_default().to_owned();
                node.ask(&["CLUSTER", "MEET", "127.0.0.1", &other.port().to_string(), &bus])?;
            }
        }
        for index in MASTERS..2 * MASTERS {
            let master = self.ids[index - MASTERS].clone();
            let knows = |cluster: &Self| {
                cluster.nodes[index].ask(&["CLUSTER", "NODES"]).is_ok_and(|nodes| {
                    nodes.lines().filter(|line| !line.contains("handshake")).any(|line| line.starts_with(&master))
                })
            };
            self.wait_until(knows)?;
            self.nodes[index].ask(&["CLUSTER", "REPLICATE", &master])?;
        }
        for node in &mut self.nodes[MASTERS..] {
            node.wait_in_sync()?;
        }
        // Each by itself: what one knows, another may not have heard yet.
        let slots = SLOTS.to_string();
        let sound = [("cluster_state", "ok"), ("cluster_known_nodes", "6"), ("cluster_slots_ok", slots.as_str())];
        self.wait_until(|cluster| {
            let is = |node: &Redis, (field, value)| commands::info(node.port(), "cluster", field).as_deref() == Some(value);
            cluster.nodes.iter().all(|node| sound.into_iter().all(|fact| is(node, fact)))
        })
    }
}

fn node(timeout_ms: &str) -> Result<Redis> {
    let bus = port::free()?.to_string();
    Redis::start_with(&[
        "--cluster-enabled",
        "yes",
        "--cluster-port",
        &bus,
        "--cluster-node-timeout",
        timeout_ms,
        // Of slots without a master, the others are served all the same.
        "--cluster-require-full-coverage",
        "no",
        // However long it was cut off, a replica may take over: there is no other.
        "--cluster-replica-validity-factor",
        "0",
    ])
}

/// The slots of a master at first.
fn share(index: usize) -> RangeInclusive<u16> {
    const MASTERS: u16 = 3;
    let index = u16::try_from(index).unwrap_or_default();
    let first = |index: u16| u16::try_from(u32::from(SLOTS) * u32::from(index) / u32::from(MASTERS)).unwrap_or(SLOTS);
    first(index)..=first(index + 1) - 1
}

/// Whether a line of `CLUSTER NODES` is of a living master of the slot.
fn owns(line: &str, slot: u16) -> bool {
    let fields: Vec<_> = line.split(' ').collect();
    let living = fields.get(2).is_some_and(|flags| flags.contains("master") && !flags.contains("fail"));
    living
        && fields.iter().skip(8).any(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            matches!((first.parse::<u16>(), last.parse::<u16>()), (Ok(first), Ok(last)) if (first..=last).contains(&slot))
        })
}
