//! GCRA: the token bucket's decisions from timestamps.
//!
//! The Generic Cell Rate Algorithm (ITU-T I.371) keeps the *theoretical arrival time* (TAT) of the next request:
//! each unit moves it on by the time that one unit takes to come back, and a request passes while it is not
//! further ahead of now than the whole burst takes. With the same numbers it decides the same as
//! [`crate::token_bucket`], also under a clock that jumps.
//!
//! The TAT is exact: whole milliseconds, and the rest as a numerator over the rate's units. How far it is ahead
//! is the *backlog*, in milliseconds times the rate's units. Beside it stands when it was written, since a
//! timestamp alone cannot say whether it is far ahead because the burst was cut or because the clock was set back.
//!
//! What it gives up: a debt is kept as time, not as units. A cut burst grants nothing, but when the policy
//! slows the **rate** down, a live debt is worth fewer units than were spent: at most one burst more, once.

use crate::MAX_EXACT;
use crate::limit::{LimitError, countable, positive};
use crate::rate::Rate;

/// Bursts of `burst` units, then the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Gcra {
    burst: u64,
    rate: Rate,
}

/// When all that was spent will have come back, as of `updated_ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// The theoretical arrival time, in milliseconds since the Unix epoch.
    pub tat_ms: u64,
    /// And this part of a millisecond: a numerator over [`Rate::units`].
    pub fraction: u64,
    /// Milliseconds since the Unix epoch.
    pub updated_ms: u64,
}

/// What the numbers are called where the policy spells them.
pub(crate) struct Names {
    pub(crate) burst: &'static str,
    pub(crate) rate: &'static str,
    pub(crate) period: &'static str,
    pub(crate) product: &'static str,
}

impl Gcra {
    /// Bursts of `burst` units; `refill` units come back every `period_ms` milliseconds.
    ///
    /// # Errors
    /// A zero, a period outside 1 ms to 366 days, or numbers whose products go beyond 2^53.
    pub fn new(burst: u64, refill: u64, period_ms: u64) -> Result<Self, LimitError> {
        let names = Names { burst: "burst", rate: "refill", period: "refill period", product: "burst × refill period" };
        Self::named(&names, burst, refill, period_ms)
    }

    pub(crate) fn named(names: &Names, burst: u64, refill: u64, period_ms: u64) -> Result<Self, LimitError> {
        let (burst, rate) = (positive(names.burst, burst)?, Rate::named(names.rate, names.period, refill, period_ms)?);
        // A debt of a whole burst, and as much again for a cost that is asked for on top of it.
        countable(names.product, burst.checked_mul(rate.per_ms()).and_then(|product| product.checked_mul(2)))?;
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
        State { tat_ms: now_ms, fraction: 0, updated_ms: now_ms }
    }

    /// The clock as of [`crate::token_bucket`]: set back by up to [`crate::TTL_SLACK_MS`] it brings nothing back,
    /// set back further the subject starts clean. A debt of more than the burst was left by a larger one, before
    /// the policy changed, and counts as a whole burst from when it was written: it grants nothing now, and
    /// nobody waits longer than a burst takes.
    pub(crate) fn at(&self, state: State, now_ms: u64) -> State {
        if state.updated_ms > now_ms.saturating_add(crate::TTL_SLACK_MS) {
            return Self::fresh(now_ms);
        }
        let elapsed_ms = now_ms.saturating_sub(state.updated_ms);
        let backlog = self.backlog(&state).min(self.capacity());
        // Asked before it is multiplied: no product grows with idle time.
        if elapsed_ms >= backlog.div_ceil(self.rate.units()) {
            return Self::fresh(now_ms);
        }
        self.state(backlog.saturating_sub(elapsed_ms.saturating_mul(self.rate.units())), now_ms)
    }

    pub(crate) fn remaining(&self, state: &State) -> u64 {
        self.capacity().saturating_sub(self.backlog(state)) / self.rate.per_ms()
    }

    pub(crate) fn wait_ms(&self, state: &State, cost: u64) -> u64 {
        let needed = self.backlog(state).saturating_add(self.worth(cost));
        needed.saturating_sub(self.capacity()).div_ceil(self.rate.units())
    }

    pub(crate) fn reset_ms(&self, state: &State) -> u64 {
        self.backlog(state).div_ceil(self.rate.units())
    }

    pub(crate) fn spend(&self, state: State, units: u64) -> State {
        self.state(self.backlog(&state).saturating_add(self.worth(units)), state.updated_ms)
    }

    /// Until all but the last `units` have come back.
    pub(crate) fn until_before_ms(&self, state: &State, units: u64) -> u64 {
        self.backlog(state).saturating_sub(self.worth(units)).div_ceil(self.rate.units())
    }

    fn backlog(&self, state: &State) -> u64 {
        // Cut to what can be multiplied exactly; more than any burst.
        let ahead_ms = state.tat_ms.saturating_sub(state.updated_ms).min(MAX_EXACT / 2 / self.rate.units());
        ahead_ms * self.rate.units() + state.fraction.min(self.rate.units() - 1)
    }

    fn state(&self, backlog: u64, now_ms: u64) -> State {
        let (ahead_ms, fraction) = (backlog / self.rate.units(), backlog % self.rate.units());
        State { tat_ms: now_ms.saturating_add(ahead_ms), fraction, updated_ms: now_ms }
    }

    /// `units` in the measure of the backlog.
    fn worth(&self, units: u64) -> u64 {
        units.saturating_mul(self.rate.per_ms())
    }

    fn capacity(&self) -> u64 {
        self.worth(self.burst)
    }
}
