//! Redis or the authority away, hanging, and back. Nothing is restarted but what was away.

use crate::caller::{Answer, Caller, User, at_once, count, over_connections, tally};
use crate::patience::{until, until_some};
use crate::policy::{limit, still_bucket};
use reqwest::{Method, RequestBuilder};
use serde_json::json;
use std::sync::atomic::{AtomicU32, Ordering};
use weir_testkit::stack::{Plan, Store};
use weir_testkit::{Stack, authority::Started};

on_both_stores!(
    d15_with_the_authority_killed_closed_routes_say_why_and_open_ones_live,
    d15_with_the_authority_hanging_closed_routes_say_so_within_the_deadline,
);

/// The routes that are closed while nobody decides.
fn closed(caller: &Caller, user: &User) -> [RequestBuilder; 3] {
    [user.post("/checkout"), user.post("/reports/export"), caller.login()]
}

/// The reason that all closed routes come to agree on. Until then each says some reason of its own, since requests are caught
/// at different moments; but none passes, and none is blamed on its caller.
async fn reason(caller: &Caller, accepted: &[&str]) -> String {
    let user = caller.user("birch", "U-5");
    until_some("closed routes say why", async || {
        let answers = at_once(closed(caller, &user)).await;
        for answer in &answers {
            assert_eq!(answer.status, 503, "{answer:?}");
            assert!((1..=3).contains(&answer.retry_after()), "{answer:?}");
            assert_eq!(answer.header("x-envoy-ratelimited"), None, "an outage is no denial");
        }
        let said: Vec<String> = answers.iter().map(|answer| answer.problem()["reason"].as_str().unwrap().to_owned()).collect();
        said.iter().all(|reason| accepted.contains(&reason.as_str())).then(|| said[0].clone())
    })
    .await
}

/// What does not depend on a decision of the store goes on.
async fn the_rest_lives(caller: &Caller) {
    let user = caller.user("birch", "U-6");
    let answers = at_once([user.catalog(), user.post("/search"), user.get("/internal/page")]).await;
    assert_eq!(count(&answers, 200), 3, "{:?}", tally(&answers));
    assert!(answers.iter().all(|answer| answer.header("ratelimit").is_none()), "of what nobody knows, nothing is told");
    let health = at_once((0..20).map(|_| caller.anonymous(Method::GET, "/health"))).await;
    assert_eq!(count(&health, 200), 20, "{:?}", tally(&health));
}

/// The store decides again, on all routes and to the unit. Asked until it is so, each time for somebody new: the shipped
/// deadline is short, and a machine may be busy.
async fn decisions_come_back(caller: &Caller) {
    until_some("the store decides again", async || {
        let user = newcomer(caller);
        // A bucket has 20, where a gateway by itself has 10 for each.
        let reads = at_once((0..15).map(|_| user.catalog())).await;
        reads.iter().all(Answer::is_decided_by_the_store).then_some(())
    })
    .await;
    until_some("closed routes are served again", async || {
        let answers = at_once(closed(caller, &newcomer(caller))).await;
        answers.iter().all(|answer| [200, 202].contains(&answer.status)).then_some(())
    })
    .await;
}

fn newcomer(caller: &Caller) -> User {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    caller.user("birch", &format!("new-{}", COUNT.fetch_add(1, Ordering::Relaxed)))
}

/// With the shipped deadline, and room at the front door for all the logins of a test.
fn start(store: Store) -> Stack {
    plan(store).start().unwrap()
}

fn plan(store: Store) -> Plan {
    Stack::plan(store).unwrap().policy(|policy| {
        policy["rules"]["P-ANON"]["limit"]["fixed_window"]["limit"] = json!(10_000);
        policy["plans"]["enterprise"]["P-TENANT"]["fixed_window"]["limit"] = json!(10_000);
    })
}

#[tokio::test]
async fn d15_with_redis_killed_closed_routes_say_why_and_open_ones_live() {
    let mut stack = start(Store::Redis);
    let caller = Caller::of(&stack.envoy);
    decisions_come_back(&caller).await;
    for _ in 0..2 {
        stack.redis().kill();
        assert_eq!(reason(&caller, &["store_unavailable"]).await, "store_unavailable");
        the_rest_lives(&caller).await;
        stack.redis().restart().unwrap();
        decisions_come_back(&caller).await;
    }
}

/// Whoever is caught by it gets an answer, and one that is true: nobody is told that it was too many.
#[tokio::test]
async fn d15_requests_under_way_when_the_store_or_the_authority_dies_are_all_answered() {
    let plan = plan(Store::Redis).policy(|policy| {
        for rule in ["P-READ", "P-CHECKOUT"] {
            limit(policy, rule, &still_bucket(100_000));
        }
        policy["routes"]["catalog"]["unreachable"]["fallback"]["cap"] = still_bucket(100_000);
    });
    let mut stack = plan.envoy(|config| config.concurrency(2)).start().unwrap();
    let caller = Caller::of(&stack.envoy);
    let user = caller.user("birch", "U-9");
    let requests = (0..6_000).map(|n| if n % 2 == 0 { user.catalog() } else { user.post("/checkout") });
    let load = tokio::spawn(over_connections(48, requests.collect::<Vec<_>>()));

    until("the load is there", || stack.upstream.requests() > 300).await;
    stack.redis().kill();
    until("closed routes are", || stack.envoy.stat("http.http.downstream_rq_5xx") > 100).await;
    stack.redis().restart().unwrap();
    stack.authority.wait(Started::Ready).unwrap();
    stack.authority.kill();
    stack.authority.restart(Started::Ready).unwrap();

    let answers = load.await.unwrap();
    assert_eq!(count(&answers, 200) + count(&answers, 503), 6_000, "{:?}", tally(&answers));
    assert!(count(&answers, 503) <= 3_000, "the catalog is never closed: {:?}", tally(&answers));
    decisions_come_back(&caller).await;
}

#[tokio::test]
async fn d15_with_redis_hanging_closed_routes_say_why_and_open_ones_live() {
    let mut stack = start(Store::Redis);
    let caller = Caller::of(&stack.envoy);
    decisions_come_back(&caller).await;
    stack.redis().process().pause();
    reason(&caller, &["store_unknown", "store_unavailable", "deadline_exceeded"]).await;
    the_rest_lives(&caller).await;
    stack.redis().process().resume();
    decisions_come_back(&caller).await;
}

async fn d15_with_the_authority_killed_closed_routes_say_why_and_open_ones_live(store: Store) {
    let mut stack = start(store);
    let caller = Caller::of(&stack.envoy);
    decisions_come_back(&caller).await;
    stack.authority.kill();
    reason(&caller, &["authority_unreachable", "not_sent", "deadline_exceeded"]).await;
    the_rest_lives(&caller).await;
    stack.authority.restart(Started::Ready).unwrap();
    decisions_come_back(&caller).await;
}

async fn d15_with_the_authority_hanging_closed_routes_say_so_within_the_deadline(store: Store) {
    let mut stack = start(store);
    let caller = Caller::of(&stack.envoy);
    decisions_come_back(&caller).await;
    stack.authority.process().pause();
    assert_eq!(reason(&caller, &["deadline_exceeded"]).await, "deadline_exceeded");
    the_rest_lives(&caller).await;
    stack.authority.process().resume();
    decisions_come_back(&caller).await;
}

#[tokio::test]
async fn an_authority_that_starts_before_its_redis_waits_and_then_serves() {
    let mut stack = plan(Store::Redis).start_without_redis().unwrap();
    let caller = Caller::of(&stack.envoy);
    let readiness = weir_testkit::probe::get(stack.authority.addr(), "/readyz").unwrap();
    assert_eq!(readiness.status, 503);
    assert!(readiness.body.contains("redis"), "it says what it waits for: {readiness:?}");
    assert_eq!(reason(&caller, &["store_unavailable"]).await, "store_unavailable");
    the_rest_lives(&caller).await;

    stack.redis().restart().unwrap();
    stack.authority.wait(Started::Ready).unwrap();
    decisions_come_back(&caller).await;
}
