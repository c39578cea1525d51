//! The connection to Redis, kept up by a task of its own.
//!
//! ```text
//!          connected, writable, script loaded
//!   down ------------------------------------> up
//!    ^                                          |
//!    +------------------------------------------+
//!      closed by Redis, a failed call, a probe without an answer
//! ```
//!
//! The state is what decisions and `/readyz` look at; neither waits. A closed connection is told by the
//! library the moment it is seen (a RESP3 push), so almost no decision is given to a dead one; a Redis that
//! hangs is found by the probe within [`PROBE_EVERY`] + [`PROBE_TIMEOUT`]. Attempts are repeated for ever,
//! [`BACKOFF_MIN`] to [`BACKOFF_MAX`] apart, so a Redis that comes back is used within about a second.

mod connect;
mod eviction;

use super::{Answers, StoreError};
use ::redis::aio::MultiplexedConnection;
use ::redis::{Client, Cmd, Pipeline};
use prometheus_client::metrics::gauge::Gauge;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;

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
    place: String,
    evicts: Gauge,
    current: RwLock<Current>,
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
}

impl Link {
    /// Starts to connect. `prepare` is sent on each new connection, before it is used.
    pub(super) fn open(url: &str, prepare: Cmd, evicts: Gauge) -> Result<Self, StoreError> {
        let (client, place) = connect::client(url)?;
        let waiting = Current::Down(format!("not connected to redis at {place} yet"));
        let state = Arc::new(State { place, evicts, current: RwLock::new(waiting) });
        let mut supervisor = JoinSet::new();
        supervisor.spawn(keep_up(client, prepare, Arc::clone(&state)));
        Ok(Self { state, _supervisor: supervisor })
    }

    /// The connection, when there is one.
    pub(super) fn connection(&self) -> Option<Connection> {
        match &*self.state.current.read().unwrap_or_else(PoisonError::into_inner) {
            Current::Up(connection) => Some(connection.clone()),
            Current::Down(_) => None,
        }
    }

    /// The answers to all commands, or nothing when the connection failed.
    pub(super) async fn query(&self, mut connection: Connection, pipeline: &Pipeline) -> Option<Answers> {
        match pipeline.query_async(&mut connection.redis).await {
            Ok(answers) => Some(answers),
            Err(error) => {
                self.state.down(&connection.broken, &error.to_string());
                None
            }
        }
    }

    /// Why there is none.
    pub(super) fn readiness(&self) -> Result<(), String> {
        match &*self.state.current.read().unwrap_or_else(PoisonError::into_inner) {
            Current::Up(_) => Ok(()),
            Current::Down(reason) => Err(format!("waiting for redis: {reason}")),
        }
    }
}

impl State {
    fn up(&self, connection: Connection) {
        tracing::info!(redis = self.place, "connected");
        self.set(Current::Up(connection));
    }

    /// Ends the use of the connection that `broken` belongs to; a newer one stays.
    fn down(&self, broken: &Arc<Notify>, reason: &str) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if matches!(&*current, Current::Up(connection) if Arc::ptr_eq(&connection.broken, broken)) {
            tracing::warn!(redis = self.place, reason, "connection lost");
            *current = Current::Down(format!("{reason} at {}", self.place));
        }
        drop(current);
        broken.notify_one();
    }

    fn set(&self, state: Current) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

async fn keep_up(client: Client, prepare: Cmd, state: Arc<State>) {
    let mut backoff = BACKOFF_MIN;
    let mut told = String::new();
    loop {
        match connect::connect(&client, &prepare, &state).await {
            Ok(connection) => {
                (backoff, told) = (BACKOFF_MIN, String::new());
                state.up(connection.clone());
                connect::watch(connection, &state).await;
            }
            Err(reason) => {
                let reason = format!("{reason} at {}", state.place);
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
