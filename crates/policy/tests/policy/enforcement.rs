//! For whom a rule denies: everybody, nobody, or the same ten of a hundred.

use crate::plain::{anonymous, caller, policy, resolved};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_policy::Placement::{Edge, Quota};
use weir_policy::{Policy, Resolution, enforcement};
use weir_wire::Tag;

fn with(enforcement: &str) -> Policy {
    policy(&format!(
        "version: 1
identity: {{ jwt: {{ tenant: org }} }}
rules:
  USER: {{ subject: principal, limit: {{ fixed_window: {{ limit: 9, window: 1s }} }}{enforcement} }}
  OTHER: {{ subject: principal, limit: {{ fixed_window: {{ limit: 9, window: 1s }} }}{enforcement} }}
  TENANT: {{ subject: tenant, limit: {{ fixed_window: {{ limit: 9, window: 1s }} }} }}
routes: {{ a: {{ rules: [USER, OTHER, TENANT] }} }}"
    ))
}

/// Whether each rule only watches a user of `atlas`.
fn watched(policy: &Policy, user: &str) -> Vec<bool> {
    let route = policy.route_named("a").unwrap();
    let Resolution::Charged(plan) = policy.resolve(route, Quota, &caller("atlas", user)) else { panic!("limited") };
    plan.store.iter().map(|charge| charge.shadow).collect()
}

#[test]
fn a_rule_enforces_unless_it_says_otherwise() {
    assert_eq!(watched(&with(""), "U-17"), [false, false, false]);
    assert_eq!(watched(&with(", enforce_percent: 100"), "U-17"), [false, false, false]);
    assert_eq!(watched(&with(", shadow: false"), "U-17"), [false, false, false]);
}

#[test]
fn a_rule_that_only_watches_is_charged_like_any_other_and_marked() {
    for enforcement in [", shadow: true", ", enforce_percent: 0"] {
        assert_eq!(
            resolved(&with(enforcement), "a", Quota, &caller("atlas", "U-17")),
            [
                "w:{t:atlas}:USER:jwt:U-17: 1 of 9 watched",
                "w:{t:atlas}:OTHER:jwt:U-17: 1 of 9 watched",
                "w:{t:atlas}:TENANT: 1 of 9",
            ]
        );
    }
}

#[test]
fn a_percentage_takes_about_so_many_callers() {
    for percent in [1_usize, 10, 50, 99] {
        let policy = with(&format!(", enforce_percent: {percent}"));
        let enforced = (0..10_000).filter(|user| !watched(&policy, &format!("U-{user}"))[0]).count();
        // Within four standard deviations, at most 200 of 10,000.
        let expected = percent * 100;
        assert!((expected.saturating_sub(200)..=expected + 200).contains(&enforced), "{percent} %: {enforced} of 10,000");
    }
}

#[test]
fn the_same_callers_are_in_whoever_asks_and_a_raise_only_adds() {
    let steps: Vec<Policy> = [0, 1, 10, 50, 99, 100].map(|percent| with(&format!(", enforce_percent: {percent}"))).into();
    for user in 0..300 {
        let user = format!("U-{user}");
        let enforced: Vec<bool> = steps.iter().map(|policy| !watched(policy, &user)[0]).collect();
        assert!(enforced.is_sorted(), "{user}: {enforced:?}");
        assert_eq!((enforced[0], enforced[5]), (false, true));
        assert_eq!(watched(&steps[3], &user), watched(&with(", enforce_percent: 50"), &user), "another gateway's policy");
    }
}

#[test]
fn each_rule_has_an_order_of_its_own() {
    let policy = with(", enforce_percent: 50");
    let apart = (0..1_000).filter(|user| {
        let watched = watched(&policy, &format!("U-{user}"));
        watched[0] != watched[1]
    });
    assert!((350..=650).contains(&apart.count()));
}

#[test]
fn a_callers_place_never_changes() {
    // From another implementation of FNV-1a and fmix64: what a gateway of any version must find.
    for (key, place) in
        [("", 93), ("w:{t:atlas}:P-READ:jwt:U-17", 4), ("w:{t:atlas}:P-TENANT", 14), ("w:{ip:192.0.2.7}:P-ANON", 51)]
    {
        assert_eq!(enforcement::place(key), place, "{key}");
    }
}

#[test]
fn addresses_and_failed_authentications_have_their_places_too() {
    let policy = policy(
        "version: 1
rules: { IP: { subject: ip, limit: { fixed_window: { limit: 9, window: 1s } }, enforce_percent: 50 } }
routes: { a: { rules: [IP], failures: IP } }",
    );
    let rule = policy.route(policy.route_named("a").unwrap()).unwrap().failures.unwrap();
    let mut enforced = 0;
    for last in 0..200 {
        let address = format!("192.0.2.{last}");
        let failure = policy.resolve_failure(rule, &address).unwrap();
        assert_eq!(failure.shadow, !enforcement::is_enforced(50, "IP", Some(&Tag::Ip(address)), &failure.subject));
        enforced += usize::from(!failure.shadow);
    }
    assert!((60..=140).contains(&enforced), "{enforced} of 200");
    let charges = resolved(&policy, "a", Edge, &anonymous());
    let place = enforcement::place("w:{ip:192.0.2.7}:IP");
    assert_eq!(charges, [format!("w:{{ip:192.0.2.7}}:IP: 1 of 9{}", if place < 50 { "" } else { " watched" })]);
}
