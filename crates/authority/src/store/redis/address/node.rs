//! One server: its host and its port.

use std::fmt;
use std::net::Ipv6Addr;

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node {
    /// A name or an address; of IPv6 without brackets.
    pub host: String,
    /// A TCP port.
    pub port: u16,
}

impl Node {
    /// Reads `host`, `host:port`, `[v6]` or `[v6]:port`.
    pub(super) fn parse(text: &str, default_port: u16) -> Result<Self, String> {
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let (host, port) = rest.split_once(']').ok_or("a `[` without its `]`")?;
            if host.parse::<Ipv6Addr>().is_err() {
                return Err("between `[` and `]` stands an IPv6 address: redis://[::1]:6379".to_owned());
            }
            let port =
                if port.is_empty() { None } else { Some(port.strip_prefix(':').ok_or("a `:` and the port follow the `]`")?) };
            (host, port)
        } else {
            text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)))
        };
        if port.is_some_and(|port| port.contains(':')) {
            return Err("an IPv6 address stands in brackets: redis://[::1]:6379".to_owned());
        }
        if host.is_empty() {
            return Err("a host is missing".to_owned());
        }
        if host.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
            return Err("a host has no white space".to_owned());
        }
        let port = match port {
            None => default_port,
            Some(port) => match port.parse() {
                Ok(port) if port > 0 => port,
                // Not repeated: without an `@` it may be a password.
                _ => return Err("what follows the `:` of a host is not a port from 1 to 65535".to_owned()),
            },
        };
        Ok(Self { host: host.to_owned(), port })
    }

    /// Reads what a node of a cluster calls another: the host may be absent, which is the host of the one that tells, and IPv6 has no
    /// brackets.
    pub(in crate::store::redis) fn told(text: &str, by: &Self) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        Self::of(host, port.parse().ok()?, by)
    }

    /// The same, already in two parts.
    pub(in crate::store::redis) fn of(host: &str, port: u16, by: &Self) -> Option<Self> {
        let host = if host.is_empty() || host == "?" { by.host.clone() } else { host.to_owned() };
        (port > 0).then_some(Self { host, port })
    }
}

impl fmt::Display for Node {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(formatter, "[{host}]:{port}") } else { write!(formatter, "{host}:{port}") }
    }
}
