//! The sliding window counter: estimates by hand, the boundary, the clock, changed numbers.

use crate::timeline::{Subject, counter, timeline, window};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_limit::{Limit, State, sliding_window};

fn twenty() -> Limit {
    counter(20, 10_000)
}

fn counts(start_ms: u64, current: u64, previous: u64) -> State {
    State::SlidingWindow(sliding_window::State { start_ms, current, previous })
}

#[test]
fn d01_eighteen_and_five_are_estimated_as_eighteen_and_a_half() {
    // At 12.5 s three quarters of the window before are still in: 13.5 + 5 = 18.5, so one and a half are left.
    // One more is 19.5; for another, half a unit of the 1.8 a second that leave must go: 278 ms.
    timeline(
        twenty(),
        "now_ms  cost  hits | admitted  remaining  retry_ms
          5_000     1    18 |       18          2         0
         12_500     1     5 |        5          1         0
         12_500     1     1 |        1          0       278
         12_500     1     1 |        0          0       278
         12_777     1     1 |        0          0         1
         12_778     1     1 |        1          0       556",
    );
}

#[test]
fn d01_no_second_limit_passes_across_a_boundary() {
    // All but 1/100 of the 20 are still in at 10.1 s; 1/20 of them has left at 10.5 s.
    timeline(
        twenty(),
        "now_ms  cost  hits | admitted  remaining  retry_ms
          9_900     1    20 |       20          0       600
         10_100     1    20 |        0          0       400
         10_499     1     1 |        0          0         1
         10_500     1    20 |        1          0       500
         20_000     1    20 |       19          0    10_000",
    );
    let mut fixed = Subject::new(window(20, 10_000));
    assert_eq!(fixed.admits(20, 9_900) + fixed.admits(20, 10_100), 40, "what a fixed window lets through");
}

#[test]
fn a_wait_reaches_into_the_next_window_when_this_one_has_no_room() {
    // 20 in this window and 10 before it: nothing but the next window lets them go, at 2 a second.
    let mut subject = Subject { limit: twenty(), state: Some(counts(10_000, 20, 10)) };
    subject.plays(
        "now_ms  cost  hits | admitted  remaining  retry_ms
         15_000     1     1 |        0          0     5_500
         15_000    20     1 |        0          0    15_000
         20_499     1     1 |        0          0         1
         20_500     1     1 |        1          0       500",
    );
}

#[test]
fn what_is_two_windows_old_is_gone() {
    timeline(
        twenty(),
        "now_ms  cost  hits | admitted  remaining  retry_ms
              0     1    20 |       20          0    10_500
         19_999     1    30 |       19          0         1
         20_000     1    30 |        1          0       527",
    );
    // And nothing is handed on over an idle window.
    timeline(twenty(), "0 1 20 | 20 0 10_500\n 20_000 1 30 | 20 0 10_500");
}

#[test]
fn it_is_reset_when_the_window_after_the_last_admission_ends() {
    let limit = twenty();
    let reset_ms = |state| limit.reset_ms(&state, 12_500);
    assert_eq!(reset_ms(counts(10_000, 0, 0)), 0);
    assert_eq!(reset_ms(counts(10_000, 0, 18)), 7_500);
    assert_eq!(reset_ms(counts(10_000, 1, 18)), 17_500);
}

#[test]
fn a_clock_that_swings_at_a_boundary_grants_nothing_twice() {
    timeline(
        twenty(),
        "now_ms  cost  hits | admitted  remaining  retry_ms
         10_000     1    19 |       19          1         0
          9_999     1     1 |        1          0    10_501
          9_000     1     1 |        0          0    11_500
         20_499     1     1 |        0          0         1
         20_500     1     1 |        1          0       500",
    );
}

#[test]
fn before_its_window_has_begun_nothing_of_the_one_before_leaves() {
    let mut subject = Subject { limit: twenty(), state: Some(counts(10_000, 0, 20)) };
    subject.plays("9_500 1 1 | 0 0 1_000\n 10_499 1 1 | 0 0 1\n 10_500 1 1 | 1 0 500");
}

#[test]
fn a_clock_set_back_by_more_than_a_second_forgets_what_is_ahead() {
    timeline(
        twenty(),
        "now_ms  cost  hits | admitted  remaining  retry_ms
         10_000     1    20 |       20          0    10_500
          8_999     1    20 |       20          0     1_501",
    );
}

#[test]
fn a_raise_is_there_at_once_and_a_cut_grants_no_burst() {
    let mut subject = Subject::new(twenty());
    assert_eq!(subject.admits(15, 0), 15);
    subject.limit = counter(30, 10_000);
    subject.plays("0 1 50 | 15 0 10_334");
    // 30 of what is now 10: two thirds must leave, and one more unit.
    subject.limit = counter(10, 10_000);
    subject.plays("0 1 1 | 0 0 17_000\n 16_999 1 1 | 0 0 1\n 17_000 1 1 | 1 0 334");
}

#[test]
fn a_state_of_another_algorithm_starts_clean() {
    let mut subject = Subject::new(window(5, 10_000));
    assert_eq!(subject.admits(5, 0), 5);
    subject.limit = counter(5, 10_000);
    assert_eq!(subject.admits(9, 0), 5);
    subject.limit = window(5, 10_000);
    assert_eq!(subject.admits(9, 0), 5);
}
