//! An algorithm with its numbers, as people write it.

use super::Duration;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;

/// An algorithm with its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// At most `limit` units in each window aligned to the Unix epoch, or in each calendar month.
    FixedWindow(FixedWindow),
    /// About `limit` units in any window, from two counts.
    SlidingWindow(SlidingWindow),
    /// At most `limit` units in any window, from a log of all.
    SlidingLog(SlidingWindow),
    /// Bursts up to `capacity`, then `refill` every `per`.
    TokenBucket(TokenBucket),
    /// The token bucket told from its other end: what is poured in leaks out by `leak` every `per`.
    LeakyBucket(LeakyBucket),
    /// The token bucket's decisions from timestamps.
    Gcra(Gcra),
    /// Requests leave one by one, `leak` every `per`; who comes too early is delayed.
    LeakyQueue(LeakyQueue),
}

/// At most `limit` units in each window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedWindow {
    /// Units in a window.
    pub limit: u64,
    /// The window's length, or `month`.
    pub window: Window,
}

/// At most `limit` units in any window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlidingWindow {
    /// Units in a window.
    pub limit: u64,
    /// The window's length.
    pub window: Duration,
}

/// Bursts up to `capacity`, then `refill` every `per`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenBucket {
    /// Tokens in a full bucket.
    pub capacity: u64,
    /// Tokens that come back in each `per`.
    pub refill: u64,
    /// The refill's period.
    pub per: Duration,
}

/// What is poured in leaks out by `leak` every `per`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeakyBucket {
    /// Units that the bucket holds.
    pub capacity: u64,
    /// Units that leak out in each `per`.
    pub leak: u64,
    /// The leak's period.
    pub per: Duration,
}

/// Bursts of `burst`, then `refill` every `per`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gcra {
    /// Units in a burst.
    pub burst: u64,
    /// Units that come back in each `per`.
    pub refill: u64,
    /// The refill's period.
    pub per: Duration,
}

/// Requests that leave one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeakyQueue {
    /// Units in a full queue.
    pub depth: u64,
    /// Units that leave in each `per`.
    pub leak: u64,
    /// The leak's period.
    pub per: Duration,
}

/// How long a fixed window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// So long, aligned to the Unix epoch.
    Lasting(Duration),
    /// A calendar month in UTC.
    Month,
}

const MONTH: &str = "month";

impl Serialize for Window {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Lasting(duration) => duration.serialize(serializer),
            Self::Month => serializer.serialize_str(MONTH),
        }
    }
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Window;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a whole number with a unit, such as 250ms, 10s, 5m, 1h or 1d, or month")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Window, E> {
                if text == MONTH {
                    return Ok(Window::Month);
                }
                let duration = Duration::parse(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))?;
                Ok(Window::Lasting(duration))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}
