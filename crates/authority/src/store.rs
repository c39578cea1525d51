//! Where counts live.
//!
//! | module | for | at the bound |
//! |---|---|---|
//! | [`memory`] | one node, tests; [`weir_limit::decide()`] under a lock per tag | [`weir_wire::Failure::Full`] |
//! | [`redis`] | a fleet; the same arithmetic in one script per check | [`weir_wire::Failure::Unavailable`] |
//!
//! A store answers every check, each on its own: decided, or why not. It never decides a check twice:
//! what may have been charged is [`weir_wire::Failure::Unknown`] and is not repeated.

pub mod memory;
pub mod redis;
mod target;

pub use target::{StoreError, Target};

use crate::batch::DecideBatch;
use crate::clock::Clock;
use crate::metrics::StoreMetrics;
use memory::MemoryStore;
use redis::{RedisStore, Settings};
use std::time::{Duration, Instant};
use weir_wire::Outcome;

/// A store of either kind, with its metrics.
pub struct Store {
    backend: Backend,
    metrics: StoreMetrics,
}

enum Backend {
    Memory(MemoryStore),
    Redis(Box<RedisStore>),
}

impl Store {
    /// Counts in this process, for at most `max_subjects` counters.
    pub fn memory(max_subjects: usize, clock: impl Clock) -> Self {
        Self { backend: Backend::Memory(MemoryStore::new(max_subjects, clock)), metrics: StoreMetrics::default() }
    }

    /// Counts in a Redis, which need not be there yet. To be called within a tokio runtime.
    ///
    /// # Errors
    /// Settings that do not fit together.
    pub fn redis(settings: &Settings) -> Result<Self, StoreError> {
        let metrics = StoreMetrics::default();
        let backend = Backend::Redis(Box::new(RedisStore::new(settings, &metrics)?));
        Ok(Self { backend, metrics })
    }

    /// Counts in the Redis of a URL, see [`redis::Address`]. A decision that has no answer after `timeout` is
    /// [`weir_wire::Failure::Unknown`].
    ///
    /// # Errors
    /// A URL that is none of a Redis.
    pub fn redis_at(url: &str, timeout: Duration) -> Result<Self, StoreError> {
        match url.parse()? {
            Target::Redis(address) => Self::redis(&Settings::new(address, timeout)),
            Target::Memory => Err(StoreError::Address { reason: "it is memory".to_owned() }),
        }
    }

    /// Decides every check; the outcomes stand beside [`DecideBatch::checks`].
    pub async fn decide(&self, batch: &DecideBatch) -> Vec<Outcome> {
        let started = Instant::now();
        let outcomes = match &self.backend {
            Backend::Memory(memory) => memory.decide(batch),
            Backend::Redis(redis) => redis.decide(batch).await,
        };
        self.metrics.observe(batch, &outcomes, started.elapsed());
        outcomes
    }

    /// Whether decisions can be expected now, and what is waited for if not. Asks nobody: a probe keeps it current.
    ///
    /// # Errors
    /// The reason, for people.
    pub fn readiness(&self) -> Result<(), String> {
        match &self.backend {
            Backend::Memory(_) => Ok(()),
            Backend::Redis(redis) => redis.readiness(),
        }
    }

    /// What is counted about this store.
    #[must_use]
    pub fn metrics(&self) -> &StoreMetrics {
        &self.metrics
    }
}
