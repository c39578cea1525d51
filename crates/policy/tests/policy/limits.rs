//! Each way of counting: as it is written, sent, and shared among gateways.

use crate::plain::{caller, policy};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_limit::{Limit, Window};
use weir_policy::{Document, Placement, Policy, PolicyLimit, Resolution, yaml};
use weir_wire::Numbers;

fn of_rule(limit: &str, gateways: u64) -> Policy {
    policy(&format!(
        "version: 1
defaults: {{ gateways: {gateways} }}
identity: {{ jwt: {{ tenant: org }} }}
rules: {{ R: {{ subject: principal, limit: {limit} }} }}
routes: {{ a: {{ rules: [R] }} }}"
    ))
}

/// The limit of the only rule.
fn compiled(policy: &Policy) -> &PolicyLimit {
    let route = policy.route_named("a").unwrap();
    let Resolution::Charged(plan) = policy.resolve(route, Placement::Quota, &caller("t", "u")) else { panic!("limited") };
    policy.limit(plan.store[0].limit).unwrap()
}

fn sent(limit: &str) -> Numbers {
    compiled(&of_rule(limit, 1)).wire.numbers
}

fn share(limit: &str, gateways: u64) -> Limit {
    compiled(&of_rule(limit, gateways)).share
}

#[test]
fn each_way_of_counting_is_sent_with_its_numbers() {
    for (written, numbers) in [
        ("{ fixed_window: { limit: 20, window: 10s } }", Numbers::FixedWindow { limit: 20, window_ms: 10_000 }),
        ("{ fixed_window: { limit: 20, window: month } }", Numbers::CalendarMonth { limit: 20 }),
        ("{ sliding_window: { limit: 20, window: 5m } }", Numbers::SlidingWindow { limit: 20, window_ms: 300_000 }),
        ("{ sliding_log: { limit: 20, window: 1d } }", Numbers::SlidingLog { limit: 20, window_ms: 86_400_000 }),
        (
            "{ token_bucket: { capacity: 20, refill: 2, per: 1s } }",
            Numbers::TokenBucket { capacity: 20, refill: 2, period_ms: 1_000 },
        ),
        ("{ gcra: { burst: 20, refill: 2, per: 1s } }", Numbers::Gcra { burst: 20, refill: 2, period_ms: 1_000 }),
        ("{ leaky_queue: { depth: 5, leak: 2, per: 1s } }", Numbers::LeakyQueue { depth: 5, leak: 2, period_ms: 1_000 }),
    ] {
        assert_eq!(sent(written), numbers, "{written}");
    }
}

#[test]
fn d02_a_leaky_bucket_as_a_meter_is_the_token_bucket() {
    let meter = sent("{ leaky_bucket: { capacity: 20, leak: 2, per: 1s } }");
    assert_eq!(meter, sent("{ token_bucket: { capacity: 20, refill: 2, per: 1s } }"));
}

#[test]
fn a_document_is_written_back_as_it_was_read() {
    for limit in [
        "{ fixed_window: { limit: 20, window: month } }",
        "{ fixed_window: { limit: 20, window: 30s } }",
        "{ sliding_log: { limit: 20, window: 1h } }",
        "{ leaky_bucket: { capacity: 20, leak: 2, per: 1s } }",
        "{ leaky_queue: { depth: 5, leak: 2, per: 1s } }",
    ] {
        for enforced in ["", ", shadow: true", ", enforce_percent: 10"] {
            let yaml = format!("version: 1\nrules: {{ R: {{ subject: ip, limit: {limit}{enforced} }} }}\nroutes: {{}}");
            let document = yaml::read(&yaml).unwrap();
            let json = serde_json::to_string(&document).unwrap();
            assert_eq!(serde_json::from_str::<Document>(&json).unwrap(), document, "{json}");
        }
    }
}

#[test]
fn d16_each_gateways_share_is_the_limit_divided() {
    let Limit::SlidingWindow(window) = share("{ sliding_window: { limit: 1000, window: 1m } }", 3) else { panic!() };
    assert_eq!((window.limit(), window.window_ms()), (333, 60_000));
    let Limit::FixedWindow(month) = share("{ fixed_window: { limit: 1000, window: month } }", 3) else { panic!() };
    assert_eq!((month.limit(), month.window()), (333, Window::Month));
    let Limit::Gcra(gcra) = share("{ gcra: { burst: 20, refill: 2, per: 1s } }", 4) else { panic!() };
    // 2 a second over four are 1 in 2 s.
    assert_eq!((gcra.burst(), gcra.rate().units(), gcra.rate().per_ms()), (5, 1, 2_000));
    let Limit::TokenBucket(bucket) = share("{ leaky_bucket: { capacity: 20, leak: 2, per: 1s } }", 2) else { panic!() };
    assert_eq!((bucket.capacity(), bucket.refill_mt(), bucket.per_ms()), (10, 1, 1), "1,000 thousandths a second");
}

#[test]
fn d16_a_gateway_counts_its_share_of_a_log_and_of_a_queue_more_simply() {
    let Limit::SlidingWindow(window) = share("{ sliding_log: { limit: 20, window: 10s } }", 2) else { panic!() };
    assert_eq!((window.limit(), window.window_ms()), (10, 10_000));
    let Limit::TokenBucket(bucket) = share("{ leaky_queue: { depth: 6, leak: 2, per: 1s } }", 2) else { panic!() };
    assert_eq!((bucket.capacity(), bucket.time_to_full_ms()), (3, 3_000));
}

#[test]
fn no_share_is_above_its_part_but_for_the_one_unit_that_each_has() {
    for units in [1_u64, 2, 7, 10, 99, 1_000] {
        for gateways in [1, 2, 3, 7, 100] {
            for limit in [
                format!("{{ fixed_window: {{ limit: {units}, window: 10s }} }}"),
                format!("{{ fixed_window: {{ limit: {units}, window: month }} }}"),
                format!("{{ sliding_window: {{ limit: {units}, window: 10s }} }}"),
                format!("{{ sliding_log: {{ limit: {units}, window: 10s }} }}"),
                format!("{{ token_bucket: {{ capacity: {units}, refill: {units}, per: 1s }} }}"),
                format!("{{ leaky_bucket: {{ capacity: {units}, leak: {units}, per: 1s }} }}"),
                format!("{{ gcra: {{ burst: {units}, refill: {units}, per: 1s }} }}"),
                format!("{{ leaky_queue: {{ depth: {units}, leak: {units}, per: 1s }} }}"),
            ] {
                let share = share(&limit, gateways);
                assert_eq!(share.capacity(), (units / gateways).max(1), "{limit} over {gateways}");
                // What a second brings back, in thousandths: together never more than the whole brings.
                let per_second = match share {
                    Limit::TokenBucket(bucket) => bucket.refill_mt() * 1_000 / bucket.per_ms(),
                    Limit::Gcra(gcra) => gcra.rate().units() * 1_000_000 / gcra.rate().per_ms(),
                    _ => continue,
                };
                assert!(per_second * gateways <= units * 1_000, "{limit} over {gateways}: {per_second}");
            }
        }
    }
}

#[test]
fn a_queue_may_hold_for_ten_seconds() {
    // Of 21 the last waits for 20 others, two a second.
    assert_eq!(compiled(&of_rule("{ leaky_queue: { depth: 21, leak: 2, per: 1s } }", 1)).limit.capacity(), 21);
    // With a depth of one nobody waits, however slow it is.
    of_rule("{ leaky_queue: { depth: 1, leak: 1, per: 1d } }", 1);
}

#[test]
fn a_gateway_may_count_by_itself_whatever_fits_into_three_numbers() {
    for limit in [
        "{ fixed_window: { limit: 20, window: month } }",
        "{ sliding_window: { limit: 20, window: 10s } }",
        "{ token_bucket: { capacity: 20, refill: 2, per: 1s } }",
        "{ leaky_bucket: { capacity: 20, leak: 2, per: 1s } }",
        "{ gcra: { burst: 20, refill: 2, per: 1s } }",
    ] {
        policy(&format!(
            "version: 1
rules: {{ R: {{ subject: gateway, scope: local, limit: {limit} }} }}
routes: {{ a: {{ rules: [R], unreachable: {{ fallback: {{ cap: {limit} }} }} }} }}"
        ));
    }
}
