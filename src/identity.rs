//! Whose request it is, from what the proxy has verified.
//!
//! Claims are read leaf by leaf: one `null` anywhere makes a read of the whole payload fail. The client
//! certificate counts only where the token says nothing at all: a token that names somebody in a way that is
//! no name makes the caller anonymous, not its proxy's certificate.

use crate::facts::Facts;
use weir_policy::identity::{address_subject, verified_name};
use weir_policy::{Anonymous, Caller, Identity, IdentitySources, JwtSource, MtlsTenant};
use weir_wire::Principal;

const JWT_AUTHN: &str = "envoy.filters.http.jwt_authn";

/// Which facts a decision needs; those that it does not are not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Rules by principal or tenant.
    pub identity: bool,
    /// Rules by address.
    pub address: bool,
}

/// The caller of a request.
#[must_use]
pub fn caller(sources: &IdentitySources, facts: &dyn Facts, needs: Needs) -> Caller {
    let identity = if needs.identity { verified(sources, facts) } else { Err(Anonymous::Missing) };
    Caller {
        identity: identity.unwrap_or_else(Identity::Anonymous),
        address: if needs.address { address(facts) } else { String::new() },
    }
}

fn verified(sources: &IdentitySources, facts: &dyn Facts) -> Result<Identity, Anonymous> {
    let by_token = sources.jwt.as_ref().and_then(|source| by_token(source, facts));
    let by_certificate = || sources.mtls.and_then(|tenant| by_certificate(tenant, facts));
    by_token.or_else(by_certificate).unwrap_or(Err(Anonymous::Missing))
}

/// `None` when no token was verified, or it names neither tenant nor principal.
fn by_token(source: &JwtSource, facts: &dyn Facts) -> Option<Result<Identity, Anonymous>> {
    let claim =
        |name: &str| verified_name(facts.property(&["metadata", "filter_metadata", JWT_AUTHN, &source.metadata_key, name]));
    let principal = claim(&source.principal_claim);
    let tenant = source.tenant_claim.as_deref().map(claim).transpose();
    if principal == Err(Anonymous::Missing) && matches!(tenant, Ok(None) | Err(Anonymous::Missing)) {
        return None;
    }
    Some(principal.and_then(|principal| Ok(Identity::Verified { tenant: tenant?, principal: Principal::Jwt(principal) })))
}

/// `None` when there is no certificate with a URI.
fn by_certificate(tenant: Option<MtlsTenant>, facts: &dyn Facts) -> Option<Result<Identity, Anonymous>> {
    let uri = match verified_name(facts.property(&["connection", "uri_san_peer_certificate"])) {
        Err(Anonymous::Missing) => return None,
        Err(because) => return Some(Err(because)),
        Ok(uri) => uri,
    };
    let tenant = tenant.map(|part| spiffe_part(&uri, part).map(str::to_owned).ok_or(Anonymous::Malformed)).transpose();
    Some(tenant.map(|tenant| Identity::Verified { tenant, principal: Principal::Mtls(uri) }))
}

/// A part of `spiffe://<trust domain>/ns/<namespace>/sa/<account>`.
fn spiffe_part(uri: &str, part: MtlsTenant) -> Option<&str> {
    let mut segments = uri.strip_prefix("spiffe://")?.split('/');
    let trust_domain = segments.next()?;
    let found = match part {
        MtlsTenant::TrustDomain => trust_domain,
        MtlsTenant::Namespace => {
            segments.next().filter(|segment| *segment == "ns")?;
            segments.next()?
        }
    };
    (!found.is_empty()).then_some(found)
}

/// Where the request comes from, as rules by address count it. The connection knows it in every phase.
#[must_use]
pub fn address(facts: &dyn Facts) -> String {
    address_subject(&facts.property(&["source", "address"]).unwrap_or_default())
}
