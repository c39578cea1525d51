//! Token buckets: the example figures by hand, odd rates, long horizons, changed numbers.

use crate::timeline::{Subject, bucket, timeline, window};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_limit::{Limit, State, token_bucket};

const SECOND: u64 = 1_000;
const DAY: u64 = 24 * 60 * 60 * SECOND;

/// The example policy's P-READ: capacity 20, 2 per second.
fn p_read() -> Limit {
    bucket(20, 2, SECOND)
}

fn spent(spent_mt: u64, updated_ms: u64) -> Option<State> {
    Some(State::TokenBucket(token_bucket::State { spent_mt, remainder: 0, updated_ms }))
}

#[test]
fn d02_twenty_at_once_pass_and_the_next_waits_less_than_a_second() {
    timeline(
        p_read(),
        "now_ms  cost  hits | admitted  remaining  retry_ms
              0     1    20 |       20          0       500
              0     1     1 |        0          0       500
            499     1     1 |        0          0         1
            500     1     1 |        1          0       500",
    );
}

#[test]
fn d02_five_idle_seconds_bring_ten_tokens_and_ten_bring_all_twenty() {
    timeline(
        p_read(),
        "now_ms  cost  hits | admitted  remaining  retry_ms
              0     1    20 |       20          0       500
          5_000     1    20 |       10          0       500
         15_000     1    25 |       20          0       500
        999_000     1    25 |       20          0       500",
    );
}

#[test]
fn d02_a_burst_of_twelve_passes_whole() {
    timeline(
        p_read(),
        "now_ms  cost  hits | admitted  remaining  retry_ms
              0     1    12 |       12          8         0",
    );
}

#[test]
fn d02_a_caller_that_never_stops_asking_gets_forty_in_ten_seconds() {
    let mut subject = Subject::new(p_read());
    let admitted: u64 = (0..=10 * SECOND).map(|now_ms| subject.admits(100, now_ms)).sum();
    assert_eq!(admitted, 20 + 2 * 10);
}

#[test]
fn d02_three_hundred_ms_refill_six_hundred_millitokens() {
    assert_eq!(p_read().at(spent(20_000, 0), 300), spent(19_400, 300).unwrap());
}

#[test]
fn d17_a_deficit_of_seven_tokens_is_three_and_a_half_seconds() {
    timeline(
        p_read(),
        "now_ms  cost  hits | admitted  remaining  retry_ms
              0     1    17 |       17          3         0
              0    10     1 |        0          3     3_500
          3_499    10     1 |        0          9         1
          3_500    10     1 |        1          0     5_000",
    );
}

#[test]
fn denied_until_exactly_the_retry_and_admitted_at_it() {
    let rates = [
        (20, 2, SECOND),
        (1, 1, 7 * SECOND),
        (5, 1, 7 * SECOND),
        (1_000, 1_000, 60 * SECOND),
        (3, 3, 10),
        (7, 3, 11),
        (1, 1, 1),
        (100, 999_983, 999_979),
        (2, 1, DAY),
        (1, 1, 366 * DAY),
    ];
    for (capacity, refill, period_ms) in rates {
        for cost in [1, capacity] {
            let mut subject = Subject::new(bucket(capacity, refill, period_ms));
            let start_ms = 1_700_000_000_123;
            assert_eq!(subject.admits(capacity, start_ms), capacity);
            let empty = subject.state.clone();

            let retry_ms = subject.decide(cost, 1, start_ms).denial().expect("an empty bucket denies").retry_ms;
            let exact_ms = (cost * period_ms).div_ceil(refill);
            assert_eq!(retry_ms, exact_ms, "{cost} of {capacity}, {refill} per {period_ms} ms");

            let early = subject.decide(cost, 1, start_ms + retry_ms - 1);
            assert_eq!((early.admitted, early.denial().unwrap().retry_ms), (0, 1), "{refill} per {period_ms} ms");
            assert_eq!(subject.state, empty, "a denial writes nothing");
            assert_eq!(subject.decide(cost, 1, start_ms + retry_ms).admitted, 1, "{refill} per {period_ms} ms");
        }
    }
}

#[test]
fn an_odd_rate_keeps_its_remainder() {
    // 1,000 per minute are 16 2/3 millitokens a millisecond: the first comes after 60 ms, the third after 180.
    timeline(
        bucket(1_000, 1_000, 60 * SECOND),
        "now_ms  cost  hits | admitted  remaining  retry_ms
              0     1 1_000 |    1_000          0        60
             59     1     1 |        0          0         1
             61     1     1 |        1          0        59
            120     1     1 |        1          0        60
         60_000     1 2_000 |      998          0        60",
    );
    // 3 tokens in 10 ms: 300 millitokens a millisecond.
    timeline(
        bucket(3, 3, 10),
        "now_ms  cost  hits | admitted  remaining  retry_ms
              0     1     3 |        3          0         4
              4     1     3 |        1          0         3
              7     1     3 |        1          0         3
             10     1     3 |        1          0         4",
    );
}

#[test]
fn nothing_drifts_over_a_year_of_odd_steps() {
    for (capacity, refill, period_ms) in [(10_000, 1, 7 * SECOND), (10_000, 1_000, 60 * SECOND), (1_000_000, 7, 11)] {
        let mut subject = Subject::new(bucket(capacity, refill, period_ms));
        let (mut now_ms, mut admitted) = (0, 0);
        while now_ms < 366 * DAY {
            admitted += subject.admits(u64::MAX, now_ms);
            now_ms += 60_011;
        }
        let last_ms = now_ms - 60_011;
        assert_eq!(admitted, capacity + last_ms * refill / period_ms, "{refill} per {period_ms} ms");
    }
}

#[test]
fn a_clock_set_back_a_little_refills_nothing_and_counts_on_from_there() {
    timeline(
        p_read(),
        "now_ms  cost  hits | admitted  remaining  retry_ms
         10_000     1    19 |       19          1         0
          9_000     1     1 |        1          0       500
          9_499     1     1 |        0          0         1
          9_500     1     1 |        1          0       500
          8_500     1     1 |        0          0       500
         10_000     1     9 |        1          0       500",
    );
}

#[test]
fn a_clock_set_back_by_more_than_a_second_starts_clean() {
    timeline(
        p_read(),
        "now_ms  cost  hits | admitted  remaining  retry_ms
         10_000     1    20 |       20          0       500
          9_000     1    20 |        0          0       500
          8_999     1    20 |       20          0       500",
    );
}

#[test]
fn a_raised_capacity_is_there_at_once() {
    let mut subject = Subject::new(p_read());
    assert_eq!(subject.admits(20, 0), 20);
    subject.limit = bucket(50, 2, SECOND);
    subject.plays("0 1 100 | 30 0 500");
}

#[test]
fn a_cut_capacity_grants_no_burst() {
    let mut subject = Subject::new(p_read());
    assert_eq!(subject.admits(15, 0), 15);
    // 15 are spent of what is now 10: the 5 too many come back first.
    subject.limit = bucket(10, 2, SECOND);
    subject.plays(
        "now_ms  cost  hits | admitted  remaining  retry_ms
              0     1    10 |        0          0     3_000
          2_999     1    10 |        0          0         1
          3_000     1    10 |        1          0       500",
    );
}

#[test]
fn another_rate_takes_over_what_was_spent() {
    let mut subject = Subject::new(bucket(10, 1, 7 * SECOND));
    assert_eq!(subject.admits(10, 0), 10);
    // At 3.5 s half a token is back; from then on there are 10 a second.
    assert_eq!(subject.admits(0, 3_500), 0);
    subject.state = Some(subject.limit.at(subject.state.take(), 3_500));
    subject.limit = bucket(10, 10, SECOND);
    subject.plays("3_500 1 1 | 0 0 50\n 3_550 1 1 | 1 0 100");
}

#[test]
fn a_state_of_another_algorithm_starts_clean() {
    let mut subject = Subject::new(window(5, SECOND));
    assert_eq!(subject.admits(5, 0), 5);
    subject.limit = p_read();
    subject.plays("0 1 30 | 20 0 500");
    subject.limit = window(5, SECOND);
    subject.plays("0 1 30 | 5 0 1_000");
}

#[test]
fn a_state_is_kept_until_the_bucket_is_full_and_a_second_longer() {
    let limit = p_read();
    assert_eq!(limit.ttl_ms(&limit.at(None, 0), 0), 1_000);
    let mut subject = Subject::new(limit);
    let verdict = subject.decide(1, 3, 0);
    assert_eq!(verdict.quotas[0].reset_ms, 1_500);
    assert_eq!(limit.ttl_ms(&subject.state.unwrap(), 0), 2_500);
}

#[test]
fn a_full_bucket_has_no_remainder_over() {
    // 7 in 11 ms: a token takes 11/7 ms, so after 2 ms more has come back than was spent, and is gone.
    let limit = bucket(5, 7, 11);
    assert_eq!(limit.at(spent(1_000, 0), 2), limit.at(None, 2));
}

#[test]
fn an_empty_bucket_fills_in_its_period() {
    assert_eq!(p_read().period_ms(), 10 * SECOND);
    assert_eq!(bucket(3, 7, 10).period_ms(), 5, "30/7 ms, rounded up");
}
