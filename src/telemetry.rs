//! One table of metrics: names, kinds, meanings.
//!
//! Labels are bounded by the policy: placement, route, rule, outcome; never a subject. Counts are kept here
//! and handed to the host on its tick, so that counting a request costs no host call. The host has no
//! labels; they are spelled into the name as `.key=value` and taken out again by `stats_tags`.

use crate::callout::Undecided;
use hashbrown::HashMap;
use weir_policy::{Placement, Policy, RouteId, RuleId};

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Disposition {
    /// Admitted by the store, or by local rules where the store has none.
    Allowed,
    /// Admitted by the store, after its turn in a queue had come.
    Delayed,
    /// Denied by the store.
    Denied,
    /// Denied because the store had denied it a moment ago.
    DeniedRemembered,
    /// Denied by a local rule.
    DeniedLocally,
    /// Refused for want of a verified identity.
    Unidentified,
    /// Refused for want of a name that is one: a number, a list, control characters.
    Misidentified,
    /// Undecided, and the route is closed.
    Closed,
    /// Undecided, and admitted by the fallback.
    FallbackAllowed,
    /// Undecided, and denied by the fallback.
    FallbackDenied,
    /// Undecided, and the route is open.
    Open,
    /// Refused: the proxy names a route that the policy does not have.
    UnknownRoute,
}

impl Disposition {
    fn label(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Delayed => "delayed",
            Self::Denied => "denied",
            Self::DeniedRemembered => "denied_remembered",
            Self::DeniedLocally => "denied_locally",
            Self::Unidentified => "unidentified",
            Self::Misidentified => "misidentified",
            Self::Closed => "closed",
            Self::FallbackAllowed => "fallback_allowed",
            Self::FallbackDenied => "fallback_denied",
            Self::Open => "open",
            Self::UnknownRoute => "unknown_route",
        }
    }
}

/// A counter, by its labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counter {
    /// Requests by what became of them; `rule` is the one that denied.
    Decisions {
        /// The policy's route, if it has one.
        route: Option<RouteId>,
        /// The rule that denied.
        rule: Option<RuleId>,
        /// What became of them.
        disposition: Disposition,
    },
    /// Requests that nobody decided, by reason; each is also among the decisions.
    Undecided(Undecided),
    /// Admitted requests that a rule which only watches would have denied.
    ShadowDenied(RuleId),
    /// Callouts that were dispatched.
    Callouts,
    /// Checks sent in them: [`Counter::Hits`] divided by this is what coalescing saves.
    Checks,
    /// Requests that those checks stood for: divided by the callouts, the size of a batch.
    Hits,
    /// Failed authentications whose charge to their address was queued.
    FailuresCharged,
    /// Failed authentications of an address that has nothing left to be charged.
    FailuresBeyondLimit,
    /// Failed authentications that were not charged, because the queue was full.
    FailuresDropped,
}

impl Counter {
    /// The counter's name as the host is told it.
    #[must_use]
    pub fn name(self, placement: Placement, policy: &Policy) -> String {
        let placement = match placement {
            Placement::Edge => "edge",
            Placement::Quota => "quota",
        };
        match self {
            Self::Decisions { route, rule, disposition } => {
                let route = route.and_then(|id| policy.route(id)).map_or("none", |route| &route.name);
                let rule = rule.and_then(|id| policy.rule(id)).map_or("none", |rule| &rule.name);
                let outcome = disposition.label();
                format!("weir.decisions.placement={placement}.route={route}.rule={rule}.outcome={outcome}")
            }
            Self::Undecided(because) => format!("weir.undecided.placement={placement}.reason={}", because.reason()),
            Self::ShadowDenied(rule) => {
                let rule = policy.rule(rule).map_or("none", |rule| &rule.name);
                format!("weir.shadow_denied.placement={placement}.rule={rule}")
            }
            Self::Callouts => format!("weir.callouts.placement={placement}"),
            Self::Checks => format!("weir.checks.placement={placement}"),
            Self::Hits => format!("weir.hits.placement={placement}"),
            Self::FailuresCharged => format!("weir.failures_charged.placement={placement}"),
            Self::FailuresBeyondLimit => format!("weir.failures_beyond_limit.placement={placement}"),
            Self::FailuresDropped => format!("weir.failures_dropped.placement={placement}"),
        }
    }
}

/// Counts that the host has not been told yet, and how large batches were.
#[derive(Debug, Default)]
pub struct Telemetry {
    counts: HashMap<Counter, u64>,
    batch_sizes: Vec<u64>,
}

/// The most batch sizes kept between two reports to the host: more than a worker can send meanwhile.
const MOST_BATCH_SIZES: usize = 4_096;

impl Telemetry {
    /// One more.
    pub fn count(&mut self, counter: Counter) {
        self.add(counter, 1);
    }

    /// `amount` more.
    pub fn add(&mut self, counter: Counter, amount: u64) {
        let count = self.counts.entry(counter).or_default();
        *count = count.saturating_add(amount);
    }

    /// A batch was sent that stands for `hits` requests in `checks` checks.
    pub fn batch_sent(&mut self, checks: u64, hits: u64) {
        self.count(Counter::Callouts);
        self.add(Counter::Checks, checks);
        self.add(Counter::Hits, hits);
        if self.batch_sizes.len() < MOST_BATCH_SIZES {
            self.batch_sizes.push(hits);
        }
    }

    /// Hands over what has been counted since the last time.
    pub fn drain(&mut self, mut tell: impl FnMut(Counter, u64)) {
        // The keys stay: there are as many as the policy has routes and rules, and most come again.
        for (counter, count) in self.counts.iter_mut().filter(|(_, count)| **count > 0) {
            tell(*counter, std::mem::take(count));
        }
    }

    /// Hands over the sizes of the batches since the last time.
    pub fn drain_batch_sizes(&mut self) -> impl Iterator<Item = u64> + '_ {
        self.batch_sizes.drain(..)
    }
}
