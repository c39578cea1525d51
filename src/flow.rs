//! One request: facts in, [`Step`] out.
//!
//! | module | concept |
//! |---|---|
//! | [`ask`] | look for a denial, or queue the question |
//! | [`delay`] | hold what came too early until its turn |
//! | [`deny`] | what a denied caller is told |
//! | [`undecided`] | the route's mode: closed, fallback, open |
//!
//! What costs least comes first: denials that this VM remembers, then local rules, then denials that all
//! workers share, then the store. A local charge is not given back when the store denies. Whatever comes of it, the request ends in [`Engine::conclude`].

mod ask;
pub(crate) mod delay;
mod deny;
mod undecided;

use crate::callout::Outcome;
use crate::engine::Engine;
use crate::facts::Facts;
use crate::fingerprint;
use crate::identity::{self, Needs};
use crate::local_buckets::{LocalCharge, LocalDenial};
use crate::quota_headers::{QuotaHeaders, seconds};
use crate::reply::Reply;
use crate::route::{self, Found};
use crate::shared::SharedData;
use crate::telemetry::{Counter, Disposition};
use std::rc::Rc;
use weir_limit::Limit;
use weir_policy::policy::AnonymousMode;
use weir_policy::{
    Anonymous, Caller, Identity, Placement, PlannedCharge, Policy, PolicyLimit, QuotaHeaders as When, Resolution, Route, RouteId,
    RuleId, SubjectKind,
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

/// Which request, when, and with what shared data.
#[derive(Clone, Copy)]
pub(crate) struct Moment<'a> {
    /// The host's id of the request's stream.
    pub(crate) stream: u32,
    pub(crate) shared: &'a dyn SharedData,
    pub(crate) now_ms: u64,
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
    /// Whether it waited for its turn in a queue.
    delayed: bool,
    /// What the response is to carry.
    pub(crate) quota_headers: Option<QuotaHeaders>,
    /// The rule that a response with 401 or 403 charges.
    pub(crate) on_failure: Option<RuleId>,
}

impl Engine {
    /// A request's headers have arrived; `now_ms` is asked for once, if at all.
    pub fn request(&mut self, stream: u32, facts: &dyn Facts, shared: &dyn SharedData, now_ms: impl FnOnce() -> u64) -> Step {
        let policy = self.policy();
        let id = match route::find(&policy, facts) {
            Found::Route(id) => id,
            Found::Unmatched => return Step::Continue,
            Found::Unknown => {
                self.count(None, None, Disposition::UnknownRoute);
                let moment = Moment { stream, shared, now_ms: now_ms() };
                return Step::Reply(Box::new(Reply::unknown_route(moment.seed())));
            }
        };
        let Some(route) = policy.route(id) else { return Step::Continue };
        let mut flow = Flow { route: Some(id), on_failure: self.on_failure(route), ..Flow::default() };
        let step = match self.needs(&policy, route) {
            None => Step::Continue,
            Some(needs) => {
                let caller = identity::caller(policy.identity(), facts, needs);
                self.hold(Moment { stream, shared, now_ms: now_ms() }, &policy, &mut flow, &caller)
            }
        };
        if step == Step::Wait || (step == Step::Continue && flow.has_response_work()) {
            self.keep(stream, flow);
        }
        step
    }

    /// Holds a request to its route's rules.
    fn hold(&mut self, moment: Moment<'_>, policy: &Policy, flow: &mut Flow, caller: &Caller) -> Step {
        let Some(route) = flow.route else { return Step::Continue };
        flow.verified = matches!(caller.identity, Identity::Verified { .. });
        flow.deadline_ms = moment.now_ms.saturating_add(policy.deadline_ms());
        match policy.resolve(route, self.placement(), caller) {
            Resolution::Unlimited => Step::Continue,
            Resolution::Refused { status, because } => self.refuse(flow, status, because),
            Resolution::Charged(plan) => {
                flow.charges = plan.store.into();
                flow.counters = flow.charges.iter().map(|charge| negative_fingerprint(policy, charge)).collect();
                self.charge(moment, policy, flow, &plan.local)
            }
        }
    }

    /// What `outcome` means for the request.
    pub(crate) fn conclude(&mut self, moment: Moment<'_>, flow: &mut Flow, outcome: Outcome) -> Step {
        let policy = self.policy();
        match outcome {
            Outcome::Admitted { quotas, delay_ms: delay_ms @ 1.. } => self.delay(moment, &policy, flow, quotas, delay_ms),
            Outcome::Admitted { quotas, .. } => {
                if flow.verified && policy.quota_headers() == When::Always {
                    flow.quota_headers = Some(headers(&policy, flow, &quotas));
                }
                let disposition = if flow.delayed { Disposition::Delayed } else { Disposition::Allowed };
                self.count(flow.route, None, disposition);
                Step::Continue
            }
            Outcome::Denied(denial) => self.deny(moment, &policy, flow, &denial),
            Outcome::Undecided(because) => self.undecided(moment, &policy, flow, because),
        }
    }

    /// Which facts the route's rules at this placement need; `None` when it has none.
    fn needs(&self, policy: &Policy, route: &Route) -> Option<Needs> {
        let rules = route.rules(self.placement());
        let needs = match self.placement() {
            Placement::Edge => Needs { identity: false, address: true },
            Placement::Quota => {
                let by_identity = |id: &RuleId| policy.rule(*id).is_some_and(|rule| rule.subject != SubjectKind::Gateway);
                let identity = rules.iter().any(by_identity);
                Needs { identity, address: identity && matches!(route.anonymous, AnonymousMode::Rule(_)) }
            }
        };
        (!rules.is_empty()).then_some(needs)
    }

    /// A request that pays for the attempt does not pay again for its failure.
    fn on_failure(&self, route: &Route) -> Option<RuleId> {
        let edge = self.placement() == Placement::Edge;
        route.failures.filter(|rule| edge && !route.rules(Placement::Edge).contains(rule))
    }

    fn refuse(&mut self, flow: &Flow, status: u32, because: Anonymous) -> Step {
        let disposition = match because {
            Anonymous::Missing => Disposition::Unidentified,
            Anonymous::Malformed => Disposition::Misidentified,
        };
        self.count(flow.route, None, disposition);
        Step::Reply(Box::new(Reply::unidentified(status, because)))
    }

    /// Charges what this gateway counts itself, then what the store does.
    fn charge(&mut self, moment: Moment<'_>, policy: &Policy, flow: &mut Flow, local: &[PlannedCharge]) -> Step {
        // What the store has just denied spends nothing here either.
        if let Some(denial) = self.recall(moment, flow) {
            return self.conclude(moment, flow, Outcome::Denied(denial));
        }
        let charges: Vec<LocalCharge> =
            local.iter().filter_map(|charge| local_charge(policy, charge, |limit| limit.limit)).collect();
        if let Err(LocalDenial { charge, wait_ms }) = self.local_buckets().spend(moment.shared, &charges, moment.now_ms) {
            return self.deny_locally(moment, policy, flow, local.get(charge), wait_ms);
        }
        if flow.charges.is_empty() {
            self.count(flow.route, None, Disposition::Allowed);
            return Step::Continue;
        }
        match self.ask(moment, flow) {
            Some(outcome) => self.conclude(moment, flow, outcome),
            None => Step::Wait,
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

    /// The same for all requests of one stranger that wait for the same second: asking again and again does not tell
    /// where the wait ends and its jitter begins.
    fn stranger_seed(&self, moment: Moment<'_>, wait_ms: u64) -> u64 {
        let counter = self.counters.first().copied().unwrap_or_default();
        fingerprint::under_version(counter, seconds(moment.now_ms.saturating_add(wait_ms)))
    }
}

impl Moment<'_> {
    /// Spreads hints: another one for each request, the same for the same request.
    fn seed(self) -> u64 {
        fingerprint::under_version(u64::from(self.stream), self.now_ms)
    }
}

/// The counter of `charge` in the negative cache: a new policy is not bound by the denials of the old one.
pub(crate) fn negative_fingerprint(policy: &Policy, charge: &PlannedCharge) -> u64 {
    fingerprint::under_version(fingerprint::counter(policy, charge), policy.version())
}

fn local_charge(policy: &Policy, charge: &PlannedCharge, numbers: impl Fn(&PolicyLimit) -> Limit) -> Option<LocalCharge> {
    Some(LocalCharge {
        fingerprint: fingerprint::counter(policy, charge),
        limit: numbers(policy.limit(charge.limit)?),
        cost: charge.cost,
        whole_gateway: charge.tag.is_none(),
        shadow: charge.shadow,
    })
}

fn headers(policy: &Policy, flow: &Flow, quotas: &[Quota]) -> QuotaHeaders {
    // A rule that only watches holds nobody to anything.
    let rules = flow.charges.iter().zip(quotas).filter(|(charge, _)| !charge.shadow).filter_map(|(charge, quota)| {
        let limit = policy.limit(charge.limit)?;
        Some((limit.wire.rule.as_str(), &limit.limit, *quota))
    });
    QuotaHeaders::new(rules)
}
