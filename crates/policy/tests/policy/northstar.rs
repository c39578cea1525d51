//! The example policy, as people write it and as the filter reads it.

use crate::plain::{NORTHSTAR, anonymous, caller, policy, resolved, verified};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_policy::matcher::Target;
use weir_policy::{Document, Placement, Policy, QuotaHeaders, Unreachable, compile, yaml};
use weir_wire::Principal;

fn document() -> Document {
    yaml::read(NORTHSTAR).expect("the example is spelled right")
}

/// Everything that a request could notice of a policy.
fn behaviour(policy: &Policy) -> Vec<String> {
    let mesh = Principal::Mtls("spiffe://mesh/ns/birch/sa/web".into());
    let callers = [caller("atlas", "U-17"), caller("cedar", "U-1"), verified(Some("birch"), mesh), anonymous()];
    let targets = ["/catalog", "/checkout", "/login", "/reports/export", "/search", "/health", "/internal/x", "/none"];
    let mut seen = vec![format!("{} {} {:?}", policy.version(), policy.deadline_ms(), policy.identity())];
    for (path, method) in targets.iter().flat_map(|path| ["GET", "POST"].map(|method| (path, method))) {
        let Some(id) = policy.match_route(&Target { host: "api.example.com", method, path }) else { continue };
        let route = policy.route(id).expect("a route of this policy");
        seen.push(format!("{method} {path} -> {} {:?}", route.name, route.unreachable));
        for (caller, placement) in callers.iter().flat_map(|caller| [(caller, Placement::Edge), (caller, Placement::Quota)]) {
            seen.extend(resolved(policy, &route.name, placement, caller));
        }
    }
    seen
}

#[test]
fn the_example_compiles() {
    let policy = policy(NORTHSTAR);
    assert_eq!((policy.version(), policy.deadline_ms(), policy.quota_headers()), (1, 100, QuotaHeaders::Always));
    assert_eq!((policy.rules().len(), policy.routes().len()), (6, 7));
    assert_eq!(policy.default_route(), None);
}

#[test]
fn its_json_text_is_the_same_document() {
    let json = serde_json::to_string(&document()).unwrap();
    assert_eq!(serde_json::from_str::<Document>(&json).unwrap(), document());
}

#[test]
fn its_json_value_behaves_the_same_though_its_fields_have_no_order() {
    let value = serde_json::to_value(document()).unwrap();
    let from_json = compile::compile(&serde_json::from_value(value).unwrap()).unwrap();
    let behaviour_of_yaml = behaviour(&policy(NORTHSTAR));
    assert_eq!(behaviour(&from_json), behaviour_of_yaml);
    assert!(behaviour_of_yaml.len() > 40, "it has something to compare");
}

#[test]
fn each_route_fails_as_its_table_says() {
    let policy = policy(NORTHSTAR);
    for (name, cap) in [
        ("catalog", Some(400)),
        ("checkout", None),
        ("login", None),
        ("export", None),
        ("search", Some(100)),
        ("health", None),
        ("internal", None),
    ] {
        let route = policy.route(policy.route_named(name).unwrap()).unwrap();
        match route.unreachable {
            Unreachable::Fallback { cap: found } => assert_eq!(Some(found.capacity()), cap, "{name}"),
            Unreachable::Closed => assert_eq!(None, cap, "{name}"),
            Unreachable::Open => panic!("{name} is open"),
        }
    }
}

#[test]
fn d16_two_gateways_fall_back_to_half_of_each_limit() {
    let policy = policy(NORTHSTAR);
    let route = policy.route_named("catalog").unwrap();
    let weir_policy::Resolution::Charged(plan) = policy.resolve(route, Placement::Quota, &caller("atlas", "U-17")) else {
        panic!("the catalog is limited");
    };
    let shares: Vec<_> = plan.store.iter().map(|charge| policy.limit(charge.limit).unwrap().share).collect();
    // P-READ: 20 at 2/s are 10 at 1/s each. P-TENANT: 1,000 are 500 each.
    assert_eq!(shares.iter().map(weir_limit::Limit::capacity).collect::<Vec<_>>(), [10, 500]);
    assert_eq!(shares.iter().map(weir_limit::Limit::period_ms).collect::<Vec<_>>(), [10_000, 60_000]);
}
