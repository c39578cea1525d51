//! What happens when nobody can decide: each route's mode, its share and its cap.

use crate::world::{Authority, NORTHSTAR, Request, World, member, reply};
use weir::flow::Step;
use weir_policy::Placement;

fn catalog(user: &str) -> Request {
    Request::on("catalog").by("atlas", user)
}

fn dead_store(workers: usize, policy: &str) -> World {
    let mut world = World::new(workers, Placement::Quota, policy);
    world.authority = Authority::CannotBeCalled;
    world
}

#[test]
fn d15_each_route_has_its_own_mode() {
    let mut world = dead_store(1, NORTHSTAR);
    for route in ["checkout", "export"] {
        assert_eq!(reply(&world.send(&Request::on(route).by("atlas", "U-17"))).status, 503, "{route}");
    }
    for route in ["catalog", "search"] {
        assert_eq!(world.send(&Request::on(route).by("atlas", "U-17")), Step::Continue, "{route}");
    }
    assert_eq!(world.send(&Request::on("health")), Step::Continue);

    let mut edge = World::edge(1);
    edge.authority = Authority::CannotBeCalled;
    assert_eq!(reply(&edge.send(&Request::on("login"))).status, 503);
}

#[test]
fn d15_an_undecided_request_is_told_why_and_not_that_it_exceeded_a_limit() {
    let mut world = dead_store(1, NORTHSTAR);
    let step = world.send(&Request::on("checkout").by("atlas", "U-17"));
    let refused = reply(&step);
    assert_eq!(member(refused, "reason"), "not_sent");
    assert!(refused.headers.iter().all(|(name, _)| *name != "x-envoy-ratelimited"));
    assert!(refused.headers.iter().any(|(name, _)| *name == "retry-after"));
}

#[test]
fn d15_an_open_route_passes() {
    let policy = NORTHSTAR.replacen("unreachable: closed", "unreachable: { open: { reason: the backend has a bulkhead } }", 1);
    let mut world = dead_store(1, &policy);
    assert!((0..100).all(|_| world.send(&Request::on("checkout").by("atlas", "U-17")) == Step::Continue));
}

#[test]
fn d16_one_gateway_of_two_admits_a_user_half_of_its_bucket() {
    let mut world = dead_store(2, NORTHSTAR);
    let passed = (0..40).filter(|turn| world.send_to(turn % 2, &catalog("U-17")) == Step::Continue).count();
    assert_eq!(passed, 10);
    let step = world.send(&catalog("U-17"));
    assert_eq!(member(reply(&step), "rule"), "P-READ");
}

#[test]
fn d16_two_requests_a_second_split_eighty_to_twenty_are_admitted_at_one_point_four() {
    let mut gateways = [dead_store(1, NORTHSTAR), dead_store(1, NORTHSTAR)];
    // Both buckets are emptied first: what is measured is the rate.
    for gateway in &mut gateways {
        (0..10).for_each(|_| drop(gateway.send(&catalog("U-17"))));
    }
    let mut admitted = 0;
    // 2 requests a second for 1,000 s: four of five to A.
    for request in 0..2_000 {
        let gateway = &mut gateways[usize::from(request % 5 == 4)];
        admitted += u32::from(gateway.send(&catalog("U-17")) == Step::Continue);
        gateways.iter_mut().for_each(|gateway| gateway.now_ms += 500);
    }
    // A sustains 1 of its 1.6 per second, B all of its 0.4: 1.4 of 2.
    assert!((1_395..=1_405).contains(&admitted), "{admitted}");
}

#[test]
fn d16_the_cap_is_the_gateways_and_not_each_workers() {
    let policy = NORTHSTAR.replace("capacity: 400, refill: 400, per: 1s", "capacity: 40, refill: 1, per: 1h");
    let mut world = dead_store(2, &policy);
    let passed = (0..200).filter(|turn| world.send_to(turn % 2, &catalog(&format!("U-{turn}"))) == Step::Continue).count();
    assert_eq!(passed, 40);
    let step = world.send(&catalog("U-fresh"));
    assert_eq!(member(reply(&step), "rule"), "fallback_cap");
}

#[test]
fn d16_a_route_with_rules_before_and_after_authentication_pays_each_cap_once() {
    let policy = NORTHSTAR
        .replace("capacity: 400, refill: 400, per: 1s", "capacity: 30, refill: 1, per: 1h")
        .replacen("rules: [P-READ, P-TENANT]", "rules: [P-ANON, P-READ, P-TENANT]", 1)
        .replace("limit: 20, window: 10s", "limit: 2000, window: 10s");
    let mut edge = World::new(1, Placement::Edge, &policy);
    let mut quota = dead_store(1, &policy);
    edge.authority = Authority::CannotBeCalled;
    let mut passed = 0;
    for user in 0..60 {
        std::mem::swap(&mut edge.data, &mut quota.data);
        let at_edge = edge.send(&catalog(&format!("U-{user}"))) == Step::Continue;
        std::mem::swap(&mut edge.data, &mut quota.data);
        passed += u32::from(at_edge && quota.send(&catalog(&format!("U-{user}"))) == Step::Continue);
    }
    assert_eq!(passed, 30);
}

#[test]
fn d16_a_gateway_with_three_times_its_share_denies_two_thirds() {
    // 40,000 per second over 100 gateways: 400 each. This one gets 1,200 per second for 10 s, after its burst.
    let policy = NORTHSTAR.replace("limit: 1000, window: 1m", "limit: 100000, window: 1m");
    let mut world = dead_store(1, &policy);
    (0..400).for_each(|user| drop(world.send(&catalog(&format!("U-{user}")))));
    let mut admitted = 0;
    for request in 0..12_000 {
        admitted += u32::from(world.send(&catalog(&format!("V-{request}"))) == Step::Continue);
        world.now_ms += u64::from(request % 6 != 0);
    }
    assert!((3_990..=4_010).contains(&admitted), "{admitted}");
}

#[test]
fn d16_a_tenants_share_holds_over_all_its_users() {
    let mut world = dead_store(1, NORTHSTAR);
    let passed = (0..2_000).filter(|turn| {
        world.now_ms += 5;
        world.send(&catalog(&format!("U-{}", turn % 500))) == Step::Continue
    });
    assert_eq!(passed.count(), 500, "half of the tenant's 1,000 a minute");
}

#[test]
fn the_store_is_asked_again_as_soon_as_it_answers() {
    let mut world = dead_store(1, NORTHSTAR);
    (0..15).for_each(|_| drop(world.send(&catalog("U-17"))));
    world.authority = Authority::Up;
    assert!((0..20).all(|_| world.send(&catalog("U-17")) == Step::Continue), "the store's bucket was not touched");
}

#[test]
fn shared_data_full_of_rubbish_leaves_the_fallback_within_its_cap() {
    let policy = NORTHSTAR.replace("capacity: 400, refill: 400, per: 1s", "capacity: 40, refill: 1, per: 1h");
    for byte in [0x00, 0x01, 0x7F, 0xFF] {
        let mut world = dead_store(1, &policy);
        world.data.vandalize(&[byte; 320]);
        let passed = (0..200).filter(|turn| world.send(&catalog(&format!("U-{turn}"))) == Step::Continue).count();
        assert!(passed <= 40, "{passed}");
    }
}
