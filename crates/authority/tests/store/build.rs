//! Batches, in the words of a test.

use weir_authority::DecideBatch;
use weir_wire::{ChargeRef, Check, DecideRequest, Numbers, Outcome, Principal, RuleLimit, Subject, Tag, VERSION, Verdict};

const DAY_MS: u64 = 86_400_000;

/// A rule by its numbers.
pub(crate) fn rule(rule: &str, numbers: Numbers) -> RuleLimit {
    RuleLimit { rule: rule.to_owned(), numbers }
}

/// A bucket that does not refill while a test runs.
pub(crate) fn bucket(name: &str, capacity: u64) -> RuleLimit {
    rule(name, Numbers::TokenBucket { capacity, refill: 1, period_ms: DAY_MS })
}

/// A window that does not end while a test runs.
pub(crate) fn window(name: &str, limit: u64) -> RuleLimit {
    rule(name, Numbers::FixedWindow { limit, window_ms: 366 * DAY_MS })
}

/// A log of a window that does not end while a test runs.
pub(crate) fn log(name: &str, limit: u64) -> RuleLimit {
    rule(name, Numbers::SlidingLog { limit, window_ms: 366 * DAY_MS })
}

/// A queue of which nothing leaves while a test runs: a turn takes a thousand seconds.
pub(crate) fn queue(name: &str, depth: u64) -> RuleLimit {
    rule(name, Numbers::LeakyQueue { depth, leak: 1, period_ms: 1_000_000 })
}

/// A rule of each algorithm, all with the same capacity, of which nothing comes back while a test runs.
pub(crate) fn one_of_each(name: &str, capacity: u64) -> [RuleLimit; 7] {
    [
        bucket(name, capacity),
        window(name, capacity),
        rule(name, Numbers::CalendarMonth { limit: capacity }),
        rule(name, Numbers::SlidingWindow { limit: capacity, window_ms: 366 * DAY_MS }),
        log(name, capacity),
        rule(name, Numbers::Gcra { burst: capacity, refill: 1, period_ms: DAY_MS }),
        queue(name, capacity),
    ]
}

/// The same rules with a number behind their names, so that each has a counter of its own.
pub(crate) fn numbered(limits: impl IntoIterator<Item = RuleLimit>) -> Vec<RuleLimit> {
    let numbered = |(nth, limit): (usize, RuleLimit)| RuleLimit { rule: format!("{}-{nth}", limit.rule), ..limit };
    limits.into_iter().enumerate().map(numbered).collect()
}

/// Charges every limit once, for the tenant as a whole.
pub(crate) fn whole(tenant: &str, limits: &[RuleLimit], hits: u32) -> DecideBatch {
    DecideBatch::try_from(request(tenant, limits, hits)).unwrap()
}

/// Charges the first limit as a rule that only watches, and then the others.
pub(crate) fn watched(tenant: &str, limits: &[RuleLimit], hits: u32) -> DecideBatch {
    let mut request = request(tenant, limits, hits);
    request.checks[0].charges[0].shadow = true;
    DecideBatch::try_from(request).unwrap()
}

fn request(tenant: &str, limits: &[RuleLimit], hits: u32) -> DecideRequest {
    let charges = (0..limits.len()).map(|nth| ChargeRef {
        limit: u32::try_from(nth).unwrap(),
        subject: Subject::Whole,
        cost: 1,
        shadow: false,
    });
    let check = Check { id: 0, hits, tag: Tag::Tenant(tenant.to_owned()), charges: charges.collect() };
    DecideRequest { version: VERSION, limits: limits.to_vec(), checks: vec![check] }
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
            ChargeRef { limit: u32::try_from(index).unwrap(), subject, cost, shadow: false }
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
