//! How a request finds its route: the proxy's configuration knows best, then the policy's matchers look at the request.

use crate::caller::{Answer, Caller, counts, send, tally};
use crate::routes::{Routes, hosts, metadata};
use reqwest::header::HOST;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use weir_testkit::Stack;
use weir_testkit::stack::Store;

/// A host for each way of saying it.
fn ways() -> Vec<Value> {
    let mut by_host = Routes::unnamed().of_host("by-host.example");
    by_host["metadata"] = metadata("checkout");
    let mut both = Routes::unnamed().saying("checkout").of_host("both.example");
    both["metadata"] = metadata("catalog");
    let mut over_name = Routes::unnamed().named("catalog").of_host("over-name.example");
    over_name["metadata"] = metadata("checkout");
    vec![
        Routes::unnamed().named("catalog").saying("checkout").of_host("by-route.example"),
        by_host,
        both,
        over_name,
        Routes::unnamed().named("checkout").of_host("by-name.example"),
        Routes::unnamed().named("something-else").of_host("by-matcher.example"),
        Routes::unnamed().saying("chekout").of_host("typo.example"),
    ]
}

fn start(default: Option<&str>) -> Stack {
    let plan = Stack::plan(Store::Memory).unwrap().patience_ms(5_000).envoy(|config| hosts(config, ways()));
    plan.policy(|policy| {
        if let Some(route) = default {
            policy["defaults"]["route"] = json!(route);
        }
    })
    .start()
    .unwrap()
}

fn on(host: &str, request: RequestBuilder) -> RequestBuilder {
    request.header(HOST, host)
}

/// The first rule that an answer names.
fn rule(answer: &Answer) -> &str {
    answer.header("ratelimit-policy").and_then(|policy| policy.split('"').nth(1)).unwrap_or("none")
}

/// `P-CHECKOUT` or `P-READ` tells which route it was.
#[tokio::test]
async fn metadata_of_the_route_then_of_its_host_then_the_name_then_matchers_decide() {
    let stack = start(None);
    let user = Caller::of(&stack.envoy).user("atlas", "U-17");
    for host in ["by-route.example", "by-host.example", "both.example", "over-name.example", "by-name.example"] {
        assert_eq!(rule(&send(on(host, user.catalog())).await), "P-CHECKOUT", "{host}");
    }
    let matched = async |request: RequestBuilder| rule(&send(on("by-matcher.example", request)).await).to_owned();
    assert_eq!(matched(user.catalog()).await, "P-READ");
    assert_eq!(matched(user.get("/catalog?page=2")).await, "P-READ");
    assert_eq!(matched(user.post("/checkout")).await, "P-CHECKOUT");
}

#[tokio::test]
async fn a_request_that_matches_nothing_is_not_limited_unless_the_policy_says_so() {
    let unlimited = async |stack: &Stack| {
        let user = Caller::of(&stack.envoy).user("atlas", "U-17");
        let answer = send(on("by-matcher.example", user.request(Method::DELETE, "/catalog"))).await;
        // From the upstream, which has no such method.
        assert_eq!(answer.status, 405);
        rule(&answer).to_owned()
    };
    assert_eq!(unlimited(&start(None)).await, "none");
    assert_eq!(unlimited(&start(Some("checkout"))).await, "P-CHECKOUT");
}

/// A typo is not "no limit".
#[tokio::test]
async fn metadata_that_names_an_unknown_route_is_refused() {
    let stack = start(None);
    let answer = send(on("typo.example", Caller::of(&stack.envoy).user("atlas", "U-17").catalog())).await;
    assert_eq!(tally(std::slice::from_ref(&answer)), counts([("503 route_unknown", 1)]));
    assert_eq!(stack.upstream.requests(), 0);
}
