//! Requests that come too early for a queue are held until their turn, and no longer than the bound.

use crate::world::{NORTHSTAR, Request, World, header, member, reply};
use weir::flow::Step;
use weir_policy::Placement;

/// Users of the catalog stand in a queue of 3 that lets one out every 100 ms; tenants are not limited.
fn world(depth: &str) -> World {
    let policy = NORTHSTAR
        .replace(
            "limit: { token_bucket: { capacity: 20, refill: 2, per: 1s } }",
            &format!("limit: {{ leaky_queue: {{ depth: {depth}, leak: 1000, per: 100s }} }}"),
        )
        .replace("limit: 1000, window: 1m", "limit: 1000000, window: 1m")
        .replace("cost: 10", "cost: 1")
        .replace("cost: 2", "cost: 1");
    World::new(1, Placement::Quota, &policy)
}

fn catalog() -> Request {
    Request::on("catalog").by("atlas", "U-17")
}

/// Lets `ms` milliseconds pass, one tick of the root each 10, and says who was completed when.
fn pass_time(world: &mut World, ms: u64) -> Vec<(u64, u32)> {
    let begun_ms = world.now_ms;
    let mut completed = Vec::new();
    while world.now_ms < begun_ms + ms {
        world.now_ms += 10;
        world.tick(0);
        completed.extend(world.completed(0).into_iter().map(|(stream, step)| {
            assert_eq!(step, Step::Continue);
            (world.now_ms - begun_ms, stream)
        }));
    }
    completed
}

#[test]
fn d19_each_waits_for_its_turn_and_who_finds_the_queue_full_is_denied() {
    let mut world = world("3");
    let streams: Vec<u32> = (0..5).map(|_| world.begin(0, &catalog()).0).collect();
    let done = world.turn(0);
    let passed: Vec<u32> = done.iter().filter(|(_, step)| *step == Step::Continue).map(|(stream, _)| *stream).collect();
    assert_eq!(passed, streams[..1], "whose turn it is");
    let denied: Vec<_> = done.iter().filter(|(_, step)| matches!(step, Step::Reply(_))).collect();
    assert_eq!(denied.iter().map(|(stream, _)| *stream).collect::<Vec<_>>(), streams[3..]);
    assert_eq!(member(reply(&denied[0].1), "rule"), "P-READ");
    assert_eq!(header(reply(&denied[0].1), "retry-after"), Some("1"));
    assert_eq!(pass_time(&mut world, 1_000), [(100, streams[1]), (200, streams[2])]);
}

#[test]
fn d19_equal_requests_of_a_queue_are_not_one() {
    let mut world = world("3");
    (0..3).for_each(|_| drop(world.begin(0, &catalog())));
    world.turn(0);
    assert!(world.calls.iter().flat_map(|(_, request)| &request.checks).all(|check| check.hits == 1));
}

#[test]
fn d19_who_goes_while_it_is_held_leaves_the_others_their_turns() {
    let mut world = world("3");
    let streams: Vec<u32> = (0..3).map(|_| world.begin(0, &catalog()).0).collect();
    world.turn(0);
    world.workers[0].gone(streams[1]);
    assert_eq!(pass_time(&mut world, 1_000), [(200, streams[2])]);
}

#[test]
fn d19_no_more_are_held_than_the_bound() {
    let mut world = world("100");
    // 1 of each user passes at once, 99 are held.
    let mut held = 0;
    let mut denied = 0;
    for user in 0..13 {
        for _ in 0..100 {
            match world.send(&Request::on("catalog").by("atlas", &format!("U-{user}"))) {
                Step::Wait => held += 1,
                Step::Reply(_) => denied += 1,
                Step::Continue => {}
            }
        }
    }
    assert_eq!((held, denied), (1_024, 13 * 99 - 1_024));
}
