//! Several limits decided together: all of them are charged, or none.
//!
//! `hits` equal requests are decided at once, first come first served: the largest number that every
//! limit has room for is admitted. How long the next one would have to wait is part of the verdict even
//! when all were admitted, so that a gateway knows a bucket to be empty without asking again.

use crate::{Limit, State};

/// One limit to charge, and what each hit costs under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charge {
    /// The rule's numbers.
    pub limit: Limit,
    /// Units per hit, at least 1.
    pub cost: u64,
    /// Whether it only watches: it is evaluated and counted, but never denies, and what it holds back is not
    /// held back from the others.
    pub shadow: bool,
}

/// What was decided about `hits` equal requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// How many of the hits pass.
    pub admitted: u64,
    /// In how many milliseconds the turn of the last of them comes, under a limit that delays.
    pub delay_ms: u64,
    /// How each limit stands after that, in the order of the charges.
    pub quotas: Vec<Quota>,
}

/// How one limit stands after a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Whole units left.
    pub remaining: u64,
    /// Milliseconds until the whole capacity is there again.
    pub reset_ms: u64,
    /// Milliseconds until this limit has room for one more hit; 0 when it has now, and of one that only watches.
    pub wait_ms: u64,
    /// How many of the admitted hits a limit that only watches would have denied; 0 of all others.
    pub shadow_denied: u64,
}

/// Why, and for how long, one more hit does not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Denial {
    /// Index of the first charge that denies.
    pub charge: usize,
    /// The longest wait among all charges that deny, in milliseconds; at least 1.
    pub retry_ms: u64,
}

impl Verdict {
    /// What the next hit would be denied by; `None` when it would pass.
    #[must_use]
    pub fn denial(&self) -> Option<Denial> {
        Denial::of(self.quotas.iter().map(|quota| quota.wait_ms))
    }
}

impl Denial {
    /// From the wait of each charge, in their order.
    pub fn of(waits_ms: impl Iterator<Item = u64> + Clone) -> Option<Self> {
        let charge = waits_ms.clone().position(|wait_ms| wait_ms > 0)?;
        Some(Self { charge, retry_ms: waits_ms.max()? })
    }
}

/// Decides `hits` equal requests at `now_ms` (milliseconds since the Unix epoch) and spends what was admitted.
///
/// `states` stands beside `charges`. Unless [`Verdict::admitted`] is above 0 nothing was spent and the
/// states need not be written; so no hits at all are a question without consequences. A missing state is a
/// fresh one. Time ends at 2^53 ms, some 285,000 years from now: a later `now_ms` is that moment.
pub fn decide(charges: &[Charge], states: &mut [Option<State>], hits: u64, now_ms: u64) -> Verdict {
    let now_ms = now_ms.min(crate::MAX_EXACT);
    let current: Vec<State> =
        charges.iter().zip(states.iter()).map(|(charge, state)| charge.limit.at(state.clone(), now_ms)).collect();
    let room = |charge: &Charge, state: &State| charge.limit.remaining(state, now_ms) / charge.cost.max(1);

    let enforced = charges.iter().zip(&current).filter(|(charge, _)| !charge.shadow);
    let admitted = enforced.map(|(charge, state)| room(charge, state)).fold(hits, u64::min);

    let mut delay_ms = 0;
    let mut quotas = Vec::with_capacity(charges.len());
    for ((charge, state), slot) in charges.iter().zip(current).zip(states.iter_mut()) {
        let Charge { limit, cost, shadow } = charge;
        let counted = if *shadow { admitted.min(room(charge, &state)) } else { admitted };
        let after = limit.spend(state, cost.saturating_mul(counted), now_ms);
        if counted > 0 && !shadow {
            delay_ms = delay_ms.max(limit.delay_ms(&after, *cost));
        }
        quotas.push(Quota {
            remaining: limit.remaining(&after, now_ms),
            reset_ms: limit.reset_ms(&after, now_ms),
            wait_ms: if *shadow { 0 } else { limit.wait_ms(&after, *cost, now_ms) },
            shadow_denied: admitted - counted,
        });
        if counted > 0 {
            *slot = Some(after);
        }
    }
    Verdict { admitted, delay_ms, quotas }
}
