//! What rate limiters are known to get wrong, one test each, over every algorithm.

use crate::timeline::{Subject, bucket, counter, gcra, log, month, queue, window};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_limit::Limit;

/// Each with room for `limit`, at ten a minute or in each minute.
fn of_each_kind(limit: u64) -> [Limit; 7] {
    [
        window(limit, 60_000),
        month(limit),
        counter(limit, 60_000),
        log(limit, 60_000),
        bucket(limit, 10, 60_000),
        gcra(limit, 10, 60_000),
        queue(limit, 10, 60_000),
    ]
}

#[test]
fn fifty_denied_attempts_eat_nothing_of_a_limit_that_is_raised() {
    for (low, high) in of_each_kind(10).into_iter().zip(of_each_kind(30)) {
        let mut subject = Subject::new(low);
        assert_eq!(subject.admits(10, 0), 10, "{low:?}");
        assert_eq!((0..50).map(|_| subject.admits(1, 0)).sum::<u64>(), 0, "{low:?}");
        subject.limit = high;
        assert_eq!(subject.admits(50, 0), 20, "{low:?}");
    }
}

#[test]
fn a_limit_that_is_cut_grants_no_burst() {
    for (high, low) in of_each_kind(30).into_iter().zip(of_each_kind(10)) {
        let mut subject = Subject::new(high);
        assert_eq!(subject.admits(20, 0), 20, "{high:?}");
        subject.limit = low;
        assert_eq!(subject.admits(50, 0), 0, "{high:?}");
    }
}

#[test]
fn a_wait_is_never_zero_and_one_below_a_second_is_still_a_denial() {
    for limit in of_each_kind(10) {
        let mut subject = Subject::new(limit);
        subject.admits(10, 0);
        let at_ms = subject.decide(1, 0, 0).denial().expect("nothing is left").retry_ms;
        for early_ms in [1, 2, 500, 999] {
            let verdict = subject.decide(1, 1, at_ms - early_ms);
            assert_eq!((verdict.admitted, verdict.denial().unwrap().retry_ms), (0, early_ms), "{limit:?}");
        }
        assert_eq!(subject.admits(1, at_ms), 1, "{limit:?}");
    }
}

#[test]
fn no_second_brings_back_everything() {
    for limit in of_each_kind(10) {
        let mut subject = Subject::new(limit);
        subject.admits(10, 0);
        // Ten a minute are one in six seconds.
        let admitted: u64 = (1..=5).map(|second| subject.admits(10, second * 1_000)).sum();
        assert_eq!(admitted, 0, "{limit:?}");
    }
}

#[test]
fn a_caller_that_never_stops_asking_is_not_banned_by_asking() {
    for limit in of_each_kind(10) {
        let mut subject = Subject::new(limit);
        let in_minute = |subject: &mut Subject, minute: u64| -> u64 {
            (0..600).map(|tenth| subject.admits(1, minute * 60_000 + tenth * 100)).sum()
        };
        let admitted: Vec<u64> = (0..3).map(|minute| in_minute(&mut subject, minute)).collect();
        if limit == month(10) {
            assert_eq!(admitted, [10, 0, 0]);
        } else {
            assert!(admitted[1..].iter().all(|admitted| (9..=10).contains(admitted)), "{limit:?}: {admitted:?}");
        }
    }
}

#[test]
fn each_hit_of_a_moment_is_counted() {
    for limit in of_each_kind(10) {
        let mut subject = Subject::new(limit);
        assert_eq!((0..99).map(|_| subject.admits(1, 777)).sum::<u64>(), 10, "{limit:?}");
    }
}

#[test]
fn a_clock_that_jumps_by_hours_bans_nobody_and_grants_one_capacity() {
    for limit in of_each_kind(10) {
        let mut subject = Subject::new(limit);
        let hours = |count: u64| 1_706_745_600_000 + count * 3_600_000;
        assert_eq!(subject.admits(10, hours(9)), 10, "{limit:?}");
        // A month is the same month some hours ago.
        let back = if limit == month(10) { 0 } else { 10 };
        assert_eq!(subject.admits(99, hours(5)), back, "{limit:?}");
        assert_eq!(subject.admits(99, hours(5)), 0, "{limit:?}");
    }
}
