//! A limit's numbers as they are sent: plain integers, checked when they become a [`Limit`].

use serde::{Deserialize, Serialize};
use weir_limit::{FixedWindow, Limit, LimitError, TokenBucket};

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
        match numbers {
            Numbers::FixedWindow { limit, window_ms } => FixedWindow::new(limit, window_ms).map(Self::FixedWindow),
            Numbers::TokenBucket { capacity, refill, period_ms } => {
                TokenBucket::new(capacity, refill, period_ms).map(Self::TokenBucket)
            }
        }
    }
}
