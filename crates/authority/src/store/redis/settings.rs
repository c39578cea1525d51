//! How a Redis is used, beside its address.

use super::address::{Address, Credentials};
use std::path::PathBuf;
use std::time::Duration;

/// All that [`super::RedisStore`] is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where it is.
    pub address: Address,
    /// After this a decision without an answer is unknown.
    pub timeout: Duration,
    /// What the connections trust and show, when they are TLS.
    pub tls: TlsFiles,
    /// Who asks the Sentinels; they have users of their own.
    pub sentinel: Credentials,
    /// Whether admissions wait for replicas.
    pub wait: Option<Wait>,
}

/// PEM files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// Who may have signed the server's certificate; else the system's authorities.
    pub ca: Option<PathBuf>,
    /// The certificate chain that is shown to the server.
    pub certificate: Option<PathBuf>,
    /// The key of `certificate`.
    pub key: Option<PathBuf>,
}

/// `WAIT replicas timeout`, see [`super::RedisStore`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// How many replicas should have an admission before it is answered.
    pub replicas: u16,
    /// For how long that is waited for.
    pub timeout: Duration,
}

impl Settings {
    /// What `address` says, and nothing else.
    #[must_use]
    pub fn new(address: Address, timeout: Duration) -> Self {
        Self { address, timeout, tls: TlsFiles::default(), sentinel: Credentials::default(), wait: None }
    }
}
