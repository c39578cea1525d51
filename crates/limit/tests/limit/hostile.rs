//! States that no honest store holds: whatever a number says, there is an answer and no panic.

use crate::timeline::{Subject, bucket, window};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_limit::{Limit, MAX_EXACT, MAX_PERIOD_MS, State, fixed_window, token_bucket};

const EXTREMES: [u64; 5] = [0, 1, 1_700_000_000_000, u64::MAX - 1, u64::MAX];

fn limits() -> [Limit; 6] {
    [
        bucket(20, 2, 1_000),
        bucket(1, 1, MAX_PERIOD_MS),
        bucket(1, MAX_EXACT / 2_000 - 2, 1),
        window(20, 10_000),
        window(MAX_EXACT, 1),
        window(1, MAX_PERIOD_MS),
    ]
}

fn states() -> impl Iterator<Item = State> {
    EXTREMES.into_iter().flat_map(|first| {
        EXTREMES.into_iter().flat_map(move |second| {
            let window = State::FixedWindow(fixed_window::State { start_ms: first, spent: second });
            let buckets = EXTREMES.map(move |third| {
                State::TokenBucket(token_bucket::State { spent_mt: first, remainder: second, updated_ms: third })
            });
            buckets.into_iter().chain([window])
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
                let mut subject = Subject { limit, state: Some(state) };
                let verdict = subject.decide(cost, hits, now_ms);
                let case = format!("{limit:?} {state:?} cost {cost} hits {hits} at {now_ms}: {verdict:?}");
                assert!(verdict.admitted.saturating_mul(cost) <= limit.capacity(), "{case}");
                assert!(verdict.admitted == hits || verdict.denial().is_some(), "{case}");
                assert!(verdict.denial().is_none_or(|denial| denial.retry_ms > 0), "{case}");
                assert!(limit.ttl_ms(&subject.state.unwrap(), now_ms) >= 1_000, "{case}");
            }
        }
    }
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
