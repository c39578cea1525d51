//! All rules of a route in one decision: all are charged, or none; and each counts for itself. Seen in Redis.

use crate::caller::{Answer, Caller, at_once, count, counts, send, tally};
use crate::policy::{limit, still_bucket};
use crate::witness::Witness;
use serde_json::{Value, json};
use std::time::Duration;
use weir_testkit::Stack;
use weir_testkit::stack::Store;

on_both_stores!(two_rules_on_one_subject_never_share_a_counter);

/// Beyond this, a denial is not remembered: the store is asked again.
const FORGOTTEN: Duration = Duration::from_millis(300);

fn plan(store: Store, policy: impl Fn(&mut Value)) -> Stack {
    Stack::plan(store).unwrap().patience_ms(5_000).policy(policy).start().unwrap()
}

#[tokio::test]
async fn d09_a_denial_at_the_tenant_leaves_the_users_bucket_untouched() {
    let mut stack = plan(Store::Redis, |policy| {
        limit(policy, "P-READ", &still_bucket(20));
        limit(policy, "P-TENANT", &still_bucket(5));
    });
    let mut redis = Witness::of(stack.redis());
    let caller = Caller::of(&stack.envoy);
    let (spender, newcomer) = (caller.user("atlas", "U-17"), caller.user("atlas", "U-18"));

    assert_eq!(count(&at_once((0..5).map(|_| spender.catalog())).await, 200), 5);
    let before = redis.counters();
    assert_eq!(before.keys().collect::<Vec<_>>(), ["w:{t:atlas}:P-READ:jwt:U-17", "w:{t:atlas}:P-TENANT"]);
    assert_eq!(redis.spent_of_bucket("w:{t:atlas}:P-READ:jwt:U-17"), 5);

    for user in [&spender, &newcomer] {
        tokio::time::sleep(FORGOTTEN).await;
        let asked = redis.script_calls();
        assert_eq!(send(user.catalog()).await.summary(), "429 P-TENANT");
        assert_eq!(redis.script_calls(), asked + 1, "it was the store that denied");
    }
    assert_eq!(redis.counters(), before);
}

/// Five rules cost one call of the store, and the four that would have admitted lose nothing by the fifth that does not.
#[tokio::test]
async fn d09_five_rules_are_one_store_call_and_the_last_ones_denial_debits_none() {
    const RULES: [&str; 5] = ["P-1", "P-2", "P-3", "P-4", "P-5"];
    let mut stack = plan(Store::Redis, |policy| {
        for (rule, capacity) in RULES.into_iter().zip([20, 20, 20, 20, 2]) {
            policy["rules"][rule] = json!({ "subject": "principal", "limit": still_bucket(capacity) });
        }
        policy["routes"]["catalog"]["rules"] = json!(RULES);
    });
    let mut redis = Witness::of(stack.redis());
    let u17 = Caller::of(&stack.envoy).user("atlas", "U-17");

    for calls in 1..=2 {
        assert_eq!(send(u17.catalog()).await.status, 200);
        assert_eq!(redis.script_calls(), calls);
    }
    let before = redis.counters();
    assert_eq!(before.len(), 5);

    tokio::time::sleep(FORGOTTEN).await;
    assert_eq!(send(u17.catalog()).await.summary(), "429 P-5");
    assert_eq!(redis.script_calls(), 3);
    assert_eq!(redis.counters(), before);
    for key in before.keys() {
        assert_eq!(redis.spent_of_bucket(key), 2, "{key}");
    }
}

#[tokio::test]
async fn d07_a_user_who_floods_cannot_take_the_tenants_minute() {
    let mut stack = plan(Store::Redis, |policy| {
        limit(policy, "P-READ", &still_bucket(20));
        limit(policy, "P-TENANT", &still_bucket(1_000));
    });
    let mut redis = Witness::of(stack.redis());
    let u17 = Caller::of(&stack.envoy).user("atlas", "U-17");
    let answers = at_once((0..300).map(|_| u17.catalog())).await;
    assert_eq!(tally(&answers), counts([("200", 20), ("429 P-READ", 280)]));
    assert_eq!(redis.spent_of_bucket("w:{t:atlas}:P-TENANT"), 20);
}

async fn two_rules_on_one_subject_never_share_a_counter(store: Store) {
    let stack = plan(store, |policy| {
        for (rule, capacity) in [("P-ONE", 5), ("P-TWO", 8)] {
            policy["rules"][rule] = json!({ "subject": "principal", "limit": still_bucket(capacity) });
        }
        for (route, rules) in
            [("catalog", json!(["P-ONE"])), ("search", json!(["P-TWO"])), ("checkout", json!(["P-ONE", "P-TWO"]))]
        {
            policy["routes"][route]["rules"] = rules;
            policy["routes"][route]["cost"] = json!(1);
        }
    });
    let u17 = Caller::of(&stack.envoy).user("atlas", "U-17");
    let checkouts = at_once((0..2).map(|_| u17.post("/checkout"))).await;
    assert_eq!(tally(&checkouts), counts([("200", 2)]));
    let reads = at_once((0..10).map(|_| u17.catalog())).await;
    assert_eq!(tally(&reads), counts([("200", 3), ("429 P-ONE", 7)]));
    let searches = at_once((0..10).map(|_| u17.post("/search"))).await;
    assert_eq!(tally(&searches), counts([("200", 6), ("429 P-TWO", 4)]));
    assert_eq!(send(u17.post("/checkout")).await.summary(), "429 P-ONE", "the first that denies is named");
    let hints: Vec<_> = reads.iter().filter(|answer| answer.status == 429).map(Answer::retry_after).collect();
    assert!(hints.iter().all(|seconds| *seconds > 1), "{hints:?}");
}
