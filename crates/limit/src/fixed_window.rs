//! Fixed window: one count, which starts again at the window's end.
//!
//! Windows begin at epoch multiples of their length, or with the calendar month in UTC. Chosen where the
//! state must be as small as state gets and a burst across the boundary does no harm. What it gives up: a
//! caller may spend the limit at the end of one window and again at the start of the next, so up to
//! `2 × limit` pass in an instant. That is the bound.

use crate::calendar;
use crate::limit::{LimitError, period, positive};

/// At most `limit` units in each window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FixedWindow {
    limit: u64,
    window: Window,
}

/// How long a window is, and so where windows begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Window {
    /// `[k × ms, (k + 1) × ms)` since the Unix epoch.
    Every {
        /// Milliseconds, at least 1.
        ms: u64,
    },
    /// Calendar months in UTC.
    Month,
}

/// The units spent in the window that began at `start_ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Start of the window, in milliseconds since the Unix epoch.
    pub start_ms: u64,
    /// Units spent in it.
    pub spent: u64,
}

/// The longest month, in milliseconds: what a month is taken for where one length is asked for.
const LONGEST_MONTH_MS: u64 = 31 * 86_400_000;

impl Window {
    /// The window that `now_ms` lies in: its start, and its end.
    #[must_use]
    pub fn around(&self, now_ms: u64) -> (u64, u64) {
        match self {
            Self::Every { ms } => {
                let start_ms = now_ms - now_ms % (*ms).max(1);
                (start_ms, start_ms.saturating_add(*ms))
            }
            Self::Month => calendar::month(now_ms),
        }
    }

    /// Its length in milliseconds; of months the longest.
    #[must_use]
    pub fn longest_ms(&self) -> u64 {
        match self {
            Self::Every { ms } => *ms,
            Self::Month => LONGEST_MONTH_MS,
        }
    }
}

impl FixedWindow {
    /// The most that can be counted: a stand-in where some valid limit is needed.
    pub const LARGEST: Self = Self { limit: crate::MAX_EXACT, window: Window::Every { ms: 1_000 } };

    /// A window of `window_ms` milliseconds with `limit` units in it.
    ///
    /// # Errors
    /// A zero limit, one beyond 2^53, or a window outside 1 ms to 366 days.
    pub fn new(limit: u64, window_ms: u64) -> Result<Self, LimitError> {
        Ok(Self { limit: positive("limit", limit)?, window: Window::Every { ms: period("window", window_ms)? } })
    }

    /// Calendar months in UTC with `limit` units in each.
    ///
    /// # Errors
    /// A zero limit, or one beyond 2^53.
    pub fn monthly(limit: u64) -> Result<Self, LimitError> {
        Ok(Self { limit: positive("limit", limit)?, window: Window::Month })
    }

    /// Units in a window.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Where windows begin and end.
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }

    pub(crate) fn fresh(&self, now_ms: u64) -> State {
        State { start_ms: self.window.around(now_ms).0, spent: 0 }
    }

    /// A state of any other window is over. One of a window that has not begun yet still holds when the clock
    /// was set back by up to [`crate::TTL_SLACK_MS`], so that a clock that swings at a boundary grants nothing
    /// twice; set back further, the subject starts clean, which forgets at most one window's count.
    pub(crate) fn at(&self, state: State, now_ms: u64) -> State {
        let fresh = self.fresh(now_ms);
        let ahead_ms = state.start_ms.saturating_sub(now_ms);
        if state.start_ms == fresh.start_ms || (1..=crate::TTL_SLACK_MS).contains(&ahead_ms) { state } else { fresh }
    }

    pub(crate) fn remaining(&self, state: &State) -> u64 {
        self.limit.saturating_sub(state.spent)
    }

    /// At least 1 when `cost` is not there, whatever the state says.
    pub(crate) fn wait_ms(&self, state: &State, cost: u64, now_ms: u64) -> u64 {
        if cost <= self.remaining(state) { 0 } else { self.until_end_ms(state, now_ms).max(1) }
    }

    pub(crate) fn reset_ms(&self, state: &State, now_ms: u64) -> u64 {
        if state.spent == 0 { 0 } else { self.until_end_ms(state, now_ms) }
    }

    fn until_end_ms(&self, state: &State, now_ms: u64) -> u64 {
        self.window.around(state.start_ms).1.saturating_sub(now_ms)
    }
}

impl State {
    pub(crate) fn spend(self, units: u64) -> Self {
        Self { spent: self.spent.saturating_add(units), ..self }
    }
}
