//! Rules that only watch: sent, counted, and never felt.

use crate::world::{Authority, Request, World, header, member, reply};
use weir::flow::Step;
use weir_policy::Placement;

fn world(rules: &str, unreachable: &str) -> World {
    let policy = format!(
        "version: 1
identity: {{ jwt: {{ tenant: tenant }} }}
rules:
  NEW: {{ subject: tenant, shadow: true, limit: {{ fixed_window: {{ limit: 2, window: 10s }} }} }}
  OWN: {{ subject: gateway, scope: local, shadow: true, limit: {{ fixed_window: {{ limit: 1, window: 10s }} }} }}
  OLD: {{ subject: tenant, limit: {{ fixed_window: {{ limit: 4, window: 10s }} }} }}
routes:
  a: {{ rules: [{rules}], unreachable: {unreachable} }}"
    );
    World::new(1, Placement::Quota, &policy)
}

fn request() -> Request {
    Request::on("a").by("atlas", "U-17")
}

const FALLBACK: &str = "{ fallback: { cap: { fixed_window: { limit: 9, window: 10s } } } }";

#[test]
fn a_rule_that_watches_is_sent_as_one_and_another_denies() {
    let mut world = world("NEW, OLD", "closed");
    let passed = (0..9).filter(|_| world.send(&request()) == Step::Continue).count();
    assert_eq!(passed, 4);
    assert_eq!(world.calls[0].1.checks[0].charges.iter().map(|charge| charge.shadow).collect::<Vec<_>>(), [true, false]);
    let step = world.send(&request());
    assert_eq!(member(reply(&step), "rule"), "OLD");
    let policies = header(reply(&step), "ratelimit-policy").unwrap();
    assert!(policies.contains("OLD") && !policies.contains("NEW"), "{policies}");
}

#[test]
fn one_of_the_gateways_own_denies_nobody() {
    let mut world = world("OWN", "closed");
    assert!((0..9).all(|_| world.send(&request()) == Step::Continue));
}

#[test]
fn it_denies_nobody_in_the_fallback() {
    let mut world = world("NEW, OLD", FALLBACK);
    world.authority = Authority::CannotBeCalled;
    assert_eq!((0..9).filter(|_| world.send(&request()) == Step::Continue).count(), 4);
}

#[test]
fn where_all_rules_watch_no_store_is_missed() {
    let mut world = world("NEW", "closed");
    world.authority = Authority::CannotBeCalled;
    assert!((0..9).all(|_| world.send(&request()) == Step::Continue));
}
