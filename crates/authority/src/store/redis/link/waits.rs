//! `WAIT`, one at a time on a connection.
//!
//! `WAIT` asks for all that its own connection has written, and blocks that connection meanwhile. So one `WAIT` serves all batches
//! whose answers were there when it was sent, and the next one those that came in between: a group commit. A replica that is away
//! then costs each batch at most two times the timeout, not one timeout after the other.

use ::redis::aio::MultiplexedConnection;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;

/// The waits of one connection.
#[derive(Default)]
pub(super) struct Waits {
    asked: AtomicU64,
    last: Mutex<Last>,
}

/// The last `WAIT` that was answered.
#[derive(Default)]
struct Last {
    /// It spoke for those who had asked by then.
    asked: u64,
    replicas: Option<u64>,
}

impl Waits {
    /// How many replicas have all that was written here before the call; nothing when the connection failed.
    pub(super) async fn replicated(&self, redis: &MultiplexedConnection, replicas: u16, timeout: Duration) -> Option<u64> {
        let mine = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let mut last = self.last.lock().await;
        if last.asked < mine {
            let asked = self.asked.load(Ordering::Relaxed);
            let mut wait = ::redis::cmd("WAIT");
            wait.arg(replicas).arg(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
            // A caller that gave up meanwhile has changed nothing: the next one asks for itself.
            let replicas = wait.query_async(&mut redis.clone()).await.ok();
            *last = Last { asked, replicas };
        }
        last.replicas
    }
}
