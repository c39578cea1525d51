//! Fixed windows begin at multiples of their length. Who counts on one window waits until enough of it is left.

use std::{
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// So far past a boundary, every clock on this machine has passed it.
const PAST: Duration = Duration::from_millis(20);

/// How long to wait so that `needed` fits before the end of a window of length `window`.
#[must_use]
pub fn until_room(window: Duration, needed: Duration) -> Duration {
    let left = left(now(), window);
    if left < needed { left + PAST } else { Duration::ZERO }
}

/// Waits until `needed` fits before the end of a window of length `window`.
pub fn with_room(window: Duration, needed: Duration) {
    thread::sleep(until_room(window, needed));
}

/// Waits for the next window.
pub fn next(window: Duration) {
    thread::sleep(left(now(), window) + PAST);
}

fn left(now: Duration, window: Duration) -> Duration {
    let window_ms = window.as_millis().max(1);
    Duration::from_millis(u64::try_from(window_ms - now.as_millis() % window_ms).unwrap_or(u64::MAX))
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_at_a_multiple_of_its_length() {
        let minute = Duration::from_secs(60);
        assert_eq!(left(Duration::from_millis(119_250), minute), Duration::from_millis(750));
        assert_eq!(left(Duration::from_secs(120), minute), minute);
    }
}
