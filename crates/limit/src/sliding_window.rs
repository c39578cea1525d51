//! Sliding window counter: two counts for each subject, whatever the traffic.
//!
//! The units of the last window's length are estimated as `previous × (part of it that is still in) + current`,
//! as if the previous window's units had come evenly. With 18 in the previous window of 10 s, 5 in this one
//! and 2.5 s of it gone: `18 × 0.75 + 5 = 18.5`. What it gives up: if they all came in the window's last
//! moment, the true count is up to `limit` higher than the estimate. The error is real, so it is never called
//! exact; across a boundary no more than the limit passes by the estimate.

use crate::MAX_EXACT;
use crate::limit::{LimitError, countable, period, positive};

/// About `limit` units in any `window_ms` milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SlidingWindow {
    limit: u64,
    window_ms: u64,
}

/// The units spent in the window that began at `start_ms`, and in the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Start of the current window, in milliseconds since the Unix epoch.
    pub start_ms: u64,
    /// Units spent in it.
    pub current: u64,
    /// Units spent in the one before.
    pub previous: u64,
}

impl SlidingWindow {
    /// A window of `window_ms` milliseconds that holds `limit` units.
    ///
    /// # Errors
    /// A zero limit, a window outside 1 ms to 366 days, or numbers whose product goes beyond 2^53.
    pub fn new(limit: u64, window_ms: u64) -> Result<Self, LimitError> {
        let (limit, window_ms) = (positive("limit", limit)?, period("window", window_ms)?);
        // The estimate of a full window and of one more cost, and one step.
        countable("limit × window", limit.checked_mul(window_ms).and_then(|product| product.checked_mul(2)))?;
        Ok(Self { limit, window_ms })
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
        State { start_ms: now_ms - now_ms % self.window_ms, current: 0, previous: 0 }
    }

    /// As of [`crate::fixed_window`], with the window before kept. Counts of a far larger limit, before the policy
    /// changed, are cut to what can be multiplied exactly.
    pub(crate) fn at(&self, state: State, now_ms: u64) -> State {
        let fresh = self.fresh(now_ms);
        let most = MAX_EXACT / 4 / self.window_ms;
        let (current, previous) = (state.current.min(most), state.previous.min(most));
        let ahead_ms = state.start_ms.saturating_sub(now_ms);
        if state.start_ms == fresh.start_ms || (1..=crate::TTL_SLACK_MS).contains(&ahead_ms) {
            State { current, previous, ..state }
        } else if state.start_ms.checked_add(self.window_ms) == Some(fresh.start_ms) {
            State { previous: current, ..fresh }
        } else {
            fresh
        }
    }

    pub(crate) fn remaining(&self, state: &State, now_ms: u64) -> u64 {
        self.capacity().saturating_sub(self.estimate(state, now_ms)) / self.window_ms
    }

    /// In this window each millisecond lets `previous` go; in the next one, `current`.
    pub(crate) fn wait_ms(&self, state: &State, cost: u64, now_ms: u64) -> u64 {
        let cost = cost.saturating_mul(self.window_ms);
        let over = self.estimate(state, now_ms).saturating_add(cost).saturating_sub(self.capacity());
        if over == 0 {
            return 0;
        }
        let until_end_ms = self.until_end_ms(state, now_ms);
        if over <= state.previous.saturating_mul(until_end_ms.min(self.window_ms)) {
            // Before this window has begun (a clock set back) nothing goes.
            return until_end_ms.saturating_sub(self.window_ms).saturating_add(over.div_ceil(state.previous.max(1)));
        }
        let over = state.current.saturating_mul(self.window_ms).saturating_add(cost).saturating_sub(self.capacity());
        until_end_ms.saturating_add(over.div_ceil(state.current.max(1))).max(1)
    }

    pub(crate) fn reset_ms(&self, state: &State, now_ms: u64) -> u64 {
        match state {
            State { current: 0, previous: 0, .. } => 0,
            State { current: 0, .. } => self.until_end_ms(state, now_ms),
            _ => self.until_end_ms(state, now_ms).saturating_add(self.window_ms),
        }
    }

    /// The units of the last window's length, times the window's length.
    fn estimate(&self, state: &State, now_ms: u64) -> u64 {
        let until_end_ms = self.until_end_ms(state, now_ms).min(self.window_ms);
        state.previous.saturating_mul(until_end_ms).saturating_add(state.current.saturating_mul(self.window_ms))
    }

    /// The limit, in the measure of the estimate.
    fn capacity(&self) -> u64 {
        self.limit * self.window_ms
    }

    fn until_end_ms(&self, state: &State, now_ms: u64) -> u64 {
        state.start_ms.saturating_add(self.window_ms).saturating_sub(now_ms)
    }
}

impl State {
    pub(crate) fn spend(self, units: u64) -> Self {
        Self { current: self.current.saturating_add(units), ..self }
    }
}
