//! What a caller who does not pass is told.
//!
//! | | verified caller | anybody |
//! |---|---|---|
//! | denied | 429, `Retry-After`, the rule, its quotas | 429 and a jittered `Retry-After`, nothing else |
//! | undecided | 503, `Retry-After`, the reason | the same |
//!
//! 429 and 503 are kept apart: the first says that a valid caller exceeded a limit, the second that nobody
//! could decide. gRPC callers get RESOURCE_EXHAUSTED and UNAVAILABLE: as an HTTP status the first would turn
//! into the second, which clients retry.

use crate::callout::Undecided;
use crate::quota_headers::{QuotaHeaders, seconds};
use serde::Serialize;
use weir_limit::Limit;
use weir_policy::Anonymous;

/// A response that the proxy makes in the upstream's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u32,
    /// The gRPC status, for callers that speak it.
    pub grpc_status: GrpcStatus,
    /// Names in lower case; values are safe in headers.
    pub headers: Vec<(&'static str, String)>,
    /// `application/problem+json`.
    pub body: String,
    /// For the access log: `weir_denied:P-READ`.
    pub details: String,
}

/// The gRPC statuses that Weir answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrpcStatus {
    /// The caller may not.
    PermissionDenied = 7,
    /// The caller exceeded a limit.
    ResourceExhausted = 8,
    /// Nobody could decide.
    Unavailable = 14,
    /// The caller is not known.
    Unauthenticated = 16,
}

/// Whether a request with this content type speaks gRPC, by Envoy's own measure. Told a gRPC status, any other
/// would be answered 200.
#[must_use]
pub fn is_grpc(content_type: &[u8]) -> bool {
    content_type.strip_prefix(b"application/grpc").is_some_and(|rest| rest.is_empty() || rest.starts_with(b"+"))
}

/// The HTTP status that a response means: to gRPC callers Envoy says 200 and tells the rest in `grpc-status`.
#[must_use]
pub fn http_status(status: u32, grpc_status: impl FnOnce() -> Option<u32>) -> Option<u32> {
    if status != 200 {
        return Some(status);
    }
    Some(match grpc_status() {
        Some(status) if status == GrpcStatus::Unauthenticated as u32 => 401,
        Some(status) if status == GrpcStatus::PermissionDenied as u32 => 403,
        _ => 200,
    })
}

/// A denial, as far as the caller may know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied<'a> {
    /// The first rule that denies.
    pub rule: &'a str,
    /// The limit that must be waited for longest.
    pub limit: &'a Limit,
    /// How long, in milliseconds.
    pub retry_ms: u64,
    /// What the caller is told about its quotas, if it is verified and the policy says so.
    pub quota_headers: Option<QuotaHeaders>,
    /// Whether the caller is verified.
    pub verified: bool,
    /// The policy's version.
    pub version: u64,
    /// Spreads the hints of many callers; the same for the same decision.
    pub seed: u64,
}

/// RFC 9457, with the members that the rate limit draft adds, and Weir's own.
#[derive(Serialize)]
struct Problem<'a> {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'a str>,
    title: &'a str,
    status: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    #[serde(rename = "violated-policies", skip_serializing_if = "Option::is_none")]
    violated_policies: Option<[&'a str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy_version: Option<u64>,
}

const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/// How far the `Retry-After` of an undecided request is spread, in milliseconds.
const UNDECIDED_SPREAD_MS: u64 = 2_000;

impl Denied<'_> {
    /// The response.
    #[must_use]
    pub fn reply(self) -> Reply {
        let retry_after_s = retry_after_s(self.retry_ms, self.spread_ms(), self.seed);
        let known = self.verified;
        let problem = Problem {
            kind: known.then_some(QUOTA_EXCEEDED),
            title: "Too Many Requests",
            status: 429,
            detail: known.then(|| format!("{} has no room for this request; retry in {retry_after_s} s", self.rule)),
            rule: known.then_some(self.rule),
            violated_policies: known.then_some([self.rule]),
            reason: None,
            retry_after_s: known.then_some(retry_after_s),
            policy_version: known.then_some(self.version),
        };
        let mut headers = vec![("retry-after", retry_after_s.to_string())];
        headers.extend(self.quota_headers.into_iter().flat_map(QuotaHeaders::into_pairs));
        // So that Envoy's router does not retry what a limit has refused.
        headers.push(("x-envoy-ratelimited", "true".into()));
        Reply::new(GrpcStatus::ResourceExhausted, &problem, headers, format!("weir_denied:{}", self.rule))
    }

    /// A bucket's wait is its caller's own, so the hint is honest. A fixed window ends for everybody at once,
    /// so its hints are spread over a tenth of it; and who is not verified cannot tell the boundary at all.
    fn spread_ms(&self) -> u64 {
        match self.limit {
            _ if !self.verified => (self.limit.period_ms() / 2).clamp(1_000, 60_000),
            Limit::FixedWindow(_) => (self.limit.period_ms() / 10).min(60_000),
            _ => 0,
        }
    }
}

impl Reply {
    /// Nobody could decide, and the route is closed.
    #[must_use]
    pub fn undecided(because: Undecided, seed: u64) -> Self {
        Self::unavailable(because.reason(), seed)
    }

    /// The proxy's configuration names a route that the policy does not have.
    #[must_use]
    pub fn unknown_route(seed: u64) -> Self {
        Self::unavailable("route_unknown", seed)
    }

    /// The route needs an identity that the caller does not have; `status` is 401 or 403.
    #[must_use]
    pub fn unidentified(status: u32, because: Anonymous) -> Self {
        let (grpc_status, title) = if status == 403 {
            (GrpcStatus::PermissionDenied, "Forbidden")
        } else {
            (GrpcStatus::Unauthenticated, "Unauthorized")
        };
        let reason = match because {
            Anonymous::Missing => "identity_missing",
            Anonymous::Malformed => "identity_malformed",
        };
        let challenge = (status != 403).then(|| ("www-authenticate", "Bearer".to_owned()));
        let problem = Problem { reason: Some(reason), ..Problem::new(title, status) };
        Self::new(grpc_status, &problem, challenge.into_iter().collect(), format!("weir_refused:{reason}"))
    }

    fn unavailable(reason: &str, seed: u64) -> Self {
        let retry_after_s = retry_after_s(1, UNDECIDED_SPREAD_MS, seed);
        let problem =
            Problem { reason: Some(reason), retry_after_s: Some(retry_after_s), ..Problem::new("Service Unavailable", 503) };
        let headers = vec![("retry-after", retry_after_s.to_string())];
        Self::new(GrpcStatus::Unavailable, &problem, headers, format!("weir_undecided:{reason}"))
    }

    fn new(grpc_status: GrpcStatus, problem: &Problem<'_>, mut headers: Vec<(&'static str, String)>, details: String) -> Self {
        headers.push(("content-type", "application/problem+json".into()));
        let body = serde_json::to_string(problem).unwrap_or_default();
        Self { status: problem.status, grpc_status, headers, body, details }
    }
}

impl<'a> Problem<'a> {
    fn new(title: &'a str, status: u32) -> Self {
        Self {
            kind: None,
            title,
            status,
            detail: None,
            rule: None,
            violated_policies: None,
            reason: None,
            retry_after_s: None,
            policy_version: None,
        }
    }
}

/// `Retry-After`: whole seconds, rounded up, at least 1, spread upwards over `spread_ms` by `seed`.
fn retry_after_s(retry_ms: u64, spread_ms: u64, seed: u64) -> u64 {
    // The upper bits of a hash, scaled to the spread: no division that favours some values.
    let spread = u128::from(seed).saturating_mul(u128::from(spread_ms).saturating_add(1)) >> 64;
    seconds(retry_ms.saturating_add(u64::try_from(spread).unwrap_or(0))).max(1)
}
