//! GCRA: the token bucket's timelines from timestamps, changed numbers, the clock.

use crate::timeline::{Subject, bucket, gcra, queue, timeline};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_limit::{Limit, State};

const SECOND: u64 = 1_000;
const DAY: u64 = 24 * 60 * 60 * SECOND;

/// The example policy's P-READ, as GCRA.
fn p_read() -> Limit {
    gcra(20, 2, SECOND)
}

fn tat(tat_ms: u64, fraction: u64, updated_ms: u64) -> State {
    State::Tat(weir_limit::gcra::State { tat_ms, fraction, updated_ms })
}

#[test]
fn d02_the_token_buckets_figures_from_one_arrival_time() {
    timeline(
        p_read(),
        "now_ms  cost  hits | admitted  remaining  retry_ms
              0     1    20 |       20          0       500
            499     1     1 |        0          0         1
            500     1     1 |        1          0       500
          5_500     1    20 |       10          0       500
         15_500     1    25 |       20          0       500
         25_500     1    17 |       17          3         0
         25_500    10     1 |        0          3     3_500",
    );
    let admitted = (0..=10 * SECOND).scan(Subject::new(p_read()), |subject, now_ms| Some(subject.admits(100, now_ms)));
    assert_eq!(admitted.sum::<u64>(), 20 + 2 * 10);
}

#[test]
fn d02_the_state_is_when_all_will_have_come_back() {
    let mut subject = Subject::new(p_read());
    subject.admits(12, 1_000);
    assert_eq!(subject.state, Some(tat(7_000, 0, 1_000)));
    // 3 in 10 ms: a unit takes 10/3 ms, of which the third is kept.
    let mut odd = Subject::new(gcra(3, 3, 10));
    odd.admits(1, 1_000);
    assert_eq!(odd.state, Some(tat(1_003, 1, 1_000)));
}

#[test]
fn denied_until_exactly_the_retry_and_admitted_at_it() {
    for (burst, refill, period_ms) in
        [(20, 2, SECOND), (5, 1, 7 * SECOND), (7, 3, 11), (100, 999_983, 999_979), (1, 1, 366 * DAY)]
    {
        for cost in [1, burst] {
            let mut subject = Subject::new(gcra(burst, refill, period_ms));
            let start_ms = 1_700_000_000_123;
            assert_eq!(subject.admits(burst, start_ms), burst);
            let retry_ms = subject.decide(cost, 1, start_ms).denial().expect("an empty burst denies").retry_ms;
            assert_eq!(retry_ms, (cost * period_ms).div_ceil(refill));
            assert_eq!(subject.decide(cost, 1, start_ms + retry_ms - 1).admitted, 0);
            assert_eq!(subject.decide(cost, 1, start_ms + retry_ms).admitted, 1);
        }
    }
}

#[test]
fn nothing_drifts_over_a_year_of_odd_steps() {
    for (burst, refill, period_ms) in [(10_000, 1, 7 * SECOND), (10_000, 1_000, 60 * SECOND), (1_000_000, 7, 11)] {
        let mut subject = Subject::new(gcra(burst, refill, period_ms));
        let (mut now_ms, mut admitted) = (0, 0);
        while now_ms < 366 * DAY {
            admitted += subject.admits(u64::MAX, now_ms);
            now_ms += 60_011;
        }
        assert_eq!(admitted, burst + (now_ms - 60_011) * refill / period_ms, "{refill} per {period_ms} ms");
    }
}

#[test]
fn a_clock_set_back_a_little_brings_nothing_back_and_counts_on_from_there() {
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
fn a_clock_set_back_by_hours_bans_nobody() {
    timeline(
        p_read(),
        " now_ms  cost  hits | admitted  remaining  retry_ms
       9_000_000     1    20 |       20          0       500
       8_999_000     1    20 |        0          0       500
               0     1    20 |       20          0       500",
    );
}

#[test]
fn a_raise_is_there_at_once() {
    let mut subject = Subject::new(p_read());
    assert_eq!(subject.admits(20, 0), 20);
    subject.limit = gcra(50, 2, SECOND);
    subject.plays("0 1 100 | 30 0 500");
    // A faster rate brings the burst back in its own time: 50 at 100 a second, not in 25 s.
    subject.limit = gcra(50, 100, SECOND);
    subject.plays("0 1 1 | 0 0 10\n 9 1 1 | 0 0 1\n 10 1 1 | 1 0 10");
}

#[test]
fn a_cut_burst_grants_nothing_and_keeps_nobody_longer_than_a_burst_takes() {
    let mut subject = Subject::new(gcra(1_000, 2, SECOND));
    assert_eq!(subject.admits(1_000, 0), 1_000);
    subject.limit = p_read();
    subject.plays(
        "now_ms  cost  hits | admitted  remaining  retry_ms
              0     1     1 |        0          0       500
            499     1     1 |        0          0         1
            499    20     1 |        0          0     9_501
            500     1     9 |        1          0       500",
    );
}

#[test]
fn a_slower_rate_makes_a_debt_worth_less_by_one_burst_at_most() {
    let mut subject = Subject::new(gcra(10, 10, SECOND));
    assert_eq!(subject.admits(10, 0), 10);
    // A debt of one second: ten units of the old rate, one of the new.
    subject.limit = gcra(10, 1, SECOND);
    subject.plays("0 1 20 | 9 0 1_000\n 0 1 20 | 0 0 1_000");
}

#[test]
fn a_state_of_another_algorithm_starts_clean() {
    let mut subject = Subject::new(bucket(5, 1, SECOND));
    assert_eq!(subject.admits(5, 0), 5);
    subject.limit = gcra(5, 1, SECOND);
    assert_eq!(subject.admits(9, 0), 5);
    subject.limit = bucket(5, 1, SECOND);
    assert_eq!(subject.admits(9, 0), 5);
}

#[test]
fn a_queue_and_a_burst_take_over_each_others_debt() {
    let mut subject = Subject::new(gcra(5, 1, SECOND));
    assert_eq!(subject.admits(5, 0), 5);
    subject.limit = queue(5, 1, SECOND);
    subject.plays("0 1 1 | 0 0 1_000");
}
