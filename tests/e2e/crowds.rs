//! Hundreds of streams that one answer completes. Envoy nests their completions, so a filter that did them all in one go would
//! overflow its stack and take every request of the worker with it.

use crate::caller::{Answer, Caller, User, counts, send, tally, until_refused};
use crate::harm;
use crate::patience::until;
use crate::policy::{limit, only_read, still_bucket};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::task::JoinSet;
use weir_testkit::stack::Store;
use weir_testkit::{Envoy, Stack};

const CROWD: usize = 400;

/// A denial is remembered for 250 ms; then, for a second, one asks and the others wait for what is said.
const RAN_OUT: Duration = Duration::from_millis(300);

fn start(store: Store, capacity: u64, http: impl FnOnce(&mut Value)) -> Stack {
    let plan = Stack::plan(store).unwrap().patience_ms(10_000).policy(|policy| only_read(policy, capacity));
    plan.envoy(|config| config.edit_http(http)).start().unwrap()
}

/// The answers to requests that all wait at the same time, on one connection, until the authority goes on.
async fn held_together(stack: &mut Stack, requests: usize, user: &User) -> Vec<Answer> {
    stack.authority.process().pause();
    let waiting: JoinSet<_> = (0..requests).map(|_| send(user.catalog())).collect();
    until("all of them wait", || active(&stack.envoy) == requests).await;
    stack.authority.process().resume();
    waiting.join_all().await
}

fn active(envoy: &Envoy) -> usize {
    usize::try_from(envoy.active_requests()).unwrap()
}

#[tokio::test]
async fn four_hundred_streams_denied_by_one_answer_all_get_theirs() {
    let mut stack = start(Store::Memory, 5, |_| {});
    let caller = Caller::over_http2(&stack.envoy);
    let user = caller.user("atlas", "U-17");
    until_refused(|| user.catalog()).await;
    tokio::time::sleep(RAN_OUT).await;
    let answers = held_together(&mut stack, CROWD, &user).await;
    assert_eq!(tally(&answers), counts([("429 P-READ", CROWD)]));
    harm::none(&mut stack).await;
}

#[tokio::test]
async fn four_hundred_streams_of_which_few_are_admitted_all_get_their_answer() {
    let mut stack = start(Store::Memory, 10, |_| {});
    let caller = Caller::over_http2(&stack.envoy);
    let answers = held_together(&mut stack, CROWD, &caller.user("atlas", "U-17")).await;
    assert_eq!(tally(&answers), counts([("200", 10), ("429 P-READ", CROWD - 10)]));
    harm::none(&mut stack).await;
}

/// Answered by Envoy itself, the responses nest as well.
#[tokio::test]
async fn four_hundred_streams_admitted_to_a_direct_response_all_get_it() {
    let mut stack = start(Store::Memory, 1_000, |http| {
        let catalog = &mut http["route_config"]["virtual_hosts"][0]["routes"][0];
        assert_eq!(catalog["name"], "catalog");
        catalog.as_object_mut().unwrap().remove("route");
        catalog["direct_response"] = json!({ "status": 200, "body": { "inline_string": "{}" } });
    });
    let caller = Caller::over_http2(&stack.envoy);
    let answers = held_together(&mut stack, CROWD, &caller.user("atlas", "U-17")).await;
    assert_eq!(tally(&answers), counts([("200", CROWD)]));
    assert!(answers.iter().all(Answer::is_decided_by_the_store));
    harm::none(&mut stack).await;
}

/// More than may wait: who finds no place gets the route's mode at once, and everybody gets an answer.
#[tokio::test]
async fn a_crowd_beyond_the_queue_gets_the_routes_mode() {
    const BEYOND: usize = 4_096 + 200;
    let plan = Stack::plan(Store::Memory).unwrap().patience_ms(10_000);
    let plan = plan.policy(|policy| limit(policy, "P-CHECKOUT", &still_bucket(10)));
    let many_streams = |http: &mut Value| http["http2_protocol_options"] = json!({ "max_concurrent_streams": 10_000 });
    let mut stack = plan.envoy(|config| config.edit_http(many_streams)).start().unwrap();
    let caller = Caller::over_http2(&stack.envoy);
    let user = caller.user("atlas", "U-17");
    stack.authority.process().pause();
    let mut waiting: JoinSet<_> = (0..BEYOND).map(|_| send(user.post("/checkout"))).collect();
    until("the queue is full", || active(&stack.envoy) == 4_096).await;
    let mut answers = Vec::new();
    for _ in 0..BEYOND - 4_096 {
        answers.push(waiting.join_next().await.unwrap().unwrap());
    }
    assert_eq!(tally(&answers), counts([("503 queue_full", BEYOND - 4_096)]));
    stack.authority.process().resume();
    let answers = waiting.join_all().await;
    assert_eq!(tally(&answers), counts([("200", 10), ("429 P-CHECKOUT", 4_086)]));
    harm::none(&mut stack).await;
}

/// Nobody answers: they all reach their deadline in one tick.
#[tokio::test]
async fn four_hundred_streams_at_their_deadline_all_get_the_routes_mode() {
    let plan = Stack::plan(Store::Memory).unwrap().patience_ms(3_000);
    let mut stack = plan.start().unwrap();
    let caller = Caller::over_http2(&stack.envoy);
    let user = caller.user("atlas", "U-17");
    stack.authority.process().pause();
    let waiting: JoinSet<_> = (0..CROWD).map(|_| send(user.post("/checkout"))).collect();
    let answers = waiting.join_all().await;
    assert_eq!(tally(&answers), counts([("503 deadline_exceeded", CROWD)]));
    stack.authority.process().resume();
    harm::none(&mut stack).await;
}
