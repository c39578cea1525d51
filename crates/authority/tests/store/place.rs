//! Where a case runs: authorities over one store.

use redis::{Cmd, Connection, FromRedisValue};
use std::sync::Arc;
use std::time::{Duration, Instant};
use weir_authority::{DecideBatch, Store, SystemClock};
use weir_testkit::Redis;
use weir_wire::{Outcome, Verdict};

/// Long enough for a busy machine: no case but that of a hang is about it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Authorities over one store, which is gone with it.
pub(crate) struct Place {
    pub(crate) authorities: Vec<Arc<Store>>,
    _redis: Option<Redis>,
}

impl Place {
    /// One authority that counts by itself.
    pub(crate) async fn memory() -> Self {
        Self { authorities: vec![Arc::new(Store::memory(10_000, SystemClock))], _redis: None }
    }

    /// Two authorities over one Redis.
    pub(crate) async fn redis() -> Self {
        let redis = Redis::start().unwrap();
        let authorities = vec![ready(&redis).await, ready(&redis).await];
        Self { authorities, _redis: Some(redis) }
    }

    /// The verdicts of the first authority.
    pub(crate) async fn decide(&self, batch: &DecideBatch) -> Vec<Verdict> {
        self.authorities[0].decide(batch).await.into_iter().map(crate::build::verdict).collect()
    }

    /// The verdict of the first authority on the only check.
    pub(crate) async fn decide_one(&self, batch: &DecideBatch) -> Verdict {
        self.decide(batch).await.remove(0)
    }
}

/// An authority that has found its Redis.
pub(crate) async fn ready(redis: &Redis) -> Arc<Store> {
    let store = Arc::new(Store::redis_at(&redis.url(), PATIENCE).unwrap());
    until(|| store.readiness().is_ok()).await;
    store
}

/// Waits for something to become true.
pub(crate) async fn until(mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Decides until the outcome is as wanted.
pub(crate) async fn decide_until(store: &Store, batch: &DecideBatch, wanted: impl Fn(&Outcome) -> bool) -> Outcome {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let outcome = store.decide(batch).await.remove(0);
        if wanted(&outcome) {
            return outcome;
        }
        assert!(Instant::now() < deadline, "still {outcome:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// A client beside the authority, which sees what it left.
pub(crate) struct Witness(Connection);

impl Witness {
    pub(crate) fn of(redis: &Redis) -> Self {
        Self(redis::Client::open(redis.url()).unwrap().get_connection().unwrap())
    }

    /// `ask("PTTL key")`: words are arguments.
    pub(crate) fn ask<T: FromRedisValue>(&mut self, command: &str) -> T {
        let mut words = command.split(' ');
        let mut command = redis::cmd(words.next().unwrap());
        for word in words {
            command.arg(word);
        }
        self.run(&command)
    }

    pub(crate) fn run<T: FromRedisValue>(&mut self, command: &Cmd) -> T {
        command.query(&mut self.0).unwrap()
    }
}
