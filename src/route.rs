//! Which route of the policy a request takes.
//!
//! The proxy's configuration knows best: the route's metadata, then its virtual host's, then the route's
//! name. Only then do the policy's own matchers look at the request.

use crate::facts::{Facts, header_text};
use weir_policy::matcher::Target;
use weir_policy::{Policy, RouteId};

/// Where a route says which of the policy's routes it is: `filter_metadata.weir.route`.
const METADATA: [[&str; 5]; 2] = [
    ["xds", "route_metadata", "filter_metadata", "weir", "route"],
    ["xds", "virtual_host_metadata", "filter_metadata", "weir", "route"],
];

/// The answer for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// This route.
    Route(RouteId),
    /// None, and the policy does not limit such requests.
    Unmatched,
    /// The proxy's metadata names a route that the policy does not have. A typo must not be "no limit".
    Unknown,
}

/// Which route of `policy` the request takes.
#[must_use]
pub fn find(policy: &Policy, facts: &dyn Facts) -> Found {
    for path in &METADATA {
        if let Some(name) = facts.property(path).filter(|name| !name.is_empty()) {
            let route = std::str::from_utf8(&name).ok().and_then(|name| policy.route_named(name));
            return route.map_or(Found::Unknown, Found::Route);
        }
    }
    let by_name = || {
        let name = facts.property(&["xds", "route_name"])?;
        policy.route_named(std::str::from_utf8(&name).ok()?)
    };
    by_name().or_else(|| by_matchers(policy, facts)).or_else(|| policy.default_route()).map_or(Found::Unmatched, Found::Route)
}

fn by_matchers(policy: &Policy, facts: &dyn Facts) -> Option<RouteId> {
    if !policy.has_matchers() {
        return None;
    }
    let host = header_text(facts, ":authority").unwrap_or_default();
    let method = header_text(facts, ":method").unwrap_or_default();
    let path = header_text(facts, ":path").unwrap_or_default();
    policy.match_route(&Target { host: &host, method: &method, path: &path })
}
