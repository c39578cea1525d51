//! Batches, in the words of a test.

use weir_authority::DecideBatch;
use weir_wire::{ChargeRef, Check, DecideRequest, Numbers, Outcome, Principal, RuleLimit, Subject, Tag, VERSION, Verdict};

const DAY_MS: u64 = 86_400_000;

/// A bucket that does not refill while a test runs.
pub(crate) fn bucket(rule: &str, capacity: u64) -> RuleLimit {
    RuleLimit { rule: rule.to_owned(), numbers: Numbers::TokenBucket { capacity, refill: 1, period_ms: DAY_MS } }
}

/// A window that does not end while a test runs.
pub(crate) fn window(rule: &str, limit: u64) -> RuleLimit {
    RuleLimit { rule: rule.to_owned(), numbers: Numbers::FixedWindow { limit, window_ms: 366 * DAY_MS } }
}

/// Charges every limit once, for the tenant as a whole.
pub(crate) fn whole(tenant: &str, limits: &[RuleLimit], hits: u32) -> DecideBatch {
    let charges = limits.iter().map(|limit| (limit.clone(), Subject::Whole, 1)).collect();
    batch(vec![(Tag::Tenant(tenant.to_owned()), hits, charges)])
}

/// One check for a user of a tenant, under one limit.
pub(crate) fn user(tenant: &str, user: &str, limit: RuleLimit, cost: u64) -> DecideBatch {
    batch(vec![(Tag::Tenant(tenant.to_owned()), 1, vec![(limit, jwt(user), cost)])])
}

pub(crate) fn jwt(sub: &str) -> Subject {
    Subject::Principal(Principal::Jwt(sub.to_owned()))
}

/// A check's limits, each with whom it counts and the cost.
type Charges = Vec<(RuleLimit, Subject, u64)>;

/// Checks with their tag, hits and charges.
pub(crate) fn batch(checks: Vec<(Tag, u32, Charges)>) -> DecideBatch {
    let mut request = DecideRequest { version: VERSION, limits: Vec::new(), checks: Vec::new() };
    for (id, (tag, hits, charges)) in (0..).zip(checks) {
        let charges = charges.into_iter().map(|(limit, subject, cost)| {
            let index = request.limits.iter().position(|known| *known == limit).unwrap_or_else(|| {
                request.limits.push(limit);
                request.limits.len() - 1
            });
            ChargeRef { limit: u32::try_from(index).unwrap(), subject, cost }
        });
        let charges = charges.collect();
        request.checks.push(Check { id, hits, tag, charges });
    }
    DecideBatch::try_from(request).unwrap()
}

/// The verdict of a check that was decided.
pub(crate) fn verdict(outcome: Outcome) -> Verdict {
    match outcome {
        Outcome::Verdict(verdict) => verdict,
        Outcome::Failure(failure) => panic!("not decided: {failure:?}"),
    }
}
