//! Leaky bucket as a queue: what comes too early is delayed, not denied, until the queue is full.
//!
//! Requests leave one by one, spaced by the rate, and a verdict says in how many milliseconds the turn comes.
//! Who finds `depth` units in the queue is denied; so nobody waits longer than `depth − 1` of them take. It
//! makes input smooth for a backend that breaks at a peak, and pays for it with held requests. The state is the
//! next free turn, a timestamp as in [`crate::gcra`]: a queue of that depth lets in what a burst of that size does.
//! With a depth of 1 nothing ever waits: what comes before its turn is denied.

use crate::gcra::{Gcra, Names, State};
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
        let names = Names { burst: "depth", rate: "leak", period: "leak period", product: "depth × leak period" };
        Ok(Self { turns: Gcra::named(&names, depth, leak, period_ms)? })
    }

    /// How the queue lets in: as GCRA with a burst of its depth.
    #[must_use]
    pub fn turns(&self) -> &Gcra {
        &self.turns
    }

    /// The longest that anybody is made to wait, in milliseconds: until all of a full queue but its last unit has left.
    #[must_use]
    pub fn longest_delay_ms(&self) -> u64 {
        let rate = self.turns.rate();
        (self.turns.burst() - 1).saturating_mul(rate.per_ms()).div_ceil(rate.units())
    }

    /// In how many milliseconds the turn of the last `cost` units of `state` comes.
    pub(crate) fn delay_ms(&self, state: &State, cost: u64) -> u64 {
        self.turns.until_before_ms(state, cost)
    }
}
