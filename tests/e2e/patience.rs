//! Waiting for something to become true: polled, with a bound that only a broken product reaches.

use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);
const EVERY: Duration = Duration::from_millis(20);

/// Waits until `condition` holds.
pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    until_some(what, async || condition().then_some(())).await;
}

/// Waits until there is an answer.
pub(crate) async fn until_some<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        tokio::time::sleep(EVERY).await;
    }
}
