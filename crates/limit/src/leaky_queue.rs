//! Leaky bucket as a queue: what comes too early is delayed, not denied, until the queue is full.
//!
//! Requests leave one by one, spaced by the rate, and a verdict says in how many milliseconds the turn comes.
//! Who finds `depth` units in the queue is denied; so nobody waits longer than `depth − 1` of them take. It
//! makes input smooth for a backend that breaks at a peak, and pays for it with held requests. The state is the
//! next free turn, a timestamp as in [`crate::gcra`]: a queue of that depth lets in what a burst of that size does.

use crate::gcra::{Gcra, State};
use crate::limit::LimitError;

/// At most `depth` units at a time, which leave one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LeakyQueue {
    turns: Gcra,
}

impl LeakyQueue {
    /// A queue of `depth` units, of which `leak` leave every `period_ms` milliseconds.
    ///
    /// # Errors
    /// As of [`Gcra::new`].
    pub fn new(depth: u64, leak: u64, period_ms: u64) -> Result<Self, LimitError> {
        Ok(Self { turns: Gcra::new(depth, leak, period_ms)? })
    }

    /// How the queue lets in: as GCRA with a burst of its depth.
    #[must_use]
    pub fn turns(&self) -> &Gcra {
        &self.turns
    }

    /// In how many milliseconds the turn of the last `cost` units of `state` comes.
    #[must_use]
    pub fn delay_ms(&self, state: &State, cost: u64, now_ms: u64) -> u64 {
        self.turns.until_before_ms(state, cost, now_ms)
    }
}
