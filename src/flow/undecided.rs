//! Nobody decided: the route says what that means.

use super::deny::Denier;
use super::{Flow, Moment, Step, local_charge};
use crate::callout::Undecided;
use crate::engine::Engine;
use crate::fingerprint;
use crate::local_buckets::{LocalCharge, LocalDenial};
use crate::reply::Reply;
use crate::telemetry::{Counter, Disposition};
use weir_limit::Limit;
use weir_policy::{Policy, Route, Unreachable};

/// The name of the fallback's cap in denials, where a rule's name stands.
const CAP_NAME: &str = "fallback_cap";

impl Engine {
    pub(super) fn undecided(&mut self, moment: Moment<'_>, policy: &Policy, flow: &Flow, because: Undecided) -> Step {
        self.telemetry().count(Counter::Undecided(because));
        let Some(route) = flow.route.and_then(|id| policy.route(id)) else { return Step::Continue };
        // Where all rules only watch there was nothing to decide.
        if flow.charges.iter().all(|charge| charge.shadow) {
            self.count(flow.route, None, Disposition::Open);
            return Step::Continue;
        }
        match route.unreachable {
            Unreachable::Open => {
                self.count(flow.route, None, Disposition::Open);
                Step::Continue
            }
            Unreachable::Closed => {
                self.count(flow.route, None, Disposition::Closed);
                Step::Reply(Box::new(Reply::undecided(because, moment.seed())))
            }
            Unreachable::Fallback { cap } => self.fall_back(moment, policy, flow, route, cap),
        }
    }

    /// This gateway's share of each rule, and the route's cap over all callers.
    fn fall_back(&mut self, moment: Moment<'_>, policy: &Policy, flow: &Flow, route: &Route, cap: Limit) -> Step {
        let fingerprint = fingerprint::cap(&route.name, self.placement());
        let cap = LocalCharge { fingerprint, limit: cap, cost: route.cost, whole_gateway: true, shadow: false };
        let shares = flow.charges.iter().filter_map(|charge| local_charge(policy, charge, |limit| limit.share));
        let charges: Vec<LocalCharge> = shares.chain([cap]).collect();
        let Err(LocalDenial { charge, wait_ms }) = self.local_buckets().spend(moment.shared, &charges, moment.now_ms) else {
            self.count(flow.route, None, Disposition::FallbackAllowed);
            return Step::Continue;
        };
        let limit = charges.get(charge).map_or(&cap.limit, |charge| &charge.limit);
        let denier = match flow.charges.get(charge).and_then(|charge| Denier::rule(policy, charge, wait_ms)) {
            Some(rule) => Denier { limit, ..rule },
            None => Denier { rule: None, name: CAP_NAME, limit, wait_ms },
        };
        self.tell_denied(moment, policy, flow, &denier, &denier, (Disposition::FallbackDenied, None))
    }
}
