//! A limit is met to the unit, however many ask at once, and wherever.

use crate::caller::{Caller, User, at_once, counts, over_connections, tally};
use crate::policy::only_read;
use crate::witness::Witness;
use std::time::Duration;
use weir_testkit::Stack;
use weir_testkit::stack::{Plan, Store};

on_both_stores!(
    of_2000_requests_over_100_connections_exactly_500_pass,
    of_2000_requests_over_100_connections_exactly_500_pass_with_two_workers,
);

fn plan(store: Store, capacity: u64) -> Plan {
    Stack::plan(store).unwrap().patience_ms(5_000).policy(|policy| only_read(policy, capacity))
}

async fn of_2000_requests_over_100_connections_exactly_500_pass(store: Store) {
    exactly_500_of_2000(store, 1).await;
}

async fn of_2000_requests_over_100_connections_exactly_500_pass_with_two_workers(store: Store) {
    exactly_500_of_2000(store, 2).await;
}

async fn exactly_500_of_2000(store: Store, workers: u32) {
    let stack = plan(store, 500).envoy(|config| config.concurrency(workers)).start().unwrap();
    let u17 = Caller::of(&stack.envoy).user("atlas", "U-17");
    let answers = over_connections(100, (0..2_000).map(|_| u17.catalog())).await;
    assert_eq!(tally(&answers), counts([("200", 500), ("429 P-READ", 1_500)]), "{:?}", stack.envoy.undecided());
    // What was admitted is what was served.
    assert_eq!(stack.upstream.requests(), 500);
}

#[tokio::test]
async fn d05_two_gateways_with_an_authority_each_admit_500_of_2000_together() {
    let plan = plan(Store::Redis, 500).envoy(|config| config.concurrency(2));
    let (stack, other) = plan.start_two_gateways().unwrap();
    let users = [&stack.envoy, &other.envoy].map(|envoy| Caller::of(envoy).user("atlas", "U-17"));
    let answers = over_connections(100, (0..1_000).flat_map(|_| users.iter().map(User::catalog))).await;
    assert_eq!(tally(&answers), counts([("200", 500), ("429 P-READ", 1_500)]));
    assert_eq!(stack.upstream.requests(), 500);
}

/// Its scripts gone in the midst of it all, the store has them loaded again, and nobody notices.
#[tokio::test]
async fn d05_a_store_that_forgets_its_scripts_under_load_admits_exactly_500() {
    let mut stack = plan(Store::Redis, 500).start().unwrap();
    let mut redis = Witness::of(stack.redis());
    let u17 = Caller::of(&stack.envoy).user("atlas", "U-17");
    let load = over_connections(100, (0..2_000).map(|_| u17.catalog()));
    let forgetting = async {
        loop {
            redis.forget_scripts();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let answers = tokio::select! {
        answers = load => answers,
        () = forgetting => unreachable!("it forgets for ever"),
    };
    assert_eq!(tally(&answers), counts([("200", 500), ("429 P-READ", 1_500)]));
}

#[tokio::test]
async fn d05_of_two_gateways_at_one_token_exactly_one_admits() {
    let (stack, other) = plan(Store::Redis, 1).start_two_gateways().unwrap();
    let callers = [&stack.envoy, &other.envoy].map(Caller::of);
    for round in 0..20 {
        let users = callers.each_ref().map(|caller| caller.user("atlas", &format!("U-{round}")));
        let answers = at_once(users.iter().map(User::catalog)).await;
        assert_eq!(tally(&answers), counts([("200", 1), ("429 P-READ", 1)]), "round {round}");
    }
}
