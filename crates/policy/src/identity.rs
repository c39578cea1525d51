//! Who is calling, as far as it was verified.
//!
//! A missing identity is not an empty name: it is *anonymous*, and the route says what that means. What a
//! verified source carries in a form that cannot be a name (a number, a list, a null, too long, control
//! characters) makes the caller anonymous too, with the reason kept for the metric.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use weir_wire::{MAX_SUBJECT_BYTES, Principal};

/// One request's caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Who it is.
    pub identity: Identity,
    /// Where it comes from, as rules by address count it; see [`address_subject`].
    pub address: String,
}

/// Who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// Authenticated.
    Verified {
        /// Absent where the policy knows no tenants.
        tenant: Option<String>,
        /// The caller itself.
        principal: Principal,
    },
    /// Not authenticated.
    Anonymous(Anonymous),
}

/// Why a caller is anonymous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anonymous {
    /// No verified source knows the caller, or its name is empty.
    Missing,
    /// A verified source names the caller in a form that is no name.
    Malformed,
}

/// A name from a verified source: 1 to 256 bytes of UTF-8 without control characters.
///
/// Envoy hands over a JSON number as the 8 bytes of a double and a bool as one. A bool and every integer below
/// 2^51 contain a control character or are no UTF-8, so they end here rather than as somebody's name.
///
/// # Errors
/// [`Anonymous::Missing`] for nothing, [`Anonymous::Malformed`] for what is no name.
pub fn verified_name(bytes: Option<Vec<u8>>) -> Result<String, Anonymous> {
    let bytes = bytes.filter(|bytes| !bytes.is_empty()).ok_or(Anonymous::Missing)?;
    if bytes.len() > MAX_SUBJECT_BYTES {
        return Err(Anonymous::Malformed);
    }
    let text = String::from_utf8(bytes).map_err(|_| Anonymous::Malformed)?;
    if text.chars().any(char::is_control) { Err(Anonymous::Malformed) } else { Ok(text) }
}

/// How rules by address count `source`, which is Envoy's `ip:port` or `[v6]:port`, or a bare address.
///
/// IPv4 is counted by address, also when it comes mapped into IPv6; IPv6 by its /64, which is what one
/// subscriber is given. Whatever is no address is counted together, as one subject.
#[must_use]
pub fn address_subject(source: &[u8]) -> String {
    let text = std::str::from_utf8(source).unwrap_or_default();
    let address = text.parse::<SocketAddr>().map(|socket| socket.ip()).or_else(|_| text.parse::<IpAddr>());
    match address.map(|address| address.to_canonical()) {
        Ok(IpAddr::V4(address)) => address.to_string(),
        Ok(IpAddr::V6(address)) => {
            let network = Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX));
            format!("{network}/64")
        }
        Err(_) => "unknown".into(),
    }
}
