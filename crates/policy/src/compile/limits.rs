//! The numbers: each rule's own, and those that plans give it.

mod numbers;

use super::Errors;
use crate::document::{self, Document};
use crate::policy::{LimitId, PolicyLimit, RuleId, Scope};
use numbers::{numbers, share};
use weir_limit::{Limit, LimitError};
use weir_wire::{Numbers, RuleLimit};

/// The longest that a queue may hold a request, in milliseconds.
const MAX_QUEUE_MS: u64 = 10_000;

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

/// The cap of a fallback, which a gateway counts by itself.
pub(super) fn compile_cap(errors: &mut Errors, path: &str, written: &document::Limit) -> Option<Limit> {
    check_countable_by_a_gateway(errors, path, written);
    checked(errors, path, written)
}

fn checked(errors: &mut Errors, path: &str, written: &document::Limit) -> Option<Limit> {
    let limit =
        numbers(written).try_into().map_err(|error: LimitError| errors.add(path, in_the_words_of(written, error))).ok()?;
    if let Limit::LeakyQueue(queue) = limit
        && queue.longest_delay_ms() > MAX_QUEUE_MS
    {
        let (longest_ms, most) = (queue.longest_delay_ms(), MAX_QUEUE_MS / 1_000);
        errors.add(path, format_args!("the last of a full queue would be held for {longest_ms} ms, and {most}s is the most; lower the depth or raise the leak"));
        return None;
    }
    Some(limit)
}

/// A leaky bucket is counted as a token bucket, but nobody wrote `refill`.
fn in_the_words_of(written: &document::Limit, error: LimitError) -> String {
    let message = error.to_string();
    if matches!(written, document::Limit::LeakyBucket(_)) { message.replace("refill", "leak") } else { message }
}

/// A gateway keeps three numbers for a counter, and holds nobody back by itself.
fn check_countable_by_a_gateway(errors: &mut Errors, path: &str, written: &document::Limit) {
    match written {
        document::Limit::SlidingLog(_) => errors.add(path, "a gateway keeps no log; use a sliding_window"),
        document::Limit::LeakyQueue(_) => errors.add(path, "a gateway keeps no queue of its own; use a leaky_bucket"),
        _ => {}
    }
}

fn compile_limit(
    errors: &mut Errors,
    document: &Document,
    path: &str,
    rule: RuleId,
    written: &document::Limit,
) -> Option<PolicyLimit> {
    let (name, scope) = document.rules.get(rule.0).map(|(name, rule)| (name.to_owned(), rule.scope)).unwrap_or_default();
    if scope == Scope::Local {
        check_countable_by_a_gateway(errors, path, written);
    }
    let limit = checked(errors, path, written)?;
    let share: Limit = share(written, document.defaults.gateways.max(1))
        .try_into()
        .map_err(|error| {
            let (gateways, error) = (document.defaults.gateways, in_the_words_of(written, error));
            errors.add(
                path,
                format_args!(
                    "in one gateway's share of it, {error}; use a shorter period or fewer than {gateways} defaults.gateways"
                ),
            );
        })
        .ok()?;
    Some(PolicyLimit { rule, wire: RuleLimit { rule: name, numbers: numbers(written) }, limit, share })
}

fn has_plans(subject: document::Subject) -> bool {
    matches!(subject, document::Subject::Tenant | document::Subject::Principal)
}

fn placeholder(rule: RuleId) -> PolicyLimit {
    // Never enforced: the document is refused. It holds any cost, so that it causes no second error.
    let numbers = Numbers::FixedWindow { limit: weir_limit::MAX_EXACT, window_ms: 1_000 };
    let limit = Limit::FixedWindow(weir_limit::FixedWindow::LARGEST);
    PolicyLimit { rule, wire: RuleLimit { rule: String::new(), numbers }, limit, share: limit }
}
