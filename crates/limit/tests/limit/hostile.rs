//! States that no honest store holds: whatever a number says, there is an answer and no panic.

use crate::timeline::{Subject, bucket, counter, gcra, log, month, queue, window};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_limit::{Limit, MAX_EXACT, MAX_PERIOD_MS, State, fixed_window, sliding_log, sliding_window, token_bucket};

const EXTREMES: [u64; 5] = [0, 1, 1_700_000_000_000, u64::MAX - 1, u64::MAX];

fn limits() -> [Limit; 20] {
    [
        bucket(20, 2, 1_000),
        bucket(1, 1, MAX_PERIOD_MS),
        bucket(1, MAX_EXACT / 2_000 - 2, 1),
        window(20, 10_000),
        window(MAX_EXACT, 1),
        window(1, MAX_PERIOD_MS),
        month(20),
        month(MAX_EXACT),
        counter(20, 10_000),
        counter(MAX_EXACT / 4, 1),
        counter(MAX_EXACT / 4 / MAX_PERIOD_MS, MAX_PERIOD_MS),
        log(20, 10_000),
        log(sliding_log::MOST_ENTRIES, 1),
        log(1, MAX_PERIOD_MS),
        gcra(20, 2, 1_000),
        gcra(MAX_EXACT / 4, 1, 1),
        gcra(1, MAX_EXACT / 2, 1),
        gcra(MAX_EXACT / 4 / MAX_PERIOD_MS, 1, MAX_PERIOD_MS),
        queue(20, 2, 1_000),
        queue(3, 1_000_003, 999_979),
    ]
}

fn states() -> impl Iterator<Item = State> {
    EXTREMES.into_iter().flat_map(|first| {
        EXTREMES.into_iter().flat_map(move |second| {
            let window = State::FixedWindow(fixed_window::State { start_ms: first, spent: second });
            let log = State::SlidingLog(sliding_log::State { entries: vec![(first, second), (second, first)] });
            let of_three = EXTREMES.into_iter().flat_map(move |third| {
                [
                    State::TokenBucket(token_bucket::State { spent_mt: first, remainder: second, updated_ms: third }),
                    State::Tat(weir_limit::gcra::State { tat_ms: first, fraction: second, updated_ms: third }),
                    State::SlidingWindow(sliding_window::State { start_ms: first, current: second, previous: third }),
                ]
            });
            of_three.chain([window, log])
        })
    })
}

#[test]
fn no_state_hits_cost_or_time_is_too_large_for_an_answer() {
    for limit in limits() {
        for state in states() {
            for (cost, hits, now_ms) in [(1, 1), (u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX)]
                .into_iter()
                .flat_map(|(cost, hits)| EXTREMES.map(|now_ms| (cost, hits, now_ms)))
            {
                let mut subject = Subject { limit, state: Some(state.clone()) };
                let verdict = subject.decide(cost, hits, now_ms);
                let case = || format!("{limit:?} {state:?} cost {cost} hits {hits} at {now_ms}: {verdict:?}");
                assert!(verdict.admitted.saturating_mul(cost) <= limit.capacity(), "{}", case());
                assert!(verdict.admitted == hits || verdict.denial().is_some(), "{}", case());
                assert!(verdict.denial().is_none_or(|denial| denial.retry_ms > 0), "{}", case());
                assert!(verdict.delay_ms <= limit.period_ms(), "{}", case());
                assert!(limit.ttl_ms(&subject.state.unwrap(), now_ms) >= 1_000, "{}", case());
            }
        }
    }
}

/// What has not been made current first is no answer that counts, but no panic either.
#[test]
fn no_state_is_too_large_for_any_question() {
    for limit in limits() {
        for state in states() {
            for (cost, now_ms) in EXTREMES.into_iter().flat_map(|cost| EXTREMES.map(|now_ms| (cost, now_ms))) {
                let _ = (limit.remaining(&state, now_ms), limit.wait_ms(&state, cost, now_ms), limit.reset_ms(&state, now_ms));
                let _ = (limit.delay_ms(&state, cost), limit.ttl_ms(&state, now_ms));
                let _ = limit.spend(state.clone(), cost, now_ms);
            }
        }
    }
}

#[test]
fn no_fraction_is_worth_a_millisecond() {
    // Of 3 per 10 ms, two thirds of a millisecond are the most that a fraction can say.
    let tat = |fraction| State::Tat(weir_limit::gcra::State { tat_ms: 5, fraction, updated_ms: 0 });
    let limit = gcra(3, 3, 10);
    assert_eq!(limit.at(Some(tat(u64::MAX)), 0), tat(2));
}

#[test]
fn an_arrival_of_the_far_future_waits_no_longer_than_a_burst_takes() {
    let state = weir_limit::gcra::State { tat_ms: u64::MAX, fraction: 0, updated_ms: 1_000 };
    let mut subject = Subject { limit: gcra(20, 2, 1_000), state: Some(State::Tat(state)) };
    assert_eq!(subject.decide(20, 1, 1_000).denial().map(|denial| denial.retry_ms), Some(10_000));
    assert_eq!(subject.admits(30, 11_000), 20);
}

#[test]
fn counts_of_any_size_are_gone_after_two_windows() {
    let state = sliding_window::State { start_ms: 0, current: u64::MAX, previous: u64::MAX };
    let mut subject = Subject { limit: counter(20, 10_000), state: Some(State::SlidingWindow(state)) };
    let retry_ms = subject.decide(1, 1, 0).denial().expect("a debt denies").retry_ms;
    assert_eq!(subject.admits(1, retry_ms - 1), 0);
    assert_eq!(subject.admits(1, retry_ms), 1);
    assert!(retry_ms <= 20_000, "{retry_ms}");
}

#[test]
fn a_remainder_is_never_worth_a_millitoken() {
    // Of 1 per 7 s: 1/7 millitoken a millisecond, so 6/7 is the most that a remainder can say.
    let bucket = |remainder| State::TokenBucket(token_bucket::State { spent_mt: 5_000, remainder, updated_ms: 0 });
    let limit = crate::timeline::bucket(5, 1, 7_000);
    assert_eq!(limit.at(Some(bucket(u64::MAX)), 0), bucket(6));
    assert_eq!(limit.wait_ms(&limit.at(Some(bucket(u64::MAX)), 0), 1, 0), 6_994);
}

#[test]
fn a_debt_of_any_size_is_a_denial_and_comes_back() {
    let state = token_bucket::State { spent_mt: u64::MAX, remainder: u64::MAX, updated_ms: 1_000 };
    let mut subject = Subject { limit: bucket(20, 2, 1_000), state: Some(State::TokenBucket(state)) };
    let retry_ms = subject.decide(1, 1, 1_000).denial().expect("a debt denies").retry_ms;
    assert_eq!(subject.admits(1, 1_000 + retry_ms - 1), 0);
    assert_eq!(subject.admits(1, 1_000 + retry_ms), 1);
}

#[test]
fn a_state_of_the_far_future_is_forgotten() {
    let state = token_bucket::State { spent_mt: 20_000, remainder: 0, updated_ms: u64::MAX };
    let mut subject = Subject { limit: bucket(20, 2, 1_000), state: Some(State::TokenBucket(state)) };
    assert_eq!(subject.admits(30, 1_700_000_000_000), 20);
}
