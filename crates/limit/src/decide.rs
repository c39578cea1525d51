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
}

/// What was decided about `hits` equal requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// How many of the hits pass.
    pub admitted: u64,
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
    /// Milliseconds until this limit has room for one more hit; 0 when it has now.
    pub wait_ms: u64,
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
/// states need not be written. A missing state is a fresh one.
pub fn decide(charges: &[Charge], states: &mut [Option<State>], hits: u64, now_ms: u64) -> Verdict {
    let current: Vec<State> = charges.iter().zip(states.iter()).map(|(charge, state)| charge.limit.at(*state, now_ms)).collect();

    let admitted = charges
        .iter()
        .zip(&current)
        .map(|(charge, state)| charge.limit.remaining(state) / charge.cost.max(1))
        .fold(hits, u64::min);

    let mut quotas = Vec::with_capacity(charges.len());
    for ((charge, state), slot) in charges.iter().zip(current).zip(states.iter_mut()) {
        let Charge { limit, cost } = charge;
        let after = limit.spend(state, cost.saturating_mul(admitted));
        quotas.push(Quota {
            remaining: limit.remaining(&after),
            reset_ms: limit.reset_ms(&after, now_ms),
            wait_ms: limit.wait_ms(&after, *cost, now_ms),
        });
        if admitted > 0 {
            *slot = Some(after);
        }
    }
    Verdict { admitted, quotas }
}
