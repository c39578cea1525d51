//! Whom a rule counts.
//!
//! A [`Tag`] is what one script decides about at once: everything under it lives in one slot of a Redis
//! Cluster. A [`Subject`] is who is counted inside it: the tag as a whole, or one principal.

use serde::{Deserialize, Serialize};

/// What the buckets of one check have in common; the hash tag of their keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Tag {
    /// A tenant, as its verified identity names it.
    Tenant(String),
    /// A principal of a policy that knows no tenants.
    Principal(Principal),
    /// A source address: IPv4 in dotted form, or the /64 network of an IPv6 address in canonical form.
    Ip(String),
}

/// An authenticated caller, by the way it was verified: a token's `sub` that reads like a certificate's
/// SPIFFE id is somebody else.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Principal {
    /// From the claims of a verified JWT.
    Jwt(String),
    /// From the URI SAN of a verified client certificate.
    Mtls(String),
}

/// Who is counted under a tag.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Subject {
    /// The tag itself: the tenant, the address.
    #[default]
    Whole,
    /// One principal of the tag.
    Principal(Principal),
}

impl Subject {
    /// Whether the tag itself is counted.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        *self == Self::Whole
    }
}
