//! Edits of the policy that tests have in common.

use serde_json::{Value, json};

/// A bucket that does not refill in a test's time.
pub(crate) fn still_bucket(capacity: u64) -> Value {
    json!({ "token_bucket": { "capacity": capacity, "refill": 1, "per": "1h" } })
}

/// Gives a rule other numbers, in all plans. Every request costs 1, which fits into small ones.
pub(crate) fn limit(policy: &mut Value, rule: &str, limit: &Value) {
    for route in policy["routes"].as_object_mut().into_iter().flat_map(|routes| routes.values_mut()) {
        route["cost"] = json!(1);
    }
    policy["rules"][rule]["limit"] = limit.clone();
    for plan in policy["plans"].as_object_mut().into_iter().flat_map(|plans| plans.values_mut()) {
        if let Some(numbers) = plan.get_mut(rule) {
            *numbers = limit.clone();
        }
    }
}

/// Lets the catalog be denied by `P-READ` alone, a bucket of `capacity` that does not refill.
pub(crate) fn only_read(policy: &mut Value, capacity: u64) {
    limit(policy, "P-READ", &still_bucket(capacity));
    policy["routes"]["catalog"]["rules"] = json!(["P-READ"]);
}
