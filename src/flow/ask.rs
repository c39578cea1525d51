//! Look for a denial, or queue the question.

use super::{Flow, Moment};
use crate::callout::{Denial, Outcome, PendingCheck, Waiter};
use crate::engine::Engine;
use crate::negative_cache::Standing;
use std::rc::Rc;

/// What the negative cache knows of a check's counters.
#[derive(Default)]
struct Known {
    /// The first charge that is denied, and the longest wait of all that are.
    denied: Option<(usize, u64)>,
    /// Fingerprint and cost of those whose denial has just run out.
    run_out: Vec<(u64, u64)>,
    being_asked: bool,
}

impl Engine {
    /// `None`: the request waits.
    pub(crate) fn ask(&mut self, moment: Moment<'_>, flow: &Flow) -> Option<Outcome> {
        // A flood ends here: what this VM remembers denies without a host call.
        if let Some(denial) = self.recall(moment, flow) {
            return Some(Outcome::Denied(denial));
        }
        let known = self.known(moment, flow);
        if let Some((charge, retry_ms)) = known.denied {
            return Some(Outcome::Denied(Denial::remembered(charge, retry_ms)));
        }
        let waiter = Waiter { stream: moment.stream, deadline_ms: flow.deadline_ms };
        if known.being_asked || !self.claim(moment, flow, &known.run_out) {
            return self.park(waiter).err().map(Outcome::Undecided);
        }
        let asks = |fingerprint: &u64| known.run_out.iter().any(|(run_out, _)| run_out == fingerprint);
        let counters = flow.counters.iter().map(|fingerprint| (*fingerprint, asks(fingerprint))).collect();
        self.push(PendingCheck::new(Rc::clone(&flow.charges), counters, Some(waiter))).err().map(Outcome::Undecided)
    }

    fn recall(&mut self, moment: Moment<'_>, flow: &Flow) -> Option<Denial> {
        let counters = flow.charges.iter().zip(flow.counters.iter());
        let mut waits = counters.map(|(charge, counter)| self.negative_cache().recalled(*counter, charge.cost, moment.now_ms));
        let first = waits.by_ref().enumerate().find_map(|(index, wait_ms)| Some((index, wait_ms?)));
        first.map(|(index, wait_ms)| Denial::remembered(index, waits.flatten().fold(wait_ms, u64::max)))
    }

    fn known(&mut self, moment: Moment<'_>, flow: &Flow) -> Known {
        let mut known = Known::default();
        for (index, (charge, fingerprint)) in flow.charges.iter().zip(flow.counters.iter()).enumerate() {
            match self.negative_cache().standing(moment.shared, *fingerprint, charge.cost, moment.now_ms) {
                Standing::Open => {}
                Standing::Denied(retry_ms) => {
                    let (first, longest_ms) = known.denied.unwrap_or((index, 0));
                    known.denied = Some((first, longest_ms.max(retry_ms)));
                }
                Standing::RanOut => known.run_out.push((*fingerprint, charge.cost)),
                Standing::BeingAsked => known.being_asked = true,
            }
        }
        known
    }

    /// Whether this request is the one to ask about all of `run_out`. Until its deadline nobody else does.
    fn claim(&mut self, moment: Moment<'_>, flow: &Flow, run_out: &[(u64, u64)]) -> bool {
        let Moment { shared, now_ms, .. } = moment;
        let lease_ms = flow.deadline_ms.saturating_sub(now_ms);
        run_out.iter().all(|(fingerprint, cost)| self.negative_cache().claim(shared, *fingerprint, *cost, lease_ms, now_ms))
    }
}
