//! Addresses: logins, bad tokens, and what strangers are told.

use crate::caller::{Answer, Caller, at_once, count, counts, send, tally};
use crate::patience::until;
use crate::witness::Witness;
use reqwest::RequestBuilder;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;
use weir_testkit::stack::{Plan, Store};
use weir_testkit::{Stack, window};

on_both_stores!(d08_the_21st_login_of_an_address_is_refused_before_anybody_looks_at_it);

const WINDOW: Duration = Duration::from_secs(10);
const ROOM: Duration = Duration::from_secs(5);

fn plan(store: Store) -> Plan {
    Stack::plan(store).unwrap().patience_ms(5_000)
}

/// As if a proxy of our own had appended the address of its peer.
fn behind_a_trusted_proxy(plan: Plan) -> Plan {
    plan.envoy(|config| config.edit_http(|http| http["xff_num_trusted_hops"] = json!(1)))
}

fn from(address: &str, request: RequestBuilder) -> RequestBuilder {
    request.header("x-forwarded-for", address)
}

/// A stranger learns that it is too many, and a time that is not the window's end.
fn tells_a_stranger_nothing(answer: &Answer) {
    assert_eq!(answer.status, 429);
    assert_eq!(answer.problem(), json!({ "title": "Too Many Requests", "status": 429 }));
    for name in ["ratelimit", "ratelimit-policy"] {
        assert_eq!(answer.header(name), None);
    }
    // The window's rest, and half of a window more.
    assert!((1..=15).contains(&answer.retry_after()), "{answer:?}");
}

async fn d08_the_21st_login_of_an_address_is_refused_before_anybody_looks_at_it(store: Store) {
    let stack = plan(store).start().unwrap();
    let caller = Caller::of(&stack.envoy);

    window::with_room(WINDOW, ROOM);
    // Another X-Forwarded-For each time: the address is the connection's all the same.
    let logins = at_once((0..20).map(|n| from(&format!("203.0.113.{n}"), caller.login()))).await;
    assert_eq!(count(&logins, 200), 20, "{:?}", tally(&logins));
    let refused = at_once((0..40).map(|n| from(&format!("198.51.100.{n}"), caller.login()))).await;
    refused.iter().for_each(tells_a_stranger_nothing);
    assert_eq!(stack.upstream.requests(), 20);

    // The jitter is the stranger's, not the request's: asking often does not tell where the window ends. (The clocks of the
    // store and the gateway may put its end into two different seconds, and time goes on.)
    let hints: BTreeSet<u64> = refused.iter().map(Answer::retry_after).collect();
    assert!(hints.len() <= 4, "{hints:?}");
}

/// What a fixed window accepts: 20 in its last second and 20 in the first of the next.
#[tokio::test]
async fn d01_twenty_logins_on_each_side_of_a_boundary_all_pass() {
    let stack = plan(Store::Memory).start().unwrap();
    let caller = Caller::of(&stack.envoy);
    window::with_room(WINDOW, ROOM);
    let before = at_once((0..20).map(|_| caller.login())).await;
    assert_eq!(count(&before, 200), 20, "{:?}", tally(&before));
    assert_eq!(send(caller.login()).await.status, 429);

    window::next(WINDOW);
    // A denial that was remembered for the rest of the window is not remembered beyond it.
    let after = at_once((0..20).map(|_| caller.login())).await;
    assert_eq!(count(&after, 200), 20, "{:?}", tally(&after));
    assert_eq!(send(caller.login()).await.status, 429);
}

#[tokio::test]
async fn d08_a_failed_login_is_charged_once() {
    let mut stack = plan(Store::Redis).start().unwrap();
    let caller = Caller::of(&stack.envoy);
    let mut redis = Witness::of(stack.redis());

    window::with_room(WINDOW, ROOM);
    let failed = at_once((0..20).map(|_| caller.login().body(r#"{"password":"guessed"}"#))).await;
    assert_eq!(count(&failed, 401), 20, "{:?}", tally(&failed));
    tells_a_stranger_nothing(&send(caller.login()).await);
    assert_eq!(redis.spent_in_window("w:{ip:127.0.0.1}:P-ANON"), 20);
}

#[tokio::test]
async fn d08_bad_tokens_are_charged_to_the_address_and_never_to_the_tenant_they_claim() {
    let mut stack = plan(Store::Redis).start().unwrap();
    let caller = Caller::of(&stack.envoy);
    let mut redis = Witness::of(stack.redis());
    let honest = caller.user("atlas", "U-17");
    let forged = caller.bearer(forge(honest.token()));
    let key = "w:{ip:127.0.0.1}:P-ANON";

    window::with_room(WINDOW, ROOM);
    let refused = at_once((0..20).map(|_| forged.catalog())).await;
    assert_eq!(tally(&refused), counts([("401", 20)]));
    assert_eq!(stack.upstream.requests(), 0);
    // Charged after the answer has gone.
    until("all failures are charged", || redis.spent_in_window(key) == 20).await;
    assert_eq!(redis.keys(), [key], "nothing is counted for Atlas");

    // The front door is closed to this address now. More bad tokens are none of its business, and who has a good one is not
    // locked out by a neighbour.
    tells_a_stranger_nothing(&send(caller.login()).await);
    let refused = at_once((0..20).map(|_| forged.catalog())).await;
    assert_eq!(tally(&refused), counts([("401", 20)]));
    assert_eq!(send(honest.catalog()).await.status, 200);
    assert_eq!(redis.spent_in_window(key), 20);
}

/// Envoy answers gRPC callers 200 and says the rest in `grpc-status`.
#[tokio::test]
async fn d08_bad_tokens_of_grpc_callers_are_charged_too() {
    let mut stack = plan(Store::Redis).start().unwrap();
    let caller = Caller::of(&stack.envoy);
    let mut redis = Witness::of(stack.redis());
    let forged = caller.bearer(forge(caller.user("atlas", "U-17").token()));
    window::with_room(WINDOW, ROOM);
    let refused = at_once((0..20).map(|_| forged.catalog().header("content-type", "application/grpc"))).await;
    assert!(refused.iter().all(|answer| answer.header("grpc-status") == Some("16")), "{refused:?}");
    until("all failures are charged", || redis.spent_in_window("w:{ip:127.0.0.1}:P-ANON") == 20).await;
}

#[tokio::test]
async fn d08_a_hundred_addresses_of_one_ipv6_network_are_one_subject() {
    let mut stack = behind_a_trusted_proxy(plan(Store::Redis)).start().unwrap();
    let caller = Caller::of(&stack.envoy);
    let mut redis = Witness::of(stack.redis());
    let logins = |network: &str, count: u32| {
        (0..count).map(|n| from(&format!("{network}::{n:x}:{}", n * 7), caller.login())).collect::<Vec<_>>()
    };

    window::with_room(WINDOW, ROOM);
    let one = at_once(logins("2001:db8:0:1", 100)).await;
    assert_eq!(tally(&one), counts([("200", 20), ("429", 80)]));
    let other = at_once(logins("2001:db8:0:2", 20)).await;
    assert_eq!(tally(&other), counts([("200", 20)]));
    assert_eq!(redis.keys(), ["w:{ip:2001%3Adb8%3A0%3A1%3A%3A%2F64}:P-ANON", "w:{ip:2001%3Adb8%3A0%3A2%3A%3A%2F64}:P-ANON"]);
}

#[tokio::test]
async fn d08_only_the_hop_that_a_trusted_proxy_appended_counts() {
    let mut stack = behind_a_trusted_proxy(plan(Store::Redis)).start().unwrap();
    let caller = Caller::of(&stack.envoy);
    let mut redis = Witness::of(stack.redis());
    window::with_room(WINDOW, ROOM);
    // What stands before it is what the caller itself has sent.
    let logins = (0..21).map(|n| from(&format!("198.51.100.{n}, 203.0.113.9"), caller.login()));
    assert_eq!(tally(&at_once(logins).await), counts([("200", 20), ("429", 1)]));
    // An IPv4 address is itself, however it is written.
    assert_eq!(send(from("::ffff:203.0.113.9", caller.login())).await.status, 429);
    assert_eq!(redis.keys(), ["w:{ip:203.0.113.9}:P-ANON"]);
}

/// The same token with another signature.
fn forge(token: &str) -> String {
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let reversed: String = signature.chars().rev().collect();
    format!("{signed}.{reversed}")
}
