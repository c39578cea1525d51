//! Counts in this process: the default for one node, and the measure that the script is held to.
//!
//! Counters are sharded by the check's tag, so a check takes one lock and is all-or-nothing under it.
//! Memory is bounded, as a counter is (the largest is a sliding log): at `max_subjects` counters, expired ones make room, and when none has expired the
//! answer is [`Failure::Full`]. A denial needs no room, because it writes nothing.

mod shard;

#[cfg(test)]
mod tests;

use crate::batch::{Check, DecideBatch};
use crate::clock::Clock;
use shard::Shard;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use weir_limit::State;
use weir_wire::{Failure, Outcome};

/// More than there are cores, so that two checks of different tags rarely meet.
const SHARDS: usize = 64;

/// How many counters one check looks at for expired ones, on its way.
const SWEEP_PER_CHECK: usize = 4;

/// How many of each shard a check looks at that finds the store full.
const SWEEP_WHEN_FULL: usize = 16;

/// See the module.
pub struct MemoryStore {
    shards: Box<[Mutex<Shard>]>,
    /// Seeded by the process: nobody can aim tags at one shard.
    hasher: RandomState,
    room: Room,
    clock: Box<dyn Clock>,
}

/// How many counters there are, over all shards.
struct Room {
    used: AtomicUsize,
    max: usize,
}

impl MemoryStore {
    /// Room for `max_subjects` counters.
    pub fn new(max_subjects: usize, clock: impl Clock) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
            room: Room { used: AtomicUsize::new(0), max: max_subjects },
            clock: Box::new(clock),
        }
    }

    /// Decides every check, in order.
    pub fn decide(&self, batch: &DecideBatch) -> Vec<Outcome> {
        batch.checks().iter().map(|check| self.decide_one(check)).collect()
    }

    fn decide_one(&self, check: &Check) -> Outcome {
        let now_ms = self.clock.now_ms();
        let mut outcome = self.attempt(check, now_ms);
        if outcome == Outcome::Failure(Failure::Full) {
            self.sweep_all(now_ms);
            outcome = self.attempt(check, now_ms);
        }
        outcome
    }

    fn attempt(&self, check: &Check, now_ms: u64) -> Outcome {
        let mut shard = self.shard_of(check);
        self.room.give_back(shard.sweep(now_ms, SWEEP_PER_CHECK));

        let mut states: Vec<Option<State>> = check.keys().iter().map(|key| shard.get(key)).collect();
        let known = states.iter().flatten().count();
        let verdict = weir_limit::decide(check.charges(), &mut states, u64::from(check.hits()), now_ms);
        if verdict.admitted > 0 {
            if !self.room.take(states.iter().flatten().count() - known) {
                return Outcome::Failure(Failure::Full);
            }
            for ((key, charge), state) in check.keys().iter().zip(check.charges()).zip(states) {
                if let Some(state) = state {
                    let ttl_ms = charge.limit.ttl_ms(&state, now_ms);
                    shard.set(key, state, now_ms.saturating_add(ttl_ms));
                }
            }
        }
        Outcome::Verdict(verdict.into())
    }

    /// One lock at a time, so that two full checks cannot wait for each other.
    fn sweep_all(&self, now_ms: u64) {
        for shard in &self.shards {
            let freed = lock(shard).sweep(now_ms, SWEEP_WHEN_FULL);
            self.room.give_back(freed);
        }
    }

    fn shard_of(&self, check: &Check) -> MutexGuard<'_, Shard> {
        // The remainder is below the number of shards, which fits any usize.
        let index = usize::try_from(self.hasher.hash_one(check.tag()) % self.shards.len() as u64).unwrap_or(0);
        lock(&self.shards[index])
    }
}

/// A panic under the lock leaves whole entries: each is replaced at once.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Room {
    fn take(&self, count: usize) -> bool {
        let taken = |used: usize| used.checked_add(count).filter(|sum| count == 0 || *sum <= self.max);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok()
    }

    fn give_back(&self, count: usize) {
        if count > 0 {
            self.used.fetch_sub(count, Ordering::Relaxed);
        }
    }
}
