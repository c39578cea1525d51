//! A step that counts on one window waits until enough of it is left, and says so.

use std::time::Duration;
use weir_testkit::window;

/// Waits until `needed` fits before the end of a window of length `window`; the store's clock is this machine's.
pub(super) async fn with_room(window: Duration, needed: Duration) {
    let wait = window::until_room(window, needed);
    if !wait.is_zero() {
        eprintln!("weir: waiting {} s for a fresh window", wait.as_secs() + 1);
        tokio::time::sleep(wait).await;
    }
}
