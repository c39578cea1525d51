//! GCRA: the token bucket's decisions from one timestamp for each subject.
//!
//! The Generic Cell Rate Algorithm (ITU-T I.371) keeps the *theoretical arrival time* (TAT) of the next request:
//! each unit moves it on by the time that one unit takes to come back, and a request passes while it is not
//! further ahead of now than the whole burst takes. With the same numbers it decides the same as
//! [`crate::token_bucket`]. What it gives up is a state that reads as "7 tokens left".
//!
//! The timestamp is exact: whole milliseconds, and the rest as a numerator over the rate's units. How far it
//! is ahead of now is the *backlog*, in milliseconds times the rate's units.

use crate::MAX_EXACT;
use crate::limit::{LimitError, countable, positive};
use crate::rate::Rate;

/// Bursts of `burst` units, then the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Gcra {
    burst: u64,
    rate: Rate,
}

/// When all that was spent will have come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// The theoretical arrival time, in milliseconds since the Unix epoch.
    pub tat_ms: u64,
    /// And this part of a millisecond: a numerator over [`Rate::units`].
    pub fraction: u64,
}

impl Gcra {
    /// Bursts of `burst` units; `refill` units come back every `period_ms` milliseconds.
    ///
    /// # Errors
    /// A zero, a period outside 1 ms to 366 days, or numbers whose products go beyond 2^53.
    pub fn new(burst: u64, refill: u64, period_ms: u64) -> Result<Self, LimitError> {
        let (burst, rate) = (positive("burst", burst)?, Rate::new(refill, period_ms)?);
        countable("burst × refill period", burst.checked_mul(rate.per_ms()).and_then(|product| product.checked_mul(2)))?;
        Ok(Self { burst, rate })
    }

    /// Units in a burst.
    #[must_use]
    pub fn burst(&self) -> u64 {
        self.burst
    }

    /// How fast units come back.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// How long a whole burst takes to come back, in milliseconds, rounded up.
    #[must_use]
    pub fn time_to_full_ms(&self) -> u64 {
        self.capacity().div_ceil(self.rate.units())
    }

    pub(crate) fn fresh(now_ms: u64) -> State {
        State { tat_ms: now_ms, fraction: 0 }
    }

    /// A timestamp further ahead than a whole burst was left by a larger one, or by a clock that was set back:
    /// it counts as a whole burst, so neither grants one and nobody waits longer than a burst takes.
    pub(crate) fn at(&self, state: State, now_ms: u64) -> State {
        if state.tat_ms < now_ms {
            Self::fresh(now_ms)
        } else {
            self.state(self.backlog(&state, now_ms).min(self.capacity()), now_ms)
        }
    }

    pub(crate) fn remaining(&self, state: &State, now_ms: u64) -> u64 {
        self.capacity().saturating_sub(self.backlog(state, now_ms)) / self.rate.per_ms()
    }

    pub(crate) fn wait_ms(&self, state: &State, cost: u64, now_ms: u64) -> u64 {
        let needed = self.backlog(state, now_ms).saturating_add(cost.saturating_mul(self.rate.per_ms()));
        needed.saturating_sub(self.capacity()).div_ceil(self.rate.units())
    }

    pub(crate) fn reset_ms(&self, state: &State, now_ms: u64) -> u64 {
        self.backlog(state, now_ms).div_ceil(self.rate.units())
    }

    pub(crate) fn spend(&self, state: State, units: u64, now_ms: u64) -> State {
        self.state(self.backlog(&state, now_ms).saturating_add(units.saturating_mul(self.rate.per_ms())), now_ms)
    }

    /// Until all but the last `units` have come back.
    pub(crate) fn until_before_ms(&self, state: &State, units: u64, now_ms: u64) -> u64 {
        self.backlog(state, now_ms).saturating_sub(units.saturating_mul(self.rate.per_ms())).div_ceil(self.rate.units())
    }

    fn backlog(&self, state: &State, now_ms: u64) -> u64 {
        // Cut to what can be multiplied exactly; far more than any burst.
        let ahead_ms = state.tat_ms.saturating_sub(now_ms).min(MAX_EXACT / 2 / self.rate.units());
        ahead_ms * self.rate.units() + state.fraction.min(self.rate.units() - 1)
    }

    fn state(&self, backlog: u64, now_ms: u64) -> State {
        State { tat_ms: now_ms.saturating_add(backlog / self.rate.units()), fraction: backlog % self.rate.units() }
    }

    fn capacity(&self) -> u64 {
        self.burst * self.rate.per_ms()
    }
}
