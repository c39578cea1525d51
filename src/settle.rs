//! The response phase: what could only be known now.
//!
//! A failed authentication (401 or 403, whoever said it) charges the caller's address, never the tenant that
//! it claimed to be: otherwise a stranger who guesses a tenant's key id could drain the tenant's quota.

use crate::callout::PendingCheck;
use crate::engine::Engine;
use crate::flow::negative_fingerprint;
use crate::quota_headers::QuotaHeaders;
use crate::telemetry::Counter;
use std::rc::Rc;

impl Engine {
    /// A response's headers have arrived; `status` reads its status, if it has one. What comes back is to be added to them.
    pub fn response(&mut self, stream: u32, status: impl FnOnce() -> Option<u32>) -> Option<QuotaHeaders> {
        let flow = self.take_flow(stream)?;
        if let Some(charge) = flow.on_failure
            && matches!(status(), Some(401 | 403))
        {
            let counter = negative_fingerprint(&self.policy(), &charge);
            let check = PendingCheck::new(Rc::new([charge]), vec![(counter, false)], None);
            let counter = match self.push(check) {
                Ok(()) => Counter::FailuresCharged,
                Err(_) => Counter::FailuresDropped,
            };
            self.telemetry().count(counter);
        }
        flow.quota_headers
    }
}
