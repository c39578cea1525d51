//! Certificates of an authority of one's own, and clients that present them.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SanType};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};

/// What a certificate calls its holder.
#[derive(Debug, Clone, Copy)]
pub(super) enum NamedAs {
    Uri(&'static str),
    Host(&'static str),
    Address(IpAddr),
}

/// An authority that issues certificates, and one for the server.
pub(super) struct Issuer {
    issuer: CertifiedIssuer<'static, KeyPair>,
    server: (String, String),
}

impl Issuer {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::default();
        // Named otherwise than those it issues, or they would look self-signed.
        params.distinguished_name.push(DnType::CommonName, "Northstar's issuer");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let server = issue(&issuer, NamedAs::Address(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        Self { issuer, server }
    }

    /// The authority's own certificate, as PEM.
    pub(super) fn certificate(&self) -> String {
        self.issuer.pem()
    }

    pub(super) fn server_certificate(&self) -> &str {
        &self.server.0
    }

    pub(super) fn server_key(&self) -> &str {
        &self.server.1
    }

    /// A client that trusts this authority and presents a certificate of it.
    pub(super) fn client(&self, name: NamedAs) -> Agent {
        let (certificate, key) = issue(&self.issuer, name);
        let chain = [Certificate::from_pem(certificate.as_bytes()).unwrap()];
        let client = ClientCert::new_with_certs(&chain, PrivateKey::from_pem(key.as_bytes()).unwrap());
        let root = Certificate::from_pem(self.certificate().as_bytes()).unwrap();
        let tls = TlsConfig::builder().client_cert(Some(client)).root_certs(RootCerts::Specific(Arc::new(vec![root]))).build();
        let timeout = Some(Duration::from_secs(20));
        Agent::config_builder().tls_config(tls).http_status_as_error(false).proxy(None).timeout_global(timeout).build().into()
    }
}

/// A certificate and its key, as PEM.
fn issue(issuer: &CertifiedIssuer<'static, KeyPair>, name: NamedAs) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.subject_alt_names = vec![match name {
        NamedAs::Uri(uri) => SanType::URI(uri.try_into().unwrap()),
        NamedAs::Host(host) => SanType::DnsName(host.try_into().unwrap()),
        NamedAs::Address(address) => SanType::IpAddress(address),
    }];
    (params.signed_by(&key, issuer).unwrap().pem(), key.serialize_pem())
}
