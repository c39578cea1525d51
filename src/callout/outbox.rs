//! Checks that wait to be sent, and those under way.
//!
//! Bounds: [`MOST_WAITING`] waiters in all, after which a request gets its route's mode at once;
//! [`MOST_WAITERS_IN_BATCH`] in a batch, which is also what the host can complete in one callback;
//! [`MOST_UNDER_WAY`] batches at a time, so that waiting makes batches larger and not more.

use super::outcome::{Denial, Outcome, Undecided};
use crate::fingerprint;
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::rc::Rc;
use weir_policy::PlannedCharge;
use weir_wire::{Quota, Verdict};

/// The most requests that wait, over all queues.
pub const MOST_WAITING: usize = 4_096;

/// The most requests that one batch answers.
pub const MOST_WAITERS_IN_BATCH: usize = 64;

/// The most batches under way.
pub const MOST_UNDER_WAY: usize = 2;

/// A request that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiter {
    /// The host's id of its stream.
    pub stream: u32,
    /// When it gets its route's mode instead, in milliseconds since the Unix epoch.
    pub deadline_ms: u64,
}

/// Equal checks, to be decided as one.
#[derive(Debug, PartialEq, Eq)]
pub struct PendingCheck {
    /// What is charged; not empty, all with one tag.
    pub charges: Rc<[PlannedCharge]>,
    /// The fingerprints of [`PendingCheck::charges`] in the negative cache, each with whether a denial of
    /// it had run out and this check is the one that asks.
    pub counters: Vec<(u64, bool)>,
    /// One for each hit, first come first served.
    places: Vec<Place>,
    /// Whether it is sent as it is: each request of a queue has a turn of its own, and a verdict tells only one.
    alone: bool,
}

/// Who stands behind a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Waiting(Waiter),
    /// Nobody waits for the answer, but the charge is due.
    Settled,
    /// Nobody waits any more. Before it is sent the hit is dropped; afterwards it keeps its place, because
    /// it was, or may have been, charged.
    Gone,
}

/// A batch of checks that was sent.
#[derive(Debug)]
struct UnderWay {
    token: u32,
    checks: Vec<PendingCheck>,
}

/// The checks of one plugin in one worker.
#[derive(Debug, Default)]
pub struct Outbox {
    queue: VecDeque<PendingCheck>,
    /// Checks that can still be joined: fingerprint → position in the queue, plus [`Outbox::taken`].
    positions: HashMap<u64, u64>,
    /// How many checks have left the queue at its front, ever.
    taken: u64,
    under_way: Vec<UnderWay>,
    waiting: usize,
}

impl PendingCheck {
    /// A check for one waiter, or for nobody.
    #[must_use]
    pub fn new(charges: Rc<[PlannedCharge]>, counters: Vec<(u64, bool)>, waiter: Option<Waiter>) -> Self {
        Self { charges, counters, places: vec![waiter.map_or(Place::Settled, Place::Waiting)], alone: false }
    }

    /// Not to be joined with its equals.
    #[must_use]
    pub fn alone(self, alone: bool) -> Self {
        Self { alone, ..self }
    }

    /// The counters that others wait for this check to ask about.
    pub fn asks(&self) -> impl Iterator<Item = u64> + '_ {
        self.counters.iter().filter(|(_, asks)| *asks).map(|(fingerprint, _)| *fingerprint)
    }

    /// How many equal requests it stands for.
    #[must_use]
    pub fn hits(&self) -> u32 {
        u32::try_from(self.places.len()).unwrap_or(u32::MAX)
    }

    fn join(&mut self, other: Self) {
        self.places.extend(other.places);
        for ((_, asks), (_, other_asks)) in self.counters.iter_mut().zip(other.counters) {
            *asks |= other_asks;
        }
    }

    /// What each waiter is told, first come first served.
    pub fn outcomes(self, verdict: &Result<Verdict, Undecided>) -> impl Iterator<Item = (Waiter, Outcome)> {
        let told = match verdict {
            Err(because) => Told::All(Outcome::Undecided(*because)),
            Ok(verdict) => Told::from_verdict(verdict),
        };
        self.places.into_iter().enumerate().filter_map(move |(place, who)| match who {
            Place::Waiting(waiter) => Some((waiter, told.at(place))),
            Place::Settled | Place::Gone => None,
        })
    }
}

enum Told {
    All(Outcome),
    Some { admitted: usize, first: Outcome, rest: Outcome },
}

impl Told {
    fn from_verdict(verdict: &Verdict) -> Self {
        let quotas: Rc<[Quota]> = verdict.quotas.as_slice().into();
        let first = Outcome::Admitted { quotas: Rc::clone(&quotas), delay_ms: verdict.delay_ms };
        match Denial::of(verdict.quotas.iter().map(|quota| quota.wait_ms), quotas) {
            None => Self::All(first),
            Some(denial) => Self::Some {
                admitted: usize::try_from(verdict.admitted).unwrap_or(usize::MAX),
                first,
                rest: Outcome::Denied(denial),
            },
        }
    }

    fn at(&self, place: usize) -> Outcome {
        match self {
            Self::All(outcome) => outcome.clone(),
            Self::Some { admitted, first, .. } if place < *admitted => first.clone(),
            Self::Some { rest, .. } => rest.clone(),
        }
    }
}

impl Outbox {
    /// Queues a check, or joins it to an equal one that has not been sent.
    ///
    /// # Errors
    /// [`Undecided::QueueFull`].
    pub fn push(&mut self, check: PendingCheck) -> Result<(), Undecided> {
        if self.waiting >= MOST_WAITING {
            return Err(Undecided::QueueFull);
        }
        self.waiting = self.waiting.saturating_add(1);
        if check.alone {
            self.queue.push_back(check);
            return Ok(());
        }
        let fingerprint = fingerprint::check(&check.charges);
        if let Some(equal) = self.joinable(fingerprint, &check.charges) {
            equal.join(check);
            return Ok(());
        }
        let position = self.taken.saturating_add(u64::try_from(self.queue.len()).unwrap_or(u64::MAX));
        self.positions.insert(fingerprint, position);
        self.queue.push_back(check);
        Ok(())
    }

    /// Whether a batch can be sent now.
    #[must_use]
    pub fn can_send(&self) -> bool {
        !self.queue.is_empty() && self.under_way.len() < MOST_UNDER_WAY
    }

    /// Takes the checks of the next batch; `is_alive` says whether somebody still waits for a stream's
    /// answer, since what nobody waits for need not be charged: such checks are `dropped`.
    pub fn take_batch(&mut self, is_alive: impl Fn(u32) -> bool, mut dropped: impl FnMut(&PendingCheck)) -> Vec<PendingCheck> {
        let mut checks = Vec::new();
        let mut room = MOST_WAITERS_IN_BATCH;
        while self.under_way.len() < MOST_UNDER_WAY
            && let Some(next) = self.queue.front()
            && next.places.len() <= room
            && let Some(mut check) = self.queue.pop_front()
        {
            if !check.alone {
                self.positions.remove(&fingerprint::check(&check.charges));
            }
            self.taken = self.taken.saturating_add(1);
            let before = check.places.len();
            check.places.retain(|place| match place {
                Place::Waiting(waiter) => is_alive(waiter.stream),
                Place::Settled => true,
                Place::Gone => false,
            });
            self.forget(before.saturating_sub(check.places.len()));
            room = room.saturating_sub(check.places.len());
            if check.places.is_empty() {
                dropped(&check);
            } else {
                checks.push(check);
            }
        }
        checks
    }

    /// Keeps a batch that was sent under `token`.
    pub fn sent(&mut self, token: u32, checks: Vec<PendingCheck>) {
        self.under_way.push(UnderWay { token, checks });
    }

    /// The checks of a batch that was answered.
    pub fn take_answered(&mut self, token: u32) -> Option<Vec<PendingCheck>> {
        let place = self.under_way.iter().position(|batch| batch.token == token)?;
        let checks = self.under_way.swap_remove(place).checks;
        self.finish(&checks);
        Some(checks)
    }

    /// Takes note that the waiters of `checks`, which [`Outbox::take_batch`] gave, wait no longer.
    pub fn finish(&mut self, checks: &[PendingCheck]) {
        self.forget(checks.iter().map(|check| check.places.len()).fold(0, usize::saturating_add));
    }

    /// Takes out the streams whose deadline is at or before `now_ms`.
    pub fn expire(&mut self, now_ms: u64) -> Vec<u32> {
        let mut expired = Vec::new();
        let checks = self.queue.iter_mut().chain(self.under_way.iter_mut().flat_map(|batch| batch.checks.iter_mut()));
        for place in checks.flat_map(|check| check.places.iter_mut()) {
            if let Place::Waiting(waiter) = *place
                && waiter.deadline_ms <= now_ms
            {
                *place = Place::Gone;
                expired.push(waiter.stream);
            }
        }
        expired
    }

    fn joinable(&mut self, fingerprint: u64, charges: &[PlannedCharge]) -> Option<&mut PendingCheck> {
        let position = self.positions.get(&fingerprint)?.checked_sub(self.taken)?;
        let check = self.queue.get_mut(usize::try_from(position).ok()?)?;
        let room = check.places.len() < MOST_WAITERS_IN_BATCH;
        (room && *check.charges == *charges).then_some(check)
    }

    fn forget(&mut self, places: usize) {
        self.waiting = self.waiting.saturating_sub(places);
    }
}
