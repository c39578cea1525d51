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
    pub(super) wait_ms: u64,
}

impl<'a> Denier<'a> {
    pub(super) fn rule(policy: &'a Policy, charge: &PlannedCharge, wait_ms: u64) -> Option<Self> {
        let PolicyLimit { rule, wire, limit, .. } = policy.limit(charge.limit)?;
        Some(Self { rule: Some(*rule), name: &wire.rule, limit, wait_ms })
    }

    /// What is known of a denial that was not just asked for: a request of one unit had no unit left.
    fn quota_headers(&self, cost: u64) -> QuotaHeaders {
        let quota = Quota { remaining: 0, reset_ms: self.wait_ms, wait_ms: self.wait_ms, shadow_denied: 0 };
        let headers = QuotaHeaders::new(std::iter::once((self.name, self.limit, quota)));
        if cost == 1 { headers } else { headers.without_remaining() }
    }
}

impl Engine {
    /// The store has denied, now or a moment ago.
    pub(super) fn deny(&mut self, moment: Moment<'_>, policy: &Policy, flow: &Flow, denial: &Denial) -> Step {
        let denier = |index, wait_ms| {
            let charge: &PlannedCharge = flow.charges.get(index)?;
            Some((Denier::rule(policy, charge, wait_ms)?, charge.cost))
        };
        let (Some((first, cost)), Some((longest, _))) =
            (denier(denial.charge, denial.wait_ms), denier(denial.longest, denial.retry_ms))
        else {
            return Step::Reply(Box::new(Reply::undecided(Undecided::AnswerMalformed, moment.seed())));
        };
        let (disposition, quota_headers) = if denial.is_remembered() {
            (Disposition::DeniedRemembered, first.quota_headers(cost))
        } else {
            (Disposition::Denied, headers(policy, flow, &denial.quotas))
        };
        self.tell_denied(moment, policy, flow, &first, &longest, (disposition, Some(quota_headers)))
    }

    /// A local rule has denied.
    pub(super) fn deny_locally(
        &mut self,
        moment: Moment<'_>,
        policy: &Policy,
        flow: &Flow,
        charge: Option<&PlannedCharge>,
        wait_ms: u64,
    ) -> Step {
        let denier = charge.and_then(|charge| Some((Denier::rule(policy, charge, wait_ms)?, charge.cost)));
        let Some((denier, cost)) = denier else {
            return Step::Reply(Box::new(Reply::undecided(Undecided::AnswerMalformed, moment.seed())));
        };
        let quota_headers = denier.quota_headers(cost);
        self.tell_denied(moment, policy, flow, &denier, &denier, (Disposition::DeniedLocally, Some(quota_headers)))
    }

    /// `first` is named, `longest` must be waited for.
    pub(super) fn tell_denied(
        &mut self,
        moment: Moment<'_>,
        policy: &Policy,
        flow: &Flow,
        first: &Denier<'_>,
        longest: &Denier<'_>,
        (disposition, quota_headers): (Disposition, Option<QuotaHeaders>),
    ) -> Step {
        self.count(flow.route, first.rule, disposition);
        let denied = Denied {
            rule: first.name,
            limit: longest.limit,
            retry_ms: longest.wait_ms,
            quota_headers: quota_headers.filter(|_| flow.verified && policy.quota_headers() != When::Never),
            verified: flow.verified,
            version: policy.version(),
            seed: if flow.verified { moment.seed() } else { flow.stranger_seed(moment, longest.wait_ms) },
        };
        Step::Reply(Box::new(denied.reply()))
    }
}
