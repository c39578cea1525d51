//! Floods of one key: how seldom the store is asked, and how short a denial is remembered.

use crate::world::{NOON_MS, Request, World, reply};
use weir::flow::Step;

fn catalog() -> Request {
    Request::on("catalog").by("atlas", "U-17")
}

/// Floods one user from all workers, a request of each in each millisecond, and lets everybody take turns.
fn flood(world: &mut World, ms: u64) -> (u64, u64) {
    let (mut admitted, mut denied) = (0, 0);
    let mut count = |step: &Step| match step {
        Step::Continue => admitted += 1,
        Step::Reply(_) => denied += 1,
        Step::Wait => {}
    };
    for _ in 0..ms {
        let workers = world.workers.len();
        for worker in 0..workers {
            count(&world.begin(worker, &catalog()).1);
        }
        for worker in 0..workers {
            if world.now_ms.is_multiple_of(10) {
                world.tick(worker);
            }
            world.turn(worker).iter().for_each(|(_, step)| count(step));
        }
        world.now_ms += 1;
    }
    (admitted, denied)
}

#[test]
fn d11_a_flood_over_two_workers_costs_at_most_four_calls_a_second() {
    let mut world = World::quota(2);
    flood(&mut world, 100);
    world.calls.clear();
    flood(&mut world, 10_000);
    for second in 0..9 {
        let from = world.now_ms - 10_000 + second * 1_000;
        let calls = world.calls.iter().filter(|(at, _)| (from..from + 1_000).contains(at)).count();
        assert!(calls <= 4, "{calls} calls in second {second}");
    }
}

#[test]
fn d11_a_flood_is_admitted_exactly_what_the_bucket_holds() {
    let mut world = World::quota(2);
    let (admitted, denied) = flood(&mut world, 10_000);
    assert!((20 + 18..=20 + 20).contains(&admitted), "{admitted}");
    assert!(denied >= 19_900, "{denied}");
}

#[test]
fn d11_another_user_is_decided_normally_meanwhile() {
    let mut world = World::quota(2);
    flood(&mut world, 1_000);
    assert_eq!(world.send_to(1, &Request::on("catalog").by("atlas", "U-18")), Step::Continue);
}

#[test]
fn d11_a_denial_is_remembered_for_a_quarter_of_a_second_and_not_longer() {
    let mut world = World::quota(2);
    let export = Request::on("export").by("atlas", "U-17");
    assert!((0..2).all(|_| world.send(&export) == Step::Continue));
    let known = world.calls.len();
    // The second export left nothing: 5 s to wait, of which 250 ms are remembered.
    world.now_ms = NOON_MS + 249;
    assert_eq!(reply(&world.send_to(1, &export)).status, 429);
    assert_eq!(world.calls.len(), known, "remembered by the other worker too");
    world.now_ms = NOON_MS + 250;
    assert_eq!(reply(&world.send_to(1, &export)).status, 429);
    assert_eq!(world.calls.len(), known + 1, "asked again");
}

#[test]
fn d11_a_denial_is_remembered_no_longer_than_the_store_would_deny() {
    let mut world = World::new(
        1,
        weir_policy::Placement::Quota,
        &crate::world::NORTHSTAR.replace("refill: 2, per: 1s", "refill: 10, per: 1s"),
    );
    assert!((0..20).all(|_| world.send(&catalog()) == Step::Continue));
    world.now_ms += 99;
    assert_eq!(reply(&world.send(&catalog())).status, 429);
    world.now_ms += 1;
    assert_eq!(world.send(&catalog()), Step::Continue, "one token every 100 ms");
}

#[test]
fn a_denial_of_a_dear_request_does_not_deny_a_cheap_one() {
    let mut world = World::quota(1);
    assert!((0..15).all(|_| world.send(&catalog()) == Step::Continue));
    assert_eq!(reply(&world.send(&Request::on("export").by("atlas", "U-17"))).status, 429);
    assert_eq!(world.send(&catalog()), Step::Continue);
}

#[test]
fn a_request_parked_behind_another_workers_question_is_answered_with_it() {
    let mut world = World::quota(2);
    (0..21).for_each(|_| drop(world.send(&catalog())));
    world.now_ms += 250;
    world.authority = crate::world::Authority::Silent;
    let (asking, _) = world.begin(0, &catalog());
    world.turn(0);
    let (parked, step) = world.begin(1, &catalog());
    assert_eq!(step, Step::Wait);
    assert_eq!(world.turn(1), []);
    assert!(world.calls.len() <= 21, "nobody else asks");

    world.now_ms += 5;
    world.answer_late();
    assert_eq!(world.completed(0).iter().map(|(stream, _)| *stream).collect::<Vec<_>>(), [asking]);
    world.tick(1);
    let done = world.completed(1);
    let [(stream, step)] = done.as_slice() else { panic!("{done:?}") };
    assert_eq!((*stream, reply(step).status), (parked, 429));
}

#[test]
fn a_parked_request_asks_itself_when_the_asking_worker_is_gone() {
    let mut world = World::quota(2);
    (0..20).for_each(|_| drop(world.send(&catalog())));
    world.now_ms += 600;
    world.authority = crate::world::Authority::Silent;
    // Claimed when its deadline is about to end, so the claim ends before the other's does.
    world.begin(0, &catalog());
    world.turn(0);
    world.now_ms += 50;
    let (parked, _) = world.begin(1, &catalog());
    world.now_ms += 51;
    world.authority = crate::world::Authority::Up;
    world.tick(1);
    assert_eq!(world.turn(1), [(parked, Step::Continue)]);
}

#[test]
fn a_question_that_nobody_answers_keeps_nobody_waiting_behind_it() {
    for failure in ["not sent", "failed", "client gone"] {
        let mut world = World::quota(2);
        (0..20).for_each(|_| drop(world.send(&catalog())));
        world.now_ms += 600;
        world.authority = crate::world::Authority::Silent;
        let (asking, _) = world.begin(0, &catalog());
        let (parked, step) = world.begin(1, &catalog());
        assert_eq!((step, world.turn(1)), (Step::Wait, vec![]), "{failure}: parked behind the other worker's question");
        match failure {
            "not sent" => {
                world.authority = crate::world::Authority::CannotBeCalled;
                world.turn(0);
            }
            "failed" => {
                world.turn(0);
                world.give_up(&weir::engine::Answer::Failed(weir::callout::Undecided::AuthorityUnreachable));
                world.completed(0);
            }
            _ => {
                world.workers[0].gone(asking);
                world.turn(0);
            }
        }
        world.authority = crate::world::Authority::Up;
        world.tick(1);
        assert_eq!(world.turn(1), [(parked, Step::Continue)], "{failure}");
    }
}

#[test]
fn a_clock_set_back_leaves_no_question_open_for_ever() {
    let mut world = World::quota(2);
    (0..20).for_each(|_| drop(world.send(&catalog())));
    world.now_ms += 600;
    world.authority = crate::world::Authority::Silent;
    world.begin(0, &catalog());
    world.turn(0);
    world.now_ms -= 3_600_000;
    world.store.clear();
    world.authority = crate::world::Authority::Up;
    assert_eq!(world.send_to(1, &catalog()), Step::Continue);
}

#[test]
fn shared_data_full_of_rubbish_denies_nobody_and_panics_nowhere() {
    let mut rubbish = 0x9E37_79B9_7F4A_7C15_u64;
    for size in [0, 1, 7, 8, 39, 40, 41, 320, 4_096] {
        let mut world = World::quota(2);
        flood(&mut world, 50);
        let bytes: Vec<u8> = (0..size)
            .map(|_| {
                rubbish = rubbish.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                rubbish.to_be_bytes()[0]
            })
            .collect();
        world.data.vandalize(&bytes);
        world.data.vandalize(&vec![0xFF; size]);
        world.now_ms += 11_000;
        assert_eq!(world.send_to(1, &catalog()), Step::Continue);
        flood(&mut world, 50);
    }
}

#[test]
fn shared_data_does_not_grow_with_the_number_of_subjects() {
    let mut world = World::new(
        1,
        weir_policy::Placement::Quota,
        &crate::world::NORTHSTAR.replace("capacity: 10, refill: 1", "capacity: 1, refill: 1"),
    );
    let keys = world.data.keys();
    for user in 0..20_000 {
        let checkout = Request::on("checkout").by(&format!("tenant-{user}"), &format!("U-{user}"));
        world.send(&checkout);
        world.now_ms += 1;
    }
    assert_eq!(world.data.keys(), keys);
    assert!(world.data.size() <= (512 + 1_024 + 128) * 8 * 40 + 64);
}
