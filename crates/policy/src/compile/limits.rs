//! The numbers: each rule's own, and those that plans give it.

use super::Errors;
use crate::document::{self, Document};
use crate::policy::{LimitId, PolicyLimit, RuleId};
use weir_limit::{Limit, LimitError, MAX_PERIOD_MS};
use weir_wire::{Numbers, RuleLimit};

/// All limits, and for each rule the limit of each plan with, last, that of everybody else.
pub(super) fn compile(errors: &mut Errors, document: &Document) -> (Vec<PolicyLimit>, Vec<Vec<LimitId>>) {
    let mut limits = Vec::new();
    for (index, (name, rule)) in document.rules.iter().enumerate() {
        let path = format!("rules.{name}.limit");
        // A rule with wrong numbers keeps a place, so that everything else is still checked.
        limits.push(
            compile_limit(errors, document, &path, RuleId(index), &rule.limit).unwrap_or_else(|| placeholder(RuleId(index))),
        );
    }
    let mut limit_by_plan: Vec<Vec<LimitId>> =
        (0..limits.len()).map(|own| vec![LimitId(own); document.plans.iter().len() + 1]).collect();
    for (plan, (plan_name, numbers)) in document.plans.iter().enumerate() {
        for (rule_name, written) in numbers.iter() {
            let path = format!("plans.{plan_name}.{rule_name}");
            let Some(rule) = document.rules.position(rule_name) else {
                errors.unknown(path, "rule", rule_name, document.rules.iter().map(|(name, _)| name));
                continue;
            };
            if !document.rules.get(rule).is_some_and(|(_, rule)| has_plans(rule.subject)) {
                errors.add(path, "this rule counts neither tenants nor their callers, so it has no plans; remove it");
                continue;
            }
            if let Some(limit) = compile_limit(errors, document, &path, RuleId(rule), written) {
                if let Some(slot) = limit_by_plan.get_mut(rule).and_then(|by_plan| by_plan.get_mut(plan)) {
                    *slot = LimitId(limits.len());
                }
                limits.push(limit);
            }
        }
    }
    (limits, limit_by_plan)
}

/// A cap, or any other limit that belongs to no rule.
pub(super) fn compile_cap(errors: &mut Errors, path: &str, written: &document::Limit) -> Option<Limit> {
    numbers(written).try_into().map_err(|error: LimitError| errors.add(path, error)).ok()
}

fn compile_limit(
    errors: &mut Errors,
    document: &Document,
    path: &str,
    rule: RuleId,
    written: &document::Limit,
) -> Option<PolicyLimit> {
    let limit = compile_cap(errors, path, written)?;
    let share: Limit = share(written, document.defaults.gateways.max(1))
        .try_into()
        .map_err(|error| {
            let gateways = document.defaults.gateways;
            errors.add(
                path,
                format_args!(
                    "in one gateway's share of it, {error}; use a shorter period or fewer than {gateways} defaults.gateways"
                ),
            );
        })
        .ok()?;
    let name = document.rules.get(rule.0).map(|(name, _)| name.to_owned()).unwrap_or_default();
    Some(PolicyLimit { rule, wire: RuleLimit { rule: name, numbers: numbers(written) }, limit, share })
}

fn has_plans(subject: document::Subject) -> bool {
    matches!(subject, document::Subject::Tenant | document::Subject::Principal)
}

fn numbers(written: &document::Limit) -> Numbers {
    match written {
        document::Limit::FixedWindow(window) => Numbers::FixedWindow { limit: window.limit, window_ms: window.window.as_ms() },
        document::Limit::TokenBucket(bucket) => {
            Numbers::TokenBucket { capacity: bucket.capacity, refill: bucket.refill, period_ms: bucket.per.as_ms() }
        }
    }
}

/// The limit divided by the gateways: what is spent by all of them together stays within it. At least one
/// unit each, or the fallback would admit nobody; so with more gateways than units the bound is one each.
fn share(written: &document::Limit, gateways: u64) -> Numbers {
    match numbers(written) {
        Numbers::FixedWindow { limit, window_ms } => Numbers::FixedWindow { limit: (limit / gateways).max(1), window_ms },
        Numbers::TokenBucket { capacity, refill, period_ms } => {
            let stretched_ms = period_ms.saturating_mul(gateways);
            // Exactly, by a smaller refill or a longer period; rounded down where no period is that long.
            let (refill, period_ms) = if refill % gateways == 0 || (stretched_ms > MAX_PERIOD_MS && refill > gateways) {
                (refill / gateways, period_ms)
            } else {
                (refill, stretched_ms)
            };
            Numbers::TokenBucket { capacity: (capacity / gateways).max(1), refill, period_ms }
        }
    }
}

fn placeholder(rule: RuleId) -> PolicyLimit {
    // Never enforced: the document is refused. It holds any cost, so that it causes no second error.
    let numbers = Numbers::FixedWindow { limit: weir_limit::MAX_EXACT, window_ms: 1_000 };
    let limit = Limit::FixedWindow(weir_limit::FixedWindow::LARGEST);
    PolicyLimit { rule, wire: RuleLimit { rule: String::new(), numbers }, limit, share: limit }
}
