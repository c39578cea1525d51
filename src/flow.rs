//! One request: facts in, [`Step`] out.
//!
//! Local answers come first, each cheaper than the next: local rules, then denials remembered, then the
//! store. Whatever comes of it, the request ends in [`Engine::conclude`], and one that nobody decided in its
//! route's mode.

use crate::callout::{Outcome, PendingCheck, Undecided, Waiter};
use crate::engine::Engine;
use crate::facts::Facts;
use crate::fingerprint;
use crate::identity::{self, Needs};
use crate::local_buckets::{LocalCharge, LocalDenial};
use crate::negative_cache::Standing;
use crate::quota_headers::QuotaHeaders;
use crate::reply::{Denied, Reply};
use crate::route::{self, Found};
use crate::shared::SharedData;
use crate::telemetry::{Counter, Disposition};
use std::rc::Rc;
use weir_limit::Limit;
use weir_policy::policy::AnonymousMode;
use weir_policy::{
    Anonymous, Identity, Placement, PlannedCharge, Policy, QuotaHeaders as When, Resolution, Route, RouteId, RuleId, SubjectKind,
    Unreachable,
};
use weir_wire::Quota;

/// What the host is to do with the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Let it pass.
    Continue,
    /// Answer it.
    Reply(Box<Reply>),
    /// Hold it until [`Engine::next_ready`] speaks of it.
    Wait,
}

/// What is kept of a request while it waits, and until its response.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    route: Option<RouteId>,
    verified: bool,
    charges: Rc<[PlannedCharge]>,
    /// In the negative cache, beside `charges`.
    counters: Rc<[u64]>,
    deadline_ms: u64,
    /// What the response is to carry.
    pub(crate) quota_headers: Option<QuotaHeaders>,
    /// What a response that says 401 or 403 charges.
    pub(crate) on_failure: Option<PlannedCharge>,
}

/// The name of the fallback's cap in denials, where a rule's name stands.
const CAP_NAME: &str = "fallback_cap";

impl Engine {
    /// A request's headers have arrived.
    pub fn request(&mut self, stream: u32, facts: &dyn Facts, shared: &dyn SharedData, now_ms: u64) -> Step {
        let policy = self.policy();
        let id = match route::find(&policy, facts) {
            Found::Route(id) => id,
            Found::Unmatched => return Step::Continue,
            Found::Unknown => {
                self.count(None, None, Disposition::UnknownRoute);
                return Step::Reply(Box::new(Reply::unknown_route(seed(stream, now_ms))));
            }
        };
        let Some(route) = policy.route(id) else { return Step::Continue };
        let Some(needs) = self.needs(&policy, route) else { return Step::Continue };
        let caller = identity::caller(policy.identity(), facts, needs);

        let mut flow = Flow {
            route: Some(id),
            verified: matches!(caller.identity, Identity::Verified { .. }),
            deadline_ms: now_ms.saturating_add(policy.deadline_ms()),
            ..Flow::default()
        };
        // A request that pays for the attempt does not pay again for its failure.
        if self.placement() == Placement::Edge
            && let Some(rule) = route.failures.filter(|rule| !route.rules(Placement::Edge).contains(rule))
        {
            flow.on_failure = policy.resolve_failure(rule, &caller.address);
        }

        let step = match policy.resolve(id, self.placement(), &caller) {
            Resolution::Unlimited => Step::Continue,
            Resolution::Refused { status, because } => {
                let disposition = match because {
                    Anonymous::Missing => Disposition::Unidentified,
                    Anonymous::Malformed => Disposition::Misidentified,
                };
                self.count(Some(id), None, disposition);
                Step::Reply(Box::new(Reply::unidentified(status, because)))
            }
            Resolution::Charged(plan) => {
                flow.charges = plan.store.into();
                flow.counters = flow.charges.iter().map(|charge| negative_fingerprint(&policy, charge)).collect();
                match self.charge_local(&policy, &plan.local, shared, now_ms) {
                    Err(denial) => self.denied_locally(stream, &flow, &plan.local, denial, now_ms),
                    Ok(()) if flow.charges.is_empty() => {
                        self.count(Some(id), None, Disposition::Allowed);
                        Step::Continue
                    }
                    Ok(()) => match self.ask(stream, &flow, shared, now_ms) {
                        Some(outcome) => self.conclude(stream, &mut flow, outcome, shared, now_ms),
                        None => Step::Wait,
                    },
                }
            }
        };
        let awaited = step == Step::Wait || (step == Step::Continue && flow.has_response_work());
        if awaited {
            self.keep(stream, flow);
        }
        step
    }

    /// Which facts the route's rules at this placement need; `None` when there is nothing to do.
    fn needs(&self, policy: &Policy, route: &Route) -> Option<Needs> {
        let rules = route.rules(self.placement());
        match self.placement() {
            Placement::Edge => {
                (!rules.is_empty() || route.failures.is_some()).then_some(Needs { identity: false, address: true })
            }
            Placement::Quota => {
                let by_identity = |id: &RuleId| policy.rule(*id).is_some_and(|rule| rule.subject != SubjectKind::Gateway);
                let identity = rules.iter().any(by_identity);
                let address = identity && matches!(route.anonymous, AnonymousMode::Rule(_));
                (!rules.is_empty()).then_some(Needs { identity, address })
            }
        }
    }

    /// Looks for a denial, or queues the question. `None`: the request waits.
    pub(crate) fn ask(&mut self, stream: u32, flow: &Flow, shared: &dyn SharedData, now_ms: u64) -> Option<Outcome> {
        let lease_ms = flow.deadline_ms.saturating_sub(now_ms);
        let mut denied: Option<(usize, u64)> = None;
        let mut run_out = Vec::new();
        let mut being_asked = false;
        for (index, (charge, fingerprint)) in flow.charges.iter().zip(flow.counters.iter()).enumerate() {
            match self.negative_cache().standing(shared, *fingerprint, charge.cost, now_ms) {
                Standing::Open => {}
                Standing::Denied(retry_ms) => {
                    let (first, longest_ms) = denied.unwrap_or((index, 0));
                    denied = Some((first, longest_ms.max(retry_ms)));
                }
                Standing::RanOut => run_out.push((*fingerprint, charge.cost)),
                Standing::BeingAsked => being_asked = true,
            }
        }
        if let Some((charge, retry_ms)) = denied {
            return Some(Outcome::remembered(charge, retry_ms));
        }
        let waiter = Waiter { stream, deadline_ms: flow.deadline_ms };
        let mut claim =
            |(fingerprint, cost): &(u64, u64)| self.negative_cache().claim(shared, *fingerprint, *cost, lease_ms, now_ms);
        if being_asked || !run_out.iter().all(&mut claim) {
            return self.park(waiter).err().map(Outcome::Undecided);
        }
        let asks = |fingerprint: &u64| (*fingerprint, run_out.iter().any(|(run_out, _)| run_out == fingerprint));
        let counters = flow.counters.iter().map(asks).collect();
        self.push(PendingCheck::new(Rc::clone(&flow.charges), counters, Some(waiter))).err().map(Outcome::Undecided)
    }

    /// What `outcome` means for the request.
    pub(crate) fn conclude(
        &mut self,
        stream: u32,
        flow: &mut Flow,
        outcome: Outcome,
        shared: &dyn SharedData,
        now_ms: u64,
    ) -> Step {
        let policy = self.policy();
        match outcome {
            Outcome::Admitted(quotas) => {
                if flow.verified && policy.quota_headers() == When::Always {
                    flow.quota_headers = Some(headers(&policy, flow, &quotas));
                }
                self.count(flow.route, None, Disposition::Allowed);
                Step::Continue
            }
            Outcome::Denied { charge, retry_ms, quotas } => {
                let disposition = if quotas.is_empty() { Disposition::DeniedRemembered } else { Disposition::Denied };
                self.denied(stream, &policy, flow, charge, retry_ms, &quotas, disposition, now_ms)
            }
            Outcome::Undecided(because) => self.undecided(stream, &policy, flow, because, shared, now_ms),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what the caller is told, and what is counted")]
    fn denied(
        &mut self,
        stream: u32,
        policy: &Policy,
        flow: &Flow,
        charge: usize,
        retry_ms: u64,
        quotas: &[Quota],
        disposition: Disposition,
        now_ms: u64,
    ) -> Step {
        let rule_and_limit = flow.charges.get(charge).and_then(|charge| rule_and_limit(policy, charge));
        let Some((rule, name, limit)) = rule_and_limit else { return Step::Continue };
        self.count(flow.route, Some(rule), disposition);
        let told = flow.verified && policy.quota_headers() != When::Never;
        let quota_headers = told.then(|| match quotas {
            // Only the denial was remembered: the rule has nothing left, until then.
            [] => QuotaHeaders::new(std::iter::once((
                name,
                limit,
                Some(Quota { remaining: 0, reset_ms: retry_ms, wait_ms: retry_ms }),
            ))),
            quotas => headers(policy, flow, quotas),
        });
        let seed = seed(stream, now_ms);
        let version = policy.version();
        Step::Reply(Box::new(
            Denied { rule: name, limit, retry_ms, quota_headers, verified: flow.verified, version, seed }.reply(),
        ))
    }

    fn charge_local(
        &mut self,
        policy: &Policy,
        charges: &[PlannedCharge],
        shared: &dyn SharedData,
        now_ms: u64,
    ) -> Result<(), LocalDenial> {
        if charges.is_empty() {
            return Ok(());
        }
        let charges: Vec<LocalCharge> =
            charges.iter().filter_map(|charge| local_charge(policy, charge, |limit| limit.limit)).collect();
        self.local_buckets().spend(shared, &charges, now_ms)
    }

    fn denied_locally(&mut self, stream: u32, flow: &Flow, charges: &[PlannedCharge], denial: LocalDenial, now_ms: u64) -> Step {
        let flow = Flow { route: flow.route, verified: flow.verified, charges: charges.into(), ..Flow::default() };
        let policy = self.policy();
        self.denied(stream, &policy, &flow, denial.charge, denial.retry_ms, &[], Disposition::DeniedLocally, now_ms)
    }

    /// Nobody decided: the route says what that means.
    fn undecided(
        &mut self,
        stream: u32,
        policy: &Policy,
        flow: &Flow,
        because: Undecided,
        shared: &dyn SharedData,
        now_ms: u64,
    ) -> Step {
        self.telemetry().count(Counter::Undecided(because));
        let Some(route) = flow.route.and_then(|id| policy.route(id)) else { return Step::Continue };
        match route.unreachable {
            Unreachable::Open => {
                self.count(flow.route, None, Disposition::Open);
                Step::Continue
            }
            Unreachable::Closed => {
                self.count(flow.route, None, Disposition::Closed);
                Step::Reply(Box::new(Reply::undecided(because, seed(stream, now_ms))))
            }
            Unreachable::Fallback { cap } => self.fall_back(stream, policy, flow, route, cap, shared, now_ms),
        }
    }

    /// This gateway's share of each rule, and the route's cap over all callers.
    #[expect(clippy::too_many_arguments, reason = "private, and each is one thing of the request")]
    fn fall_back(
        &mut self,
        stream: u32,
        policy: &Policy,
        flow: &Flow,
        route: &Route,
        cap: Limit,
        shared: &dyn SharedData,
        now_ms: u64,
    ) -> Step {
        let cap = LocalCharge { fingerprint: fingerprint::cap(&route.name), limit: cap, cost: route.cost, whole_gateway: true };
        let shares = flow.charges.iter().filter_map(|charge| local_charge(policy, charge, |limit| limit.share));
        let charges: Vec<LocalCharge> = shares.chain([cap]).collect();
        match self.local_buckets().spend(shared, &charges, now_ms) {
            Ok(()) => {
                self.count(flow.route, None, Disposition::FallbackAllowed);
                Step::Continue
            }
            Err(LocalDenial { charge, retry_ms }) => {
                let denying = flow.charges.get(charge).and_then(|charge| rule_and_limit(policy, charge));
                self.count(flow.route, denying.map(|(rule, ..)| rule), Disposition::FallbackDenied);
                let limit = charges.get(charge).map_or(cap.limit, |charge| charge.limit);
                let rule = denying.map_or(CAP_NAME, |(_, name, _)| name);
                let (version, seed) = (policy.version(), seed(stream, now_ms));
                let denied =
                    Denied { rule, limit: &limit, retry_ms, quota_headers: None, verified: flow.verified, version, seed };
                Step::Reply(Box::new(denied.reply()))
            }
        }
    }

    fn count(&mut self, route: Option<RouteId>, rule: Option<RuleId>, disposition: Disposition) {
        self.telemetry().count(Counter::Decisions { route, rule, disposition });
    }
}

impl Flow {
    pub(crate) fn has_response_work(&self) -> bool {
        self.quota_headers.is_some() || self.on_failure.is_some()
    }
}

/// The counter of `charge` in the negative cache: a new policy is not bound by the denials of the old one.
pub(crate) fn negative_fingerprint(policy: &Policy, charge: &PlannedCharge) -> u64 {
    fingerprint::under_version(fingerprint::counter(policy, charge), policy.version())
}

fn local_charge(
    policy: &Policy,
    charge: &PlannedCharge,
    numbers: impl Fn(&weir_policy::PolicyLimit) -> Limit,
) -> Option<LocalCharge> {
    Some(LocalCharge {
        fingerprint: fingerprint::counter(policy, charge),
        limit: numbers(policy.limit(charge.limit)?),
        cost: charge.cost,
        whole_gateway: charge.tag.is_none(),
    })
}

fn rule_and_limit<'a>(policy: &'a Policy, charge: &PlannedCharge) -> Option<(RuleId, &'a str, &'a Limit)> {
    let limit = policy.limit(charge.limit)?;
    Some((limit.rule, &limit.wire.rule, &limit.limit))
}

fn headers(policy: &Policy, flow: &Flow, quotas: &[Quota]) -> QuotaHeaders {
    let rules = flow.charges.iter().zip(quotas).filter_map(|(charge, quota)| {
        let (_, name, limit) = rule_and_limit(policy, charge)?;
        Some((name, limit, Some(*quota)))
    });
    QuotaHeaders::new(rules)
}

/// Spreads hints: another one for each request, the same for the same request.
fn seed(stream: u32, now_ms: u64) -> u64 {
    fingerprint::under_version(u64::from(stream), now_ms)
}
