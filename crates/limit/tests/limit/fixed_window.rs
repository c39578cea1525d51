//! Fixed windows: the boundary, the clock, changed numbers.

use crate::timeline::{Subject, timeline, window};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// The example policy's P-ANON: 20 in 10 seconds.
fn p_anon() -> weir_limit::Limit {
    window(20, 10_000)
}

#[test]
fn d01_twenty_before_and_twenty_after_the_boundary_all_pass() {
    timeline(
        p_anon(),
        "now_ms  cost  hits | admitted  remaining  retry_ms
          9_900     1    20 |       20          0       100
         10_100     1    20 |       20          0     9_900
         10_100     1     1 |        0          0     9_900",
    );
}

#[test]
fn denied_until_exactly_the_boundary() {
    timeline(
        p_anon(),
        "now_ms  cost  hits | admitted  remaining  retry_ms
          3_000     1    21 |       20          0     7_000
          9_999     1     1 |        0          0         1
         10_000     1     1 |        1         19         0",
    );
}

#[test]
fn windows_begin_at_multiples_since_the_epoch() {
    // 1,700,000,000 s are 28,333,333 minutes and 20 seconds.
    timeline(
        window(2, 60_000),
        "       now_ms  cost  hits | admitted  remaining  retry_ms
    1_700_000_000_000     1     2 |        2          0    40_000
    1_700_000_039_999     1     1 |        0          0         1
    1_700_000_040_000     1     2 |        2          0    60_000",
    );
}

#[test]
fn what_is_left_of_a_window_is_spent_by_whole_costs() {
    timeline(
        p_anon(),
        "now_ms  cost  hits | admitted  remaining  retry_ms
              0     7     5 |        2          6    10_000
              0     6     1 |        1          0    10_000",
    );
}

#[test]
fn an_idle_window_hands_nothing_on() {
    timeline(
        p_anon(),
        "now_ms  cost  hits | admitted  remaining  retry_ms
              0     1     1 |        1         19         0
         90_000     1    50 |       20          0    10_000",
    );
}

#[test]
fn a_clock_set_back_inside_the_window_counts_on() {
    timeline(
        p_anon(),
        "now_ms  cost  hits | admitted  remaining  retry_ms
          9_000     1    15 |       15          5         0
          1_000     1    15 |        5          0     9_000",
    );
}

#[test]
fn a_clock_that_swings_at_a_boundary_grants_nothing_twice() {
    timeline(
        p_anon(),
        "now_ms  cost  hits | admitted  remaining  retry_ms
         10_000     1    18 |       18          2         0
          9_999     1     1 |        1          1         0
         10_001     1     1 |        1          0     9_999
          9_000     1     1 |        0          0    11_000
         19_999     1     1 |        0          0         1
         20_000     1     1 |        1         19         0",
    );
}

#[test]
fn a_clock_set_back_by_more_than_a_second_forgets_one_window() {
    timeline(
        p_anon(),
        "now_ms  cost  hits | admitted  remaining  retry_ms
         10_000     1    20 |       20          0    10_000
          8_999     1    21 |       20          0     1_001",
    );
}

#[test]
fn a_raise_is_there_at_once_and_a_cut_grants_no_burst() {
    let mut subject = Subject::new(p_anon());
    assert_eq!(subject.admits(15, 0), 15);
    subject.limit = window(10, 10_000);
    subject.plays("0 1 5 | 0 0 10_000");
    subject.limit = window(30, 10_000);
    subject.plays("0 1 50 | 15 0 10_000");
}

#[test]
fn another_window_starts_clean_when_its_start_differs() {
    let mut subject = Subject::new(p_anon());
    assert_eq!(subject.admits(20, 15_000), 20);
    // The minute began at 0, the ten seconds at 10: the count belongs to no window of the new length.
    subject.limit = window(20, 60_000);
    subject.plays("15_000 1 1 | 1 19 0");
}

#[test]
fn a_state_is_kept_to_the_end_of_its_window_and_a_second_longer() {
    let limit = p_anon();
    assert_eq!(limit.ttl_ms(&limit.at(None, 3_000), 3_000), 1_000, "nothing spent");
    let mut subject = Subject::new(limit);
    assert_eq!(subject.decide(1, 1, 3_000).quotas[0].reset_ms, 7_000);
    assert_eq!(limit.ttl_ms(&subject.state.unwrap(), 3_000), 8_000);
}
