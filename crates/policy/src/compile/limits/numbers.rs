//! A limit as written → the numbers that are counted with, and one gateway's share of them.

use crate::document::{Limit, limit::Window};
use weir_limit::MAX_PERIOD_MS;
use weir_wire::Numbers;

pub(super) fn numbers(written: &Limit) -> Numbers {
    match written {
        Limit::FixedWindow(window) => match window.window {
            Window::Lasting(duration) => Numbers::FixedWindow { limit: window.limit, window_ms: duration.as_ms() },
            Window::Month => Numbers::CalendarMonth { limit: window.limit },
        },
        Limit::SlidingWindow(window) => Numbers::SlidingWindow { limit: window.limit, window_ms: window.window.as_ms() },
        Limit::SlidingLog(window) => Numbers::SlidingLog { limit: window.limit, window_ms: window.window.as_ms() },
        Limit::TokenBucket(bucket) => {
            Numbers::TokenBucket { capacity: bucket.capacity, refill: bucket.refill, period_ms: bucket.per.as_ms() }
        }
        Limit::LeakyBucket(bucket) => {
            Numbers::TokenBucket { capacity: bucket.capacity, refill: bucket.leak, period_ms: bucket.per.as_ms() }
        }
        Limit::Gcra(gcra) => Numbers::Gcra { burst: gcra.burst, refill: gcra.refill, period_ms: gcra.per.as_ms() },
        Limit::LeakyQueue(queue) => Numbers::LeakyQueue { depth: queue.depth, leak: queue.leak, period_ms: queue.per.as_ms() },
    }
}

/// The limit divided by the gateways: what is spent by all of them together stays within it. At least one
/// unit each, or the fallback would admit nobody; so with more gateways than units the bound is one each.
///
/// A gateway keeps three numbers for a counter and holds nobody back: its share of a log is a sliding window, which
/// estimates, and its share of a queue is a token bucket, which lets the same number in and delays none.
pub(super) fn share(written: &Limit, gateways: u64) -> Numbers {
    let part = |units: u64| (units / gateways).max(1);
    match numbers(written) {
        Numbers::FixedWindow { limit, window_ms } => Numbers::FixedWindow { limit: part(limit), window_ms },
        Numbers::CalendarMonth { limit } => Numbers::CalendarMonth { limit: part(limit) },
        Numbers::SlidingWindow { limit, window_ms } | Numbers::SlidingLog { limit, window_ms } => {
            Numbers::SlidingWindow { limit: part(limit), window_ms }
        }
        Numbers::TokenBucket { capacity, refill, period_ms }
        | Numbers::LeakyQueue { depth: capacity, leak: refill, period_ms } => {
            let (refill, period_ms) = rate(refill, period_ms, gateways);
            Numbers::TokenBucket { capacity: part(capacity), refill, period_ms }
        }
        Numbers::Gcra { burst, refill, period_ms } => {
            let (refill, period_ms) = rate(refill, period_ms, gateways);
            Numbers::Gcra { burst: part(burst), refill, period_ms }
        }
    }
}

/// Divided exactly, by fewer units or a longer period; rounded down where no period is that long.
fn rate(units: u64, period_ms: u64, gateways: u64) -> (u64, u64) {
    let stretched_ms = period_ms.saturating_mul(gateways);
    if units.is_multiple_of(gateways) || (stretched_ms > MAX_PERIOD_MS && units > gateways) {
        (units / gateways, period_ms)
    } else {
        (units, stretched_ms)
    }
}
