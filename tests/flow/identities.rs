//! Whose request it is, and what anonymous means.

use crate::world::{NORTHSTAR, Request, World, member, reply};
use weir::flow::Step;
use weir_policy::Placement;

fn reason(request: &Request) -> String {
    let mut world = World::quota(1);
    let step = world.send(request);
    assert_eq!(reply(&step).status, 401);
    assert!(world.calls.is_empty());
    member(reply(&step), "reason").as_str().expect("a reason").into()
}

#[test]
fn claims_that_are_no_names_make_a_caller_anonymous() {
    let odd: [(&str, &[u8], &str); 9] = [
        ("missing: the host reads nothing", b"", "identity_missing"),
        ("a number", &12_345_f64.to_le_bytes(), "identity_malformed"),
        ("zero", &0_f64.to_le_bytes(), "identity_malformed"),
        ("true", &[1], "identity_malformed"),
        ("a list", b"\x0a\x03\x1a\x01a", "identity_malformed"),
        ("not UTF-8", b"U-\xff", "identity_malformed"),
        ("a line break", b"U-17\r\nx: y", "identity_malformed"),
        ("NUL", b"U\0", "identity_malformed"),
        ("overlong", &[b'a'; 257], "identity_malformed"),
    ];
    for (what, bytes, expected) in odd {
        assert_eq!(reason(&Request::on("catalog").claim("tenant", "atlas").claim("sub", bytes)), expected, "sub: {what}");
        assert_eq!(reason(&Request::on("catalog").claim("sub", "U-17").claim("tenant", bytes)), expected, "tenant: {what}");
    }
    assert_eq!(reason(&Request::on("catalog")), "identity_missing");
}

#[test]
fn a_name_of_the_longest_length_is_one() {
    let mut world = World::quota(1);
    let longest = "ü".repeat(128);
    assert_eq!(world.send(&Request::on("catalog").by(&longest, &longest)), Step::Continue);
}

#[test]
fn names_that_try_to_be_others_are_counted_apart() {
    let pairs = [
        ("a:b", "c"),
        ("a", "b:c"),
        ("a}", "b"),
        ("a", "{b"),
        ("{t:a}", "b"),
        ("a%3Ab", "c"),
        ("a", "192.0.2.1"),
        ("192.0.2.1", "a"),
        ("A", "b:c"),
    ];
    let mut world = World::quota(1);
    for (tenant, user) in pairs {
        assert_eq!(world.send(&Request::on("catalog").by(tenant, user)), Step::Continue);
    }
    let users = world.store.keys().filter(|key| key.contains(":P-READ:")).count();
    let tenants = world.store.keys().filter(|key| key.ends_with(":P-TENANT")).count();
    assert_eq!((users, tenants), (pairs.len(), 7), "{:?}", world.store.keys());
}

#[test]
fn a_certificate_counts_where_there_is_no_token() {
    let mut world = World::quota(1);
    let spiffe = ["connection", "uri_san_peer_certificate"];
    let request = Request::on("catalog").property(&spiffe, "spiffe://cluster.local/ns/shop/sa/cart");
    assert_eq!(world.send(&request), Step::Continue);
    assert!(world.store.contains_key("w:{t:shop}:P-READ:mtls:spiffe%3A%2F%2Fcluster.local%2Fns%2Fshop%2Fsa%2Fcart"));

    for uri in ["spiffe://cluster.local/sa/cart", "spiffe://cluster.local/ns//sa/x", "https://shop.example", "spiffe://"] {
        assert_eq!(reason(&Request::on("catalog").property(&spiffe, uri)), "identity_malformed", "{uri}");
    }
    let half_a_token = request.claim("sub", "U-17");
    assert_eq!(reason(&half_a_token), "identity_missing", "the proxy's certificate does not stand in for it");
}

#[test]
fn a_token_that_names_a_certificates_id_is_somebody_else() {
    let mut world = World::quota(1);
    let uri = "spiffe://cluster.local/ns/shop/sa/cart";
    world.send(&Request::on("catalog").by("shop", uri));
    world.send(&Request::on("catalog").property(&["connection", "uri_san_peer_certificate"], uri));
    assert_eq!(world.store.keys().filter(|key| key.contains(":P-READ:")).count(), 2);
}

#[test]
fn an_anonymous_caller_is_counted_by_address_where_the_route_says_so() {
    let policy = NORTHSTAR.replacen("failures: P-ANON", "failures: P-ANON\n    anonymous: { rule: P-ANON }", 1);
    let mut world = World::new(1, Placement::Quota, &policy);
    assert!((0..20).all(|_| world.send(&Request::on("catalog")) == Step::Continue));
    let step = world.send(&Request::on("catalog"));
    assert_eq!(reply(&step).body, r#"{"title":"Too Many Requests","status":429}"#);
    assert_eq!(world.send(&Request::on("catalog").by("atlas", "U-17")), Step::Continue);
}

#[test]
fn a_route_can_forbid_what_it_does_not_know() {
    let mut world = World::quota(1);
    let step = world.send(&Request::on("internal"));
    assert_eq!((reply(&step).status, member(reply(&step), "reason")), (403, "identity_missing".into()));
}

#[test]
fn principals_of_a_policy_without_tenants_have_slots_of_their_own() {
    let policy = "
version: 1
identity: { jwt: { principal: sub } }
rules: { P-USER: { subject: principal, limit: { fixed_window: { limit: 2, window: 1m } } } }
routes: { catalog: { rules: [P-USER] } }";
    let mut world = World::new(1, Placement::Quota, policy);
    let user = Request::on("catalog").claim("sub", "U-17");
    assert!((0..2).all(|_| world.send(&user) == Step::Continue));
    assert_eq!(member(reply(&world.send(&user)), "rule"), "P-USER");
    assert_eq!(world.store.keys().collect::<Vec<_>>(), ["w:{p:jwt:U-17}:P-USER"]);
}
