//! What a denied caller is told.

use super::{Flow, Moment, Step, headers};
use crate::callout::{Denial, Undecided};
use crate::engine::Engine;
use crate::quota_headers::QuotaHeaders;
use crate::reply::{Denied, Reply};
use crate::telemetry::Disposition;
use weir_limit::Limit;
use weir_policy::{PlannedCharge, Policy, PolicyLimit, QuotaHeaders as When, RuleId};
use weir_wire::Quota;

/// What denies, and for how long: a rule of the policy, or a cap that belongs to none.
pub(super) struct Denier<'a> {
    pub(super) rule: Option<RuleId>,
    pub(super) name: &'a str,
    pub(super) limit: &'a Limit,
    pub(super) retry_ms: u64,
}

impl<'a> Denier<'a> {
    pub(super) fn rule(policy: &'a Policy, charge: &PlannedCharge, retry_ms: u64) -> Option<Self> {
        let PolicyLimit { rule, wire, limit, .. } = policy.limit(charge.limit)?;
        Some(Self { rule: Some(*rule), name: &wire.rule, limit, retry_ms })
    }

    /// It has nothing left, until it admits again: all that is known of a denial that was not just asked for.
    fn nothing_left(&self) -> QuotaHeaders {
        let quota = Quota { remaining: 0, reset_ms: self.retry_ms, wait_ms: self.retry_ms, shadow_denied: 0 };
        QuotaHeaders::new(std::iter::once((self.name, self.limit, quota)))
    }
}

impl Engine {
    /// The store has denied, now or a moment ago.
    pub(super) fn deny(&mut self, moment: Moment<'_>, policy: &Policy, flow: &Flow, denial: &Denial) -> Step {
        let charge = flow.charges.get(denial.charge);
        let Some(denier) = charge.and_then(|charge| Denier::rule(policy, charge, denial.retry_ms)) else {
            return Step::Reply(Box::new(Reply::undecided(Undecided::AnswerMalformed, moment.seed())));
        };
        let (disposition, quota_headers) = if denial.is_remembered() {
            (Disposition::DeniedRemembered, denier.nothing_left())
        } else {
            (Disposition::Denied, headers(policy, flow, &denial.quotas))
        };
        self.tell_denied(moment, policy, flow, &denier, disposition, Some(quota_headers))
    }

    /// A local rule has denied.
    pub(super) fn deny_locally(&mut self, moment: Moment<'_>, policy: &Policy, flow: &Flow, denier: &Denier<'_>) -> Step {
        self.tell_denied(moment, policy, flow, denier, Disposition::DeniedLocally, Some(denier.nothing_left()))
    }

    pub(super) fn tell_denied(
        &mut self,
        moment: Moment<'_>,
        policy: &Policy,
        flow: &Flow,
        denier: &Denier<'_>,
        disposition: Disposition,
        quota_headers: Option<QuotaHeaders>,
    ) -> Step {
        self.count(flow.route, denier.rule, disposition);
        let denied = Denied {
            rule: denier.name,
            limit: denier.limit,
            retry_ms: denier.retry_ms,
            quota_headers: quota_headers.filter(|_| flow.verified && policy.quota_headers() != When::Never),
            verified: flow.verified,
            version: policy.version(),
            seed: moment.seed(),
        };
        Step::Reply(Box::new(denied.reply()))
    }
}
