//! Where a case runs: authorities over one store.

use redis::{Cmd, Connection, FromRedisValue};
use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};
use weir_authority::metrics::Metrics;
use weir_authority::{DecideBatch, Store, SystemClock};
use weir_testkit::{Redis, RedisCluster};
use weir_wire::{Failure, Outcome, Verdict};

/// Long enough for a busy machine: no case but that of a hang is about it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Authorities over one store, which is gone with it.
pub(crate) struct Place {
    pub(crate) authorities: Vec<Arc<Store>>,
    _kept: Option<Arc<dyn Any + Send + Sync>>,
}

impl Place {
    /// One authority that counts by itself.
    pub(crate) async fn memory() -> Self {
        Self { authorities: vec![Arc::new(Store::memory(10_000, SystemClock))], _kept: None }
    }

    /// Two authorities over one Redis.
    pub(crate) async fn redis() -> Self {
        let redis = Redis::start().unwrap();
        let authorities = vec![ready(&redis).await, ready(&redis).await];
        Self { authorities, _kept: Some(Arc::new(redis)) }
    }

    /// Two authorities over one cluster that is empty.
    pub(crate) async fn cluster(cluster: &Arc<RedisCluster>) -> Self {
        for node in cluster.nodes() {
            // A replica refuses, and is emptied by its master.
            let _ = node.ask(&["FLUSHALL"]);
        }
        let authorities = vec![ready_at(&cluster.url()).await, ready_at(&cluster.url()).await];
        Self { authorities, _kept: Some(Arc::clone(cluster) as _) }
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
    ready_at(&redis.url()).await
}

/// An authority that has found all that is at `url`.
pub(crate) async fn ready_at(url: &str) -> Arc<Store> {
    let store = Arc::new(Store::redis_at(url, PATIENCE).unwrap());
    ready_throughout(&store).await;
    store
}

/// Waits until a store has all of its servers.
pub(crate) async fn ready_throughout(store: &Store) {
    until(|| {
        store.readiness().is_ok() && text(store).lines().all(|line| !(line.contains("store_node_up{") && line.ends_with(" 0")))
    })
    .await;
}

/// The metrics of a store.
pub(crate) fn text(store: &Store) -> String {
    Metrics::new(store.metrics()).encode().unwrap()
}

/// Waits for something to become true.
pub(crate) async fn until(mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Waits until a store says what it waits for in such words.
pub(crate) async fn until_told(store: &Store, words: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let told = store.readiness();
        if told.as_ref().is_err_and(|reason| reason.contains(words)) {
            return;
        }
        assert!(Instant::now() < deadline, "no {words:?} but {told:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Decides until the outcome is as wanted.
pub(crate) async fn decide_until(store: &Store, batch: &DecideBatch, mut wanted: impl FnMut(&Outcome) -> bool) -> Outcome {
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

pub(crate) const UNAVAILABLE: Outcome = Outcome::Failure(Failure::Unavailable);

pub(crate) fn is_verdict(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Verdict(_))
}

/// A client beside the authority, which sees what it left.
pub(crate) struct Witness(Connection);

impl Witness {
    pub(crate) fn of(redis: &Redis) -> Self {
        Self::at(&redis.url())
    }

    pub(crate) fn at(url: &str) -> Self {
        Self(redis::Client::open(url).unwrap().get_connection().unwrap())
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

    /// The error of a command that is refused.
    pub(crate) fn fails(&mut self, command: &Cmd) -> String {
        command.query::<()>(&mut self.0).unwrap_err().to_string()
    }
}
