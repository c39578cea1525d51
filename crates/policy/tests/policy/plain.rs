//! Plans in plain words, so that a test reads like the policy it checks.

use weir_policy::{Anonymous, Caller, Identity, Placement, PlannedCharge, Policy, Resolution};
use weir_wire::Principal;
use weir_wire::key::store_key;

pub(crate) const NORTHSTAR: &str = include_str!("../../../../policies/northstar.yaml");

/// A policy that must compile.
#[track_caller]
pub(crate) fn policy(yaml: &str) -> Policy {
    weir_policy::yaml::load(yaml).unwrap_or_else(|errors| panic!("{errors}"))
}

/// A caller by token, from 192.0.2.7.
pub(crate) fn caller(tenant: &str, sub: &str) -> Caller {
    verified(Some(tenant), Principal::Jwt(sub.into()))
}

pub(crate) fn verified(tenant: Option<&str>, principal: Principal) -> Caller {
    Caller { identity: Identity::Verified { tenant: tenant.map(Into::into), principal }, address: "192.0.2.7".into() }
}

pub(crate) fn anonymous() -> Caller {
    Caller { identity: Identity::Anonymous(Anonymous::Missing), address: "192.0.2.7".into() }
}

/// What the route of that name means for a caller, one line for each charge or the refusal:
/// `<key>: <cost> of <capacity>`, with `watched` behind a rule that only watches, and with `local` before what the gateway counts itself.
#[track_caller]
pub(crate) fn resolved(policy: &Policy, route: &str, placement: Placement, caller: &Caller) -> Vec<String> {
    let route = policy.route_named(route).expect("a route of that name");
    match policy.resolve(route, placement, caller) {
        Resolution::Unlimited => vec![],
        Resolution::Refused { status, because } => vec![format!("{status} {because:?}")],
        Resolution::Charged(plan) => {
            let local = plan.local.iter().map(|charge| format!("local {}", charged(policy, charge)));
            local.chain(plan.store.iter().map(|charge| charged(policy, charge))).collect()
        }
    }
}

/// One charge in a line; see [`resolved`].
pub(crate) fn charged(policy: &Policy, charge: &PlannedCharge) -> String {
    let limit = policy.limit(charge.limit).expect("a limit of this policy");
    let rule = &policy.rule(limit.rule).expect("a rule of this policy").name;
    assert_eq!(*rule, limit.wire.rule, "the wire names the rule");
    let counted = weir_limit::Limit::try_from(limit.wire.numbers).expect("numbers of a limit");
    assert_eq!(counted, limit.limit, "the wire carries the numbers");
    let capacity = counted.capacity();
    let key = charge.tag.as_ref().map_or_else(|| format!("gateway:{rule}"), |tag| store_key(rule, tag, &charge.subject));
    let watched = if charge.shadow { " watched" } else { "" };
    format!("{key}: {} of {capacity}{watched}", charge.cost)
}
