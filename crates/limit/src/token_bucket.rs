//! Token bucket: an idle subject may burst up to the capacity, then goes on at the refill rate.
//!
//! Over any `T` seconds a bucket admits at most `capacity + refill × T`. That is the bound; a reader who
//! needs "never more than N in any rolling interval" needs another algorithm.
//!
//! The state keeps what was **spent**, not what is left. A subject that was never seen has spent nothing,
//! which is what an absent key says; and when the policy changes the capacity under a live state, a raise
//! is there at once and a cut grants no burst.
//!
//! Tokens are counted in thousandths (millitokens): 2 per second over 300 ms are 600 of them. A rate that
//! is no whole number of millitokens per millisecond keeps its remainder in the state, as the numerator of
//! a fraction whose denominator is the reduced refill period. So nothing drifts, over any horizon.

use crate::MAX_EXACT;
use crate::limit::{LimitError, countable, positive};
use crate::rate::Rate;

const MILLI: u64 = 1_000;

/// `capacity` tokens, of which `refill` come back every `period_ms` milliseconds, evenly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenBucket {
    capacity_mt: u64,
    /// The refill as a reduced fraction: `refill_mt` millitokens every `per_ms` milliseconds.
    refill_mt: u64,
    per_ms: u64,
}

/// What was spent of a bucket and has not come back, as of `updated_ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Thousandths of a token.
    pub spent_mt: u64,
    /// What came back since, but is less than a millitoken: `remainder / per_ms` of one.
    pub remainder: u64,
    /// Milliseconds since the Unix epoch.
    pub updated_ms: u64,
}

impl TokenBucket {
    /// A bucket of `capacity` tokens that refills by `refill` tokens every `period_ms` milliseconds.
    ///
    /// # Errors
    /// A zero, a period outside 1 ms to 366 days, or numbers whose products go beyond 2^53.
    pub fn new(capacity: u64, refill: u64, period_ms: u64) -> Result<Self, LimitError> {
        let capacity = positive("capacity", capacity)?;
        let refill_mt = positive("refill", refill)?.checked_mul(MILLI).ok_or(LimitError::TooLarge { what: "refill" })?;
        let refill = Rate::new(refill_mt, period_ms)?;
        let bucket = Self {
            capacity_mt: countable("capacity", capacity.checked_mul(MILLI))?,
            refill_mt: refill.units(),
            per_ms: refill.per_ms(),
        };
        // The largest product of the arithmetic below: all that can be spent, times the denominator, plus one step.
        let product = bucket.capacity_mt.checked_mul(bucket.per_ms);
        countable("capacity × refill period", product.and_then(|product| product.checked_add(bucket.refill_mt + bucket.per_ms)))?;
        Ok(bucket)
    }

    /// Tokens in a full bucket.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.capacity_mt / MILLI
    }

    /// Thousandths of a token that come back every [`TokenBucket::per_ms`].
    #[must_use]
    pub fn refill_mt(&self) -> u64 {
        self.refill_mt
    }

    /// The milliseconds of [`TokenBucket::refill_mt`]; the fraction is reduced.
    #[must_use]
    pub fn per_ms(&self) -> u64 {
        self.per_ms
    }

    /// How long an empty bucket takes to fill, in milliseconds, rounded up.
    #[must_use]
    pub fn time_to_full_ms(&self) -> u64 {
        self.drain_ms(self.capacity_mt, 0)
    }

    #[expect(clippy::unused_self, reason = "the same question for every algorithm")]
    pub(crate) fn fresh(&self, now_ms: u64) -> State {
        State { spent_mt: 0, remainder: 0, updated_ms: now_ms }
    }

    /// A clock that was set back by up to [`crate::TTL_SLACK_MS`] refills nothing, and the next admission counts
    /// on from where it stands now: all refills together never exceed the clock's own way forward. Set back
    /// further, the subject starts clean, which forgets at most one capacity: denials are not written, so a
    /// bucket of the far future would otherwise deny until then.
    pub(crate) fn at(&self, state: State, now_ms: u64) -> State {
        if state.updated_ms > now_ms.saturating_add(crate::TTL_SLACK_MS) {
            return self.fresh(now_ms);
        }
        let elapsed_ms = now_ms.saturating_sub(state.updated_ms);
        // A debt of a far larger bucket, before the policy changed, is cut to what can be multiplied exactly.
        let state = State { spent_mt: state.spent_mt.min(MAX_EXACT / 2 / self.per_ms), ..state };
        // A remainder of another policy's fraction is less than a millitoken whatever it says.
        let remainder = state.remainder.min(self.per_ms.saturating_sub(1));
        // Asked before it is multiplied: what is full stays full, and no product grows with idle time.
        if elapsed_ms >= self.drain_ms(state.spent_mt, remainder) {
            return self.fresh(now_ms);
        }
        let refilled = elapsed_ms.saturating_mul(self.refill_mt).saturating_add(remainder);
        State {
            spent_mt: state.spent_mt.saturating_sub(refilled / self.per_ms),
            remainder: refilled % self.per_ms,
            updated_ms: now_ms,
        }
    }

    pub(crate) fn remaining(&self, state: &State) -> u64 {
        self.capacity_mt.saturating_sub(state.spent_mt) / MILLI
    }

    pub(crate) fn wait_ms(&self, state: &State, cost: u64) -> u64 {
        let needed_mt = state.spent_mt.saturating_add(cost.saturating_mul(MILLI));
        self.drain_ms(needed_mt.saturating_sub(self.capacity_mt), state.remainder)
    }

    pub(crate) fn reset_ms(&self, state: &State) -> u64 {
        self.drain_ms(state.spent_mt, state.remainder)
    }

    /// Milliseconds until `amount_mt` have come back, of which `remainder` already has; rounded up.
    fn drain_ms(&self, amount_mt: u64, remainder: u64) -> u64 {
        amount_mt.saturating_mul(self.per_ms).saturating_sub(remainder).div_ceil(self.refill_mt)
    }
}

impl State {
    pub(crate) fn spend(self, tokens: u64) -> Self {
        Self { spent_mt: self.spent_mt.saturating_add(tokens.saturating_mul(MILLI)), ..self }
    }
}
