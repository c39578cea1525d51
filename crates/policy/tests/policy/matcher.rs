//! Which route a request takes by the policy's own matchers.

use crate::plain::policy;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_policy::matcher::Target;
use weir_policy::{Policy, compile};

const ROUTES: &str = "version: 1
rules: {}
routes:
  anything-by-get: { match: [{ method: GET }] }
  partner: { match: [{ host: Partner.example.com }] }
  root: { match: [{ path_prefix: / }] }
  api: { match: [{ path_prefix: /api }, { path_prefix: /v1/ }] }
  api-writes: { match: [{ path_prefix: /api, method: POST }] }
  api-of-partner: { match: [{ path_prefix: /api, host: partner.example.com }] }
  users: { match: [{ path_prefix: /api/users }] }
  me: { match: [{ path: /api/users/me }] }
  me-writes: { match: [{ path: /api/users/me, method: POST }] }";

fn found<'a>(policy: &'a Policy, method: &str, host: &str, path: &str) -> &'a str {
    let id = policy.match_route(&Target { host, method, path });
    id.and_then(|id| policy.route(id)).map_or("-", |route| route.name.as_str())
}

/// `method host path -> route`.
const TABLE: &str = "
    GET  a.example.com       /catalog            root
    PUT  a.example.com       *                   -
    GET  a.example.com       *                   anything-by-get
    PUT  partner.example.com *                   partner
    GET  a.example.com       /api                api
    GET  a.example.com       /api/               api
    GET  a.example.com       /api?q=1            api
    GET  a.example.com       /api#top            api
    GET  a.example.com       /api/x/y            api
    GET  a.example.com       /apis               root
    GET  a.example.com       /v1                 api
    GET  a.example.com       /v1/x               api
    GET  a.example.com       /v12                root
    GET  a.example.com       /API                root
    POST a.example.com       /api/x              api-writes
    post a.example.com       /api/x              api
    GET  partner.example.com /api/x              api-of-partner
    GET  PARTNER.EXAMPLE.COM /api/x              api-of-partner
    GET  partner.example.com:8443 /api/x         api-of-partner
    GET  partner.example.com: /api/x             api-of-partner
    GET  partner.example.com.evil.org /api/x     api
    GET  partner.example.com:x /api/x            api
    POST partner.example.com /api/x              api-of-partner
    GET  a.example.com       /api/users          users
    POST partner.example.com /api/users/7        users
    GET  a.example.com       /api/users/me       me
    GET  a.example.com       /api/users/me?x=/y  me
    GET  a.example.com       /api/users/me/      users
    POST a.example.com       /api/users/me       me-writes";

#[test]
fn the_matcher_that_says_most_decides() {
    let policy = policy(ROUTES);
    for row in TABLE.lines().filter(|row| !row.is_empty()) {
        let [method, host, path, route] = row.split_whitespace().collect::<Vec<_>>()[..] else { panic!("four words: {row}") };
        assert_eq!(found(&policy, method, host, path), route, "{row}");
    }
}

/// JSON objects have no order, and some ways of configuring Envoy don't keep one.
#[test]
fn the_order_of_the_routes_does_not_matter() {
    let (head, routes) = ROUTES.split_once("routes:\n").unwrap();
    let reversed: Vec<&str> = routes.lines().rev().collect();
    let reversed = policy(&format!("{head}routes:\n{}", reversed.join("\n")));
    let sorted = serde_json::to_value(weir_policy::yaml::read(ROUTES).unwrap()).unwrap();
    let sorted = compile::compile(&serde_json::from_value(sorted).unwrap()).unwrap();
    for row in TABLE.lines().filter(|row| !row.is_empty()) {
        let [method, host, path, route] = row.split_whitespace().collect::<Vec<_>>()[..] else { panic!("four words: {row}") };
        assert_eq!(found(&reversed, method, host, path), route, "reversed: {row}");
        assert_eq!(found(&sorted, method, host, path), route, "sorted: {row}");
    }
}

#[test]
fn hosts_may_be_addresses_with_ports() {
    let policy = policy(
        "version: 1
rules: {}
routes:
  v4: { match: [{ host: 192.0.2.7 }] }
  v6: { match: [{ host: '[2001:db8::12]' }] }",
    );
    for (host, route) in [
        ("192.0.2.7", "v4"),
        ("192.0.2.7:80", "v4"),
        ("[2001:db8::12]", "v6"),
        ("[2001:db8::12]:80", "v6"),
        ("[2001:db8::]", "-"),
        ("", "-"),
        (":80", "-"),
    ] {
        assert_eq!(found(&policy, "GET", host, "/"), route, "{host}");
    }
}
