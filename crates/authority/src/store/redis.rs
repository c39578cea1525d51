//! Counts in a Redis: any number of authorities share it.
//!
//! Each check is one call of one script, so it is all-or-nothing and exact under any concurrency. The
//! checks of a batch leave together as a pipeline over one multiplexed connection, and each has its own
//! answer or error.
//!
//! **Nothing is decided twice.** The connection is the library's plain multiplexed one, which repeats
//! nothing. A check is repeated here only on `NOSCRIPT`, which says that it was not executed. Whatever was
//! given to the connection and has no answer is [`Failure::Unknown`].
//!
//! **Nothing queues.** While the link is down (module `link`) the answer is [`Failure::Unavailable`] at once;
//! so it is beyond `MAX_BATCHES` waiting batches.

mod fault;
mod link;
mod script;

#[cfg(test)]
mod parity;

use super::StoreError;
use crate::batch::DecideBatch;
use crate::metrics::StoreMetrics;
use ::redis::{Pipeline, Value};
use fault::Fault;
use link::Link;
use prometheus_client::metrics::counter::Counter;
use script::Script;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use weir_wire::{Failure, Outcome};

/// The most batches that wait for Redis at a time.
const MAX_BATCHES: usize = 1024;

/// How often a batch is sent while other clients flush the scripts in between.
const MAX_SENDS: usize = 3;

/// See the module.
pub struct RedisStore {
    link: Link,
    script: Script,
    timeout: Duration,
    waiting: Semaphore,
    script_reloads: Counter,
}

impl RedisStore {
    /// Connects in the background; to be called within a tokio runtime.
    ///
    /// # Errors
    /// An address that cannot be one.
    pub fn new(url: &str, timeout: Duration, metrics: &StoreMetrics) -> Result<Self, StoreError> {
        let script = Script::decide();
        let link = Link::open(url, script.load(), metrics.evicts.clone())?;
        Ok(Self { link, script, timeout, waiting: Semaphore::new(MAX_BATCHES), script_reloads: metrics.script_reloads.clone() })
    }

    /// Why decisions can't be expected now.
    ///
    /// # Errors
    /// What is waited for.
    pub fn readiness(&self) -> Result<(), String> {
        self.link.readiness()
    }

    /// Decides every check, in order.
    pub async fn decide(&self, batch: &DecideBatch) -> Vec<Outcome> {
        let checks = batch.checks();
        let mut outcomes = vec![Outcome::Failure(Failure::Unavailable); checks.len()];
        if checks.is_empty() {
            return outcomes;
        }
        let Ok(_permit) = self.waiting.try_acquire() else { return outcomes };
        let Some(connection) = self.link.connection() else { return outcomes };

        let deadline = Instant::now() + self.timeout;
        let mut pending: Vec<usize> = (0..checks.len()).collect();
        for send in 0..MAX_SENDS {
            let reload = send > 0;
            let pipeline = self.pipeline(batch, &pending, reload);
            let answers = match timeout_at(deadline, self.link.query(connection.clone(), &pipeline)).await {
                Ok(Some(answers)) => answers,
                Ok(None) | Err(_) => {
                    for index in pending {
                        outcomes[index] = Outcome::Failure(Failure::Unknown);
                    }
                    return outcomes;
                }
            };
            let mut not_executed = Vec::new();
            for (index, answer) in pending.into_iter().zip(answers.into_iter().skip(usize::from(reload))) {
                match script::verdict(answer, checks[index].charges()) {
                    Ok(verdict) => outcomes[index] = Outcome::Verdict(verdict),
                    Err(Fault::NoScript) => not_executed.push(index),
                    Err(Fault::Failed(failure)) => outcomes[index] = Outcome::Failure(failure),
                }
            }
            if not_executed.is_empty() {
                break;
            }
            self.script_reloads.inc();
            pending = not_executed;
        }
        outcomes
    }

    /// The checks that are `pending`, behind a load of the script when it was missing.
    fn pipeline(&self, batch: &DecideBatch, pending: &[usize], reload: bool) -> Pipeline {
        let mut pipeline = Pipeline::with_capacity(pending.len() + usize::from(reload));
        pipeline.ignore_errors();
        if reload {
            pipeline.add_command(self.script.load());
        }
        for &index in pending {
            pipeline.add_command(self.script.call(&batch.checks()[index]));
        }
        pipeline
    }
}

/// What a connection answered to a pipeline; one value a command, errors among them.
type Answers = Vec<Value>;
