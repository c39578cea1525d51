//! Numbers that make no limit, each with the message that says so.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_limit::{FixedWindow, Gcra, LeakyQueue, MAX_EXACT, MAX_PERIOD_MS, SlidingLog, SlidingWindow, TokenBucket, sliding_log};

#[test]
fn windows_that_cannot_be_counted_are_refused_by_number() {
    let table = [
        (0, 1_000, "limit must be at least 1"),
        (MAX_EXACT + 1, 1_000, "limit is too large to be counted exactly (beyond 2^53)"),
        (u64::MAX, 1_000, "limit is too large to be counted exactly (beyond 2^53)"),
        (1, 0, "window of 0 ms is not between 1 ms and 366 days"),
        (1, MAX_PERIOD_MS + 1, "window of 31622400001 ms is not between 1 ms and 366 days"),
        (1, u64::MAX, "window of 18446744073709551615 ms is not between 1 ms and 366 days"),
    ];
    for (limit, window_ms, message) in table {
        assert_eq!(FixedWindow::new(limit, window_ms).unwrap_err().to_string(), message);
    }
}

#[test]
fn buckets_that_cannot_be_counted_are_refused_by_number() {
    let product = "capacity × refill period is too large to be counted exactly (beyond 2^53)";
    let table = [
        (0, 1, 1_000, "capacity must be at least 1"),
        (1, 0, 1_000, "refill must be at least 1"),
        (1, 1, 0, "refill period of 0 ms is not between 1 ms and 366 days"),
        (1, 1, MAX_PERIOD_MS + 1, "refill period of 31622400001 ms is not between 1 ms and 366 days"),
        (MAX_EXACT + 1, 1, 1_000, "capacity is too large to be counted exactly (beyond 2^53)"),
        (1, MAX_EXACT + 1, 1_000, "refill is too large to be counted exactly (beyond 2^53)"),
        (1, MAX_EXACT, 1, "refill is too large to be counted exactly (beyond 2^53)"),
        (MAX_EXACT, 1, 1_000, "capacity is too large to be counted exactly (beyond 2^53)"),
        (1_000_000_000, 1, 366 * 24 * 60 * 60 * 1_000, product),
        (5_000_000_000, 999_983, 999_979, product),
    ];
    for (capacity, refill, period_ms, message) in table {
        let error = TokenBucket::new(capacity, refill, period_ms).unwrap_err();
        assert_eq!(error.to_string(), message, "{capacity}, {refill} per {period_ms} ms");
    }
}

#[test]
fn sliding_windows_that_cannot_be_counted_are_refused_by_number() {
    let product = "limit × window is too large to be counted exactly (beyond 2^53)";
    let table = [
        (0, 1_000, "limit must be at least 1"),
        (MAX_EXACT + 1, 1_000, "limit is too large to be counted exactly (beyond 2^53)"),
        (1, 0, "window of 0 ms is not between 1 ms and 366 days"),
        (1, MAX_PERIOD_MS + 1, "window of 31622400001 ms is not between 1 ms and 366 days"),
        (MAX_EXACT / 4 + 1, 1, product),
        (MAX_EXACT / 4 / MAX_PERIOD_MS + 1, MAX_PERIOD_MS, product),
    ];
    for (limit, window_ms, message) in table {
        assert_eq!(SlidingWindow::new(limit, window_ms).unwrap_err().to_string(), message);
    }
}

#[test]
fn logs_that_cannot_be_kept_are_refused_by_number() {
    let table = [
        (0, 1_000, "limit must be at least 1"),
        (sliding_log::MOST_ENTRIES + 1, 1_000, "limit of 10001 is more than a log keeps (10000); use a sliding_window"),
        (1, 0, "window of 0 ms is not between 1 ms and 366 days"),
    ];
    for (limit, window_ms, message) in table {
        assert_eq!(SlidingLog::new(limit, window_ms).unwrap_err().to_string(), message);
    }
}

#[test]
fn bursts_and_queues_that_cannot_be_counted_are_refused_in_their_own_words() {
    let table = [
        (0, 1, 1_000, "burst must be at least 1", "depth must be at least 1"),
        (1, 0, 1_000, "refill must be at least 1", "leak must be at least 1"),
        (
            1,
            1,
            0,
            "refill period of 0 ms is not between 1 ms and 366 days",
            "leak period of 0 ms is not between 1 ms and 366 days",
        ),
        (
            MAX_EXACT / 4 + 1,
            1,
            1,
            "burst × refill period is too large to be counted exactly (beyond 2^53)",
            "depth × leak period is too large to be counted exactly (beyond 2^53)",
        ),
        (
            1,
            MAX_EXACT,
            1,
            "refill is too large to be counted exactly (beyond 2^53)",
            "leak is too large to be counted exactly (beyond 2^53)",
        ),
    ];
    for (burst, refill, period_ms, of_gcra, of_queue) in table {
        assert_eq!(Gcra::new(burst, refill, period_ms).unwrap_err().to_string(), of_gcra);
        assert_eq!(LeakyQueue::new(burst, refill, period_ms).unwrap_err().to_string(), of_queue);
    }
}

#[test]
fn the_largest_and_the_smallest_numbers_make_limits() {
    assert_eq!(FixedWindow::new(MAX_EXACT, MAX_PERIOD_MS).unwrap().limit(), FixedWindow::LARGEST.limit());
    assert!(FixedWindow::new(1, 1).is_ok());
    assert!(TokenBucket::new(1, 1, 1).is_ok());
    assert!(TokenBucket::new(1, 1, MAX_PERIOD_MS).is_ok());
    assert!(FixedWindow::monthly(MAX_EXACT).is_ok() && FixedWindow::monthly(MAX_EXACT + 1).is_err());
    assert!(SlidingWindow::new(MAX_EXACT / 4, 1).is_ok());
    assert!(SlidingLog::new(sliding_log::MOST_ENTRIES, MAX_PERIOD_MS).is_ok());
    assert!(Gcra::new(MAX_EXACT / 4, 1, 1).is_ok());
    assert!(LeakyQueue::new(1, MAX_EXACT / 2, 1).is_ok());
    assert!(TokenBucket::new(1_000_000_000, 1_000_000_000, 1_000).is_ok(), "a billion a second");
}
