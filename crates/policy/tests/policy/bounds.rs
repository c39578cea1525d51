//! What bounds a policy's size, and shares that must stay small.

use crate::plain::{caller, policy};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_policy::compile::{MAX_ROUTES, MAX_RULES};
use weir_policy::{Placement, Resolution, yaml};

fn with(rules: usize, routes: usize) -> String {
    let rules: String = (0..rules)
        .map(|index| format!("  R{index}: {{ subject: ip, limit: {{ fixed_window: {{ limit: 1, window: 1s }} }} }}\n"))
        .collect();
    let routes: String = (0..routes).map(|index| format!("  r{index}: {{}}\n")).collect();
    format!("version: 1\nrules:\n{rules}routes:\n{routes}")
}

#[test]
fn as_many_rules_and_routes_as_the_metrics_can_hold_are_accepted() {
    assert_eq!(policy(&with(MAX_RULES, MAX_ROUTES)).routes().len(), MAX_ROUTES);
}

#[test]
fn more_are_refused() {
    let errors = yaml::load(&with(MAX_RULES + 1, MAX_ROUTES + 1)).unwrap_err();
    assert_eq!(errors.to_string(), "rules: has 257 entries; 256 is the most\nroutes: has 1025 entries; 1024 is the most");
}

/// The capacity and the time to fill of one gateway's share.
fn share(limit: &str, gateways: u64) -> (u64, u64) {
    let policy = policy(&format!(
        "version: 1
defaults: {{ gateways: {gateways} }}
identity: {{ jwt: {{ tenant: org }} }}
rules: {{ R: {{ subject: principal, limit: {limit} }} }}
routes: {{ a: {{ rules: [R] }} }}"
    ));
    let route = policy.route_named("a").unwrap();
    let Resolution::Charged(plan) = policy.resolve(route, Placement::Quota, &caller("t", "u")) else { panic!("limited") };
    let share = policy.limit(plan.store[0].limit).unwrap().share;
    (share.capacity(), share.period_ms())
}

#[test]
fn d16_the_gateways_shares_together_stay_within_the_limit() {
    // The time to fill follows from the rate: 10 at 1/s, 6 at 2/3 a second, 2 at 0.2/s.
    assert_eq!(share("{ token_bucket: { capacity: 20, refill: 2, per: 1s } }", 2), (10, 10_000));
    assert_eq!(share("{ token_bucket: { capacity: 20, refill: 2, per: 1s } }", 3), (6, 9_000));
    assert_eq!(share("{ token_bucket: { capacity: 20, refill: 2, per: 1s } }", 10), (2, 10_000));
    assert_eq!(share("{ fixed_window: { limit: 1000, window: 1m } }", 3), (333, 60_000));
}

#[test]
fn with_more_gateways_than_units_each_has_one() {
    assert_eq!(share("{ fixed_window: { limit: 3, window: 1m } }", 10), (1, 60_000));
    assert_eq!(share("{ token_bucket: { capacity: 3, refill: 3, per: 1s } }", 10), (1, 3_334));
}

#[test]
fn a_gateways_own_count_is_not_shared() {
    // Ten gateways with 2 each could not admit a cost of 10, but a local rule is each gateway's in full.
    policy(
        "version: 1
defaults: { gateways: 10 }
rules: { OWN: { subject: gateway, scope: local, limit: { fixed_window: { limit: 20, window: 1s } } } }
routes:
  a:
    rules: [OWN]
    cost: 10
    unreachable: { fallback: { cap: { fixed_window: { limit: 10, window: 1s } } } }",
    );
}

#[test]
fn a_share_whose_period_would_be_longer_than_a_year_is_rounded_down() {
    // 1,000 in 30 days over 17 gateways: 58 each in 30 days, not 58.8.
    assert_eq!(share("{ token_bucket: { capacity: 58, refill: 1000, per: 30d } }", 17), (3, 134_068_966));
}
