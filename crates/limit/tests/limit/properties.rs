//! What holds for any sequence of requests under any limit.

use crate::timeline::Subject;
use proptest::collection::vec;
use proptest::prelude::*;
use weir_limit::{Charge, FixedWindow, Limit, State, TokenBucket, decide};

fn any_limit() -> impl Strategy<Value = Limit> {
    prop_oneof![any_bucket(), (1..1_000_u64, 1..100_000_u64).prop_map(|(limit, ms)| crate::timeline::window(limit, ms))]
}

fn any_bucket() -> impl Strategy<Value = Limit> {
    (1..1_000_u64, 1..5_000_u64, 1..100_000_u64)
        .prop_map(|(capacity, refill, period_ms)| crate::timeline::bucket(capacity, refill, period_ms))
}

/// Limits of any size that can be counted.
fn extreme_limit() -> impl Strategy<Value = Limit> {
    let wide = || (0..64_u32, any::<u64>()).prop_map(|(shift, number)| number >> shift);
    prop_oneof![
        (wide(), wide()).prop_filter_map("no window", |(limit, ms)| Some(Limit::FixedWindow(FixedWindow::new(limit, ms).ok()?))),
        (wide(), wide(), wide()).prop_filter_map("no bucket", |(capacity, refill, ms)| {
            Some(Limit::TokenBucket(TokenBucket::new(capacity, refill, ms).ok()?))
        }),
    ]
}

fn any_state() -> impl Strategy<Value = Option<State>> {
    let number = || prop_oneof![any::<u64>(), Just(0), Just(u64::MAX), 0..1_000_000_u64];
    proptest::option::of((number(), number(), number(), any::<bool>()).prop_map(|(first, second, third, window)| {
        if window {
            State::FixedWindow(weir_limit::fixed_window::State { start_ms: first, spent: second })
        } else {
            State::TokenBucket(weir_limit::token_bucket::State { spent_mt: first, remainder: second, updated_ms: third })
        }
    }))
}

/// A step of the clock, mostly short, with a cost and hits.
fn steps() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
    vec((prop_oneof![0..50_u64, 0..20_000_u64], 1..20_u64, 1..50_u64), 1..60)
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
        let (mut now_ms, mut units) = (1_700_000_000_000, 0);
        let start_ms = now_ms;
        for (step_ms, cost, hits) in steps {
            now_ms += step_ms;
            units += subject.decide(cost, hits, now_ms).admitted * cost;
            prop_assert!(units <= bound(bucket.capacity(), &bucket, now_ms - start_ms));
        }
    }

    /// Each jump back by more than the slack forgets at most one capacity, a smaller one nothing.
    #[test]
    fn a_clock_that_jumps_grants_its_way_forward_and_a_capacity_each_far_jump(
        limit in any_bucket(), steps in vec((-3_000..5_000_i64, 1..50_u64), 1..60),
    ) {
        let Limit::TokenBucket(bucket) = limit else { unreachable!() };
        let mut subject = Subject::new(limit);
        let (mut now_ms, mut forward_ms, mut far_jumps, mut units) = (1_700_000_000_000_u64, 0, 0, 0);
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
    fn hits_together_are_decided_like_hits_one_by_one(limit in any_limit(), steps in steps()) {
        let (mut together, mut apart) = (Subject::new(limit), Subject::new(limit));
        let mut now_ms = 1_700_000_000_000;
        for (step_ms, cost, hits) in steps {
            now_ms += step_ms;
            let verdict = together.decide(cost, hits, now_ms);
            let passed: Vec<bool> = (0..hits).map(|_| apart.decide(cost, 1, now_ms).admitted == 1).collect();
            let first_denied = passed.iter().position(|passed| !passed).unwrap_or(passed.len());
            prop_assert_eq!(verdict.admitted, first_denied as u64);
            prop_assert!(passed[first_denied..].iter().all(|passed| !passed), "first come, first served");
            prop_assert_eq!(together.state, apart.state);
            prop_assert_eq!(verdict.denial(), apart.decide(cost, 0, now_ms).denial());
        }
    }

    #[test]
    fn more_hits_never_change_what_the_first_ones_get(
        limit in extreme_limit(), state in any_state(), cost in 1..1_000_u64, fewer in 0..1_000_u64, more in 0..1_000_u64, now_ms: u64,
    ) {
        let admits = |hits| Subject { limit, state }.decide(cost, hits, now_ms).admitted;
        prop_assert_eq!(admits(fewer), fewer.min(admits(fewer + more)));
    }

    #[test]
    fn all_rules_are_charged_or_none(limits in vec(any_limit(), 1..6), steps in steps()) {
        let mut states = vec![None; limits.len()];
        let mut now_ms = 1_700_000_000_000;
        for (step_ms, cost, hits) in steps {
            now_ms += step_ms;
            let charges: Vec<Charge> = limits.iter().map(|limit| Charge { limit: *limit, cost }).collect();
            let before = states.clone();
            let verdict = decide(&charges, &mut states, hits, now_ms);
            if verdict.admitted == 0 {
                prop_assert_eq!(&states, &before);
            } else {
                for ((limit, before), after) in limits.iter().zip(before).zip(&states) {
                    prop_assert_eq!(Some(limit.spend(limit.at(before, now_ms), cost * verdict.admitted)), *after);
                }
            }
        }
    }

    #[test]
    fn the_retry_is_exact(limits in vec(any_limit(), 1..5), hits in 1..2_000_u64) {
        let charges: Vec<Charge> = limits.iter().map(|limit| Charge { limit: *limit, cost: 1 }).collect();
        let mut states = vec![None; limits.len()];
        let now_ms = 1_700_000_000_000;
        if let Some(denial) = decide(&charges, &mut states, hits, now_ms).denial() {
            prop_assert_eq!(decide(&charges, &mut states.clone(), 1, now_ms + denial.retry_ms - 1).admitted, 0);
            prop_assert_eq!(decide(&charges, &mut states, 1, now_ms + denial.retry_ms).admitted, 1);
        }
    }

    #[test]
    fn a_forgotten_state_changes_no_decision(limit in any_limit(), hits in 1..2_000_u64, later_ms in 0..1_000_000_u64) {
        let mut subject = Subject::new(limit);
        let now_ms = 1_700_000_000_000;
        prop_assume!(subject.admits(hits, now_ms) > 0);
        let then_ms = now_ms + limit.ttl_ms(&subject.state.unwrap(), now_ms) + later_ms;
        prop_assert_eq!(subject.decide(1, hits, then_ms), Subject::new(limit).decide(1, hits, then_ms));
    }

    #[test]
    fn no_numbers_overflow(limit in extreme_limit(), state in any_state(), cost: u64, hits: u64, now_ms: u64, later_ms: u64) {
        let mut subject = Subject { limit, state };
        let verdict = subject.decide(cost, hits, now_ms);
        prop_assert!(verdict.admitted == hits || verdict.denial().is_some_and(|denial| denial.retry_ms > 0));
        subject.decide(cost, hits, later_ms);
        let _ = limit.ttl_ms(&limit.at(state, later_ms), now_ms);
    }

    /// The Lua script computes in doubles: from honest states, no product goes beyond 2^53.
    #[test]
    fn what_is_accepted_can_be_counted_in_doubles(limit in extreme_limit(), hits: u64, now_ms in 0..4_102_444_800_000_u64) {
        let mut subject = Subject::new(limit);
        subject.admits(hits, now_ms);
        if let (Limit::TokenBucket(bucket), Some(State::TokenBucket(state))) = (limit, subject.state) {
            let drain = u128::from(state.spent_mt) * u128::from(bucket.per_ms());
            // The longest elapsed time that is multiplied is one short of filling the bucket.
            let refilled = drain + u128::from(bucket.refill_mt()) + u128::from(bucket.per_ms());
            prop_assert!(refilled <= u128::from(weir_limit::MAX_EXACT));
        }
    }
}
