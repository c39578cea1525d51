//! What a connected Redis says about itself: its role, whether it may forget counts, how far its replicas are behind.
//!
//! Only the role decides anything: a replica would refuse to count. The rest is exported, and said once when it changes: with any
//! `maxmemory-policy` but `noeviction` Redis forgets counts silently, and a forgotten count is a limit granted twice; what a replica
//! has not acknowledged is what a failover to it would forget.

use super::{PROBE_TIMEOUT, State, connect};
use crate::metrics::ReplicaLabels;
use ::redis::aio::MultiplexedConnection;
use ::redis::{ErrorKind, RedisError, Value};
use std::sync::Arc;
use tokio::time::timeout;

/// Of more replicas the others are not shown.
const MAX_REPLICAS: usize = 16;

/// The probe of one connection, with what it has found.
pub(super) struct Probe {
    state: Arc<State>,
    replicas: Vec<ReplicaLabels>,
    evicts: Option<bool>,
}

impl Probe {
    pub(super) fn new(state: Arc<State>) -> Self {
        Self { state, replicas: Vec::new(), evicts: None }
    }

    /// Asks for the role, which is answered by a Redis that works.
    pub(super) async fn look(&mut self, redis: &mut MultiplexedConnection) -> Result<(), String> {
        match timeout(PROBE_TIMEOUT, ::redis::cmd("ROLE").query_async::<Vec<Value>>(redis)).await {
            Err(_) => Err("no answer".to_owned()),
            Ok(Ok(role)) => match role.first() {
                Some(Value::BulkString(role)) => self.role(role == b"master"),
                _ => Ok(()),
            },
            // Some services do not offer the command: an answer it is nevertheless.
            Ok(Err(error)) if answers_all_the_same(&error) => Ok(()),
            Ok(Err(error)) => Err(error.to_string()),
        }
    }

    /// Asks for the rest. Some services do not tell; then nothing is known, and nothing said.
    pub(super) async fn inspect(&mut self, redis: &mut MultiplexedConnection) -> Result<(), String> {
        let info = |section: &str| {
            let mut info = ::redis::cmd("INFO");
            info.arg(section);
            info
        };
        if let Ok(text) = connect::ask::<String>(redis, &info("memory")).await
            && let Some(policy) = field(&text, "maxmemory_policy")
        {
            self.eviction(policy);
        }
        if let Ok(text) = connect::ask::<String>(redis, &info("replication")).await {
            if let Some(role) = field(&text, "role") {
                self.role(role == "master")?;
            }
            self.replication(&text);
        }
        Ok(())
    }

    fn role(&self, master: bool) -> Result<(), String> {
        self.state.metrics.master.get_or_create(&self.state.node).set(i64::from(master));
        if master { Ok(()) } else { Err("it is a replica".to_owned()) }
    }

    fn eviction(&mut self, policy: &str) {
        let evicts = policy != "noeviction";
        self.state.metrics.evicts.get_or_create(&self.state.node).set(i64::from(evicts));
        if evicts && self.evicts != Some(true) {
            let redis = self.state.node.node.as_str();
            tracing::warn!(
                redis,
                policy,
                "this redis may evict counts, which grants limits twice: set maxmemory-policy noeviction"
            );
        }
        self.evicts = Some(evicts);
    }

    fn replication(&mut self, text: &str) {
        let State { node, metrics, .. } = &*self.state;
        let Some(offset) = field(text, "master_repl_offset").and_then(|offset| offset.parse::<i64>().ok()) else { return };
        let replicas: Vec<_> = replicas(text).collect();
        metrics.replicas.get_or_create(node).set(i64::try_from(replicas.len()).unwrap_or(i64::MAX));
        let mut seen = Vec::new();
        for replica in replicas.into_iter().take(MAX_REPLICAS) {
            let labels = ReplicaLabels { node: node.node.clone(), replica: replica.place };
            metrics.lag_bytes.get_or_create(&labels).set(offset.saturating_sub(replica.offset).max(0));
            metrics.lag_seconds.get_or_create(&labels).set(replica.silent_for);
            seen.push(labels);
        }
        for gone in std::mem::replace(&mut self.replicas, seen) {
            if !self.replicas.contains(&gone) {
                forget(&self.state, &gone);
            }
        }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        for replica in &self.replicas {
            forget(&self.state, replica);
        }
        // What was found is not known any more, but for the role of one that was found to be none.
        let State { node, metrics, .. } = &*self.state;
        metrics.evicts.remove(node);
        metrics.replicas.remove(node);
    }
}

fn forget(state: &State, replica: &ReplicaLabels) {
    state.metrics.lag_bytes.remove(replica);
    state.metrics.lag_seconds.remove(replica);
}

/// What a master says of a replica.
#[derive(Debug, PartialEq, Eq)]
struct Replica {
    place: String,
    offset: i64,
    silent_for: i64,
}

/// `slave0:ip=127.0.0.1,port=6380,state=online,offset=14,lag=1`
fn replicas(text: &str) -> impl Iterator<Item = Replica> {
    text.lines().filter_map(|line| {
        let (name, values) = line.trim_end().split_once(':')?;
        let number = name.strip_prefix("slave")?;
        if number.is_empty() || !number.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let value = |name: &str| values.split(',').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        let place = format!("{}:{}", value("ip")?, value("port")?);
        Some(Replica { place, offset: value("offset")?.parse().ok()?, silent_for: value("lag")?.parse().ok()? })
    })
}

/// The value of `name:value` in what `INFO` says.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':'))
}

fn answers_all_the_same(error: &RedisError) -> bool {
    matches!(error.kind(), ErrorKind::Server(_) | ErrorKind::Extension) && matches!(error.code(), Some("ERR" | "NOPERM"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_are_read_from_what_info_says() {
        let text = "role:master\r\nconnected_slaves:1\r\nslave0:ip=10.0.0.2,port=6380,state=online,offset=140,lag=1\r\n\
                    slave_repl_offset:7\r\nmaster_repl_offset:150\r\n";
        let found: Vec<_> = replicas(text).collect();
        assert_eq!(found, [Replica { place: "10.0.0.2:6380".to_owned(), offset: 140, silent_for: 1 }]);
        assert_eq!((field(text, "role"), field(text, "master_repl_offset")), (Some("master"), Some("150")));
    }
}
