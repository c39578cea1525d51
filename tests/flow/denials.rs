//! What is denied, and what the caller is told.

use crate::world::{NORTHSTAR, Request, World, header, member, reply};
use weir::flow::Step;

fn catalog() -> Request {
    Request::on("catalog").by("atlas", "U-17")
}

#[test]
fn d02_the_twenty_first_at_once_is_denied_with_retry_after_one() {
    let mut world = World::quota(1);
    for _ in 0..20 {
        assert_eq!(world.send(&catalog()), Step::Continue);
    }
    let step = world.send(&catalog());
    let denied = reply(&step);
    assert_eq!(denied.status, 429);
    assert_eq!(header(denied, "retry-after"), Some("1"));
    assert_eq!(header(denied, "x-envoy-ratelimited"), Some("true"));
    assert_eq!(header(denied, "ratelimit-policy"), Some("\"P-READ\";q=20;w=10"));
    assert_eq!(member(denied, "rule"), "P-READ");
    assert_eq!(member(denied, "policy_version"), 1);
    assert_eq!(denied.details, "weir_denied:P-READ");

    world.now_ms += 5_000;
    let passed = (0..20).filter(|_| world.send(&catalog()) == Step::Continue).count();
    assert_eq!(passed, 10);
}

#[test]
fn d02_a_burst_of_twelve_passes_whole_while_another_tenant_is_denied() {
    let mut world = World::quota(1);
    (0..30).for_each(|_| drop(world.send(&catalog())));
    let birch = Request::on("catalog").by("birch", "U-4");
    assert!((0..12).all(|_| world.send(&birch) == Step::Continue));
}

#[test]
fn d07_fifty_users_within_their_own_limit_are_held_to_the_tenants_minute() {
    let mut world = World::quota(2);
    let mut admitted = 0;
    let mut named = Vec::new();
    // 60 s at 2 per second for each of 50 users: 6,000 attempts.
    for half_second in 0..120 {
        for user in 0..50 {
            let request = Request::on("catalog").by("atlas", &format!("U-{user}"));
            match world.send_to(half_second % 2, &request) {
                Step::Continue => admitted += 1,
                Step::Reply(reply) => named.push(member(&reply, "rule")),
                Step::Wait => panic!("nothing is left waiting"),
            }
        }
        world.now_ms += 499;
    }
    assert_eq!(admitted, 1_000);
    assert!(named.iter().all(|rule| rule == "P-TENANT"));
}

#[test]
fn d07_one_user_cannot_take_the_tenants_minute() {
    let mut world = World::quota(1);
    // 100 per second for 10 s.
    let passed = (0..1_000).filter(|_| {
        world.now_ms += 10;
        world.send(&catalog()) == Step::Continue
    });
    assert!(passed.count() <= 20 + 2 * 10);
    assert_eq!(world.send(&Request::on("catalog").by("atlas", "U-18")), Step::Continue);
}

#[test]
fn d09_a_denial_at_the_tenant_leaves_the_users_bucket_untouched() {
    let mut world = World::quota(1);
    for user in 0..50 {
        let request = Request::on("catalog").by("atlas", &format!("V-{user}"));
        assert!((0..20).all(|_| world.send(&request) == Step::Continue));
    }
    let fresh = world.send(&Request::on("catalog").by("atlas", "U-never-seen"));
    assert_eq!(member(reply(&fresh), "rule"), "P-TENANT");
    assert!(!world.store.contains_key("w:{t:atlas}:P-READ:jwt:U-never-seen"));
}

#[test]
fn d09_several_rules_are_one_check_in_one_call() {
    let mut world = World::quota(1);
    world.send(&catalog());
    let [(_, request)] = world.calls.as_slice() else { panic!("one call") };
    let [check] = request.checks.as_slice() else { panic!("one check") };
    assert_eq!(check.charges.len(), 2);
}

#[test]
fn d17_three_tokens_and_a_cost_of_ten_mean_four_seconds() {
    let mut world = World::quota(1);
    assert!((0..17).all(|_| world.send(&catalog()) == Step::Continue));
    let step = world.send(&Request::on("export").by("atlas", "U-17"));
    assert_eq!(header(reply(&step), "retry-after"), Some("4"));
    assert_eq!(member(reply(&step), "rule"), "P-READ");
    assert_eq!(world.send(&catalog()), Step::Continue, "who cannot pay ten can still pay one");
}

fn hint(step: &Step) -> u64 {
    header(reply(step), "retry-after").and_then(|hint| hint.parse().ok()).expect("whole seconds")
}

#[test]
fn d01_the_hints_of_a_window_are_spread_and_never_before_its_end() {
    let mut world = World::edge(1);
    let mut hints: Vec<u64> = Vec::new();
    for address in 0..200 {
        let login = Request::on("login").from(&format!("192.0.2.{address}:1"));
        assert!((0..20).all(|_| world.send(&login) == Step::Continue));
        hints.push(hint(&world.send(&login)));
    }
    assert!(hints.iter().all(|hint| (10..=15).contains(hint)), "{hints:?}");
    hints.sort_unstable();
    hints.dedup();
    assert!(hints.len() >= 5, "{hints:?}");
}

#[test]
fn d08_an_unauthenticated_caller_learns_nothing_but_a_jittered_hint() {
    let mut world = World::edge(1);
    (0..20).for_each(|_| drop(world.send(&Request::on("login"))));
    let step = world.send(&Request::on("login"));
    let denied = reply(&step);
    assert_eq!(denied.body, r#"{"title":"Too Many Requests","status":429}"#);
    let names: Vec<_> = denied.headers.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["retry-after", "x-envoy-ratelimited", "content-type"]);
}

#[test]
fn d08_a_stranger_who_asks_again_and_again_does_not_find_the_windows_end() {
    let mut world = World::edge(1);
    (0..20).for_each(|_| drop(world.send(&Request::on("login"))));
    let hints: Vec<u64> = (0..100).map(|_| hint(&world.send(&Request::on("login")))).collect();
    assert!(hints.iter().all(|hint| *hint == hints[0]), "{hints:?}");
}

#[test]
fn d20_who_waits_for_a_window_is_spread_though_an_empty_bucket_denies_first() {
    let mut world = World::quota(1);
    // 50 users empty their buckets and with them the tenant's minute.
    let users: Vec<Request> = (0..50).map(|user| Request::on("catalog").by("atlas", &format!("U-{user}"))).collect();
    for user in &users {
        assert!((0..20).all(|_| world.send(user) == Step::Continue));
    }
    let mut hints = Vec::new();
    for user in &users {
        let step = world.send(user);
        assert_eq!(member(reply(&step), "rule"), "P-READ");
        hints.push(hint(&step));
        world.now_ms += 1;
    }
    hints.sort_unstable();
    hints.dedup();
    assert!(hints.len() >= 4, "{hints:?}");
    // The window's end, and a tenth of it.
    assert!(hints.iter().all(|hint| (60..=66).contains(hint)), "{hints:?}");
}

#[test]
fn a_flood_that_the_store_denies_does_not_drain_what_the_gateway_counts() {
    let policy = NORTHSTAR.replacen("rules: [P-READ, P-TENANT]", "rules: [P-HEALTH, P-READ, P-TENANT]", 1);
    let mut world = World::new(1, weir_policy::Placement::Quota, &policy);
    (0..500).for_each(|_| drop(world.send(&catalog())));
    assert_eq!(world.send(&Request::on("catalog").by("birch", "U-4")), Step::Continue);
}

#[test]
fn a_remembered_denial_of_a_dear_request_does_not_say_how_little_is_left() {
    let mut world = World::quota(1);
    assert!((0..15).all(|_| world.send(&catalog()) == Step::Continue));
    let export = Request::on("export").by("atlas", "U-17");
    let asked = world.send(&export);
    assert_eq!(header(reply(&asked), "ratelimit"), Some("\"P-READ\";r=5;t=8, \"P-TENANT\";r=985;t=60"));
    let remembered = world.send(&export);
    assert_eq!(header(reply(&remembered), "ratelimit"), None);
    assert_eq!(header(reply(&remembered), "ratelimit-policy"), Some("\"P-READ\";q=20;w=10"));
}

#[test]
fn d08_failed_authentications_charge_the_address_and_not_the_tenant_that_was_claimed() {
    let mut world = World::edge(1);
    let bad = Request::on("catalog").by("atlas", "U-17");
    for _ in 0..20 {
        let (stream, step) = world.begin(0, &bad);
        assert_eq!(step, Step::Continue);
        world.respond(0, stream, 401);
        world.turn(0);
    }
    assert_eq!(world.store.keys().collect::<Vec<_>>(), ["w:{ip:192.0.2.1}:P-ANON"], "never the tenant that was claimed");
    assert_eq!(reply(&world.send(&Request::on("login"))).status, 429);
    assert_eq!(world.begin(0, &bad).1, Step::Continue, "who shares the address and has a good token is not locked out");
    assert_eq!(world.send(&Request::on("login").from("192.0.2.2:1")), Step::Continue);
}

#[test]
fn d08_a_flood_of_bad_tokens_costs_the_store_no_more_than_any_other() {
    let mut world = World::edge(1);
    for _ in 0..2_000 {
        let (stream, _) = world.begin(0, &Request::on("catalog"));
        world.respond(0, stream, 401);
        world.turn(0);
        world.now_ms += 1;
    }
    assert!(world.calls.len() <= 20 + 4 * 2, "{}", world.calls.len());
}

#[test]
fn d08_an_attempt_that_was_charged_is_not_charged_again_when_it_fails() {
    let mut world = World::edge(1);
    for _ in 0..20 {
        let (stream, _) = world.begin(0, &Request::on("login"));
        assert_eq!(world.turn(0), [(stream, Step::Continue)]);
        world.respond(0, stream, 401);
        world.turn(0);
    }
    assert_eq!(world.calls.len(), 20);
}

#[test]
fn responses_of_success_charge_no_failure() {
    let mut world = World::edge(1);
    for status in [200, 204, 302, 400, 404, 429, 500, 503] {
        let (stream, _) = world.begin(0, &Request::on("catalog"));
        world.respond(0, stream, status);
    }
    world.turn(0);
    assert!(world.calls.is_empty());
}

#[test]
fn d08_ipv6_addresses_are_counted_by_their_network() {
    let mut world = World::edge(1);
    for host in 0..20 {
        assert_eq!(world.send(&Request::on("login").from(&format!("[2001:db8::{host:x}]:99"))), Step::Continue);
    }
    assert_eq!(reply(&world.send(&Request::on("login").from("[2001:db8::ffff:1]:99"))).status, 429);
    assert_eq!(world.send(&Request::on("login").from("[2001:db8:0:1::1]:99")), Step::Continue);
}

#[test]
fn an_admitted_response_carries_what_is_left() {
    let mut world = World::quota(1);
    let (stream, _) = world.begin(0, &catalog());
    world.turn(0);
    let headers = world.respond(0, stream, 200).expect("quota headers");
    assert_eq!(headers.policy, "\"P-READ\";q=20;w=10, \"P-TENANT\";q=1000;w=60");
    assert_eq!(headers.remaining, "\"P-READ\";r=19;t=1, \"P-TENANT\";r=999;t=60");
}

#[test]
fn d15_health_and_the_internal_route_never_ask_the_store() {
    let mut world = World::quota(1);
    assert!((0..50).all(|_| world.send(&Request::on("health")) == Step::Continue));
    assert_eq!(member(reply(&world.send(&Request::on("health"))), "title"), "Too Many Requests");
    let internal =
        Request::on("internal").property(&["connection", "uri_san_peer_certificate"], "spiffe://cluster.local/ns/ops/sa/backup");
    assert!((0..20).all(|_| world.send(&internal) == Step::Continue));
    assert_eq!(member(reply(&world.send(&internal)), "rule"), "P-INTERNAL");
    assert!(world.calls.is_empty());
}
