//! Where a Redis is and who asks, as `--store` says it.
//!
//! ```text
//! redis://[user[:password]@]host[:port][/database]
//! redis+cluster://[user[:password]@]host[:port][,host[:port]]…
//! redis+sentinel://[user[:password]@]host[:port][,host[:port]]…/master[/database]
//! redis+unix:///path/of/the/socket
//! ```
//!
//! `rediss` in the place of `redis` is TLS. Any of a cluster's nodes will do, and one that is up is enough; the same holds for
//! sentinels. User and password are percent-encoded where they hold `@`, `:`, `/` or `%`.
//!
//! What does not parse is told without being repeated, as any part of it may be a password in the wrong place.

mod node;

#[cfg(test)]
mod tests;

pub use node::Node;

use std::fmt;
use std::path::PathBuf;

const REDIS_PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

/// The most hosts that one URL may name.
const MAX_HOSTS: usize = 16;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// What is there.
    pub place: Place,
    /// Whether connections are TLS.
    pub tls: bool,
    /// Who asks.
    pub credentials: Credentials,
    /// The database's number.
    pub database: i64,
}

/// What an [`Address`] leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// One Redis, or what looks like one.
    One(Node),
    /// One Redis, by the path of its socket.
    Socket(PathBuf),
    /// A Redis Cluster, by some of its nodes.
    Cluster(Vec<Node>),
    /// The master that Sentinels tell.
    Sentinel {
        /// Some of the Sentinels.
        sentinels: Vec<Node>,
        /// What they call it.
        master: String,
    },
}

/// A user of Redis, with the password.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// A user of Redis' ACL; without one it is `default`.
    pub user: Option<String>,
    /// Never shown.
    pub password: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let password = self.password.as_ref().map(|_| "…");
        formatter.debug_struct("Credentials").field("user", &self.user).field("password", &password).finish()
    }
}

/// A scheme that this module knows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    One,
    Socket,
    Cluster,
    Sentinel,
}

const SCHEMES: [(&str, Kind, bool); 8] = [
    ("redis://", Kind::One, false),
    ("rediss://", Kind::One, true),
    ("redis+unix://", Kind::Socket, false),
    ("unix://", Kind::Socket, false),
    ("redis+cluster://", Kind::Cluster, false),
    ("rediss+cluster://", Kind::Cluster, true),
    ("redis+sentinel://", Kind::Sentinel, false),
    ("rediss+sentinel://", Kind::Sentinel, true),
];

impl Address {
    /// Reads `text`; `None` when its scheme is none of the module's.
    ///
    /// # Errors
    /// What is wrong, and how it is written right.
    pub fn parse(text: &str) -> Option<Result<Self, String>> {
        let (rest, kind, tls) = SCHEMES.iter().find_map(|(scheme, kind, tls)| Some((text.strip_prefix(scheme)?, *kind, *tls)))?;
        Some(read(rest, kind, tls))
    }
}

fn read(text: &str, kind: Kind, tls: bool) -> Result<Address, String> {
    // A password may hold anything, so the last `@` is the one that ends it.
    let (user, rest) = text.rsplit_once('@').map_or((None, text), |(user, rest)| (Some(user), rest));
    let credentials = user.map(credentials).transpose()?.unwrap_or_default();
    if rest.contains(['?', '#']) {
        return Err("nothing may follow a `?` or a `#`: the other settings are options of their own".to_owned());
    }
    let (hosts, path) = rest.split_once('/').map_or((rest, ""), |(hosts, path)| (hosts, path));
    let (place, database) = match kind {
        Kind::Socket => {
            if !hosts.is_empty() || path.is_empty() {
                return Err("a socket is an absolute path: redis+unix:///run/redis/redis.sock".to_owned());
            }
            (Place::Socket(PathBuf::from(format!("/{path}"))), 0)
        }
        Kind::One => {
            if hosts.contains(',') {
                return Err(
                    "redis:// is one host: of several, give redis+cluster://host,host or redis+sentinel://host,host/master"
                        .to_owned(),
                );
            }
            (Place::One(Node::parse(hosts, REDIS_PORT)?), database(path)?)
        }
        Kind::Cluster => {
            if database(path)? != 0 {
                return Err("a Redis Cluster has no database but 0: leave it out".to_owned());
            }
            (Place::Cluster(nodes(hosts, REDIS_PORT)?), 0)
        }
        Kind::Sentinel => {
            let (master, number) = path.split_once('/').unwrap_or((path, ""));
            if master.is_empty() {
                return Err("the master's name is missing: redis+sentinel://host,host/master".to_owned());
            }
            (Place::Sentinel { sentinels: nodes(hosts, SENTINEL_PORT)?, master: decoded(master)? }, database(number)?)
        }
    };
    Ok(Address { place, tls, credentials, database })
}

fn credentials(text: &str) -> Result<Credentials, String> {
    let (user, password) = text.split_once(':').map_or((text, None), |(user, password)| (user, Some(password)));
    let user = if user.is_empty() { None } else { Some(decoded(user)?) };
    let password = password.filter(|password| !password.is_empty()).map(decoded).transpose()?;
    Ok(Credentials { user, password })
}

fn nodes(hosts: &str, port: u16) -> Result<Vec<Node>, String> {
    let nodes = hosts.split(',').map(|host| Node::parse(host, port)).collect::<Result<Vec<_>, _>>()?;
    if nodes.len() > MAX_HOSTS {
        return Err(format!("more than {MAX_HOSTS} hosts: some are enough, as they tell the others"));
    }
    Ok(nodes)
}

fn database(path: &str) -> Result<i64, String> {
    match path.trim_end_matches('/') {
        "" => Ok(0),
        number => match number.parse::<u16>() {
            Ok(number) => Ok(i64::from(number)),
            Err(_) => Err("what follows the host is not the number of a database: redis://host:port/0".to_owned()),
        },
    }
}

/// Undoes percent-encoding.
fn decoded(text: &str) -> Result<String, String> {
    const ERROR: &str = "a `%` in a name or a password is written %25";
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'%' {
            let (digits, after) = after.split_first_chunk::<2>().ok_or(ERROR)?;
            let digits = std::str::from_utf8(digits).map_err(|_| ERROR)?;
            // `from_str_radix` would take a sign.
            if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(ERROR.to_owned());
            }
            bytes.push(u8::from_str_radix(digits, 16).map_err(|_| ERROR)?);
            rest = after;
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).map_err(|_| "a name or a password is not UTF-8".to_owned())
}
