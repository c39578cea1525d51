//! Which route a request takes when the proxy's own configuration does not say.
//!
//! Of all matchers that hold, the one that says most decides: first by its path (exact before prefix, a
//! longer prefix before a shorter), then by its host, then by its method. The order of the document does not
//! matter, because it does not survive everywhere: Istio keeps plugin configuration in a protobuf `Struct`,
//! whose fields have none. Two matchers that say the same are refused when the policy is compiled.

use crate::document::Match;
use crate::policy::{Policy, RouteId};

/// The visible parts of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target<'a> {
    /// `:authority`, with or without a port.
    pub host: &'a str,
    /// `:method`.
    pub method: &'a str,
    /// `:path`, with or without a query.
    pub path: &'a str,
}

/// A compiled [`Match`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Matcher {
    pub(crate) host: Option<String>,
    pub(crate) method: Option<String>,
    pub(crate) path: Option<PathMatch>,
}

/// How a path is compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum PathMatch {
    Exact(String),
    Prefix(String),
}

impl Matcher {
    /// `None` when both ways of comparing the path are given.
    pub(crate) fn new(written: &Match) -> Option<Self> {
        let path = match (&written.path, &written.path_prefix) {
            (Some(_), Some(_)) => return None,
            (Some(path), None) => Some(PathMatch::Exact(path.clone())),
            (None, Some(prefix)) => Some(PathMatch::Prefix(prefix.trim_end_matches('/').into())),
            (None, None) => None,
        };
        Some(Self { host: written.host.as_deref().map(str::to_ascii_lowercase), method: written.method.clone(), path })
    }

    /// How much the matcher says. Different matchers that hold for one request differ in this too.
    fn weight(&self) -> (usize, bool, bool) {
        let path = match &self.path {
            None => 0,
            Some(PathMatch::Prefix(prefix)) => 1 + prefix.len(),
            Some(PathMatch::Exact(_)) => usize::MAX,
        };
        (path, self.host.is_some(), self.method.is_some())
    }

    fn matches(&self, target: &Target<'_>) -> bool {
        let host_holds = self.host.as_deref().is_none_or(|host| host.eq_ignore_ascii_case(without_port(target.host)));
        let method_holds = self.method.as_deref().is_none_or(|method| method == target.method);
        host_holds && method_holds && self.path.as_ref().is_none_or(|path| path.matches(without_query(target.path)))
    }
}

impl PathMatch {
    fn matches(&self, path: &str) -> bool {
        match self {
            Self::Exact(exact) => path == exact,
            Self::Prefix(prefix) => {
                path.strip_prefix(prefix.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
        }
    }
}

impl Policy {
    /// Whether any route is found by looking at the request.
    #[must_use]
    pub fn has_matchers(&self) -> bool {
        self.routes.iter().any(|route| !route.matchers.is_empty())
    }

    /// The route whose matcher says most about `target`.
    #[must_use]
    pub fn match_route(&self, target: &Target<'_>) -> Option<RouteId> {
        let matchers =
            self.routes.iter().enumerate().flat_map(|(index, route)| route.matchers.iter().map(move |own| (index, own)));
        let (index, _) = matchers.filter(|(_, matcher)| matcher.matches(target)).max_by_key(|(_, matcher)| matcher.weight())?;
        Some(RouteId(index))
    }
}

fn without_query(path: &str) -> &str {
    path.split(['?', '#']).next().unwrap_or(path)
}

/// `host:port` and `[v6]:port` without the port; a bare IPv6 address cannot stand in `:authority`.
pub(crate) fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}
