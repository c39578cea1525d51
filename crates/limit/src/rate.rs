//! How fast units come back, as a reduced fraction: nothing drifts, over any horizon.

use crate::limit::{LimitError, countable, period, positive};

/// `units` every `per_ms` milliseconds, evenly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    units: u64,
    per_ms: u64,
}

impl Rate {
    /// `units` every `period_ms` milliseconds, reduced.
    ///
    /// # Errors
    /// A zero, a period outside 1 ms to 366 days, or more units than can be counted exactly.
    pub fn new(units: u64, period_ms: u64) -> Result<Self, LimitError> {
        Self::named("refill", "refill period", units, period_ms)
    }

    pub(crate) fn named(rate: &'static str, per: &'static str, units: u64, period_ms: u64) -> Result<Self, LimitError> {
        let (units, period_ms) = (positive(rate, units)?, period(per, period_ms)?);
        let divisor = greatest_common_divisor(units, period_ms);
        Ok(Self { units: countable(rate, Some(units / divisor))?, per_ms: period_ms / divisor })
    }

    /// Units that come back every [`Rate::per_ms`].
    #[must_use]
    pub fn units(self) -> u64 {
        self.units
    }

    /// The milliseconds of [`Rate::units`].
    #[must_use]
    pub fn per_ms(self) -> u64 {
        self.per_ms
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}
