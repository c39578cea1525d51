//! TLS: whom the authority trusts, and what it shows.

use crate::build::{bucket, verdict, whole};
use crate::place::{PATIENCE, ready_throughout, until_told};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;
use weir_authority::store::redis::{Settings, TlsFiles};
use weir_authority::{Store, Target};
use weir_testkit::{Redis, port};

/// A Redis with TLS, and the files of both sides.
struct Secured {
    redis: Redis,
    port: u16,
    dir: TempDir,
}

impl Secured {
    fn start(auth_clients: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::default();
        // Named otherwise than those it issues, or they would look self-signed.
        params.distinguished_name.push(DnType::CommonName, "issuer");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        fs::write(dir.path().join("ca.pem"), issuer.pem()).unwrap();
        for (name, host) in [("server", "127.0.0.1"), ("client", "weir.example")] {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new([host.to_owned()]).unwrap();
            fs::write(dir.path().join(format!("{name}.pem")), params.signed_by(&key, &issuer).unwrap().pem()).unwrap();
            fs::write(dir.path().join(format!("{name}.key")), key.serialize_pem()).unwrap();
        }
        let (port, file) = (port::free().unwrap(), |name: &str| dir.path().join(name).display().to_string());
        let redis = Redis::start_with(&[
            "--tls-port",
            &port.to_string(),
            "--tls-ca-cert-file",
            &file("ca.pem"),
            "--tls-cert-file",
            &file("server.pem"),
            "--tls-key-file",
            &file("server.key"),
            "--tls-auth-clients",
            auth_clients,
        ]);
        Self { redis: redis.unwrap(), port, dir }
    }

    fn file(&self, name: &str) -> Option<PathBuf> {
        Some(self.dir.path().join(name))
    }

    fn store(&self, host: &str, tls: TlsFiles) -> Store {
        let Target::Redis(address) = format!("rediss://{host}:{}", self.port).parse().unwrap() else { unreachable!() };
        Store::redis(&Settings { tls, ..Settings::new(address, PATIENCE) }).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_trusted_by_its_authority_and_its_name_alone() {
    let secured = Secured::start("no");
    let ca = TlsFiles { ca: secured.file("ca.pem"), ..TlsFiles::default() };
    let store = secured.store("127.0.0.1", ca.clone());
    ready_throughout(&store).await;
    verdict(store.decide(&whole("atlas", &[bucket("R", 10)], 1)).await.remove(0));
    assert_eq!(secured.redis.ask(&["DBSIZE"]).unwrap(), "1");

    for (host, tls, reason) in [("127.0.0.1", TlsFiles::default(), "UnknownIssuer"), ("localhost", ca, "not valid for name")] {
        let store = secured.store(host, tls);
        until_told(&store, reason).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_wants_a_certificate_is_shown_one() {
    let secured = Secured::start("yes");
    let mut tls = TlsFiles { ca: secured.file("ca.pem"), ..TlsFiles::default() };
    let without = secured.store("127.0.0.1", tls.clone());
    (tls.certificate, tls.key) = (secured.file("client.pem"), secured.file("client.key"));
    let store = secured.store("127.0.0.1", tls);
    ready_throughout(&store).await;
    verdict(store.decide(&whole("atlas", &[bucket("R", 10)], 1)).await.remove(0));
    until_told(&without, "CertificateRequired").await;
}
