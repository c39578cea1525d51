//! How any server of a store is reached: TLS, user, database.

use super::address::{Credentials, Node};
use super::settings::{Settings, TlsFiles};
use crate::store::StoreError;
use ::redis::{
    Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, RedisConnectionInfo,
    TlsCertificates,
};
use std::fs;
use std::path::{Path, PathBuf};

/// Makes clients; all of its checks are done when it is made.
#[derive(Clone)]
pub(super) struct Access {
    tls: Option<TlsCertificates>,
    credentials: Credentials,
    database: i64,
}

impl Access {
    /// Access to Redis.
    pub(super) fn new(settings: &Settings) -> Result<Self, StoreError> {
        let address = &settings.address;
        let tls = tls(address.tls, &settings.tls)?;
        named_by_a_password(&address.credentials, "WEIR_REDIS_PASSWORD")?;
        let access = Self { tls, credentials: address.credentials.clone(), database: address.database };
        // The library reads the files' contents only now.
        if access.tls.is_some() {
            access.client(&Node { host: "localhost".to_owned(), port: 1 }).map_err(|reason| {
                let path = settings.tls.certificate.clone().or_else(|| settings.tls.ca.clone()).unwrap_or_default();
                StoreError::File { path, reason }
            })?;
        }
        Ok(access)
    }

    /// Access to the Sentinels beside it.
    pub(super) fn to_sentinels(&self, credentials: &Credentials) -> Result<Self, StoreError> {
        named_by_a_password(credentials, "WEIR_SENTINEL_PASSWORD")?;
        Ok(Self { tls: self.tls.clone(), credentials: credentials.clone(), database: 0 })
    }

    /// A client of one server. It connects to nothing yet.
    pub(super) fn client(&self, node: &Node) -> Result<Client, String> {
        let (host, port) = (node.host.clone(), node.port);
        let address = match &self.tls {
            Some(_) => ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None },
            None => ConnectionAddr::Tcp(host, port),
        };
        self.open(address)
    }

    /// A client of the server behind a socket.
    pub(super) fn client_of_socket(&self, path: PathBuf) -> Result<Client, String> {
        self.open(ConnectionAddr::Unix(path))
    }

    fn open(&self, address: ConnectionAddr) -> Result<Client, String> {
        let told = |error: ::redis::RedisError| error.to_string();
        let info = address.into_connection_info().map_err(told)?;
        // RESP3, because only its connections tell when they are closed.
        let mut redis = RedisConnectionInfo::default().set_protocol(ProtocolVersion::RESP3).set_db(self.database);
        // One command fewer for a user to be allowed.
        redis = redis.set_skip_set_lib_name();
        if let Some(user) = &self.credentials.user {
            redis = redis.set_username(user);
        }
        if let Some(password) = &self.credentials.password {
            redis = redis.set_password(password);
        }
        // Calls are small and waited for.
        let tcp = info.tcp_settings().clone().set_nodelay(true);
        let info: ConnectionInfo = info.set_redis_settings(redis).set_tcp_settings(tcp);
        match &self.tls {
            Some(certificates) if matches!(info.addr(), ConnectionAddr::TcpTls { .. }) => {
                Client::build_with_tls(info, certificates.clone()).map_err(told)
            }
            _ => Client::open(info).map_err(told),
        }
    }
}

fn named_by_a_password(credentials: &Credentials, variable: &str) -> Result<(), StoreError> {
    match credentials {
        Credentials { user: Some(user), password: None } => {
            Err(StoreError::Settings { reason: format!("the user {user:?} has no password: give it in {variable}") })
        }
        _ => Ok(()),
    }
}

fn tls(wanted: bool, files: &TlsFiles) -> Result<Option<TlsCertificates>, StoreError> {
    if !wanted {
        return match files {
            TlsFiles { ca: None, certificate: None, key: None } => Ok(None),
            _ => Err(StoreError::Settings {
                reason: "--redis-ca, --redis-cert and --redis-key are for TLS: give rediss:// in the place of redis://"
                    .to_owned(),
            }),
        };
    }
    // The process has one, and whoever comes first sets it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let root_cert = files.ca.as_deref().map(|path| pem(path, "CERTIFICATE-----")).transpose()?;
    let client_tls = match (files.certificate.as_deref(), files.key.as_deref()) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some(ClientTlsConfig {
            client_cert: pem(certificate, "CERTIFICATE-----")?,
            client_key: pem(key, "PRIVATE KEY-----")?,
        }),
        _ => {
            let reason = "--redis-cert and --redis-key are a pair: give both, or none".to_owned();
            return Err(StoreError::Settings { reason });
        }
    };
    Ok(Some(TlsCertificates { client_tls, root_cert }))
}

/// A file that holds at least one block of that `kind`.
fn pem(path: &Path, kind: &str) -> Result<Vec<u8>, StoreError> {
    let mistake = |reason: String| StoreError::File { path: path.to_owned(), reason };
    let text = fs::read(path).map_err(|error| mistake(error.to_string()))?;
    if String::from_utf8_lossy(&text).lines().any(|line| line.starts_with("-----BEGIN ") && line.ends_with(kind)) {
        Ok(text)
    } else {
        Err(mistake(format!("no PEM block \"{}\" in it", kind.trim_end_matches('-'))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::redis::Address;
    use std::time::Duration;

    fn refused(url: &str, change: impl FnOnce(&mut Settings)) -> String {
        let mut settings = Settings::new(Address::parse(url).unwrap().unwrap(), Duration::from_millis(1));
        change(&mut settings);
        Access::new(&settings).err().unwrap().to_string()
    }

    #[test]
    fn settings_that_do_not_fit_are_told_with_the_remedy() {
        let here = Some(PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")));
        let nowhere = Some(PathBuf::from("/no/such/ca.pem"));
        assert!(refused("redis://weir@h", |_| ()).contains("WEIR_REDIS_PASSWORD"));
        assert!(refused("redis://h", |settings| settings.tls.ca = nowhere.clone()).contains("give rediss://"));
        assert!(refused("rediss://h", |settings| settings.tls.ca = nowhere.clone()).contains("/no/such/ca.pem"));
        assert!(refused("rediss://h", |settings| settings.tls.ca = here.clone()).contains("no PEM block \"CERTIFICATE\""));
        assert!(refused("rediss://h", |settings| settings.tls.key = here).contains("are a pair"));
    }
}
