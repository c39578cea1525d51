//! Batches: what is coalesced, what is bounded, and who is answered when.

use crate::world::{Authority, NORTHSTAR, Request, World, member, reply};
use weir::callout::outbox::{MOST_UNDER_WAY, MOST_WAITING};
use weir::flow::Step;
use weir_policy::Placement;

fn checkout(user: &str) -> Request {
    Request::on("checkout").by("atlas", user)
}

#[test]
fn equal_requests_of_one_turn_are_one_check_and_the_first_come_pass() {
    let mut world = World::quota(1);
    let streams: Vec<u32> = (0..15).map(|_| world.begin(0, &checkout("U-17")).0).collect();
    let done = world.turn(0);
    let [(_, request)] = world.calls.as_slice() else { panic!("one call") };
    assert_eq!(request.checks.iter().map(|check| check.hits).collect::<Vec<_>>(), [15]);
    let passed: Vec<u32> = done.iter().filter(|(_, step)| *step == Step::Continue).map(|(stream, _)| *stream).collect();
    assert_eq!(passed, streams[..10]);
}

#[test]
fn requests_of_different_users_share_a_call_and_their_limits() {
    let mut world = World::quota(1);
    (0..30).for_each(|user| drop(world.begin(0, &checkout(&format!("U-{user}")))));
    assert_eq!(world.turn(0).len(), 30);
    let [(_, request)] = world.calls.as_slice() else { panic!("one call") };
    assert_eq!((request.checks.len(), request.limits.len()), (30, 2));
}

#[test]
fn a_batch_answers_at_most_sixty_four_requests() {
    let mut world = World::quota(1);
    (0..300).for_each(|user| drop(world.begin(0, &checkout(&format!("U-{}", user % 7)))));
    assert_eq!(world.turn(0).len(), 300);
    let hits = |request: &weir_wire::DecideRequest| request.checks.iter().map(|check| check.hits).sum::<u32>();
    assert!(world.calls.iter().all(|(_, request)| hits(request) <= 64));
    assert_eq!(world.calls.iter().map(|(_, request)| hits(request)).sum::<u32>(), 300);
}

#[test]
fn no_more_batches_are_under_way_than_the_bound() {
    let mut world = World::quota(1);
    world.authority = Authority::Silent;
    for user in 0..500 {
        world.begin(0, &checkout(&format!("U-{user}")));
        world.turn(0);
    }
    world.answer_late();
    assert_eq!(world.calls.len(), MOST_UNDER_WAY);
}

#[test]
fn beyond_the_bound_of_waiting_requests_each_gets_its_routes_mode_at_once() {
    let mut world = World::quota(1);
    world.authority = Authority::Silent;
    for user in 0..MOST_WAITING {
        assert_eq!(world.begin(0, &checkout(&format!("U-{user}"))).1, Step::Wait);
    }
    let (_, step) = world.begin(0, &checkout("one-more"));
    assert_eq!(member(reply(&step), "reason"), "queue_full");
    assert_eq!(world.begin(0, &Request::on("catalog").by("birch", "U-4")).1, Step::Continue, "on its fallback");
}

#[test]
fn a_request_waits_until_its_deadline_and_not_longer() {
    let mut world = World::quota(1);
    world.authority = Authority::Silent;
    let (stream, _) = world.begin(0, &checkout("U-17"));
    world.turn(0);
    world.now_ms += 99;
    world.tick(0);
    assert_eq!(world.completed(0), []);
    world.now_ms += 1;
    world.tick(0);
    let done = world.completed(0);
    let [(answered, step)] = done.as_slice() else { panic!("{done:?}") };
    assert_eq!((*answered, member(reply(step), "reason")), (stream, "deadline_exceeded".into()));

    world.answer_late();
    assert_eq!(world.completed(0), [], "nobody is answered twice");
}

#[test]
fn a_late_answer_still_counts_whom_it_charged() {
    let mut world = World::quota(1);
    world.authority = Authority::Silent;
    (0..10).for_each(|_| drop(world.begin(0, &checkout("U-17"))));
    world.turn(0);
    world.now_ms += 200;
    world.tick(0);
    assert_eq!(world.completed(0).len(), 10);
    world.answer_late();
    world.authority = Authority::Up;
    assert_eq!(reply(&world.send(&checkout("U-17"))).status, 429, "nothing is refunded");
}

#[test]
fn who_has_gone_before_the_batch_leaves_is_not_charged() {
    let mut world = World::quota(1);
    let (first, _) = world.begin(0, &checkout("U-17"));
    let (second, _) = world.begin(0, &checkout("U-17"));
    world.workers[0].gone(first);
    assert_eq!(world.turn(0), [(second, Step::Continue)]);
    assert_eq!(world.calls[0].1.checks[0].hits, 1);
}

#[test]
fn who_goes_in_the_middle_of_a_batch_changes_nothing_for_the_others() {
    let mut world = World::quota(1);
    world.authority = Authority::Silent;
    let streams: Vec<u32> = (0..3).map(|_| world.begin(0, &checkout("U-17")).0).collect();
    world.turn(0);
    world.workers[0].gone(streams[1]);
    world.answer_late();
    assert_eq!(world.completed(0), [(streams[0], Step::Continue), (streams[2], Step::Continue)]);
}

#[test]
fn two_workers_and_two_rules_on_one_subject_never_share_a_counter() {
    let policy = NORTHSTAR.replace("rules: [P-CHECKOUT, P-TENANT]", "rules: [P-CHECKOUT, P-READ, P-TENANT]");
    let mut world = World::new(2, Placement::Quota, &policy);
    for worker in [0, 1, 0, 1] {
        assert_eq!(world.send_to(worker, &checkout("U-17")), Step::Continue);
    }
    let mut keys: Vec<_> = world.store.keys().cloned().collect();
    keys.sort();
    assert_eq!(keys, ["w:{t:atlas}:P-CHECKOUT:jwt:U-17", "w:{t:atlas}:P-READ:jwt:U-17", "w:{t:atlas}:P-TENANT"]);
}

#[test]
fn a_limit_of_five_hundred_over_two_workers_admits_exactly_five_hundred() {
    let policy = NORTHSTAR
        .replace(
            "limit: { token_bucket: { capacity: 10, refill: 1, per: 1s } }",
            "limit: { fixed_window: { limit: 500, window: 1h } }",
        )
        .replace("limit: 1000, window: 1m", "limit: 100000, window: 1m");
    let mut world = World::new(2, Placement::Quota, &policy);
    let mut admitted = 0;
    for turn in 0..20 {
        for worker in 0..2 {
            (0..50).for_each(|_| match world.begin(worker, &checkout("U-17")).1 {
                Step::Continue => admitted += 1,
                Step::Reply(_) | Step::Wait => {}
            });
            admitted += world.turn(worker).iter().filter(|(_, step)| *step == Step::Continue).count();
        }
        world.now_ms += turn;
    }
    assert_eq!(admitted, 500);
}
