//! Numbers that make no limit, each with the message that says so.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_limit::{FixedWindow, MAX_EXACT, MAX_PERIOD_MS, TokenBucket};

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
fn the_largest_and_the_smallest_numbers_make_limits() {
    assert_eq!(FixedWindow::new(MAX_EXACT, MAX_PERIOD_MS).unwrap().limit(), FixedWindow::LARGEST.limit());
    assert!(FixedWindow::new(1, 1).is_ok());
    assert!(TokenBucket::new(1, 1, 1).is_ok());
    assert!(TokenBucket::new(1, 1, MAX_PERIOD_MS).is_ok());
    assert!(TokenBucket::new(1_000_000_000, 1_000_000_000, 1_000).is_ok(), "a billion a second");
}
