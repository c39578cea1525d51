//! From a request as it was written to checks that can be decided.

use super::{Check, Mistake};
use std::collections::HashSet;
use weir_limit::{Charge, Limit, MAX_EXACT};
use weir_wire::{
    ChargeRef, DecideRequest, MAX_CHARGES, MAX_CHECKS, MAX_HITS, MAX_LIMITS, MAX_NAME_BYTES, MAX_SUBJECT_BYTES, Principal,
    RuleLimit, Subject, Tag, VERSION, is_name, key::store_key,
};

/// A listed limit, checked.
struct Rule {
    name: String,
    limit: Limit,
}

pub(super) fn checks(request: DecideRequest) -> Result<Vec<Check>, Mistake> {
    if request.version != VERSION {
        return Err(Mistake::version(request.version));
    }
    at_most("limits", request.limits.len(), MAX_LIMITS)?;
    at_most("checks", request.checks.len(), MAX_CHECKS)?;

    let rules = request.limits.into_iter().enumerate().map(|(index, limit)| rule(index, limit)).collect::<Result<Vec<_>, _>>()?;
    let mut ids = HashSet::with_capacity(request.checks.len());
    let mut checks = Vec::with_capacity(request.checks.len());
    for (index, check) in request.checks.into_iter().enumerate() {
        if !ids.insert(check.id) {
            return Err(Mistake::new(format!("checks[{index}].id"), format!("{} is the id of an earlier check too", check.id)));
        }
        checks.push(self::check(index, check, &rules)?);
    }
    Ok(checks)
}

fn rule(index: usize, RuleLimit { rule, numbers }: RuleLimit) -> Result<Rule, Mistake> {
    if !is_name(&rule) {
        let detail = format!("a rule's name is 1 to {MAX_NAME_BYTES} letters, digits, '_' and '-'");
        return Err(Mistake::new(format!("limits[{index}].rule"), detail));
    }
    let limit = Limit::try_from(numbers).map_err(|error| Mistake::new(format!("limits[{index}].numbers"), error.to_string()))?;
    Ok(Rule { name: rule, limit })
}

fn check(index: usize, check: weir_wire::Check, rules: &[Rule]) -> Result<Check, Mistake> {
    let at = |field: &str| format!("checks[{index}].{field}");
    if check.hits > MAX_HITS {
        return Err(Mistake::new(at("hits"), format!("{} is not between 0 and {MAX_HITS}", check.hits)));
    }
    tag(&check.tag, &at("tag"))?;
    if check.charges.is_empty() {
        return Err(Mistake::new(at("charges"), "a check charges at least one rule"));
    }
    at_most(&at("charges"), check.charges.len(), MAX_CHARGES)?;

    let mut keys: Vec<String> = Vec::with_capacity(check.charges.len());
    let mut charges = Vec::with_capacity(check.charges.len());
    for (nth, charge) in check.charges.iter().enumerate() {
        let path = || at(&format!("charges[{nth}]"));
        let rule = self::charge(charge, check.hits, rules, &path)?;
        let key = store_key(&rule.name, &check.tag, &charge.subject);
        if keys.contains(&key) {
            return Err(Mistake::new(path(), format!("two charges share a counter: rule {} of one subject", rule.name)));
        }
        keys.push(key);
        charges.push(Charge { limit: rule.limit, cost: charge.cost, shadow: charge.shadow });
    }
    Ok(Check { id: check.id, hits: check.hits, tag: check.tag, keys, charges })
}

fn charge<'rules>(
    charge: &ChargeRef,
    hits: u32,
    rules: &'rules [Rule],
    path: &dyn Fn() -> String,
) -> Result<&'rules Rule, Mistake> {
    let Some(rule) = usize::try_from(charge.limit).ok().and_then(|index| rules.get(index)) else {
        let detail = format!("{} is not the index of a limit; {} are listed", charge.limit, rules.len());
        return Err(Mistake::new(format!("{}.limit", path()), detail));
    };
    if let Subject::Principal(principal) = &charge.subject {
        self::principal(principal, &|| format!("{}.subject.principal", path()))?;
    }
    let cost = || format!("{}.cost", path());
    let capacity = rule.limit.capacity();
    if !(1..=capacity).contains(&charge.cost) {
        return Err(Mistake::new(cost(), format!("{} is not between 1 and the limit's capacity of {capacity}", charge.cost)));
    }
    if charge.cost.checked_mul(u64::from(hits)).is_none_or(|units| units > MAX_EXACT) {
        return Err(Mistake::new(cost(), format!("{} times {hits} hits is beyond 2^53", charge.cost)));
    }
    Ok(rule)
}

fn tag(tag: &Tag, path: &str) -> Result<(), Mistake> {
    match tag {
        Tag::Tenant(tenant) => text(tenant, &|| format!("{path}.tenant")),
        Tag::Principal(principal) => self::principal(principal, &|| format!("{path}.principal")),
        Tag::Ip(address) => text(address, &|| format!("{path}.ip")),
    }
}

fn principal(principal: &Principal, path: &dyn Fn() -> String) -> Result<(), Mistake> {
    match principal {
        Principal::Jwt(sub) => text(sub, &|| format!("{}.jwt", path())),
        Principal::Mtls(uri) => text(uri, &|| format!("{}.mtls", path())),
    }
}

/// The text itself is not repeated: it may be somebody's name.
fn text(text: &str, path: &dyn Fn() -> String) -> Result<(), Mistake> {
    if !(1..=MAX_SUBJECT_BYTES).contains(&text.len()) {
        let detail = format!("{} bytes are not between 1 and {MAX_SUBJECT_BYTES}", text.len());
        return Err(Mistake::new(path(), detail));
    }
    if text.chars().any(char::is_control) {
        return Err(Mistake::new(path(), "control characters are refused"));
    }
    Ok(())
}

fn at_most(path: &str, count: usize, most: usize) -> Result<(), Mistake> {
    if count > most { Err(Mistake::new(path, format!("{count} are more than {most}"))) } else { Ok(()) }
}
