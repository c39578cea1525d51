//! What a gateway admits by itself while nobody decides: a share for each caller, and a cap over all of them.

use crate::caller::{Caller, at_once, count, counts, over_connections, send, tally, until_refused};
use crate::patience::until_some;
use crate::policy::{limit, still_bucket};
use serde_json::{Value, json};
use std::time::Instant;
use weir_testkit::Stack;
use weir_testkit::stack::Store;

/// A stack whose Redis is gone, and everybody knows.
async fn stack_without_store(workers: u32, policy: impl Fn(&mut Value)) -> Stack {
    let plan = Stack::plan(Store::Redis).unwrap().policy(policy).envoy(|config| config.concurrency(workers));
    let stack = plan.start_without_redis().unwrap();
    let user = Caller::of(&stack.envoy).user("birch", "U-5");
    let closed = async || (send(user.post("/checkout")).await.summary() == "503 store_unavailable").then_some(());
    until_some("the store is known to be away", closed).await;
    stack
}

fn cap(policy: &mut Value, route: &str, limit: &Value) {
    policy["routes"][route]["unreachable"] = json!({ "fallback": { "cap": limit } });
}

/// Two gateways share 20 and 2 a second: each has 10 and 1 a second for a user.
#[tokio::test]
async fn d16_a_user_has_the_gateways_share_of_its_bucket() {
    let stack = stack_without_store(1, |_| {}).await;
    let u17 = Caller::of(&stack.envoy).user("atlas", "U-17");
    let begun = Instant::now();
    let burst = at_once((0..10).map(|_| u17.catalog())).await;
    assert_eq!(count(&burst, 200), 10, "{:?}", tally(&burst));
    let (late, denied) = until_refused(|| u17.catalog()).await;
    let refilled = usize::try_from(begun.elapsed().as_secs()).unwrap();
    assert!(late <= refilled, "{late} beyond the share");
    assert_eq!(denied.summary(), "429 P-READ");
    assert_eq!(denied.retry_after(), 1);
    assert_eq!(denied.header("ratelimit"), None);
}

/// Both workers get connections, and the cap is that of the gateway: not one for each of them.
#[tokio::test]
async fn d16_a_routes_cap_is_the_gateways_however_many_workers_it_has() {
    let stack = stack_without_store(2, |policy| cap(policy, "catalog", &still_bucket(30))).await;
    let caller = Caller::of(&stack.envoy);
    let requests = (0..200).map(|user| caller.user("birch", &format!("U-{user}")).catalog());
    let answers = over_connections(40, requests).await;
    assert_eq!(tally(&answers), counts([("200", 30), ("429 fallback_cap", 170)]));

    for worker in 0..2 {
        assert!(stack.envoy.connections_of_worker(worker) > 0, "worker {worker} has had none");
    }
}

#[tokio::test]
async fn d16_a_dearer_route_has_a_tighter_cap_of_its_own() {
    let stack = stack_without_store(2, |policy| {
        cap(policy, "catalog", &still_bucket(30));
        cap(policy, "search", &still_bucket(20));
    })
    .await;
    let caller = Caller::of(&stack.envoy);
    // A search costs 2.
    let searches = (0..40).map(|user| caller.user("birch", &format!("U-{user}")).post("/search"));
    assert_eq!(tally(&over_connections(20, searches).await), counts([("200", 10), ("429 fallback_cap", 30)]));
    let reads = (0..60).map(|user| caller.user("birch", &format!("U-{user}")).catalog());
    assert_eq!(tally(&over_connections(20, reads).await), counts([("200", 30), ("429 fallback_cap", 30)]));
}

/// A tenant that floods spends its share, not the gateway's cap.
#[tokio::test]
async fn d16_a_tenants_share_leaves_the_cap_to_the_others() {
    let stack = stack_without_store(2, |policy| {
        limit(policy, "P-TENANT", &still_bucket(40));
        cap(policy, "catalog", &still_bucket(100));
    })
    .await;
    let caller = Caller::of(&stack.envoy);
    let requests = |tenant: &'static str| {
        let caller = caller.clone();
        (0..60).map(move |user| caller.user(tenant, &format!("U-{user}")).catalog())
    };
    for tenant in ["atlas", "birch"] {
        let answers = over_connections(20, requests(tenant)).await;
        assert_eq!(tally(&answers), counts([("200", 20), ("429 P-TENANT", 40)]), "{tenant}");
    }
}
