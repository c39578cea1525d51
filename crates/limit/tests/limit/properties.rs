//! What holds for any sequence of requests under any limit.

use crate::timeline::{Subject, counter, enforced, log, month, watched};
use proptest::collection::vec;
use proptest::prelude::*;
use weir_limit::{
    Charge, FixedWindow, Gcra, LeakyQueue, Limit, MAX_EXACT, SlidingLog, SlidingWindow, State, TokenBucket, decide, fixed_window,
    gcra, sliding_log, sliding_window, token_bucket,
};

const START_MS: u64 = 1_700_000_000_000;

fn any_limit() -> impl Strategy<Value = Limit> {
    let window = || (1..1_000_u64, 1..100_000_u64);
    prop_oneof![
        3 => any_bucket(),
        2 => any_numbers().prop_map(|(burst, refill, ms)| crate::timeline::gcra(burst, refill, ms)),
        2 => any_numbers().prop_map(|(depth, leak, ms)| crate::timeline::queue(depth, leak, ms)),
        2 => window().prop_map(|(limit, ms)| crate::timeline::window(limit, ms)),
        2 => window().prop_map(|(limit, ms)| counter(limit, ms)),
        2 => window().prop_map(|(limit, ms)| log(limit, ms)),
        1 => (1..1_000_u64).prop_map(month),
    ]
}

fn any_numbers() -> impl Strategy<Value = (u64, u64, u64)> {
    (1..1_000_u64, 1..5_000_u64, 1..100_000_u64)
}

fn any_bucket() -> impl Strategy<Value = Limit> {
    any_numbers().prop_map(|(capacity, refill, period_ms)| crate::timeline::bucket(capacity, refill, period_ms))
}

/// Limits of any size that can be counted.
fn extreme_limit() -> impl Strategy<Value = Limit> {
    let wide = || (0..64_u32, any::<u64>()).prop_map(|(shift, number)| number >> shift);
    (0..7_u8, wide(), wide(), wide()).prop_filter_map("no limit", |(kind, first, second, third)| {
        Some(match kind {
            0 => Limit::FixedWindow(FixedWindow::new(first, second).ok()?),
            1 => Limit::FixedWindow(FixedWindow::monthly(first).ok()?),
            2 => Limit::SlidingWindow(SlidingWindow::new(first, second).ok()?),
            3 => Limit::SlidingLog(SlidingLog::new(first, second).ok()?),
            4 => Limit::TokenBucket(TokenBucket::new(first, second, third).ok()?),
            5 => Limit::Gcra(Gcra::new(first, second, third).ok()?),
            _ => Limit::LeakyQueue(LeakyQueue::new(first, second, third).ok()?),
        })
    })
}

fn any_state() -> impl Strategy<Value = Option<State>> {
    let number = || prop_oneof![any::<u64>(), Just(0), Just(u64::MAX), 0..1_000_000_u64];
    let log = vec((number(), number()), 0..5).prop_map(|entries| State::SlidingLog(sliding_log::State { entries }));
    let others = (0..4_u8, number(), number(), number()).prop_map(|(kind, first, second, third)| match kind {
        0 => State::FixedWindow(fixed_window::State { start_ms: first, spent: second }),
        1 => State::SlidingWindow(sliding_window::State { start_ms: first, current: second, previous: third }),
        2 => State::TokenBucket(token_bucket::State { spent_mt: first, remainder: second, updated_ms: third }),
        _ => State::Tat(gcra::State { tat_ms: first, fraction: second, updated_ms: third }),
    });
    proptest::option::of(prop_oneof![4 => others, 1 => log])
}

/// A step of the clock, mostly short, with a cost and hits.
fn steps() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
    vec((prop_oneof![0..50_u64, 0..20_000_u64], 1..20_u64, 1..50_u64), 1..60)
}

/// Steps of a clock that is also set back, by less and by more than the slack.
fn jumps() -> impl Strategy<Value = Vec<(i64, u64, u64)>> {
    let jump = prop_oneof![4 => 0..50_i64, 4 => 0..20_000_i64, 2 => -1_500..0_i64, 1 => -10_000_000..10_000_000_i64];
    vec((jump, 1..20_u64, 0..50_u64), 1..80)
}

fn bound(capacity: u64, bucket: &TokenBucket, elapsed_ms: u64) -> u64 {
    capacity
        + u64::try_from(u128::from(elapsed_ms) * u128::from(bucket.refill_mt()) / u128::from(bucket.per_ms()) / 1_000).unwrap()
}

proptest! {
    #[test]
    fn a_bucket_never_admits_more_than_its_capacity_and_refill(limit in any_bucket(), steps in steps()) {
        let Limit::TokenBucket(bucket) = limit else { unreachable!() };
        let mut subject = Subject::new(limit);
        let (mut now_ms, mut units) = (START_MS, 0);
        for (step_ms, cost, hits) in steps {
            now_ms += step_ms;
            units += subject.decide(cost, hits, now_ms).admitted * cost;
            prop_assert!(units <= bound(bucket.capacity(), &bucket, now_ms - START_MS));
        }
    }

    /// Each jump back by more than the slack forgets at most one capacity, a smaller one nothing.
    #[test]
    fn a_clock_that_jumps_grants_its_way_forward_and_a_capacity_each_far_jump(
        limit in any_bucket(), steps in vec((-3_000..5_000_i64, 1..50_u64), 1..60),
    ) {
        let Limit::TokenBucket(bucket) = limit else { unreachable!() };
        let mut subject = Subject::new(limit);
        let (mut now_ms, mut forward_ms, mut far_jumps, mut units) = (START_MS, 0, 0, 0);
        // What is behind the latest write counts, and only admissions write.
        let mut written_ms = now_ms;
        for (step_ms, hits) in steps {
            now_ms = now_ms.saturating_add_signed(step_ms);
            forward_ms += step_ms.max(0).unsigned_abs();
            let far = written_ms > now_ms + weir_limit::TTL_SLACK_MS;
            let admitted = subject.admits(hits, now_ms);
            if admitted > 0 {
                far_jumps += u64::from(far);
                written_ms = now_ms;
            }
            units += admitted;
            prop_assert!(units <= bound(bucket.capacity() * (1 + far_jumps), &bucket, forward_ms));
        }
    }

    /// Verdicts whole: what passes, what is left, when all of it is back, how long to wait.
    #[test]
    fn d02_gcra_decides_the_same_as_the_token_bucket((capacity, refill, ms) in any_numbers(), jumps in jumps()) {
        let mut bucket = Subject::new(crate::timeline::bucket(capacity, refill, ms));
        let mut gcra = Subject::new(crate::timeline::gcra(capacity, refill, ms));
        let mut now_ms = START_MS;
        for (jump_ms, cost, hits) in jumps {
            now_ms = now_ms.saturating_add_signed(jump_ms);
            prop_assert_eq!(gcra.decide(cost, hits, now_ms), bucket.decide(cost, hits, now_ms), "at {}", now_ms);
        }
    }

    /// With the bucket's capacity as its depth, a queue lets in the same, and each turn is one unit's time after the last.
    #[test]
    fn d02_a_queue_lets_in_what_the_bucket_does_and_spaces_it((depth, leak, ms) in any_numbers(), steps in steps()) {
        let mut bucket = Subject::new(crate::timeline::bucket(depth, leak, ms));
        let mut queue = Subject::new(crate::timeline::queue(depth, leak, ms));
        let longest_ms = ((depth - 1) * ms).div_ceil(leak);
        let (mut now_ms, mut last_turn_ms) = (START_MS, 0);
        for (step_ms, _, hits) in steps {
            now_ms += step_ms;
            for _ in 0..hits {
                let (turn, passes) = (queue.decide(1, 1, now_ms), bucket.decide(1, 1, now_ms));
                prop_assert_eq!(&turn.quotas, &passes.quotas);
                if turn.admitted == 1 {
                    prop_assert!(turn.delay_ms <= longest_ms);
                    // Both turns are rounded up to a millisecond.
                    prop_assert!(now_ms + turn.delay_ms >= last_turn_ms + ms / leak);
                    last_turn_ms = now_ms + turn.delay_ms;
                }
            }
        }
    }

    #[test]
    fn a_window_never_admits_more_than_its_limit(limit in 1..1_000_u64, window_ms in 1..100_000_u64, steps in steps()) {
        let mut subject = Subject::new(crate::timeline::window(limit, window_ms));
        let (mut now_ms, mut window, mut units) = (0, 0, 0);
        for (step_ms, cost, hits) in steps {
            now_ms += step_ms;
            if now_ms / window_ms != window {
                (window, units) = (now_ms / window_ms, 0);
            }
            units += subject.decide(cost, hits, now_ms).admitted * cost;
            prop_assert!(units <= limit);
        }
    }

    #[test]
    fn d03_a_log_admits_exactly_what_the_last_windows_length_has_room_for(
        limit in 1..60_u64, window_ms in 1..20_000_u64, steps in steps(),
    ) {
        let mut subject = Subject::new(log(limit, window_ms));
        let mut history: Vec<(u64, u64)> = Vec::new();
        let mut now_ms = START_MS;
        for (step_ms, cost, hits) in steps {
            now_ms += step_ms;
            let held: u64 = history.iter().filter(|(at_ms, _)| at_ms + window_ms > now_ms).map(|(_, units)| units).sum();
            let admitted = subject.decide(cost, hits, now_ms).admitted;
            prop_assert_eq!(admitted, hits.min((limit - held) / cost));
            history.push((now_ms, admitted * cost));
        }
    }

    /// In any window's length, wherever it begins: two limits, and the sum of the estimate within one.
    #[test]
    fn d01_a_counter_keeps_its_estimate_within_the_limit(limit in 1..60_u64, window_ms in 1..20_000_u64, steps in steps()) {
        let mut subject = Subject::new(counter(limit, window_ms));
        let mut history: Vec<(u64, u64)> = Vec::new();
        let mut now_ms = START_MS;
        for (step_ms, cost, hits) in steps {
            now_ms += step_ms;
            let start_ms = now_ms - now_ms % window_ms;
            let units_since = |from_ms: u64, to_ms: u64| -> u64 {
                history.iter().filter(|(at_ms, _)| (from_ms..to_ms).contains(at_ms)).map(|(_, units)| units).sum()
            };
            let (previous, current) = (units_since(start_ms - window_ms, start_ms), units_since(start_ms, start_ms + window_ms));
            let estimate = previous * (start_ms + window_ms - now_ms) + current * window_ms;
            let admitted = subject.decide(cost, hits, now_ms).admitted;
            prop_assert_eq!(admitted, hits.min((limit * window_ms).saturating_sub(estimate) / window_ms / cost));
            history.push((now_ms, admitted * cost));
        }
    }

    #[test]
    fn hits_together_are_decided_like_hits_one_by_one(limit in any_limit(), steps in steps()) {
        let (mut together, mut apart) = (Subject::new(limit), Subject::new(limit));
        let mut now_ms = START_MS;
        for (step_ms, cost, hits) in steps {
            now_ms += step_ms;
            let verdict = together.decide(cost, hits, now_ms);
            let single: Vec<_> = (0..hits).map(|_| apart.decide(cost, 1, now_ms)).collect();
            let passed: Vec<bool> = single.iter().map(|verdict| verdict.admitted == 1).collect();
            let first_denied = passed.iter().position(|passed| !passed).unwrap_or(passed.len());
            prop_assert_eq!(verdict.admitted, first_denied as u64);
            prop_assert!(passed[first_denied..].iter().all(|passed| !passed), "first come, first served");
            let last_delay_ms = single[..first_denied].last().map_or(0, |verdict| verdict.delay_ms);
            prop_assert_eq!(verdict.delay_ms, last_delay_ms);
            prop_assert_eq!(&together.state, &apart.state);
            prop_assert_eq!(verdict.denial(), apart.decide(cost, 0, now_ms).denial());
        }
    }

    #[test]
    fn more_hits_never_change_what_the_first_ones_get(
        limit in extreme_limit(), state in any_state(), cost in 1..1_000_u64, fewer in 0..1_000_u64, more in 0..1_000_u64, now_ms: u64,
    ) {
        let admits = |hits| Subject { limit, state: state.clone() }.decide(cost, hits, now_ms).admitted;
        prop_assert_eq!(admits(fewer), fewer.min(admits(fewer + more)));
    }

    #[test]
    fn all_rules_are_charged_or_none(limits in vec(any_limit(), 1..6), steps in steps()) {
        let mut states = vec![None; limits.len()];
        let mut now_ms = START_MS;
        for (step_ms, cost, hits) in steps {
            now_ms += step_ms;
            let charges: Vec<Charge> = limits.iter().map(|limit| enforced(*limit, cost)).collect();
            let before = states.clone();
            let verdict = decide(&charges, &mut states, hits, now_ms);
            if verdict.admitted == 0 {
                prop_assert_eq!(&states, &before);
            } else {
                for ((limit, before), after) in limits.iter().zip(before).zip(&states) {
                    let spent = limit.spend(limit.at(before, now_ms), cost * verdict.admitted, now_ms);
                    prop_assert_eq!(Some(&spent), after.as_ref());
                }
            }
        }
    }

    #[test]
    fn rules_that_watch_change_nothing_that_enforced_rules_see(
        rules in vec((any_limit(), 1..5_u64, any::<bool>()), 1..6), jumps in jumps(),
    ) {
        let charges: Vec<Charge> =
            rules.iter().map(|(limit, cost, shadow)| if *shadow { watched(*limit, *cost) } else { enforced(*limit, *cost) }).collect();
        let is_enforced = |charge: &&Charge| !charge.shadow;
        let alone: Vec<Charge> = charges.iter().filter(is_enforced).copied().collect();
        let (mut states, mut states_alone) = (vec![None; charges.len()], vec![None; alone.len()]);
        let mut now_ms = START_MS;
        for (jump_ms, _, hits) in jumps {
            now_ms = now_ms.saturating_add_signed(jump_ms);
            let verdict = decide(&charges, &mut states, hits, now_ms);
            let verdict_alone = decide(&alone, &mut states_alone, hits, now_ms);
            let of_enforced = charges.iter().zip(verdict.quotas.iter().zip(&states)).filter(|(charge, _)| !charge.shadow);
            let (quotas, seen): (Vec<_>, Vec<_>) = of_enforced.map(|(_, (quota, state))| (*quota, state.clone())).unzip();
            prop_assert_eq!((verdict.admitted, verdict.delay_ms), (verdict_alone.admitted, verdict_alone.delay_ms));
            prop_assert_eq!(quotas, verdict_alone.quotas);
            prop_assert_eq!(&seen, &states_alone);
            let watching = charges.iter().zip(&verdict.quotas).filter(|(charge, _)| charge.shadow);
            for (_, quota) in watching {
                prop_assert!(quota.wait_ms == 0 && quota.shadow_denied <= verdict.admitted);
            }
        }
    }

    #[test]
    fn a_peek_tells_what_the_next_hit_gets(rules in vec((any_limit(), 1..5_u64), 1..4), jumps in jumps()) {
        let charges: Vec<Charge> = rules.iter().map(|(limit, cost)| enforced(*limit, (*cost).min(limit.capacity()))).collect();
        let mut states = vec![None; charges.len()];
        let mut now_ms = START_MS;
        for (jump_ms, _, hits) in jumps {
            now_ms = now_ms.saturating_add_signed(jump_ms);
            let before = states.clone();
            let peek = decide(&charges, &mut states, 0, now_ms);
            prop_assert_eq!(&states, &before);
            let next = decide(&charges, &mut states.clone(), 1, now_ms);
            prop_assert_eq!(peek.denial().is_none(), next.admitted == 1);
            decide(&charges, &mut states, hits, now_ms);
        }
    }

    #[test]
    fn the_retry_is_exact(limits in vec(any_limit(), 1..5), hits in 1..2_000_u64, later_ms in 0..30_000_u64, more in 0..2_000_u64) {
        let charges: Vec<Charge> = limits.iter().map(|limit| enforced(*limit, 1)).collect();
        let mut states = vec![None; limits.len()];
        decide(&charges, &mut states, hits, START_MS);
        let now_ms = START_MS + later_ms;
        if let Some(denial) = decide(&charges, &mut states, more, now_ms).denial() {
            prop_assert_eq!(decide(&charges, &mut states.clone(), 1, now_ms + denial.retry_ms - 1).admitted, 0);
            prop_assert_eq!(decide(&charges, &mut states, 1, now_ms + denial.retry_ms).admitted, 1);
        }
    }

    /// By other numbers than those that left the state, too. A bucket refills nothing until a clock that was set back
    /// a little has caught up, so by the slack its retry may be short.
    #[test]
    fn nobody_is_denied_beyond_the_retry_and_the_slack(
        limits in vec(any_limit(), 2), jumps in jumps(),
    ) {
        let mut subject = Subject::new(limits[0]);
        let mut now_ms = START_MS;
        for (jump_ms, _, hits) in jumps {
            now_ms = now_ms.saturating_add_signed(jump_ms);
            subject.admits(hits, now_ms);
        }
        subject.limit = limits[1];
        if let Some(denial) = subject.decide(1, 0, now_ms).denial() {
            prop_assert_eq!(subject.admits(1, now_ms + denial.retry_ms + weir_limit::TTL_SLACK_MS), 1);
        }
    }

    #[test]
    fn a_forgotten_state_changes_no_decision(limit in any_limit(), hits in 1..2_000_u64, later_ms in 0..1_000_000_u64) {
        let mut subject = Subject::new(limit);
        prop_assume!(subject.admits(hits, START_MS) > 0);
        let then_ms = START_MS + limit.ttl_ms(subject.state.as_ref().unwrap(), START_MS) + later_ms;
        prop_assert_eq!(subject.decide(1, hits, then_ms), Subject::new(limit).decide(1, hits, then_ms));
    }

    #[test]
    fn no_numbers_overflow(limit in extreme_limit(), state in any_state(), cost: u64, hits: u64, now_ms: u64, later_ms: u64) {
        let mut subject = Subject { limit, state: state.clone() };
        let verdict = subject.decide(cost, hits, now_ms);
        prop_assert!(verdict.admitted == hits || verdict.denial().is_some_and(|denial| denial.retry_ms > 0));
        subject.decide(cost, hits, later_ms);
        let _ = limit.ttl_ms(&limit.at(state, later_ms), now_ms);
    }

    /// The Lua script computes in doubles: no product goes beyond 2^53, from any state that it reads.
    #[test]
    fn what_is_accepted_can_be_counted_in_doubles(
        limit in extreme_limit(), state in any_state(), hits: u64, now_ms in 0..4_102_444_800_000_u64,
    ) {
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        let exact = |number: u128| number <= u128::from(MAX_EXACT);
        let mut subject = Subject { limit, state };
        subject.admits(hits, now_ms);
        // What a cost of the whole capacity asks for, on top of what was spent.
        match (limit, limit.at(subject.state, now_ms)) {
            (Limit::TokenBucket(bucket), State::TokenBucket(state)) => {
                let drain = product(state.spent_mt, bucket.per_ms());
                // The longest elapsed time that is multiplied is one short of filling the bucket.
                prop_assert!(exact(drain + u128::from(bucket.refill_mt()) + u128::from(bucket.per_ms())));
            }
            (Limit::SlidingWindow(window), State::SlidingWindow(state)) => {
                let spent = product(state.previous, window.window_ms()) + product(state.current, window.window_ms());
                prop_assert!(exact(spent + product(window.limit(), window.window_ms())));
            }
            (Limit::Gcra(gcra), State::Tat(state)) => {
                let backlog = product(state.tat_ms - state.updated_ms, gcra.rate().units()) + u128::from(state.fraction);
                prop_assert!(backlog <= product(gcra.burst(), gcra.rate().per_ms()));
                prop_assert!(exact(backlog + product(gcra.burst(), gcra.rate().per_ms()) + u128::from(gcra.rate().units())));
            }
            _ => {}
        }
    }
}
