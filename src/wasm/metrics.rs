//! Counters in the host.
//!
//! The host makes a new metric each time one is defined, also under a name that it has: so each name is
//! defined once in a VM, whichever plugin asks.

use hashbrown::HashMap;
use proxy_wasm::hostcalls;
use proxy_wasm::types::MetricType;
use std::cell::RefCell;

thread_local! {
    static DEFINED: RefCell<HashMap<String, u32>> = RefCell::new(HashMap::new());
}

/// Adds to a counter.
pub(super) fn add(name: String, amount: u64) {
    // The host refuses to add nothing.
    if let (Some(id), Ok(amount @ 1..)) = (id(MetricType::Counter, name), i64::try_from(amount)) {
        let _ = hostcalls::increment_metric(id, amount);
    }
}

/// Records a value in a histogram.
pub(super) fn record(name: String, value: u64) {
    if let Some(id) = id(MetricType::Histogram, name) {
        let _ = hostcalls::record_metric(id, value);
    }
}

fn id(kind: MetricType, name: String) -> Option<u32> {
    DEFINED.with_borrow_mut(|defined| {
        if let Some(id) = defined.get(&name) {
            return Some(*id);
        }
        let id = hostcalls::define_metric(kind, &name).ok()?;
        defined.insert(name, id);
        Some(id)
    })
}
