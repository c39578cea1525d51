//! Hold what came too early until its turn.
//!
//! A held request keeps a connection and a context, so both how long (the policy's compiler) and how many
//! ([`MOST_HELD`], per worker and plugin) are bounded. Beyond that a request is denied; its place in the queue
//! was charged and is not given back.

use super::{Flow, Moment, Step};
use crate::callout::{Denial, Outcome};
use crate::engine::Engine;
use std::rc::Rc;
use weir_limit::Limit;
use weir_policy::Policy;
use weir_wire::Quota;

/// The most requests held at a time.
pub(crate) const MOST_HELD: usize = 1_024;

/// A request that waits for its turn.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) stream: u32,
    /// When its turn comes, in milliseconds since the Unix epoch.
    pub(crate) turn_ms: u64,
    pub(crate) quotas: Rc<[Quota]>,
}

impl Engine {
    pub(super) fn delay(
        &mut self,
        moment: Moment<'_>,
        policy: &Policy,
        flow: &mut Flow,
        quotas: Rc<[Quota]>,
        delay_ms: u64,
    ) -> Step {
        let turn_ms = moment.now_ms.saturating_add(delay_ms);
        match self.hold_until(Held { stream: moment.stream, turn_ms, quotas }) {
            Ok(()) => {
                flow.delayed = true;
                Step::Wait
            }
            Err(Held { quotas, .. }) => {
                let is_queue = |charge: &weir_policy::PlannedCharge| {
                    policy.limit(charge.limit).is_some_and(|limit| matches!(limit.limit, Limit::LeakyQueue(_)))
                };
                let waits_ms = flow.charges.iter().map(|charge| if is_queue(charge) { delay_ms } else { 0 });
                match Denial::of(waits_ms, quotas) {
                    Some(denial) => self.deny(moment, policy, flow, &denial),
                    None => Step::Continue,
                }
            }
        }
    }

    /// Those whose turn has come may pass.
    pub(crate) fn release_held(&mut self, now_ms: u64) {
        for held in self.take_due(now_ms) {
            self.make_one_ready(held.stream, Outcome::Admitted { quotas: held.quotas, delay_ms: 0 });
        }
    }
}
