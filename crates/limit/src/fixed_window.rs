//! Fixed window: one count, which starts again at epoch multiples of the window.
//!
//! Chosen where the state must be as small as state gets and a burst across the boundary does no harm.
//! What it gives up: a caller may spend the limit at the end of one window and again at the start of the
//! next, so up to `2 × limit` pass in an instant. That is the bound.

use crate::limit::{LimitError, period, positive};

/// At most `limit` units in each window `[k × window_ms, (k + 1) × window_ms)` since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FixedWindow {
    limit: u64,
    window_ms: u64,
}

/// The units spent in the window that began at `start_ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Start of the window, in milliseconds since the Unix epoch.
    pub start_ms: u64,
    /// Units spent in it.
    pub spent: u64,
}

impl FixedWindow {
    /// The most that can be counted: a stand-in where some valid limit is needed.
    pub const LARGEST: Self = Self { limit: crate::MAX_EXACT, window_ms: 1_000 };

    /// A window of `window_ms` milliseconds with `limit` units in it.
    ///
    /// # Errors
    /// A zero limit, one beyond 2^53, or a window outside 1 ms to 366 days.
    pub fn new(limit: u64, window_ms: u64) -> Result<Self, LimitError> {
        Ok(Self { limit: positive("limit", limit)?, window_ms: period("window", window_ms)? })
    }

    /// Units in a window.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The window's length in milliseconds.
    #[must_use]
    pub fn window_ms(&self) -> u64 {
        self.window_ms
    }

    pub(crate) fn fresh(&self, now_ms: u64) -> State {
        State { start_ms: now_ms - now_ms % self.window_ms, spent: 0 }
    }

    /// A state of any other window is over, also of a later one: a clock that was set back starts clean,
    /// which forgets at most one window's count.
    pub(crate) fn at(&self, state: State, now_ms: u64) -> State {
        let fresh = self.fresh(now_ms);
        if state.start_ms == fresh.start_ms { state } else { fresh }
    }

    pub(crate) fn remaining(&self, state: &State) -> u64 {
        self.limit.saturating_sub(state.spent)
    }

    /// At least 1 when `cost` is not there, also at the end of time, where windows have no end.
    pub(crate) fn wait_ms(&self, state: &State, cost: u64, now_ms: u64) -> u64 {
        if cost <= self.remaining(state) { 0 } else { self.until_end_ms(state, now_ms).max(1) }
    }

    pub(crate) fn reset_ms(&self, state: &State, now_ms: u64) -> u64 {
        if state.spent == 0 { 0 } else { self.until_end_ms(state, now_ms) }
    }

    fn until_end_ms(&self, state: &State, now_ms: u64) -> u64 {
        state.start_ms.saturating_add(self.window_ms).saturating_sub(now_ms)
    }
}

impl State {
    pub(crate) fn spend(self, units: u64) -> Self {
        Self { spent: self.spent.saturating_add(units), ..self }
    }
}
