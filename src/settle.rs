//! The response phase: what could only be known now.
//!
//! A failed authentication (401 or 403, whoever said it) charges the caller's address, never the tenant that
//! it claimed to be: otherwise a stranger who guesses a tenant's key id could drain the tenant's quota. It
//! denies nobody by itself: routes that list the rule do, so that one bad neighbour behind an address does not
//! lock out those who have good tokens. An address that has used the rule up is not charged any more, so a
//! flood of bad tokens costs the store no more calls than any other flood.

use crate::callout::PendingCheck;
use crate::engine::Engine;
use crate::facts::Facts;
use crate::flow::negative_fingerprint;
use crate::identity;
use crate::negative_cache::Standing;
use crate::quota_headers::QuotaHeaders;
use crate::shared::SharedData;
use crate::telemetry::Counter;
use std::rc::Rc;
use weir_policy::RuleId;

impl Engine {
    /// A response's headers have arrived: `status` reads its status, if it has one, and `facts` are what can still be
    /// asked. What comes back is to be added to them.
    pub fn response(
        &mut self,
        stream: u32,
        status: impl FnOnce() -> Option<u32>,
        facts: &dyn Facts,
        shared: &dyn SharedData,
        now_ms: impl FnOnce() -> u64,
    ) -> Option<QuotaHeaders> {
        let flow = self.take_flow(stream)?;
        if let Some(rule) = flow.on_failure
            && matches!(status(), Some(401 | 403))
        {
            let counter = self.charge_failure(rule, facts, shared, now_ms());
            self.telemetry().count(counter);
        }
        flow.quota_headers
    }

    fn charge_failure(&mut self, rule: RuleId, facts: &dyn Facts, shared: &dyn SharedData, now_ms: u64) -> Counter {
        let policy = self.policy();
        let Some(charge) = policy.resolve_failure(rule, &identity::address(facts)) else { return Counter::FailuresDropped };
        let (fingerprint, cost) = (negative_fingerprint(&policy, &charge), charge.cost);
        let cache = self.negative_cache();
        let asks = match cache.standing(shared, fingerprint, cost, now_ms) {
            Standing::Open => false,
            Standing::RanOut if cache.claim(shared, fingerprint, cost, policy.deadline_ms(), now_ms) => true,
            Standing::RanOut | Standing::Denied(_) | Standing::BeingAsked => return Counter::FailuresBeyondLimit,
        };
        match self.push(PendingCheck::new(Rc::new([charge]), vec![(fingerprint, asks)], None)) {
            Ok(()) => Counter::FailuresCharged,
            Err(_) => {
                self.negative_cache().clear(shared, fingerprint);
                Counter::FailuresDropped
            }
        }
    }
}
