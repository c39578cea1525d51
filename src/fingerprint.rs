//! A counter's name in 64 bits, for tables that cannot hold names.
//!
//! SipHash over the rule's name, the tag and the subject. Two counters with one fingerprint would share a
//! denial or a local bucket; among a million live subjects the chance of any such pair is below 1 in 30 million,
//! and to hit a given one a caller would have to try about 2^63 names.

use std::hash::{DefaultHasher, Hash, Hasher};
use weir_policy::{Placement, PlannedCharge, Policy};

/// The fingerprint of the counter that `charge` charges; never 0.
#[must_use]
pub fn counter(policy: &Policy, charge: &PlannedCharge) -> u64 {
    let mut hasher = DefaultHasher::new();
    if let Some(limit) = policy.limit(charge.limit) {
        limit.wire.rule.hash(&mut hasher);
    }
    charge.tag.hash(&mut hasher);
    charge.subject.hash(&mut hasher);
    hasher.finish().max(1)
}

/// The fingerprint of what a policy of one version says about a counter; never 0.
#[must_use]
pub fn under_version(counter: u64, version: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    (counter, version).hash(&mut hasher);
    hasher.finish().max(1)
}

/// The fingerprint of a route's cap at one placement; never 0. Each placement has a cap of its own: a request that
/// passes both would pay a common one twice.
#[must_use]
pub fn cap(route: &str, placement: Placement) -> u64 {
    let mut hasher = DefaultHasher::new();
    ("cap", route, placement == Placement::Edge).hash(&mut hasher);
    hasher.finish().max(1)
}

/// The fingerprint of a whole check, for coalescing within one policy.
#[must_use]
pub fn check(charges: &[PlannedCharge]) -> u64 {
    let mut hasher = DefaultHasher::new();
    charges.hash(&mut hasher);
    hasher.finish()
}
