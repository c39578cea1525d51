//! Rules of scope `local`: each gateway counts for itself, with all its workers, and never asks the store.

use crate::caller::{Caller, at_once, count, counts, over_connections, tally};
use crate::policy::{limit, still_bucket};
use reqwest::Method;
use serde_json::Value;
use weir_testkit::Stack;
use weir_testkit::stack::Store;

fn twenty(policy: &mut Value) {
    limit(policy, "P-INTERNAL", &still_bucket(20));
    limit(policy, "P-HEALTH", &still_bucket(20));
}

/// N gateways admit N times the limit: 20 requests split over two all pass, and so would 20 more.
#[tokio::test]
async fn d04_two_gateways_admit_twice_the_limit_of_a_local_rule() {
    let plan = Stack::plan(Store::Redis).unwrap().policy(twenty);
    let (stack, other) = plan.start_two_gateways().unwrap();
    let users = [&stack.envoy, &other.envoy].map(|envoy| Caller::of(envoy).user("atlas", "U-17"));
    let page = "/internal/page";
    let split = at_once(users.iter().flat_map(|user| (0..10).map(|_| user.get(page)))).await;
    assert_eq!(tally(&split), counts([("200", 20)]));
    for user in &users {
        let answers = at_once((0..15).map(|_| user.get(page))).await;
        assert_eq!(tally(&answers), counts([("200", 10), ("429 P-INTERNAL", 5)]));
    }
}

#[tokio::test]
async fn a_local_rule_counts_the_gateway_with_all_its_workers_and_without_the_store() {
    let plan = Stack::plan(Store::Redis).unwrap().policy(twenty).envoy(|config| config.concurrency(2));
    let stack = plan.start_without_redis().unwrap();
    let caller = Caller::of(&stack.envoy);
    let probes = over_connections(40, (0..100).map(|_| caller.anonymous(Method::GET, "/health"))).await;
    // A prober is a stranger too: it is not told the rule.
    assert_eq!(tally(&probes), counts([("200", 20), ("429", 80)]));
    for worker in 0..2 {
        assert!(stack.envoy.connections_of_worker(worker) > 0, "worker {worker} has had none");
    }
    let user = caller.user("atlas", "U-17");
    let pages = over_connections(40, (0..100).map(|_| user.get("/internal/page"))).await;
    assert_eq!(tally(&pages), counts([("200", 20), ("429 P-INTERNAL", 80)]));
    assert_eq!(count(&pages, 503), 0);
}
