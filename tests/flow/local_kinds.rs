//! Every way of counting that a gateway can do by itself.

use crate::world::{Request, World};
use weir::flow::Step;
use weir_policy::Placement;

/// A gateway's own rule, asked by two workers in turn.
fn world(limit: &str) -> World {
    let policy = format!(
        "version: 1
rules: {{ OWN: {{ subject: gateway, scope: local, limit: {limit} }} }}
routes: {{ a: {{ rules: [OWN] }} }}"
    );
    World::new(2, Placement::Quota, &policy)
}

fn passed(world: &mut World, requests: usize) -> usize {
    (0..requests).filter(|turn| world.send_to(turn % 2, &Request::on("a")) == Step::Continue).count()
}

#[test]
fn each_is_counted_by_all_workers_together_and_comes_back() {
    // Noon is the beginning of a window. What ten seconds later is there again, and what of ten after another five.
    for (limit, in_ten_seconds, in_five_more) in [
        ("{ fixed_window: { limit: 20, window: 10s } }", 20, 0),
        ("{ sliding_window: { limit: 20, window: 10s } }", 0, 10),
        ("{ token_bucket: { capacity: 20, refill: 2, per: 1s } }", 20, 10),
        ("{ leaky_bucket: { capacity: 20, leak: 2, per: 1s } }", 20, 10),
        ("{ gcra: { burst: 20, refill: 2, per: 1s } }", 20, 10),
        ("{ fixed_window: { limit: 20, window: month } }", 0, 0),
    ] {
        let mut world = world(limit);
        assert_eq!(passed(&mut world, 25), 20, "{limit}");
        world.now_ms += 10_000;
        assert_eq!(passed(&mut world, 25), in_ten_seconds, "{limit}");
        world.now_ms += 5_000;
        assert_eq!(passed(&mut world, 25), in_five_more, "{limit}");
    }
}

#[test]
fn odd_rates_keep_their_fractions_in_shared_data() {
    for limit in ["{ gcra: { burst: 1, refill: 3, per: 1s } }", "{ token_bucket: { capacity: 1, refill: 3, per: 1s } }"] {
        let mut world = world(limit);
        // 3 a second, asked every millisecond: 1 + 3 in each second, without drift over ten.
        let mut admitted = 0;
        for _ in 0..=10_000 {
            admitted += passed(&mut world, 1);
            world.now_ms += 1;
        }
        assert_eq!(admitted, 1 + 10_000 / 334, "each waits 334 ms, as a millisecond is the clock's unit");
    }
}
