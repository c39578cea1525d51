//! The document as written.
//!
//! These types say how a policy is spelled and nothing about whether it makes sense: that is
//! [`crate::compile`]. Unknown fields are refused everywhere, so that a typo is never "no limit".

pub mod duration;
pub mod limit;
pub mod named;

pub use duration::Duration;
pub use limit::Limit;
pub use named::Named;

use serde::{Deserialize, Serialize};

/// A whole policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Rises with each change; a decision names the version it was made by.
    pub version: u64,
    /// Where verified identity comes from.
    #[serde(default)]
    pub identity: Identity,
    /// What holds unless a route says otherwise.
    #[serde(default)]
    pub defaults: Defaults,
    /// What is counted, and how far.
    pub rules: Named<Rule>,
    /// Numbers by plan: `plan: { rule: limit }`.
    #[serde(default)]
    pub plans: Named<Named<Limit>>,
    /// Which plan a tenant has: `tenant: plan`.
    #[serde(default)]
    pub tenants: Named<String>,
    /// Which rules a request is held to.
    pub routes: Named<Route>,
}

/// Where verified identity comes from; the first source that has it wins, in the order of these fields.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Claims that Envoy's `jwt_authn` verified.
    pub jwt: Option<Jwt>,
    /// The SPIFFE id of a verified client certificate.
    pub mtls: Option<Mtls>,
}

/// Claims that Envoy's `jwt_authn` verified and wrote into its metadata.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jwt {
    /// `jwt_authn`'s `payload_in_metadata`; Istio writes `payload`.
    #[serde(default = "Jwt::default_metadata_key")]
    pub metadata_key: String,
    /// The claim that names the tenant; without it the policy knows no tenants.
    pub tenant: Option<String>,
    /// The claim that names the principal.
    #[serde(default = "Jwt::default_principal")]
    pub principal: String,
}

impl Jwt {
    fn default_metadata_key() -> String {
        "jwt_payload".into()
    }

    fn default_principal() -> String {
        "sub".into()
    }
}

/// The SPIFFE id of a verified client certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mtls {
    /// Which part of `spiffe://<trust domain>/ns/<namespace>/sa/<account>` is the tenant.
    pub tenant: Option<MtlsTenant>,
}

/// The part of a SPIFFE id that names the tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MtlsTenant {
    /// The trust domain.
    TrustDomain,
    /// The segment after `/ns/`, as Istio writes it.
    Namespace,
}

/// What holds unless a route says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Defaults {
    /// How many gateways share the fallback: each may spend a limit divided by this while the store is unreachable.
    pub gateways: u64,
    /// How long a request waits for its decision before it counts as not decided.
    pub deadline: Duration,
    /// Which responses carry the `RateLimit` headers.
    pub ratelimit_headers: RateLimitHeaders,
    /// The plan of a tenant that is not listed.
    pub plan: Option<String>,
    /// The route of a request that matches none; without it such a request is not limited.
    pub route: Option<String>,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            gateways: 1,
            deadline: Duration::from_ms(100),
            ratelimit_headers: RateLimitHeaders::Always,
            plan: None,
            route: None,
        }
    }
}

/// Which responses carry the `RateLimit` and `RateLimit-Policy` headers (never those to unauthenticated callers).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateLimitHeaders {
    /// Admitted and denied ones.
    Always,
    /// Denied ones.
    Denied,
    /// None.
    Never,
}

/// What is counted, and how far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Whom it counts.
    pub subject: Subject,
    /// The numbers of tenants whose plan does not say.
    pub limit: Limit,
    /// Who keeps the count.
    #[serde(default)]
    pub scope: Scope,
    /// Whether it only watches: it is evaluated and counted, and denies nobody.
    #[serde(default)]
    pub shadow: bool,
    /// For how many of a hundred callers it denies, 100 when absent; for the others it only watches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforce_percent: Option<u64>,
}

/// Whom a rule counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The source address, before authentication; IPv6 by /64.
    Ip,
    /// One authenticated caller.
    Principal,
    /// All callers of one tenant together.
    Tenant,
    /// All requests of one gateway together; only with `scope: local`.
    Gateway,
}

/// Who keeps the count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The store: one count, however many gateways there are.
    #[default]
    Store,
    /// Each gateway its own, without asking the store: N gateways admit up to N times the limit.
    Local,
}

/// Which rules a request is held to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Requests that take this route when neither the route's metadata nor its name in Envoy says; see
    /// [`crate::matcher`] for when several routes match.
    #[serde(default, rename = "match")]
    pub matches: Vec<Match>,
    /// Names of rules, in the order in which a denial is attributed.
    #[serde(default)]
    pub rules: Vec<String>,
    /// Units that one request costs under each of the rules.
    #[serde(default = "Route::default_cost")]
    pub cost: u64,
    /// What happens when the store cannot answer.
    #[serde(default)]
    pub unreachable: Unreachable,
    /// What happens to a caller without a verified identity when a rule needs one.
    #[serde(default)]
    pub anonymous: Anonymous,
    /// The rule (by address) that a response with status 401 or 403 charges, unless the request already did.
    pub failures: Option<String>,
}

impl Route {
    fn default_cost() -> u64 {
        1
    }
}

/// A request, by its visible parts; all that are given must hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Match {
    /// The host without its port, in any case.
    pub host: Option<String>,
    /// The method, exactly.
    pub method: Option<String>,
    /// The path without its query, exactly.
    pub path: Option<String>,
    /// The beginning of the path, up to a `/` or its end.
    pub path_prefix: Option<String>,
}

/// What happens when the store cannot answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unreachable {
    /// The request is refused with 503.
    #[default]
    Closed,
    /// The gateway counts by itself: each rule divided by `defaults.gateways`, and a cap over all.
    Fallback(Fallback),
    /// The request passes.
    Open(Open),
}

/// How a gateway counts by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fallback {
    /// What one gateway admits on this route, all callers together.
    pub cap: Limit,
}

/// Why a route may pass uncounted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// For whoever asks later: why the backend survives this.
    pub reason: String,
}

/// What happens to a caller without a verified identity when a rule needs one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Anonymous {
    /// 401.
    #[default]
    Unauthorized,
    /// 403.
    Forbidden,
    /// The caller is counted by this rule (by address) in place of the route's.
    Rule(String),
}
