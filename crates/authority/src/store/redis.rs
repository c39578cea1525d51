//! Counts in a Redis, or in a Redis Cluster: any number of authorities share it.
//!
//! Each check is one call of one script, so it is all-or-nothing and exact under any concurrency. The
//! checks of a batch leave together as a pipeline over one multiplexed connection, in a cluster as one for each
//! master at the same time, and each has its own answer or error.
//!
//! **Nothing is decided twice.** The connections are the library's plain multiplexed ones, which repeat
//! nothing. A check is repeated here only on an answer that says that it was not executed: `NOSCRIPT`, and the redirects of
//! a cluster (`MOVED`, `ASK`, `TRYAGAIN`). Whatever was given to a connection and has no answer is [`Failure::Unknown`].
//!
//! **Nothing queues.** While the link is down (module `link`) the answer is [`Failure::Unavailable`] at once;
//! so it is beyond `MAX_BATCHES` waiting batches. Only a check that was redirected waits for a connection, within its deadline.
//!
//! **`WAIT`**, when [`Settings::wait`] asks for it: a batch that has admitted something is answered when so many replicas have it, or
//! when the time for that is over. Then the decision stands all the same, and [`StoreMetrics::wait_short`] counts it. It narrows
//! what a failover to one of those replicas forgets; it is no promise, as Redis may promote a replica that has less.

mod access;
mod address;
mod cluster;
mod fault;
mod link;
mod script;
mod sentinel;
mod settings;
mod way;

#[cfg(test)]
mod parity;

pub use address::{Address, Credentials, Node, Place};
pub use settings::{Settings, TlsFiles, Wait};

use super::StoreError;
use crate::batch::DecideBatch;
use crate::metrics::{Redirect, RedirectLabels, StoreMetrics};
use ::redis::{Pipeline, Value};
use fault::Fault;
use futures_util::future::join_all;
use script::Script;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until, timeout_at};
use way::{Pending, Send, Way};
use weir_wire::{Failure, Outcome};

/// The most batches that wait for Redis at a time.
const MAX_BATCHES: usize = 1024;

/// How often a check is sent that was refused unexecuted each time.
const MAX_SENDS: u32 = 8;

/// Before a check is sent again whose keys are on two nodes; doubled each time.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(1);

/// See the module.
pub struct RedisStore {
    way: Way,
    script: Script,
    timeout: Duration,
    wait: Option<Wait>,
    waiting: Semaphore,
    metrics: StoreMetrics,
}

/// What became of a [`Send`].
enum Sent {
    /// There was no connection to send it by.
    No,
    /// It may have been executed.
    Lost,
    /// One value for each command, errors among them.
    Answered(Answers),
}

impl RedisStore {
    /// Connects in the background; to be called within a tokio runtime.
    ///
    /// # Errors
    /// Settings that do not fit together, or files that cannot be read.
    pub fn new(settings: &Settings, metrics: &StoreMetrics) -> Result<Self, StoreError> {
        let script = Script::decide();
        let way = Way::open(settings, &script.load(), metrics)?;
        let waiting = Semaphore::new(MAX_BATCHES);
        Ok(Self { way, script, timeout: settings.timeout, wait: settings.wait, waiting, metrics: metrics.clone() })
    }

    /// Why decisions can't be expected now.
    ///
    /// # Errors
    /// What is waited for.
    pub fn readiness(&self) -> Result<(), String> {
        self.way.readiness().map_err(|reason| format!("waiting for redis: {reason}"))
    }

    /// Decides every check, in order.
    pub async fn decide(&self, batch: &DecideBatch) -> Vec<Outcome> {
        let checks = batch.checks();
        let mut outcomes = vec![Outcome::Failure(Failure::Unavailable); checks.len()];
        if checks.is_empty() {
            return outcomes;
        }
        let Ok(_permit) = self.waiting.try_acquire() else { return outcomes };

        let deadline = Instant::now() + self.timeout;
        let mut pending: Vec<Pending> = (0..checks.len()).map(Pending::new).collect();
        for send in 0..MAX_SENDS {
            let sends = self.way.sends(batch, std::mem::take(&mut pending));
            let sent = join_all(sends.iter().map(|send| self.send(batch, send, deadline))).await;
            let mut try_again = false;
            for (send, sent) in sends.into_iter().zip(sent) {
                match sent {
                    Sent::No => {}
                    Sent::Lost => {
                        for check in send.checks {
                            outcomes[check.index] = Outcome::Failure(Failure::Unknown);
                        }
                    }
                    Sent::Answered(answers) => try_again |= self.take(batch, send, answers, &mut outcomes, &mut pending),
                }
            }
            if pending.is_empty() {
                break;
            }
            if try_again {
                sleep_until((Instant::now() + TRY_AGAIN_AFTER * (1 << send)).min(deadline)).await;
            }
            if Instant::now() >= deadline {
                break;
            }
        }
        outcomes
    }

    async fn send(&self, batch: &DecideBatch, send: &Send, deadline: Instant) -> Sent {
        let connection = match send.patient {
            false => send.link.connection(),
            true => timeout_at(deadline, send.link.connected()).await.ok(),
        };
        let Some(connection) = connection else {
            self.way.doubt();
            return Sent::No;
        };
        let pipeline = self.pipeline(batch, send);
        let Ok(Some(answers)) = timeout_at(deadline, send.link.query(&connection, &pipeline)).await else {
            self.way.doubt();
            return Sent::Lost;
        };
        if let Some(Wait { replicas, timeout }) = self.wait
            && answers.iter().any(script::admits)
        {
            // Its own timeout is that of Redis; the deadline is for a Redis that does not answer.
            let replicated = timeout_at(deadline, send.link.replicated(&connection, replicas, timeout)).await;
            if !matches!(replicated, Ok(Some(enough)) if enough >= u64::from(replicas)) {
                self.metrics.wait_short.inc();
            }
        }
        Sent::Answered(answers)
    }

    /// The checks of a send, each behind what it needs.
    fn pipeline(&self, batch: &DecideBatch, send: &Send) -> Pipeline {
        let mut pipeline = Pipeline::with_capacity(2 * send.checks.len() + 1);
        pipeline.ignore_errors();
        if send.load {
            pipeline.add_command(self.script.load());
        }
        for check in &send.checks {
            if check.asking.is_some() {
                pipeline.cmd("ASKING");
            }
            pipeline.add_command(self.script.call(&batch.checks()[check.index]));
        }
        pipeline
    }

    /// Takes the answers to a send: outcomes, and what is to be sent again. True when that should take its time.
    fn take(
        &self,
        batch: &DecideBatch,
        send: Send,
        answers: Answers,
        outcomes: &mut [Outcome],
        pending: &mut Vec<Pending>,
    ) -> bool {
        let (mut try_again, mut missing) = (false, false);
        let mut answers = answers.into_iter().skip(usize::from(send.load));
        for check in send.checks {
            if check.asking.is_some() {
                answers.next();
            }
            let Some(answer) = answers.next() else {
                outcomes[check.index] = Outcome::Failure(Failure::Unknown);
                continue;
            };
            let again = match script::verdict(answer, batch.checks()[check.index].charges()) {
                Ok(verdict) => {
                    outcomes[check.index] = Outcome::Verdict(verdict);
                    continue;
                }
                Err(Fault::Failed(failure)) => {
                    outcomes[check.index] = Outcome::Failure(failure);
                    continue;
                }
                Err(Fault::NoScript) => {
                    missing = true;
                    Some(Pending { load: true, ..check })
                }
                Err(Fault::Moved { slot, to }) => {
                    self.count(Redirect::moved);
                    self.way.moved(&send.link, slot, &to).then(|| Pending { patient: true, ..Pending::new(check.index) })
                }
                Err(Fault::Ask { to }) => {
                    self.count(Redirect::ask);
                    let target = self.way.asked(&send.link, &to);
                    target.map(|link| Pending { asking: Some(link), patient: true, ..Pending::new(check.index) })
                }
                Err(Fault::TryAgain) => {
                    self.count(Redirect::try_again);
                    try_again = true;
                    Some(Pending::new(check.index))
                }
                Err(Fault::Astray) => {
                    self.way.astray();
                    None
                }
                Err(Fault::Down) => {
                    self.way.doubt();
                    None
                }
            };
            pending.extend(again);
        }
        if missing {
            self.metrics.script_reloads.inc();
        }
        try_again
    }

    fn count(&self, kind: Redirect) {
        self.metrics.redirects.get_or_create(&RedirectLabels { kind }).inc();
    }
}

/// What a connection answered to a pipeline; one value a command, errors among them.
type Answers = Vec<Value>;
