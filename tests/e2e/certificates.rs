//! Callers known by their client certificate: a listener of the mesh, where no token is asked for.

mod issued;

use crate::policy::{limit, still_bucket};
use crate::witness::Witness;
use issued::{Issuer, NamedAs};
use serde_json::{Value, json};
use std::net::{Ipv4Addr, SocketAddr};
use weir_testkit::envoy::Config;
use weir_testkit::stack::{Plan, Store};
use weir_testkit::{Stack, port};

const API: NamedAs = NamedAs::Uri("spiffe://northstar.example/ns/billing/sa/api");
const JOBS: NamedAs = NamedAs::Uri("spiffe://northstar.example/ns/billing/sa/jobs");

/// A gateway that also listens for the mesh.
struct Mesh {
    stack: Stack,
    issuer: Issuer,
    addr: SocketAddr,
}

impl Mesh {
    fn start() -> Self {
        let issuer = Issuer::new();
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port::free().unwrap()));
        let plan: Plan = Stack::plan(Store::Redis).unwrap().patience_ms(5_000).policy(|policy| {
            limit(policy, "P-INTERNAL", &still_bucket(3));
            limit(policy, "P-READ", &still_bucket(3));
        });
        let stack = plan.envoy(|config| mesh_listener(config, &issuer, addr)).start().unwrap();
        Self { stack, issuer, addr }
    }

    /// The status, with the rule or the reason, of a request with a certificate.
    fn get(&self, name: NamedAs, path: &str) -> String {
        let agent = self.issuer.client(name);
        let mut response = agent.get(format!("https://{}{path}", self.addr)).call().unwrap();
        let body: Value = serde_json::from_slice(&response.body_mut().read_to_vec().unwrap()).unwrap_or_default();
        let why = body["rule"].as_str().or(body["reason"].as_str()).unwrap_or_default();
        format!("{} {why}", response.status().as_u16()).trim_end().to_owned()
    }
}

/// The shipped listener once more: with certificates on both sides, and so without tokens.
fn mesh_listener(mut config: Config, issuer: &Issuer, addr: SocketAddr) -> Config {
    let tls = json!({
        "name": "envoy.transport_sockets.tls",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
            "require_client_certificate": true,
            "common_tls_context": {
                "tls_certificates": [{
                    "certificate_chain": { "inline_string": issuer.server_certificate() },
                    "private_key": { "inline_string": issuer.server_key() },
                }],
                "validation_context": { "trusted_ca": { "inline_string": issuer.certificate() } },
            },
        },
    });
    let filters: Vec<Value> = config
        .http_filters()
        .filter(|filter| filter["name"] != "envoy.filters.http.jwt_authn")
        .map(|filter| filter.clone())
        .collect();
    config.edit(|document| {
        let listeners = document["static_resources"]["listeners"].as_array_mut().unwrap();
        let mut mesh = listeners[0].clone();
        mesh["name"] = json!("mesh");
        mesh["address"]["socket_address"]["port_value"] = json!(addr.port());
        mesh["filter_chains"][0]["transport_socket"] = tls;
        mesh["filter_chains"][0]["filters"][0]["typed_config"]["http_filters"] = Value::Array(filters);
        listeners.push(mesh);
    })
}

#[tokio::test]
async fn each_spiffe_id_is_counted_for_itself() {
    let mesh = Mesh::start();
    for name in [API, JOBS] {
        for _ in 0..3 {
            assert_eq!(mesh.get(name, "/internal/page"), "200");
        }
        assert_eq!(mesh.get(name, "/internal/page"), "429 P-INTERNAL");
    }
}

/// The namespace is the tenant, the whole id the principal; and neither is a token's tenant or user of the same spelling.
#[tokio::test]
async fn a_spiffe_id_is_charged_in_the_store_under_its_namespace() {
    let mut mesh = Mesh::start();
    for expected in ["200", "200", "200", "429 P-READ"] {
        assert_eq!(mesh.get(API, "/catalog"), expected);
    }
    let keys = Witness::of(mesh.stack.redis()).keys();
    let api = "w:{t:billing}:P-READ:mtls:spiffe%3A%2F%2Fnorthstar.example%2Fns%2Fbilling%2Fsa%2Fapi";
    assert_eq!(keys, [api, "w:{t:billing}:P-TENANT"]);
}

#[tokio::test]
async fn a_certificate_without_a_spiffe_id_is_nobodys() {
    let mesh = Mesh::start();
    assert_eq!(mesh.get(NamedAs::Host("api.northstar.example"), "/internal/page"), "403 identity_missing");
    for odd in
        ["https://northstar.example/ns/billing", "spiffe://northstar.example/billing/api", "spiffe://northstar.example/ns/"]
    {
        assert_eq!(mesh.get(NamedAs::Uri(odd), "/internal/page"), "403 identity_malformed", "{odd}");
    }
    assert_eq!(mesh.get(NamedAs::Host("api.northstar.example"), "/catalog"), "401 identity_missing");
    assert_eq!(mesh.stack.upstream.requests(), 0);
}

/// The internal route never asks the store, so it does not notice that it is away.
#[tokio::test]
async fn d15_the_internal_route_lives_without_the_store() {
    let mut mesh = Mesh::start();
    mesh.stack.authority.kill();
    mesh.stack.redis().kill();
    for expected in ["200", "200", "200", "429 P-INTERNAL"] {
        assert_eq!(mesh.get(API, "/internal/page"), expected);
    }
}
