//! Learns the topology: `CLUSTER INFO` and `CLUSTER SLOTS` from every master that is connected, or, when none tells, from any node
//! that is known.

use super::Shared;
use crate::store::redis::address::Node;
use crate::store::redis::link::{ask, dial};
use ::redis::Value;
use ::redis::aio::MultiplexedConnection;
use futures_util::future::join_all;
use std::sync::{Arc, PoisonError};

/// The most nodes that are asked by connections of their own.
const MAX_ASKED: usize = 32;

/// What one node says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Topology {
    /// Whether it finds that the cluster can count.
    pub(super) sound: bool,
    epoch: u64,
    pub(super) ranges: Vec<Range>,
    pub(super) replicas: Vec<Node>,
}

/// Slots from `first` to `last`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) master: Node,
}

impl Topology {
    pub(super) fn masters(&self) -> impl Iterator<Item = &Node> {
        self.ranges.iter().map(|range| &range.master)
    }
}

/// Asks all, and believes the one that knows best.
pub(super) async fn learn(shared: &Arc<Shared>) -> Result<Topology, String> {
    let (connected, others) = {
        let map = shared.map.read().unwrap_or_else(PoisonError::into_inner);
        let connected: Vec<_> =
            map.links.iter().filter_map(|(node, known)| Some((node.clone(), known.link.connection()?.redis()))).collect();
        let known = map.links.keys().chain(&map.replicas);
        let mut others: Vec<_> = shared.seeds.iter().chain(known).cloned().collect();
        others.sort();
        others.dedup();
        others.truncate(MAX_ASKED);
        (connected, others)
    };
    let mut told = join_all(connected.into_iter().map(|(node, redis)| ask_node(node, redis))).await;
    if !told.iter().any(|told| told.as_ref().is_ok_and(|topology| topology.sound)) {
        told.extend(join_all(others.into_iter().map(|node| connect_and_ask(shared, node))).await);
    }
    let mut reasons = Vec::new();
    let mut best: Option<Topology> = None;
    for told in told {
        match told {
            Ok(topology) => {
                if best.as_ref().is_none_or(|best| (topology.sound, topology.epoch) > (best.sound, best.epoch)) {
                    best = Some(topology);
                }
            }
            Err(reason) => reasons.push(reason),
        }
    }
    reasons.dedup();
    best.ok_or_else(|| reasons.join("; "))
}

async fn connect_and_ask(shared: &Shared, node: Node) -> Result<Topology, String> {
    let redis = dial(&shared.access.client(&node)?).await.map_err(|reason| format!("{reason} at {node}"))?;
    ask_node(node, redis).await
}

async fn ask_node(node: Node, mut redis: MultiplexedConnection) -> Result<Topology, String> {
    let (mut info, mut slots) = (::redis::cmd("CLUSTER"), ::redis::cmd("CLUSTER"));
    info.arg("INFO");
    slots.arg("SLOTS");
    let at = |reason: String| match reason.contains("cluster support disabled") {
        true => format!("{node} is no part of a cluster: give redis:// in the place of redis+cluster://"),
        false => format!("{reason} at {node}"),
    };
    let info: String = ask(&mut redis, &info).await.map_err(at)?;
    let slots: Value = ask(&mut redis, &slots).await.map_err(at)?;
    read(&info, &slots, &node).ok_or_else(|| format!("an answer that is none at {node}"))
}

fn read(info: &str, slots: &Value, by: &Node) -> Option<Topology> {
    let value = |name: &str| info.lines().find_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':'));
    let sound = value("cluster_state")? == "ok";
    let epoch = value("cluster_current_epoch")?.parse().ok()?;
    let Value::Array(entries) = slots else { return None };
    let (mut ranges, mut replicas) = (Vec::new(), Vec::new());
    for entry in entries {
        let Value::Array(entry) = entry else { return None };
        let [Value::Int(first), Value::Int(last), master, rest @ ..] = entry.as_slice() else { return None };
        let master = node(master, by)?;
        ranges.push(Range { first: u16::try_from(*first).ok()?, last: u16::try_from(*last).ok()?, master });
        for replica in rest.iter().filter_map(|replica| node(replica, by)) {
            if !replicas.contains(&replica) {
                replicas.push(replica);
            }
        }
    }
    Some(Topology { sound, epoch, ranges, replicas })
}

/// `[host, port, id, …]`; a host that is not known is that of the node that tells.
fn node(value: &Value, by: &Node) -> Option<Node> {
    let Value::Array(parts) = value else { return None };
    let [host, Value::Int(port), ..] = parts.as_slice() else { return None };
    let host = match host {
        Value::BulkString(host) => std::str::from_utf8(host).ok()?,
        Value::Nil => "",
        _ => return None,
    };
    Node::of(host, u16::try_from(*port).ok()?, by)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(host: Option<&str>, port: i64) -> Value {
        let host = host.map_or(Value::Nil, |host| Value::BulkString(host.as_bytes().to_vec()));
        Value::Array(vec![host, Value::Int(port), Value::BulkString(b"id".to_vec()), Value::Array(Vec::new())])
    }

    #[test]
    fn slots_are_read_with_their_masters_and_replicas() {
        let by = Node { host: "me".to_owned(), port: 1 };
        let slots = Value::Array(vec![
            Value::Array(vec![Value::Int(0), Value::Int(99), server(Some("a"), 7), server(Some("b"), 8)]),
            Value::Array(vec![Value::Int(100), Value::Int(16_383), server(None, 9), server(Some(""), 8)]),
        ]);
        let told = read("cluster_state:ok\r\ncluster_current_epoch:6\r\n", &slots, &by).unwrap();
        let node = |host: &str, port| Node { host: host.to_owned(), port };
        assert_eq!((told.sound, told.epoch), (true, 6));
        let masters: Vec<_> = told.ranges.iter().map(|range| (range.first, range.last, range.master.clone())).collect();
        assert_eq!(masters, [(0, 99, node("a", 7)), (100, 16_383, node("me", 9))]);
        assert_eq!(told.replicas, [node("b", 8), node("me", 8)]);
        assert_eq!(read("cluster_state:ok", &slots, &by), None);
    }
}
