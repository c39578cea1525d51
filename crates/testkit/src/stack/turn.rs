//! A place among those that may run.

use std::sync::{Condvar, Mutex, PoisonError};

use super::MOST_AT_ONCE;

static RUNNING: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// Held while a stack runs; given back when dropped.
#[derive(Debug)]
pub(super) struct Turn(());

impl Turn {
    /// Waits for one.
    pub(super) fn take() -> Self {
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut running = ENDED.wait_while(running, |running| *running >= MOST_AT_ONCE).unwrap_or_else(PoisonError::into_inner);
        *running += 1;
        Self(())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ENDED.notify_one();
    }
}
