//! A queue holds requests until their turn, and denies who finds it full.

use crate::caller::{Caller, at_once, count, send, tally};
use crate::patience::until;
use serde_json::json;
use std::time::Instant;
use weir_testkit::Stack;
use weir_testkit::stack::Store;

on_both_stores!(d19_requests_that_come_too_early_are_held_until_their_turn);

async fn d19_requests_that_come_too_early_are_held_until_their_turn(store: Store) {
    let plan = Stack::plan(store).unwrap().patience_ms(5_000).policy(|policy| {
        // One turn each 500 ms, and five wait at a time.
        policy["rules"]["P-CHECKOUT"]["limit"] = json!({ "leaky_queue": { "depth": 5, "leak": 2, "per": "1s" } });
    });
    let stack = plan.start().unwrap();
    let user = Caller::of(&stack.envoy).user("atlas", "U-17");

    let begun = Instant::now();
    let answers = at_once((0..12).map(|_| user.post("/checkout"))).await;
    // A turn comes back each 500 ms, on a slow machine also while the burst is sent.
    let passed = count(&answers, 200);
    let most = 5 + usize::try_from(begun.elapsed().as_millis() * 2 / 1_000).unwrap();
    assert!((5..=most).contains(&passed), "{:?}", tally(&answers));
    assert_eq!(passed + count(&answers, 429), 12, "{:?}", tally(&answers));
    assert!(answers.iter().filter(|answer| answer.status == 429).all(|answer| answer.summary() == "429 P-CHECKOUT"));
    // The first passed at once; the fifth had four turns before it.
    assert!(begun.elapsed().as_millis() >= 4 * 500 - 50, "nobody was held: {:?}", begun.elapsed());

    let delayed = "wasmcustom.weir.decisions.placement=quota.route=checkout.rule=none.outcome=delayed";
    until("those who waited are counted as delayed", || stack.envoy.stat(delayed) + 1 >= u64::try_from(passed).unwrap()).await;
    assert_eq!(send(user.catalog()).await.status, 200, "other rules do not notice");
}
