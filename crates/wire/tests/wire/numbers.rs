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
}

#[test]
fn numbers_that_cannot_be_counted_are_refused() {
    let zero = Limit::try_from(Numbers::FixedWindow { limit: 0, window_ms: 10_000 });
    assert_eq!(zero, Err(LimitError::Zero { what: "limit" }));
    let no_period = Limit::try_from(Numbers::TokenBucket { capacity: 20, refill: 2, period_ms: 0 });
    assert_eq!(no_period, Err(LimitError::Period { what: "refill period", ms: 0 }));
}
