//! Calendar months in UTC: against a walk day by day, and as the windows of a limit.

use crate::timeline::{Subject, month, timeline, window};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_limit::calendar;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

fn is_leap(year: u64) -> bool {
    match (year % 4, year % 100, year % 400) {
        (_, _, 0) => true,
        (_, 0, _) => false,
        (remainder, _, _) => remainder == 0,
    }
}

fn days_in(year: u64, month: u64) -> u64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u64::from(is_leap(year)),
        _ => 31,
    }
}

#[test]
fn every_day_of_1970_to_2400_lies_in_its_month() {
    let mut first_day = 0;
    for (year, month) in (1970..=2400).flat_map(|year| (1..=12).map(move |month| (year, month))) {
        let days = days_in(year, month);
        let bounds = (first_day * DAY_MS, (first_day + days) * DAY_MS);
        for day in first_day..first_day + days {
            for moment_ms in [day * DAY_MS, day * DAY_MS + 1, (day + 1) * DAY_MS - 1] {
                assert_eq!(calendar::month(moment_ms), bounds, "{year}-{month}, day {day}");
            }
        }
        first_day += days;
    }
    // 431 years, of which 105 leap: 1972 to 2400 without 2100, 2200 and 2300.
    assert_eq!(first_day, 431 * 365 + 105);
}

#[test]
fn months_that_people_know() {
    // `date -u -d 2024-02-01 +%s` and the like.
    let table = [
        (1_709_164_800, 1_706_745_600, 1_709_251_200, "29 February 2024 is in a leap year"),
        (951_782_400, 949_363_200, 951_868_800, "29 February 2000: divisible by 400"),
        (4_107_456_000, 4_105_123_200, 4_107_542_400, "28 February 2100 is the last: divisible by 100"),
        (1_735_689_599, 1_733_011_200, 1_735_689_600, "the last second of December 2024"),
        (1_735_689_600, 1_735_689_600, 1_738_368_000, "the first of January 2025"),
        (0, 0, 2_678_400, "January 1970"),
    ];
    for (moment_s, start_s, end_s, why) in table {
        assert_eq!(calendar::month(moment_s * 1_000), (start_s * 1_000, end_s * 1_000), "{why}");
    }
}

#[test]
fn no_moment_is_too_late_for_a_month() {
    for moment_ms in [1 << 53, u64::MAX - 1, u64::MAX] {
        let (start_ms, end_ms) = calendar::month(moment_ms);
        assert!(start_ms <= moment_ms && (end_ms > moment_ms || end_ms == u64::MAX));
    }
}

#[test]
fn a_months_limit_is_there_again_on_the_first() {
    // 31 January 2024, 23:59:59.000; February has 29 days.
    timeline(
        month(1_000),
        "           now_ms  cost  hits | admitted  remaining       retry_ms
        1_706_745_599_000     1   999 |      999          1              0
        1_706_745_599_000     1     9 |        1          0          1_000
        1_706_745_599_999     1     1 |        0          0              1
        1_706_745_600_000     1 1_001 |    1_000          0  2_505_600_000",
    );
}

#[test]
fn a_clock_that_swings_at_the_first_grants_nothing_twice() {
    timeline(
        month(10),
        "           now_ms  cost  hits | admitted  remaining       retry_ms
        1_706_745_600_000     1     9 |        9          1              0
        1_706_745_599_000     1     9 |        1          0  2_505_601_000
        1_706_745_598_999     1     9 |        9          1              0",
    );
}

#[test]
fn a_month_and_any_other_window_are_two_windows() {
    let mut subject = Subject::new(window(5, 10_000));
    assert_eq!(subject.admits(5, 1_706_745_610_000), 5);
    subject.limit = month(5);
    assert_eq!(subject.admits(9, 1_706_745_610_000), 5);
}

#[test]
fn a_month_is_kept_for_as_long_as_it_lasts() {
    let limit = month(5);
    let mut subject = Subject::new(limit);
    subject.admits(1, 1_706_745_600_000);
    assert_eq!(limit.ttl_ms(&subject.state.unwrap(), 1_706_745_600_000), 29 * DAY_MS + 1_000);
    assert_eq!(limit.period_ms(), 31 * DAY_MS, "the longest, where one length is asked for");
}
