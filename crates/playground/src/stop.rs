//! When it is time to end: Ctrl-C, SIGTERM, or the terminal is gone.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that end the playground. Listening begins when it is made, so that none is missed while things start.
pub(crate) struct Stop {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Stop {
    pub(crate) fn listen() -> anyhow::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Returns once one of them has come.
    pub(crate) async fn asked_for(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}
