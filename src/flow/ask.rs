//! Look for a denial, or queue the question.

use super::{Flow, Moment};
use crate::callout::{Denial, Outcome, PendingCheck, Waiter};
use crate::engine::Engine;
use crate::negative_cache::Standing;
use std::rc::Rc;
use weir_limit::Limit;
use weir_policy::PlannedCharge;

/// What the negative cache knows of a check's counters.
struct Known {
    /// The wait of each charge; 0 where nothing is known to deny.
    waits_ms: Vec<u64>,
    /// Fingerprint and cost of those whose denial has just run out.
    run_out: Vec<(u64, u64)>,
    being_asked: bool,
}

impl Engine {
    /// A denial that this VM remembers by itself: a flood ends here, without a host call.
    pub(super) fn recall(&mut self, moment: Moment<'_>, flow: &Flow) -> Option<Denial> {
        let counters = flow.charges.iter().zip(flow.counters.iter());
        let recalled = |(charge, counter): (&PlannedCharge, &u64)| {
            let enforced = !charge.shadow;
            enforced.then(|| self.negative_cache().recalled(*counter, charge.cost, moment.now_ms)).flatten().unwrap_or(0)
        };
        Denial::of(counters.map(recalled), Rc::new([]))
    }

    /// `None`: the request waits.
    pub(crate) fn ask(&mut self, moment: Moment<'_>, flow: &Flow) -> Option<Outcome> {
        let known = self.known(moment, flow);
        if let Some(denial) = Denial::of(known.waits_ms.iter().copied(), Rc::new([])) {
            return Some(Outcome::Denied(denial));
        }
        let waiter = Waiter { stream: moment.stream, deadline_ms: flow.deadline_ms };
        if known.being_asked || !self.claim(moment, flow, &known.run_out) {
            return self.park(waiter).err().map(Outcome::Undecided);
        }
        let asks = |fingerprint: &u64| known.run_out.iter().any(|(run_out, _)| run_out == fingerprint);
        let counters = flow.counters.iter().map(|fingerprint| (*fingerprint, asks(fingerprint))).collect();
        let check = PendingCheck::new(Rc::clone(&flow.charges), counters, Some(waiter)).alone(self.delays(flow));
        let pushed = self.push(check);
        pushed.err().map(|because| {
            self.unclaim(moment, &known.run_out);
            Outcome::Undecided(because)
        })
    }

    fn delays(&self, flow: &Flow) -> bool {
        let policy = self.policy();
        flow.charges
            .iter()
            .filter_map(|charge| policy.limit(charge.limit))
            .any(|limit| matches!(limit.limit, Limit::LeakyQueue(_)))
    }

    fn known(&mut self, moment: Moment<'_>, flow: &Flow) -> Known {
        let mut known = Known { waits_ms: Vec::with_capacity(flow.charges.len()), run_out: Vec::new(), being_asked: false };
        for (charge, fingerprint) in flow.charges.iter().zip(flow.counters.iter()) {
            let mut wait_ms = 0;
            if charge.shadow {
                known.waits_ms.push(wait_ms);
                continue;
            }
            match self.negative_cache().standing(moment.shared, *fingerprint, charge.cost, moment.now_ms) {
                Standing::Open => {}
                Standing::Denied(retry_ms) => wait_ms = retry_ms,
                Standing::RanOut => known.run_out.push((*fingerprint, charge.cost)),
                Standing::BeingAsked => known.being_asked = true,
            }
            known.waits_ms.push(wait_ms);
        }
        known
    }

    /// Whether this request is the one to ask about all of `run_out`. Until its deadline nobody else does.
    fn claim(&mut self, moment: Moment<'_>, flow: &Flow, run_out: &[(u64, u64)]) -> bool {
        let Moment { shared, now_ms, .. } = moment;
        let lease_ms = flow.deadline_ms.saturating_sub(now_ms);
        let claimed =
            |(fingerprint, cost): &&(u64, u64)| self.negative_cache().claim(shared, *fingerprint, *cost, lease_ms, now_ms);
        let claimed = run_out.iter().take_while(claimed).count();
        if claimed < run_out.len() {
            // Another worker asks about one of them: who claims only a part asks about none, and keeps nobody waiting.
            self.unclaim(moment, run_out.get(..claimed).unwrap_or_default());
        }
        claimed == run_out.len()
    }

    fn unclaim(&mut self, moment: Moment<'_>, claimed: &[(u64, u64)]) {
        for (fingerprint, _) in claimed {
            self.negative_cache().clear(moment.shared, *fingerprint);
        }
    }
}
