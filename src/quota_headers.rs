//! What a caller is told about its quotas: `RateLimit-Policy` and `RateLimit`, after the IETF's
//! draft-ietf-httpapi-ratelimit-headers: a list of policies by the rule's name, with `q` the quota, `w` its
//! window in seconds, `r` what remains and `t` the seconds until it is whole again; of a denial that was
//! remembered, until the request has room.
//!
//! Rule names are letters, digits, `_` and `-` by the policy's compiler, so nothing here needs escaping.

use std::fmt::Write;
use weir_limit::Limit;
use weir_wire::Quota;

/// The two headers' values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuotaHeaders {
    /// `RateLimit-Policy`.
    pub policy: String,
    /// `RateLimit`; empty when it is not known.
    pub remaining: String,
}

impl QuotaHeaders {
    /// From the rules of a decision with how they stand.
    #[must_use]
    pub fn new<'a>(rules: impl Iterator<Item = (&'a str, &'a Limit, Quota)>) -> Self {
        let mut headers = Self::default();
        for (name, limit, Quota { remaining, reset_ms, .. }) in rules {
            let (capacity, window_s, reset_s) = (limit.capacity(), seconds(limit.period_ms()), seconds(reset_ms));
            // Writing to a String does not fail.
            let _ = write!(separated(&mut headers.policy), "\"{name}\";q={capacity};w={window_s}");
            let _ = write!(separated(&mut headers.remaining), "\"{name}\";r={remaining};t={reset_s}");
        }
        headers
    }

    /// Without what remains, where that is not known.
    #[must_use]
    pub fn without_remaining(self) -> Self {
        Self { remaining: String::new(), ..self }
    }

    /// The headers that have something to say, by their names.
    pub fn into_pairs(self) -> impl Iterator<Item = (&'static str, String)> {
        [("ratelimit-policy", self.policy), ("ratelimit", self.remaining)].into_iter().filter(|(_, value)| !value.is_empty())
    }
}

/// Whole seconds, rounded up: who comes back then is not early.
#[must_use]
pub fn seconds(ms: u64) -> u64 {
    ms.div_ceil(1_000)
}

fn separated(list: &mut String) -> &mut String {
    if !list.is_empty() {
        list.push_str(", ");
    }
    list
}
