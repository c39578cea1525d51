//! The messages as JSON: spelled as documented, read back as they were, and nothing unknown accepted.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_wire::{
    Answer, ChargeRef, Check, DecideRequest, DecideResponse, Failure, Numbers, Outcome, Principal, Quota, RuleLimit, Subject,
    Tag, Verdict,
};

/// The messages that the module's documentation shows, in their order.
fn documented() -> [Value; 2] {
    let source = include_str!("../../src/decide.rs");
    let blocks: Vec<String> = source
        .split("//! ```")
        .filter_map(|block| block.strip_prefix("json\n"))
        .map(|block| block.lines().map(|line| line.trim_start_matches("//!")).collect())
        .collect();
    let [request, response] = blocks.as_slice() else { panic!("one request and one response") };
    [request, response].map(|text| serde_json::from_str(text).expect("JSON"))
}

fn request() -> DecideRequest {
    let numbers = Numbers::TokenBucket { capacity: 20, refill: 2, period_ms: 1_000 };
    let subject = Subject::Principal(Principal::Jwt("U-17".into()));
    DecideRequest {
        version: 1,
        limits: vec![RuleLimit { rule: "P-READ".into(), numbers }],
        checks: vec![Check {
            id: 7,
            hits: 1,
            tag: Tag::Tenant("atlas".into()),
            charges: vec![ChargeRef { limit: 0, subject, cost: 1, shadow: false }],
        }],
    }
}

fn response(outcome: Outcome) -> DecideResponse {
    DecideResponse { version: 1, answers: vec![Answer { id: 7, outcome }] }
}

fn verdict(wait_ms: u64) -> Outcome {
    Outcome::Verdict(Verdict { admitted: 1, delay_ms: 0, quotas: vec![quota(wait_ms)] })
}

fn quota(wait_ms: u64) -> Quota {
    Quota { remaining: 19, reset_ms: 500, wait_ms, shadow_denied: 0 }
}

#[track_caller]
fn is_spelled<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(message: &T, json: Value) {
    assert_eq!(serde_json::to_value(message).unwrap(), json);
    assert_eq!(serde_json::from_value::<T>(json).unwrap(), *message);
}

#[test]
fn the_documented_messages_are_the_messages() {
    let [documented_request, documented_response] = documented();
    is_spelled(&request(), documented_request);
    is_spelled(&response(verdict(0)), documented_response);
}

#[test]
fn the_version_is_the_documented_one() {
    assert_eq!(documented()[0]["version"], weir_wire::VERSION);
}

#[test]
fn every_outcome_has_its_spelling() {
    let answered = |outcome: Value| json!({"version": 1, "answers": [{"id": 7, "outcome": outcome}]});
    let waits = json!({"verdict": {"admitted": 1, "quotas": [{"remaining": 19, "reset_ms": 500, "wait_ms": 250}]}});
    is_spelled(&response(verdict(250)), answered(waits));
    for (failure, name) in [(Failure::Unavailable, "unavailable"), (Failure::Unknown, "unknown"), (Failure::Full, "full")] {
        is_spelled(&response(Outcome::Failure(failure)), answered(json!({"failure": name})));
    }
}

#[test]
fn every_tag_subject_and_algorithm_has_its_spelling() {
    is_spelled(&Tag::Tenant("atlas".into()), json!({"tenant": "atlas"}));
    is_spelled(&Tag::Ip("192.0.2.7".into()), json!({"ip": "192.0.2.7"}));
    is_spelled(&Tag::Principal(Principal::Mtls("spiffe://m".into())), json!({"principal": {"mtls": "spiffe://m"}}));
    let window = json!({"limit": 20, "window_ms": 10_000});
    for (numbers, json) in [
        (Numbers::FixedWindow { limit: 20, window_ms: 10_000 }, json!({"fixed_window": window})),
        (Numbers::CalendarMonth { limit: 20 }, json!({"calendar_month": {"limit": 20}})),
        (Numbers::SlidingWindow { limit: 20, window_ms: 10_000 }, json!({"sliding_window": window})),
        (Numbers::SlidingLog { limit: 20, window_ms: 10_000 }, json!({"sliding_log": window})),
        (
            Numbers::TokenBucket { capacity: 20, refill: 2, period_ms: 1_000 },
            json!({"token_bucket": {"capacity": 20, "refill": 2, "period_ms": 1_000}}),
        ),
        (
            Numbers::Gcra { burst: 20, refill: 2, period_ms: 1_000 },
            json!({"gcra": {"burst": 20, "refill": 2, "period_ms": 1_000}}),
        ),
        (
            Numbers::LeakyQueue { depth: 20, leak: 2, period_ms: 1_000 },
            json!({"leaky_queue": {"depth": 20, "leak": 2, "period_ms": 1_000}}),
        ),
    ] {
        is_spelled(&numbers, json);
    }
    let charge = ChargeRef { limit: 3, subject: Subject::Whole, cost: 2, shadow: false };
    is_spelled(&charge, json!({"limit": 3, "cost": 2}));
    is_spelled(&ChargeRef { shadow: true, ..charge }, json!({"limit": 3, "cost": 2, "shadow": true}));
    let written_out = serde_json::from_value::<ChargeRef>(json!({"limit": 3, "subject": "whole", "cost": 2}));
    assert!(written_out.unwrap().subject.is_whole());
}

#[test]
fn a_delay_and_what_a_watching_rule_would_have_denied_are_said_only_when_there_are_any() {
    let quota = Quota { shadow_denied: 2, ..quota(0) };
    is_spelled(
        &Verdict { admitted: 3, delay_ms: 1_500, quotas: vec![quota] },
        json!({"admitted": 3, "delay_ms": 1_500, "quotas": [{"remaining": 19, "reset_ms": 500, "shadow_denied": 2}]}),
    );
}

#[test]
fn no_hits_are_a_question() {
    let mut message = serde_json::to_value(request()).unwrap();
    message["checks"][0]["hits"] = json!(0);
    assert_eq!(serde_json::from_value::<DecideRequest>(message).unwrap().checks[0].hits, 0);
}

#[test]
fn the_largest_numbers_survive() {
    let outcome = Outcome::Verdict(Verdict {
        admitted: u32::MAX,
        delay_ms: u64::MAX,
        quotas: vec![Quota { remaining: u64::MAX, reset_ms: u64::MAX, wait_ms: u64::MAX, shadow_denied: u64::MAX }],
    });
    let text = serde_json::to_string(&response(outcome.clone())).unwrap();
    assert_eq!(serde_json::from_str::<DecideResponse>(&text).unwrap(), response(outcome));
}

/// `message` with an unknown field in each of its objects, one at a time.
fn with_unknown_fields(message: &Value) -> Vec<Value> {
    let mut variants = Vec::new();
    match message {
        Value::Object(fields) => {
            let mut more = fields.clone();
            more.insert("extra".into(), json!(1));
            variants.push(Value::Object(more));
            for (name, field) in fields {
                variants.extend(with_unknown_fields(field).into_iter().map(|field| {
                    let mut fields = fields.clone();
                    fields.insert(name.clone(), field);
                    Value::Object(fields)
                }));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                variants.extend(with_unknown_fields(item).into_iter().map(|item| {
                    let mut items = items.clone();
                    items[index] = item;
                    Value::Array(items)
                }));
            }
        }
        _ => {}
    }
    variants
}

#[test]
fn an_unknown_field_is_refused_wherever_it_stands() {
    let [request, response] = documented();
    let requests = with_unknown_fields(&request);
    let responses = with_unknown_fields(&response);
    assert_eq!((requests.len(), responses.len()), (9, 5), "one for each object");
    for message in requests {
        assert!(serde_json::from_value::<DecideRequest>(message.clone()).is_err(), "{message}");
    }
    for message in responses {
        assert!(serde_json::from_value::<DecideResponse>(message.clone()).is_err(), "{message}");
    }
}

#[test]
fn numbers_out_of_range_are_refused_and_never_wrapped() {
    for number in [json!(-1), json!(4_294_967_296_u64), json!(1.5), json!("1"), json!(null)] {
        let mut message = serde_json::to_value(request()).unwrap();
        message["checks"][0]["hits"] = number;
        assert!(serde_json::from_value::<DecideRequest>(message.clone()).is_err(), "{message}");
    }
}

#[test]
fn a_verdict_of_the_counting_crosses_over_unchanged() {
    let quota = |wait_ms| weir_limit::Quota { remaining: 3, reset_ms: 900, wait_ms, shadow_denied: 1 };
    let counted = weir_limit::Verdict { admitted: 2, delay_ms: 70, quotas: vec![quota(0), quota(40), quota(700)] };
    let sent = Verdict::from(counted.clone());
    assert_eq!((sent.admitted, sent.delay_ms), (2, 70));
    assert_eq!(sent.quotas[1], Quota { remaining: 3, reset_ms: 900, wait_ms: 40, shadow_denied: 1 });
    assert_eq!(sent.denial(), Some(weir_limit::Denial { charge: 1, retry_ms: 700 }));
    assert_eq!(sent.denial(), counted.denial());
}
