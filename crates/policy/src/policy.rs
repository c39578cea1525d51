//! The compiled policy: names have become indices and numbers are checked limits.
//!
//! Made only by [`crate::compile`], so whoever holds one need not ask whether a name exists or a cost fits.

use crate::matcher::Matcher;
use hashbrown::HashMap;
use weir_limit::Limit;
use weir_wire::RuleLimit;

pub use crate::document::{MtlsTenant, RateLimitHeaders as QuotaHeaders, Scope, Subject as SubjectKind};

/// Index of a rule in [`Policy::rules`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(pub(crate) usize);

/// Index of a route in [`Policy::routes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RouteId(pub(crate) usize);

/// Index of a limit in [`Policy::limits`]: a rule with the numbers of one plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LimitId(pub(crate) usize);

/// A policy that can be enforced.
#[derive(Debug)]
pub struct Policy {
    pub(crate) version: u64,
    pub(crate) identity: IdentitySources,
    pub(crate) deadline_ms: u64,
    pub(crate) quota_headers: QuotaHeaders,
    pub(crate) rules: Vec<Rule>,
    pub(crate) limits: Vec<PolicyLimit>,
    pub(crate) routes: Vec<Route>,
    pub(crate) default_route: Option<RouteId>,
    pub(crate) routes_by_name: HashMap<String, RouteId>,
    pub(crate) plans_by_tenant: HashMap<String, usize>,
    pub(crate) default_plan: Option<usize>,
}

/// Where verified identity is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentitySources {
    /// Claims, first.
    pub jwt: Option<JwtSource>,
    /// The client certificate, second: the tenant's part of its SPIFFE id, if the policy knows tenants.
    pub mtls: Option<Option<MtlsTenant>>,
}

/// Which claims name the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JwtSource {
    /// `jwt_authn`'s `payload_in_metadata`.
    pub metadata_key: String,
    /// The tenant's claim, if the policy knows tenants.
    pub tenant_claim: Option<String>,
    /// The principal's claim.
    pub principal_claim: String,
}

/// What is counted.
#[derive(Debug)]
pub struct Rule {
    /// As the policy names it; safe in headers, metrics and keys.
    pub name: String,
    /// Whom it counts.
    pub subject: SubjectKind,
    /// Who keeps the count.
    pub scope: Scope,
    /// For how many of a hundred callers it denies; 0 for a rule that only watches.
    pub enforce_percent: u8,
    /// The limit of each plan, and last that of everybody else.
    pub(crate) limit_by_plan: Vec<LimitId>,
}

/// A rule with one plan's numbers.
#[derive(Debug)]
pub struct PolicyLimit {
    /// The rule.
    pub rule: RuleId,
    /// As it is sent to the authority.
    pub wire: RuleLimit,
    /// As it is counted here.
    pub limit: Limit,
    /// What one gateway may spend of it by itself while the store is unreachable.
    pub share: Limit,
}

/// Where in the proxy's filter chain the filter stands; each rule belongs to one of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Before authentication: rules by address.
    Edge,
    /// After authentication: all others.
    Quota,
}

/// What a request is held to.
#[derive(Debug)]
pub struct Route {
    /// As the policy names it; safe in headers, metrics and keys.
    pub name: String,
    /// Units per request under each rule.
    pub cost: u64,
    /// What happens when the store cannot answer.
    pub unreachable: Unreachable,
    /// What happens without a verified identity.
    pub anonymous: AnonymousMode,
    /// The rule that a failed authentication charges.
    pub failures: Option<RuleId>,
    pub(crate) edge: Vec<RuleId>,
    pub(crate) quota: Vec<RuleId>,
    pub(crate) matchers: Vec<Matcher>,
}

/// What happens when the store cannot answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreachable {
    /// 503.
    Closed,
    /// The gateway counts by itself, at most `cap` over all callers of the route.
    Fallback {
        /// One gateway's cap.
        cap: Limit,
    },
    /// The request passes; the policy says why.
    Open,
}

/// What happens without a verified identity where a rule needs one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnonymousMode {
    /// 401.
    Unauthorized,
    /// 403.
    Forbidden,
    /// Counted by this rule instead.
    Rule(RuleId),
}

impl SubjectKind {
    /// Where rules of this subject are enforced.
    #[must_use]
    pub fn placement(self) -> Placement {
        match self {
            Self::Ip => Placement::Edge,
            Self::Principal | Self::Tenant | Self::Gateway => Placement::Quota,
        }
    }
}

impl Route {
    /// The rules that one placement enforces, in the policy's order.
    #[must_use]
    pub fn rules(&self, placement: Placement) -> &[RuleId] {
        match placement {
            Placement::Edge => &self.edge,
            Placement::Quota => &self.quota,
        }
    }
}

impl Policy {
    /// Names the policy in decisions; rises with each change.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Where identity is read.
    #[must_use]
    pub fn identity(&self) -> &IdentitySources {
        &self.identity
    }

    /// How long a request waits for its decision, in milliseconds.
    #[must_use]
    pub fn deadline_ms(&self) -> u64 {
        self.deadline_ms
    }

    /// Which responses carry quota headers.
    #[must_use]
    pub fn quota_headers(&self) -> QuotaHeaders {
        self.quota_headers
    }

    /// All rules, in the order written.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// All routes, in the order written.
    #[must_use]
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// The route of that name.
    #[must_use]
    pub fn route_named(&self, name: &str) -> Option<RouteId> {
        self.routes_by_name.get(name).copied()
    }

    /// The route of requests that match none.
    #[must_use]
    pub fn default_route(&self) -> Option<RouteId> {
        self.default_route
    }

    /// A route by its id; `None` for an id of another policy.
    #[must_use]
    pub fn route(&self, id: RouteId) -> Option<&Route> {
        self.routes.get(id.0)
    }

    /// A rule by its id; `None` for an id of another policy.
    #[must_use]
    pub fn rule(&self, id: RuleId) -> Option<&Rule> {
        self.rules.get(id.0)
    }

    /// A limit by its id; `None` for an id of another policy.
    #[must_use]
    pub fn limit(&self, id: LimitId) -> Option<&PolicyLimit> {
        self.limits.get(id.0)
    }
}
