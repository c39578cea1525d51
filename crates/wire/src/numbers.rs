//! A limit's numbers as they are sent: plain integers, checked when they become a [`Limit`].
//!
//! Amounts are at least 1, times are 1 ms to [`weir_limit::MAX_PERIOD_MS`], and beside that:
//!
//! | numbers | bound |
//! |---|---|
//! | fixed window, calendar month | limit ≤ 2^53 |
//! | sliding window | limit × window ≤ 2^51 |
//! | sliding log | limit ≤ [`weir_limit::sliding_log::MOST_ENTRIES`] |
//! | token bucket | 1,000 × capacity × period ≤ 2^52, the refill reduced |
//! | GCRA, leaky queue | burst or depth × period ≤ 2^51, the rate reduced |

use serde::{Deserialize, Serialize};
use weir_limit::{FixedWindow, Gcra, LeakyQueue, Limit, LimitError, SlidingLog, SlidingWindow, TokenBucket};

/// The algorithm of a rule, with its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Numbers {
    /// At most `limit` units in each window aligned to the Unix epoch.
    FixedWindow {
        /// Units in a window.
        limit: u64,
        /// The window's length in milliseconds.
        window_ms: u64,
    },
    /// At most `limit` units in each calendar month in UTC.
    CalendarMonth {
        /// Units in a month.
        limit: u64,
    },
    /// About `limit` units in any window, from two counts.
    SlidingWindow {
        /// Units in a window.
        limit: u64,
        /// The window's length in milliseconds.
        window_ms: u64,
    },
    /// At most `limit` units in any window, from a log of all.
    SlidingLog {
        /// Units in a window.
        limit: u64,
        /// The window's length in milliseconds.
        window_ms: u64,
    },
    /// Bursts of `burst` units, then `refill` every `period_ms`, from one timestamp.
    Gcra {
        /// Units in a burst.
        burst: u64,
        /// Units that come back in a period.
        refill: u64,
        /// The period in milliseconds.
        period_ms: u64,
    },
    /// A queue of `depth` units, of which `leak` leave every `period_ms`: who comes too early is delayed.
    LeakyQueue {
        /// Units that wait at a time.
        depth: u64,
        /// Units that leave in a period.
        leak: u64,
        /// The period in milliseconds.
        period_ms: u64,
    },
    /// A bucket of `capacity` tokens, refilled by `refill` every `period_ms`.
    TokenBucket {
        /// Tokens in a full bucket.
        capacity: u64,
        /// Tokens that come back in a period.
        refill: u64,
        /// The period in milliseconds.
        period_ms: u64,
    },
}

impl TryFrom<Numbers> for Limit {
    type Error = LimitError;

    fn try_from(numbers: Numbers) -> Result<Self, LimitError> {
        Ok(match numbers {
            Numbers::FixedWindow { limit, window_ms } => Self::FixedWindow(FixedWindow::new(limit, window_ms)?),
            Numbers::CalendarMonth { limit } => Self::FixedWindow(FixedWindow::monthly(limit)?),
            Numbers::SlidingWindow { limit, window_ms } => Self::SlidingWindow(SlidingWindow::new(limit, window_ms)?),
            Numbers::SlidingLog { limit, window_ms } => Self::SlidingLog(SlidingLog::new(limit, window_ms)?),
            Numbers::TokenBucket { capacity, refill, period_ms } => {
                Self::TokenBucket(TokenBucket::new(capacity, refill, period_ms)?)
            }
            Numbers::Gcra { burst, refill, period_ms } => Self::Gcra(Gcra::new(burst, refill, period_ms)?),
            Numbers::LeakyQueue { depth, leak, period_ms } => Self::LeakyQueue(LeakyQueue::new(depth, leak, period_ms)?),
        })
    }
}
