//! The sliding log: exact where the counter estimates, and what it keeps.

use crate::timeline::{Subject, counter, log, timeline, window};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_limit::{Limit, State, sliding_log, sliding_window};

fn twenty() -> Limit {
    log(20, 10_000)
}

fn entries(subject: &Subject) -> &[(u64, u64)] {
    match &subject.state {
        Some(State::SlidingLog(log)) => &log.entries,
        other => panic!("no log: {other:?}"),
    }
}

#[test]
fn d03_the_log_counts_twenty_three_and_denies_where_the_counter_admits() {
    // All 18 of the window before in its last second, two at a time, and 5 since; asked at 2.5 s of this window.
    let last_second = (1..=9).map(|tenth| (9_000 + 100 * tenth, 2));
    let since = (0..5).map(|nth| (10_500 + 500 * nth, 1));
    let state = sliding_log::State { entries: last_second.chain(since).collect() };
    let mut exact = Subject { limit: twenty(), state: Some(State::SlidingLog(state)) };
    // 23 of 20: the oldest four, of 9.1 and 9.2 s, must leave before one more is the 20th.
    exact.plays(
        "now_ms  cost  hits | admitted  remaining  retry_ms
         12_500     1     1 |        0          0     6_700
         19_199     1     1 |        0          0         1
         19_200     1     1 |        1          0       100",
    );

    let state = sliding_window::State { start_ms: 10_000, current: 5, previous: 18 };
    let mut estimate = Subject { limit: counter(20, 10_000), state: Some(State::SlidingWindow(state)) };
    assert_eq!(estimate.admits(1, 12_500), 1, "it estimates 18.5");
}

#[test]
fn d03_no_window_whatever_its_beginning_holds_more_than_the_limit() {
    timeline(
        twenty(),
        "now_ms  cost  hits | admitted  remaining  retry_ms
          9_500     1    18 |       18          2         0
         12_500     1     5 |        2          0     7_000
         19_499     1    20 |        0          0         1
         19_500     1    20 |       18          0     3_000
         22_500     1    20 |        2          0     7_000",
    );
}

#[test]
fn d03_denied_requests_are_not_recorded() {
    let mut subject = Subject::new(twenty());
    assert_eq!(subject.admits(20, 0), 20);
    let full = subject.state.clone();
    assert_eq!((1..=50).map(|now_ms| subject.admits(1, now_ms)).sum::<u64>(), 0);
    assert_eq!(subject.state, full);
    // So fifty denied attempts eat nothing of a limit that is raised later.
    subject.limit = log(70, 10_000);
    assert_eq!(subject.admits(99, 51), 50);
}

#[test]
fn d03_hits_of_one_millisecond_do_not_collapse() {
    let mut subject = Subject::new(log(5, 10_000));
    let admitted: Vec<u64> = (0..7).map(|_| subject.admits(1, 1_234)).collect();
    assert_eq!(admitted, [1, 1, 1, 1, 1, 0, 0]);
    assert_eq!(entries(&subject), [(1_234, 5)]);
}

#[test]
fn d03_a_log_keeps_no_more_entries_than_its_limit() {
    let mut subject = Subject::new(twenty());
    let mut most = 0;
    for now_ms in 0..50_000 {
        subject.admits(1, now_ms);
        most = most.max(entries(&subject).len());
    }
    // 20,000 active keys are so at most 400,000 entries.
    assert_eq!(most, 20);
}

#[test]
fn a_cost_is_one_entry_and_leaves_at_once() {
    timeline(
        twenty(),
        "now_ms  cost  hits | admitted  remaining  retry_ms
              0     7     1 |        1         13         0
          1_000     7     1 |        1          6     9_000
          2_000    13     1 |        0          6     8_000
          9_999    13     1 |        0          6         1
         10_000    13     1 |        1          0    10_000
         10_000    20     1 |        0          0    10_000",
    );
}

#[test]
fn a_clock_set_back_a_little_keeps_the_order_and_forgets_nothing() {
    let mut subject = Subject::new(log(3, 10_000));
    subject.plays("5_000 1 1 | 1 2 0\n 4_000 1 1 | 1 1 0\n 4_500 1 2 | 1 0 10_500");
    assert_eq!(entries(&subject), [(5_000, 3)]);
    subject.plays("14_999 1 1 | 0 0 1\n 15_000 1 1 | 1 2 0");
}

#[test]
fn a_clock_set_back_by_more_than_a_second_forgets_what_is_ahead_and_keeps_the_rest() {
    let mut subject = Subject::new(log(3, 10_000));
    subject.plays("5_000 1 1 | 1 2 0\n 9_000 1 2 | 2 0 6_000\n 7_999 1 1 | 1 1 0");
    assert_eq!(entries(&subject), [(5_000, 1), (7_999, 1)]);
}

#[test]
fn a_raise_is_there_at_once_and_a_cut_grants_no_burst() {
    let mut subject = Subject::new(log(10, 10_000));
    assert_eq!((0..10).map(|now_ms| subject.admits(1, 100 * now_ms)).sum::<u64>(), 10);
    subject.limit = log(15, 10_000);
    subject.plays("1_000 1 9 | 5 0 9_000");
    // 15 of what is now 5: the tenth and the five of 1.0 s must leave.
    subject.limit = log(5, 10_000);
    subject.plays("1_000 1 1 | 0 0 10_000\n 10_999 1 1 | 0 0 1\n 11_000 1 9 | 5 0 10_000");
    // A shorter window lets them go sooner.
    subject.limit = log(5, 1_000);
    subject.plays("11_999 1 1 | 0 0 1\n 12_000 1 9 | 5 0 1_000");
}

#[test]
fn a_state_of_another_algorithm_starts_clean() {
    let mut subject = Subject::new(window(5, 10_000));
    assert_eq!(subject.admits(5, 0), 5);
    subject.limit = log(5, 10_000);
    assert_eq!(subject.admits(9, 0), 5);
    subject.limit = counter(5, 10_000);
    assert_eq!(subject.admits(9, 0), 5);
}
