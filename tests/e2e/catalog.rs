//! A user's bucket of 20 with 2 a second, what is told about it, and that others do not notice.
//!
//! A bucket refills while a test runs. Where that could matter, the test counts how long it took and holds the figures against
//! the bound of the rule, `20 + 2T` over `T` seconds: on a machine that is not hopelessly slow, that is the exact figure.

use crate::caller::{Answer, Caller, at_once, count, send, tally, until_refused};
use std::time::{Duration, Instant};
use weir_testkit::Stack;
use weir_testkit::stack::Store;

on_both_stores!(
    d02_twenty_pass_the_next_is_denied_and_five_seconds_bring_ten,
    d17_an_export_that_lacks_seven_tokens_waits_as_long_as_they_take,
    an_admitted_answer_says_how_each_rule_stands,
);

const PATIENCE_MS: u64 = 5_000;

/// What a bucket of 20 with 2 a second can have admitted since `begun`.
fn most_admitted(begun: Instant) -> usize {
    20 + refilled(begun)
}

/// The whole tokens that have come back since `begun`.
fn refilled(begun: Instant) -> usize {
    usize::try_from(begun.elapsed().as_millis() * 2 / 1_000).unwrap()
}

fn is_denied_by_the_bucket(answer: &Answer) {
    assert_eq!(answer.status, 429);
    assert_eq!(answer.retry_after(), 1);
    assert_eq!(answer.header("x-envoy-ratelimited"), Some("true"));
    // What is told of other rules depends on whether the denial was remembered.
    let starts = |name, start: &str| answer.header(name).is_some_and(|value| value.starts_with(start));
    assert!(starts("ratelimit-policy", r#""P-READ";q=20;w=10"#), "{answer:?}");
    assert!(starts("ratelimit", r#""P-READ";r=0;t="#), "{answer:?}");
    let problem = answer.problem();
    assert_eq!(problem["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded");
    assert_eq!(problem["status"], 429);
    assert_eq!(problem["rule"], "P-READ");
    assert_eq!(problem["violated-policies"][0], "P-READ");
    assert_eq!(problem["retry_after_s"], 1);
    assert_eq!(problem["policy_version"], 1);
}

async fn d02_twenty_pass_the_next_is_denied_and_five_seconds_bring_ten(store: Store) {
    let stack = Stack::plan(store).unwrap().patience_ms(PATIENCE_MS).start().unwrap();
    let caller = Caller::of(&stack.envoy);
    let (u17, birch) = (caller.user("atlas", "U-17"), caller.user("birch", "U-4"));

    let begun = Instant::now();
    let burst = at_once((0..20).map(|_| u17.catalog())).await;
    assert_eq!(count(&burst, 200), 20, "{:?}", tally(&burst));
    let (late, denied) = until_refused(|| u17.catalog()).await;
    assert!(20 + late <= most_admitted(begun), "{late} beyond the burst");
    is_denied_by_the_bucket(&denied);

    let others = at_once((0..12).map(|_| birch.catalog())).await;
    assert_eq!(count(&others, 200), 12, "{:?}", tally(&others));

    tokio::time::sleep(Duration::from_secs(5)).await;
    let more = at_once((0..10).map(|_| u17.catalog())).await;
    assert_eq!(count(&more, 200), 10, "{:?}", tally(&more));
    let (last, denied) = until_refused(|| u17.catalog()).await;
    assert!(20 + late + 10 + last <= most_admitted(begun), "{late} and {last} beyond the bursts");
    is_denied_by_the_bucket(&denied);
}

/// 3 tokens, cost 10: 7 are missing, which take 3.5 s, told as 4.
async fn d17_an_export_that_lacks_seven_tokens_waits_as_long_as_they_take(store: Store) {
    let stack = Stack::plan(store).unwrap().patience_ms(PATIENCE_MS).start().unwrap();
    let u17 = Caller::of(&stack.envoy).user("atlas", "U-17");
    let begun = Instant::now();
    let reads = at_once((0..17).map(|_| u17.catalog())).await;
    assert_eq!(count(&reads, 200), 17, "{:?}", tally(&reads));

    let export = send(u17.post("/reports/export")).await;
    let waited = begun.elapsed();
    assert_eq!(export.summary(), "429 P-READ");
    // What came back meanwhile is not missing any more.
    let least = Duration::from_millis(3_500).saturating_sub(waited).as_millis().div_ceil(1_000).max(1);
    let told = u128::from(export.retry_after());
    assert!((least..=4).contains(&told), "told {told} s after {waited:?}");

    // Who cannot pay 10 may well pay 1.
    assert_eq!(send(u17.catalog()).await.status, 200);
}

async fn an_admitted_answer_says_how_each_rule_stands(store: Store) {
    let stack = Stack::plan(store).unwrap().patience_ms(PATIENCE_MS).start().unwrap();
    let answer = send(Caller::of(&stack.envoy).user("atlas", "U-17").catalog()).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("ratelimit-policy"), Some(r#""P-READ";q=20;w=10, "P-TENANT";q=1000;w=60"#));
    let told = answer.header("ratelimit").unwrap();
    let window_s = told.strip_prefix(r#""P-READ";r=19;t=1, "P-TENANT";r=999;t="#).and_then(|left| left.parse().ok());
    assert!(window_s.is_some_and(|seconds: u64| (1..=60).contains(&seconds)), "{told}");
    assert_eq!(answer.header("x-envoy-ratelimited"), None);
}
