//! The connection to one Redis that counts, kept up by a task of its own.
//!
//! ```text
//!          connected, writable, script loaded
//!   down ------------------------------------> up
//!    ^                                          |
//!    +------------------------------------------+
//!      closed by Redis, a failed call, a probe without an answer, a master that is none any more
//! ```
//!
//! The state is what decisions and `/readyz` look at; neither waits. A closed connection is told by the
//! library the moment it is seen (a RESP3 push), so almost no decision is given to a dead one; a Redis that
//! hangs is found by the probe within [`PROBE_EVERY`] + [`PROBE_TIMEOUT`]. Attempts are repeated for ever,
//! [`BACKOFF_MIN`] to [`BACKOFF_MAX`] apart, so a Redis that comes back is used within about a second. Each
//! attempt asks the [`Source`] anew where the Redis is: after a failover that is another.

mod connect;
mod probe;
mod source;
mod waits;

pub(super) use connect::{ask, dial};
pub(super) use source::Source;

use super::Answers;
use crate::metrics::{NodeLabels, NodeMetrics};
use ::redis::aio::MultiplexedConnection;
use ::redis::{Cmd, Pipeline};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use waits::Waits;

const PROBE_EVERY: Duration = Duration::from_millis(250);
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);
const CONNECT_TIMEOUT: Duration = Duration::from_millis(1000);
const BACKOFF_MIN: Duration = Duration::from_millis(50);
const BACKOFF_MAX: Duration = Duration::from_millis(500);

/// See the module.
pub(super) struct Link {
    state: Arc<State>,
    /// The task ends with the link.
    _supervisor: JoinSet<()>,
}

struct State {
    node: NodeLabels,
    metrics: NodeMetrics,
    current: watch::Sender<Current>,
}

enum Current {
    Up(Connection),
    Down(String),
}

/// A connection that is up, as far as anybody knows.
#[derive(Clone)]
pub(super) struct Connection {
    redis: MultiplexedConnection,
    /// Told when the connection is closed or has failed.
    broken: Arc<Notify>,
    place: Arc<str>,
    waits: Arc<Waits>,
}

impl Link {
    /// Starts to connect. `prepare` is sent on each new connection, before it is used.
    pub(super) fn open(source: Source, prepare: Cmd, metrics: NodeMetrics) -> Self {
        let waiting = Current::Down(format!("not connected to redis at {} yet", source.name()));
        let node = NodeLabels { node: source.name().to_owned() };
        metrics.up.get_or_create(&node).set(0);
        let state = Arc::new(State { node, metrics, current: watch::Sender::new(waiting) });
        let mut supervisor = JoinSet::new();
        supervisor.spawn(keep_up(source, prepare, Arc::clone(&state)));
        Self { state, _supervisor: supervisor }
    }

    /// The connection, when there is one.
    pub(super) fn connection(&self) -> Option<Connection> {
        match &*self.state.current.borrow() {
            Current::Up(connection) => Some(connection.clone()),
            Current::Down(_) => None,
        }
    }

    /// The connection, as soon as there is one.
    pub(super) async fn connected(&self) -> Connection {
        let mut current = self.state.current.subscribe();
        loop {
            if let Current::Up(connection) = &*current.borrow_and_update() {
                return connection.clone();
            }
            // The sender is as long-lived as `self`.
            let _ = current.changed().await;
        }
    }

    /// The answers to all commands, or nothing when the connection failed.
    pub(super) async fn query(&self, connection: &Connection, pipeline: &Pipeline) -> Option<Answers> {
        match pipeline.query_async(&mut connection.redis.clone()).await {
            Ok(answers) => Some(answers),
            Err(error) => {
                self.doubt(connection, &error.to_string());
                None
            }
        }
    }

    /// How many replicas have all that this connection has written, waited for as [`waits`] says.
    pub(super) async fn replicated(&self, connection: &Connection, replicas: u16, timeout: Duration) -> Option<u64> {
        connection.waits.replicated(&connection.redis, replicas, timeout).await
    }

    /// Ends the use of `connection`; the next one is found anew.
    pub(super) fn doubt(&self, connection: &Connection, reason: &str) {
        self.state.down(&connection.broken, reason);
    }

    /// Why there is none.
    pub(super) fn readiness(&self) -> Result<(), String> {
        match &*self.state.current.borrow() {
            Current::Up(_) => Ok(()),
            Current::Down(reason) => Err(reason.clone()),
        }
    }
}

impl Connection {
    /// The connection itself, for questions of another kind.
    pub(super) fn redis(&self) -> MultiplexedConnection {
        self.redis.clone()
    }
}

impl State {
    fn up(&self, connection: Connection) {
        tracing::info!(redis = &*connection.place, "connected");
        self.set(Current::Up(connection));
    }

    /// Ends the use of the connection that `broken` belongs to; a newer one stays.
    fn down(&self, broken: &Arc<Notify>, reason: &str) {
        self.current.send_if_modified(|current| match current {
            Current::Up(connection) if Arc::ptr_eq(&connection.broken, broken) => {
                tracing::warn!(redis = &*connection.place, reason, "connection lost");
                *current = Current::Down(format!("{reason} at {}", connection.place));
                self.metrics.up.get_or_create(&self.node).set(0);
                true
            }
            _ => false,
        });
        broken.notify_one();
    }

    fn set(&self, state: Current) {
        self.metrics.up.get_or_create(&self.node).set(i64::from(matches!(state, Current::Up(_))));
        self.current.send_replace(state);
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.metrics.remove(&self.node);
    }
}

async fn keep_up(mut source: Source, prepare: Cmd, state: Arc<State>) {
    let mut backoff = BACKOFF_MIN;
    let mut told = String::new();
    loop {
        match connect::connect(&mut source, &prepare, &state).await {
            Ok((connection, probe)) => {
                (backoff, told) = (BACKOFF_MIN, String::new());
                state.up(connection.clone());
                connect::watch(connection, probe, &mut source, &state).await;
            }
            Err(reason) => {
                // Once for each reason: a Redis that is away for a day is not a log of a day.
                if reason != told {
                    tracing::warn!(reason, "cannot use redis yet");
                    told.clone_from(&reason);
                }
                state.set(Current::Down(reason));
                backoff = (backoff * 2).min(BACKOFF_MAX);
            }
        }
        tokio::time::sleep(backoff).await;
    }
}
