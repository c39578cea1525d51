//! What is in Redis, seen from beside the authority.

use redis::{Commands, Connection, FromRedisValue};
use std::collections::BTreeMap;
use weir_testkit::Redis;

/// A client of the store.
pub(crate) struct Witness(Connection);

impl Witness {
    pub(crate) fn of(redis: &Redis) -> Self {
        Self(redis::Client::open(redis.url()).unwrap().get_connection().unwrap())
    }

    /// Every key, in order.
    pub(crate) fn keys(&mut self) -> Vec<String> {
        let mut keys: Vec<String> = self.0.keys("*").unwrap();
        keys.sort();
        keys
    }

    /// Every key with its value.
    pub(crate) fn counters(&mut self) -> BTreeMap<String, String> {
        let keys = self.keys();
        // One that has expired meanwhile is none.
        keys.into_iter().filter_map(|key| Some((key.clone(), self.value(&key)?))).collect()
    }

    pub(crate) fn value(&mut self, key: &str) -> Option<String> {
        self.0.get(key).unwrap()
    }

    /// Units spent, of a counter by windows.
    pub(crate) fn spent_in_window(&mut self, key: &str) -> u64 {
        let value = self.value(key).unwrap_or_default();
        value.strip_prefix("fw ").and_then(|value| value.split(' ').nth(1)?.parse().ok()).unwrap_or(0)
    }

    /// Units spent, of a bucket that does not refill meanwhile.
    pub(crate) fn spent_of_bucket(&mut self, key: &str) -> u64 {
        let value = self.value(key).unwrap_or_default();
        let spent_mt: Option<u64> = value.strip_prefix("tb ").and_then(|value| value.split(' ').next()?.parse().ok());
        spent_mt.unwrap_or(0) / 1_000
    }

    /// Milliseconds that a key has left to live; negative when it would live for ever.
    pub(crate) fn ttl_ms(&mut self, key: &str) -> i64 {
        self.0.pttl(key).unwrap()
    }

    /// How many scripts it has run.
    pub(crate) fn script_calls(&mut self) -> u64 {
        let stats: String = self.ask(redis::cmd("INFO").arg("commandstats"));
        let calls = |line: &str| line.strip_prefix("cmdstat_evalsha:calls=")?.split(',').next()?.parse().ok();
        stats.lines().find_map(calls).unwrap_or(0)
    }

    /// Lets it forget all scripts.
    pub(crate) fn forget_scripts(&mut self) {
        self.ask::<()>(redis::cmd("SCRIPT").arg("FLUSH"));
    }

    fn ask<T: FromRedisValue>(&mut self, command: &redis::Cmd) -> T {
        command.query(&mut self.0).unwrap()
    }
}
