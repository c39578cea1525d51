//! Numbers as they are sent become limits, or are refused with the number that is wrong.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_limit::{Limit, LimitError};
use weir_wire::Numbers;

#[test]
fn numbers_become_the_limit_they_describe() {
    let window = Limit::try_from(Numbers::FixedWindow { limit: 20, window_ms: 10_000 }).unwrap();
    assert_eq!((window.capacity(), window.period_ms()), (20, 10_000));
    let bucket = Limit::try_from(Numbers::TokenBucket { capacity: 20, refill: 2, period_ms: 1_000 }).unwrap();
    assert_eq!((bucket.capacity(), bucket.period_ms()), (20, 10_000));
    for (numbers, period_ms) in [
        (Numbers::CalendarMonth { limit: 20 }, 31 * 86_400_000),
        (Numbers::SlidingWindow { limit: 20, window_ms: 10_000 }, 10_000),
        (Numbers::SlidingLog { limit: 20, window_ms: 10_000 }, 10_000),
        (Numbers::Gcra { burst: 20, refill: 2, period_ms: 1_000 }, 10_000),
        (Numbers::LeakyQueue { depth: 20, leak: 2, period_ms: 1_000 }, 10_000),
    ] {
        let limit = Limit::try_from(numbers).unwrap();
        assert_eq!((limit.capacity(), limit.period_ms()), (20, period_ms), "{numbers:?}");
    }
}

#[test]
fn numbers_that_cannot_be_counted_are_refused() {
    let zero = Limit::try_from(Numbers::FixedWindow { limit: 0, window_ms: 10_000 });
    assert_eq!(zero, Err(LimitError::Zero { what: "limit" }));
    let no_period = Limit::try_from(Numbers::TokenBucket { capacity: 20, refill: 2, period_ms: 0 });
    assert_eq!(no_period, Err(LimitError::Period { what: "refill period", ms: 0 }));
    let too_long = Limit::try_from(Numbers::SlidingLog { limit: 10_001, window_ms: 1_000 });
    assert_eq!(too_long, Err(LimitError::TooManyEntries { limit: 10_001 }));
    let endless = Limit::try_from(Numbers::LeakyQueue { depth: 0, leak: 1, period_ms: 1_000 });
    assert_eq!(endless, Err(LimitError::Zero { what: "depth" }));
}
