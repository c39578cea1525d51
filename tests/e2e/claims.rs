//! Claims that name nobody. The token is good, its signature holds; but a caller without a name is nobody, not the empty name.

use crate::caller::{Caller, send};
use crate::witness::Witness;
use serde_json::{Value, json};
use weir_testkit::Stack;
use weir_testkit::stack::Store;

const MISSING: &str = "401 identity_missing";
const MALFORMED: &str = "401 identity_malformed";

fn long(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// What a claim may be, and what comes of it.
fn claims() -> Vec<(Value, &'static str)> {
    vec![
        (Value::Null, MISSING),
        (json!(""), MISSING),
        (json!(0), MALFORMED),
        (json!(17), MALFORMED),
        (json!(-1), MALFORMED),
        (json!(0.5), MALFORMED),
        (json!(1_234_567_890_123_u64), MALFORMED),
        (json!(true), MALFORMED),
        (json!(false), MALFORMED),
        (json!(long(257)), MALFORMED),
        (json!(long(10_000)), MALFORMED),
        (json!("a\nb"), MALFORMED),
        (json!("a\r\nx-admin: 1"), MALFORMED),
        (json!("a\u{0}b"), MALFORMED),
        (json!("\u{7f}"), MALFORMED),
        (json!("\u{85}"), MALFORMED),
    ]
}

/// A list or an object comes in a form that the filter does not read, or reads as no name; nobody's all the same.
fn structures() -> Vec<Value> {
    vec![json!([]), json!(["U-17"]), json!({}), json!({ "sub": "U-17" }), json!([null]), json!([["U-17"]])]
}

/// `sub` is checked by `jwt_authn` itself as well, so the policy here takes the name from a claim that it does not look at.
fn start() -> Stack {
    let plan = Stack::plan(Store::Redis).unwrap().patience_ms(5_000);
    plan.policy(|policy| policy["identity"]["jwt"]["principal"] = json!("user")).start().unwrap()
}

#[tokio::test]
async fn a_claim_that_is_no_name_is_refused_and_counted_nowhere() {
    let mut stack = start();
    let caller = Caller::of(&stack.envoy);
    for name in ["user", "tenant"] {
        let other = if name == "user" { "tenant" } else { "user" };
        for (value, expected) in claims() {
            let user = caller.claiming(|claims| claims.claim(other, "atlas").claim(name, value.clone()));
            assert_eq!(send(user.catalog()).await.summary(), expected, "{name}: {value}");
        }
        for value in structures() {
            let user = caller.claiming(|claims| claims.claim(other, "atlas").claim(name, value.clone()));
            let summary = send(user.catalog()).await.summary();
            assert!([MISSING, MALFORMED].contains(&summary.as_str()), "{name}: {value}: {summary}");
        }
        let without = caller.claiming(|claims| claims.claim(other, "atlas"));
        assert_eq!(send(without.catalog()).await.summary(), MISSING, "no {name}");
    }
    let nobody = caller.claiming(|claims| claims);
    assert_eq!(send(nobody.catalog()).await.summary(), MISSING);

    assert_eq!(stack.upstream.requests(), 0);
    let keys = Witness::of(stack.redis()).keys();
    assert!(keys.iter().all(|key| key == "w:{ip:127.0.0.1}:P-ANON"), "{keys:?}");
}

#[tokio::test]
async fn a_refusal_says_how_to_authenticate_and_nothing_of_quotas() {
    let stack = start();
    let answer = send(Caller::of(&stack.envoy).claiming(|claims| claims.claim("tenant", "atlas")).catalog()).await;
    assert_eq!(answer.problem(), json!({ "title": "Unauthorized", "status": 401, "reason": "identity_missing" }));
    assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    for name in ["retry-after", "ratelimit", "ratelimit-policy"] {
        assert_eq!(answer.header(name), None);
    }
}

/// The longest name there is, and one of every kind of letter.
#[tokio::test]
async fn a_name_is_up_to_256_bytes_of_any_letters() {
    let stack = start();
    let caller = Caller::of(&stack.envoy);
    for name in [long(256), "é".repeat(128), "U 17, \"the\" <user> & 'co'\\".to_owned(), "😀".to_owned()] {
        let user = caller.claiming(|claims| claims.claim("tenant", name.clone()).claim("user", name.clone()));
        let answer = send(user.catalog()).await;
        assert!(answer.is_decided_by_the_store(), "{name}: {answer:?}");
    }
}

/// Whatever stands in `sub`, a token with a number or a list for a name does not pass.
#[tokio::test]
async fn a_sub_that_is_no_name_does_not_pass() {
    let stack = Stack::plan(Store::Memory).unwrap().patience_ms(5_000).start().unwrap();
    let caller = Caller::of(&stack.envoy);
    for value in claims().into_iter().map(|(value, _)| value).chain(structures()) {
        let user = caller.claiming(|claims| claims.claim("tenant", "atlas").claim("sub", value.clone()));
        assert_eq!(send(user.catalog()).await.status, 401, "{value}");
    }
    assert_eq!(stack.upstream.requests(), 0);
}
