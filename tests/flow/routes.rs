//! Which route a request takes.

use crate::world::{NORTHSTAR, Request, World, member, reply};
use weir::flow::Step;
use weir_policy::Placement;

/// The route that denied a user who may do nothing: its rule's name tells.
fn route_of(request: &Request) -> Option<String> {
    let policy = "
version: 1
identity: { jwt: { principal: sub } }
defaults: { route: rest }
rules:
  R-META: { subject: principal, limit: { fixed_window: { limit: 1, window: 1h } } }
  R-PATH: { subject: principal, limit: { fixed_window: { limit: 1, window: 1h } } }
  R-REST: { subject: principal, limit: { fixed_window: { limit: 1, window: 1h } } }
routes:
  meta: { rules: [R-META] }
  path: { match: [{ method: GET, path: /a }], rules: [R-PATH] }
  rest: { rules: [R-REST] }";
    let mut world = World::new(1, Placement::Quota, policy);
    let request = request.clone().claim("sub", "U-17");
    let first = world.send(&request);
    assert_eq!(first, Step::Continue);
    match world.send(&request) {
        Step::Reply(reply) => member(&reply, "rule").as_str().map(str::to_owned),
        _ => None,
    }
}

const ROUTE: [&str; 5] = ["xds", "route_metadata", "filter_metadata", "weir", "route"];
const HOST: [&str; 5] = ["xds", "virtual_host_metadata", "filter_metadata", "weir", "route"];
const NAME: [&str; 2] = ["xds", "route_name"];

#[test]
fn the_proxys_configuration_goes_before_the_policys_matchers() {
    let get_a = || Request::default().header(":method", "GET").header(":path", "/a?x=1").header(":authority", "example.com");
    assert_eq!(route_of(&get_a()).as_deref(), Some("R-PATH"));
    assert_eq!(route_of(&get_a().property(&NAME, "meta")).as_deref(), Some("R-META"));
    assert_eq!(route_of(&get_a().property(&NAME, "elsewhere")).as_deref(), Some("R-PATH"), "names are for others too");
    assert_eq!(route_of(&get_a().property(&HOST, "meta")).as_deref(), Some("R-META"));
    assert_eq!(route_of(&get_a().property(&HOST, "path").property(&ROUTE, "meta")).as_deref(), Some("R-META"));
    assert_eq!(route_of(&Request::default().header(":path", "/b")).as_deref(), Some("R-REST"));
    assert_eq!(route_of(&Request::default().header(":path", b"/a\xff")).as_deref(), Some("R-REST"));
    let broken_query = Request::default().header(":method", "GET").header(":path", b"/a?x=\xff");
    assert_eq!(route_of(&broken_query).as_deref(), Some("R-PATH"), "a byte that is no text does not escape the route");
}

#[test]
fn metadata_that_names_no_route_of_the_policy_is_refused_and_not_unlimited() {
    for name in [b"catalgo".as_slice(), b"\xff"] {
        let mut world = World::quota(1);
        let step = world.send(&Request::default().property(&ROUTE, name));
        assert_eq!((reply(&step).status, member(reply(&step), "reason")), (503, "route_unknown".into()));
    }
}

#[test]
fn a_request_that_matches_nothing_is_not_limited_unless_the_policy_says_so() {
    let mut world = World::quota(1);
    let request = Request::default().header(":method", "GET").header(":path", "/somewhere");
    assert!((0..100).all(|_| world.send(&request) == Step::Continue));
    assert!(world.calls.is_empty());
    assert!(!NORTHSTAR.contains("\n  route:"), "the example has no default route");
}
