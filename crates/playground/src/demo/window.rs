//! Fixed windows begin at multiples of their length. A step that counts on one window waits until enough of it is left.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long to wait so that `needed` fits before the end of a window of length `window`.
fn wait_before(now: Duration, window: Duration, needed: Duration) -> Duration {
    let left_ms = window.as_millis() - now.as_millis() % window.as_millis();
    if left_ms >= needed.as_millis() {
        Duration::ZERO
    } else {
        // Just past the boundary, where the store's clock has passed it too.
        Duration::from_millis(u64::try_from(left_ms).unwrap_or(u64::MAX)) + Duration::from_millis(50)
    }
}

/// Waits until `needed` fits before the end of a window of length `window`; the store's clock is this machine's.
pub(super) async fn with_room(window: Duration, needed: Duration) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let wait = wait_before(now, window, needed);
    if !wait.is_zero() {
        eprintln!("weir: waiting {} s for a fresh window", wait.as_secs() + 1);
        tokio::time::sleep(wait).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn there_is_no_wait_while_enough_is_left() {
        assert_eq!(wait_before(Duration::from_secs(40), MINUTE, Duration::from_secs(20)), Duration::ZERO);
    }

    #[test]
    fn otherwise_it_ends_just_past_the_boundary() {
        assert_eq!(wait_before(Duration::from_secs(119), MINUTE, Duration::from_secs(20)), Duration::from_millis(1_050));
    }
}
