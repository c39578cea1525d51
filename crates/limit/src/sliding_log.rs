//! Sliding log: every admission is kept, so the count of the last window's length is exact.
//!
//! Denied requests are not recorded, so a flood does not inflate it. Admissions of one millisecond are one
//! entry with their sum: none is lost by sharing its moment with another. What it gives up is memory: up to
//! `limit` entries for each subject, [`MOST_ENTRIES`] at most; size it by active subjects × entries.

use crate::limit::{LimitError, period, positive};

/// The largest limit of a log: its state is read and written whole.
pub const MOST_ENTRIES: u64 = 10_000;

/// At most `limit` units in any `window_ms` milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SlidingLog {
    limit: u64,
    window_ms: u64,
}

/// What was admitted, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct State {
    /// When, in milliseconds since the Unix epoch, and how many units.
    pub entries: Vec<(u64, u64)>,
}

impl SlidingLog {
    /// A window of `window_ms` milliseconds that never holds more than `limit` units.
    ///
    /// # Errors
    /// A limit outside 1 to [`MOST_ENTRIES`], or a window outside 1 ms to 366 days.
    pub fn new(limit: u64, window_ms: u64) -> Result<Self, LimitError> {
        let limit = positive("limit", limit)?;
        if limit > MOST_ENTRIES {
            return Err(LimitError::TooManyEntries { limit });
        }
        Ok(Self { limit, window_ms: period("window", window_ms)? })
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

    /// Entries are dropped when they are a window old, or when they are of a future that a clock set back by
    /// more than [`crate::TTL_SLACK_MS`] has left behind.
    pub(crate) fn at(&self, mut state: State, now_ms: u64) -> State {
        let horizon_ms = now_ms.saturating_add(crate::TTL_SLACK_MS);
        state.entries.retain(|(at_ms, _)| at_ms.saturating_add(self.window_ms) > now_ms && *at_ms <= horizon_ms);
        state
    }

    pub(crate) fn remaining(&self, state: &State) -> u64 {
        self.limit.saturating_sub(state.spent())
    }

    /// Until enough of the oldest have left.
    pub(crate) fn wait_ms(&self, state: &State, cost: u64, now_ms: u64) -> u64 {
        let over = state.spent().saturating_add(cost).saturating_sub(self.limit);
        let mut gone: u64 = 0;
        for (at_ms, units) in state.entries.iter().take_while(|_| over > 0) {
            gone = gone.saturating_add(*units);
            if gone >= over {
                return self.until_gone_ms(*at_ms, now_ms).max(1);
            }
        }
        u64::from(over > 0)
    }

    pub(crate) fn reset_ms(&self, state: &State, now_ms: u64) -> u64 {
        state.entries.last().map_or(0, |(at_ms, _)| self.until_gone_ms(*at_ms, now_ms))
    }

    fn until_gone_ms(&self, at_ms: u64, now_ms: u64) -> u64 {
        at_ms.saturating_add(self.window_ms).saturating_sub(now_ms)
    }
}

impl State {
    /// A clock that was set back a little does not put an entry before the last one.
    pub(crate) fn spend(mut self, units: u64, now_ms: u64) -> Self {
        match self.entries.last_mut() {
            _ if units == 0 => {}
            Some((at_ms, known)) if *at_ms >= now_ms => *known = known.saturating_add(units),
            _ => self.entries.push((now_ms, units)),
        }
        self
    }

    fn spent(&self) -> u64 {
        self.entries.iter().fold(0, |sum, (_, units)| sum.saturating_add(*units))
    }
}
