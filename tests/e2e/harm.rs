//! Whether something has harmed the gateway.

use crate::caller::{Caller, send};
use std::sync::atomic::{AtomicU32, Ordering};
use weir_testkit::Stack;

/// Envoy lives, decides, and has the filter that it was started with: none has crashed and been replaced.
pub(crate) async fn none(stack: &mut Stack) {
    static NEWCOMERS: AtomicU32 = AtomicU32::new(0);
    stack.envoy.process().check_alive().unwrap();
    // Over more connections than there are workers, so that each is likely to have some.
    for _ in 0..8 {
        let user = format!("newcomer-{}", NEWCOMERS.fetch_add(1, Ordering::Relaxed));
        let answer = send(Caller::of(&stack.envoy).user("newcomers", &user).catalog()).await;
        assert!(answer.is_decided_by_the_store(), "{answer:?}");
    }
    let replaced = stack.envoy.stats(r"^wasm\.weir\..*vm_reload");
    assert!(!replaced.is_empty(), "Envoy no longer says whether it has replaced a filter");
    assert!(replaced.iter().all(|(_, times)| *times == 0), "{replaced:?}");
}
