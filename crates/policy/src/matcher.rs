//! Which route a request takes when the proxy's own configuration does not say.

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matcher {
    pub(crate) host: Option<String>,
    pub(crate) method: Option<String>,
    pub(crate) path: Option<PathMatch>,
}

/// How a path is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
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
        Some(Self { host: written.host.clone(), method: written.method.clone(), path })
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
    /// The first route, in the order written, that matches `target`.
    #[must_use]
    pub fn match_route(&self, target: &Target<'_>) -> Option<RouteId> {
        self.routes.iter().position(|route| route.matchers.iter().any(|matcher| matcher.matches(target))).map(RouteId)
    }
}

fn without_query(path: &str) -> &str {
    path.split(['?', '#']).next().unwrap_or(path)
}

/// `host:port` and `[v6]:port` without the port; a bare IPv6 address cannot stand in `:authority`.
fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}
