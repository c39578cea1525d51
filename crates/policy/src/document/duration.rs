//! Durations as people write them: a whole number and a unit, such as `250ms`, `10s`, `5m`, `1h`, `1d`.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;

/// A whole number of milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Duration {
    ms: u64,
}

const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

impl Duration {
    /// A duration of `ms` milliseconds.
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        Self { ms }
    }

    /// The duration in milliseconds.
    #[must_use]
    pub const fn as_ms(self) -> u64 {
        self.ms
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at_checked(digits)?;
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
        Some(Self { ms: number.parse::<u64>().ok()?.checked_mul(*factor)? })
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |(_, factor): &&(&str, u64)| self.ms > 0 && self.ms.is_multiple_of(*factor);
        let (unit, factor) = UNITS.iter().rev().find(fits).copied().unwrap_or(("ms", 1));
        write!(formatter, "{}{unit}", self.ms / factor)
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Duration;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a whole number with a unit, such as 250ms, 10s, 5m, 1h or 1d")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Duration, E> {
                Duration::parse(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}
