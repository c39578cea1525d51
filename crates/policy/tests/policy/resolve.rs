//! Who is charged for what.

use crate::plain::{NORTHSTAR, anonymous, caller, charged, policy, resolved, verified};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_policy::Placement::{Edge, Quota};
use weir_policy::{Anonymous, Caller, Identity};
use weir_wire::Principal;

#[test]
fn d07_a_user_and_its_tenant_are_charged_together_under_one_hash_tag() {
    let charges = resolved(&policy(NORTHSTAR), "catalog", Quota, &caller("atlas", "U-17"));
    assert_eq!(charges, ["w:{t:atlas}:P-READ:jwt:U-17: 1 of 20", "w:{t:atlas}:P-TENANT: 1 of 1000"]);
}

#[test]
fn d17_an_export_costs_ten_under_each_rule() {
    let charges = resolved(&policy(NORTHSTAR), "export", Quota, &caller("atlas", "U-17"));
    assert_eq!(charges, ["w:{t:atlas}:P-READ:jwt:U-17: 10 of 20", "w:{t:atlas}:P-TENANT: 10 of 1000"]);
}

#[test]
fn d08_addresses_are_counted_before_authentication_and_identities_after_it() {
    let policy = policy(NORTHSTAR);
    assert_eq!(resolved(&policy, "login", Edge, &anonymous()), ["w:{ip:192.0.2.7}:P-ANON: 1 of 20"]);
    assert!(resolved(&policy, "login", Quota, &anonymous()).is_empty(), "no second charge");
    assert!(resolved(&policy, "catalog", Edge, &caller("atlas", "U-17")).is_empty(), "nobody is verified there");
}

#[test]
fn d08_a_failed_authentication_charges_one_unit_of_the_address_and_no_tenant() {
    let policy = policy(NORTHSTAR);
    let export = policy.route(policy.route_named("export").unwrap()).unwrap();
    let charge = policy.resolve_failure(export.failures.unwrap(), "192.0.2.7").unwrap();
    assert_eq!(charged(&policy, &charge), "w:{ip:192.0.2.7}:P-ANON: 1 of 20", "though an export costs 10");
}

#[test]
fn d04_local_rules_never_ask_the_store() {
    let policy = policy(NORTHSTAR);
    assert_eq!(resolved(&policy, "health", Quota, &anonymous()), ["local gateway:P-HEALTH: 1 of 50"]);
    let mesh = verified(Some("ops"), Principal::Mtls("spiffe://mesh/ns/ops/sa/job".into()));
    let charges = resolved(&policy, "internal", Quota, &mesh);
    assert_eq!(charges, ["local w:{t:ops}:P-INTERNAL:mtls:spiffe%3A%2F%2Fmesh%2Fns%2Fops%2Fsa%2Fjob: 1 of 20"]);
}

#[test]
fn d21_a_tenants_plan_says_the_numbers() {
    let with_default = policy(NORTHSTAR);
    let without_default = policy(&NORTHSTAR.replace("  plan: standard\n", ""));
    for (policy, tenant, limit) in [
        (&with_default, "atlas", 1_000),
        (&with_default, "birch", 1_000),
        (&with_default, "cedar", 300),
        (&with_default, "ATLAS", 300),
        (&without_default, "atlas", 1_000),
        (&without_default, "cedar", 100),
    ] {
        let charges = resolved(policy, "catalog", Quota, &caller(tenant, "U-1"));
        assert_eq!(charges[1], format!("w:{{t:{tenant}}}:P-TENANT: 1 of {limit}"));
        assert!(charges[0].ends_with(" 1 of 20"), "the plans leave P-READ as it is");
    }
}

#[test]
fn a_plan_also_numbers_the_rules_of_its_tenants_users() {
    let policy = policy(
        "version: 1
identity: { jwt: { tenant: org } }
rules: { R: { subject: principal, limit: { token_bucket: { capacity: 20, refill: 2, per: 1s } } } }
plans: { gold: { R: { token_bucket: { capacity: 90, refill: 9, per: 1s } } } }
tenants: { atlas: gold }
routes: { a: { rules: [R] } }",
    );
    assert_eq!(resolved(&policy, "a", Quota, &caller("atlas", "U-1")), ["w:{t:atlas}:R:jwt:U-1: 1 of 90"]);
    assert_eq!(resolved(&policy, "a", Quota, &caller("birch", "U-1")), ["w:{t:birch}:R:jwt:U-1: 1 of 20"]);
}

#[test]
fn a_policy_without_tenants_counts_each_principal_in_a_slot_of_its_own() {
    let policy = policy(
        "version: 1
identity: { jwt: {}, mtls: {} }
rules:
  FAST: { subject: principal, limit: { token_bucket: { capacity: 20, refill: 2, per: 1s } } }
  DAILY: { subject: principal, limit: { fixed_window: { limit: 500, window: 1d } } }
routes: { a: { rules: [FAST, DAILY] } }",
    );
    let by_token = verified(None, Principal::Jwt("U-17".into()));
    assert_eq!(resolved(&policy, "a", Quota, &by_token), ["w:{p:jwt:U-17}:FAST: 1 of 20", "w:{p:jwt:U-17}:DAILY: 1 of 500"]);
    let by_certificate = verified(None, Principal::Mtls("U-17".into()));
    assert_eq!(resolved(&policy, "a", Quota, &by_certificate)[0], "w:{p:mtls:U-17}:FAST: 1 of 20", "somebody else");
}

/// A route with one rule of each kind, for each way of treating anonymous callers.
fn mixed(anonymous: &str) -> weir_policy::Policy {
    policy(&format!(
        "version: 1
identity: {{ jwt: {{ tenant: org }} }}
rules:
  ADDRESS: {{ subject: ip, limit: {{ fixed_window: {{ limit: 20, window: 10s }} }} }}
  GUEST: {{ subject: ip, limit: {{ fixed_window: {{ limit: 5, window: 10s }} }} }}
  OWN: {{ subject: gateway, scope: local, limit: {{ fixed_window: {{ limit: 900, window: 1s }} }} }}
  USER: {{ subject: principal, limit: {{ fixed_window: {{ limit: 50, window: 10s }} }} }}
  QUICK: {{ subject: principal, scope: local, limit: {{ fixed_window: {{ limit: 7, window: 1s }} }} }}
  TENANT: {{ subject: tenant, limit: {{ fixed_window: {{ limit: 70, window: 10s }} }} }}
routes:
  a: {{ rules: [TENANT, OWN, ADDRESS, QUICK, USER], cost: 2, anonymous: {anonymous} }}
  open: {{}}"
    ))
}

#[test]
fn each_placement_charges_its_own_rules_in_the_policys_order_and_the_local_ones_first() {
    let policy = mixed("unauthorized");
    let caller = caller("atlas", "U-17");
    assert_eq!(resolved(&policy, "a", Edge, &caller), ["w:{ip:192.0.2.7}:ADDRESS: 2 of 20"]);
    assert_eq!(
        resolved(&policy, "a", Quota, &caller),
        [
            "local gateway:OWN: 2 of 900",
            "local w:{t:atlas}:QUICK:jwt:U-17: 2 of 7",
            "w:{t:atlas}:TENANT: 2 of 70",
            "w:{t:atlas}:USER:jwt:U-17: 2 of 50",
        ]
    );
    assert!(resolved(&policy, "open", Quota, &caller).is_empty(), "a route without rules is not limited");
}

#[test]
fn an_anonymous_caller_gets_what_the_route_says() {
    for (mode, outcome) in
        [("unauthorized", "401 Missing"), ("forbidden", "403 Missing"), ("{ rule: GUEST }", "w:{ip:192.0.2.7}:GUEST: 2 of 5")]
    {
        assert_eq!(resolved(&mixed(mode), "a", Quota, &anonymous()), [outcome]);
        let edge = resolved(&mixed(mode), "a", Edge, &anonymous());
        assert_eq!(edge, ["w:{ip:192.0.2.7}:ADDRESS: 2 of 20"], "the edge needs no identity");
    }
}

#[test]
fn a_name_that_is_none_is_told_apart_from_a_missing_one() {
    let malformed = Caller { identity: Identity::Anonymous(Anonymous::Malformed), ..anonymous() };
    assert_eq!(resolved(&mixed("unauthorized"), "a", Quota, &malformed), ["401 Malformed"]);
}
