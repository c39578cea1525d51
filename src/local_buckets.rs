//! Counters of this gateway alone, shared by its workers: `scope: local` rules, the fallback's shares, and
//! the fallback's cap.
//!
//! Bounds: 1,024 slots × 8 records × 40 bytes = 320 KiB for subjects, and as much for what counts a gateway as a
//! whole (caps, and rules with `subject: gateway`), in a table of its own, which holds more than a policy can
//! have of them, so that no crowd of subjects can push one out. A subject whose record had to give way starts
//! with a full bucket: in a fallback the route's cap bounds what that can admit; a local rule by principal or
//! address has no such bound beyond some 8,000 subjects at a time.
//!
//! Several counters are asked before any is charged. Between the two another worker may have been faster:
//! then the request is denied with what it had charged so far lost. A fallback errs on the strict side.

use crate::shared::{Record, SharedData, Table};
use weir_limit::{Limit, State, fixed_window, gcra, sliding_window, token_bucket};

const SUBJECT_SLOTS: u32 = 1_024;
const CAP_SLOTS: u32 = 1_024;

/// How long a caller waits when other workers were faster too often.
const CONTENDED_WAIT_MS: u64 = 1_000;

/// One local counter with what it is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalCharge {
    /// Whose counter; see [`crate::fingerprint`].
    pub fingerprint: u64,
    /// Its numbers.
    pub limit: Limit,
    /// Units.
    pub cost: u64,
    /// Whether it counts the gateway as a whole.
    pub whole_gateway: bool,
    /// Whether it only watches: charged as far as there is room, and never the reason of a denial.
    pub shadow: bool,
}

/// The counter that had no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalDenial {
    /// Its index among the charges.
    pub charge: usize,
    /// Milliseconds until it has.
    pub wait_ms: u64,
}

/// The counters.
#[derive(Debug)]
pub struct LocalBuckets {
    subjects: Table,
    caps: Table,
}

impl Default for LocalBuckets {
    fn default() -> Self {
        Self { subjects: Table::new("local", SUBJECT_SLOTS), caps: Table::new("cap", CAP_SLOTS) }
    }
}

impl LocalBuckets {
    /// Makes the tables, before the first request.
    pub fn prepare(&self, shared: &dyn SharedData) {
        self.subjects.prepare(shared);
        self.caps.prepare(shared);
    }

    /// Charges all of `charges`, or denies.
    ///
    /// # Errors
    /// The first counter without room.
    pub fn spend(&self, shared: &dyn SharedData, charges: &[LocalCharge], now_ms: u64) -> Result<(), LocalDenial> {
        for (index, charge) in charges.iter().enumerate().filter(|(_, charge)| !charge.shadow) {
            let state = self.table(charge).read(shared, charge.fingerprint).and_then(|record| state_of(&record));
            let wait_ms = charge.limit.wait_ms(&charge.limit.at(state, now_ms), charge.cost, now_ms);
            if wait_ms > 0 {
                return Err(LocalDenial { charge: index, wait_ms });
            }
        }
        for (index, charge) in charges.iter().enumerate() {
            let LocalCharge { fingerprint, limit, cost, shadow, .. } = *charge;
            let spent = self.table(charge).update(shared, fingerprint, |record| {
                let state = limit.at(record.and_then(|record| state_of(&record)), now_ms);
                match limit.wait_ms(&state, cost, now_ms) {
                    0 => (record_of(fingerprint, &limit.spend(state, cost, now_ms), now_ms), 0),
                    wait_ms => (None, wait_ms),
                }
            });
            match spent {
                Ok(0) => {}
                _ if shadow => {}
                Ok(wait_ms) => return Err(LocalDenial { charge: index, wait_ms }),
                Err(_) => return Err(LocalDenial { charge: index, wait_ms: CONTENDED_WAIT_MS }),
            }
        }
        Ok(())
    }

    fn table(&self, charge: &LocalCharge) -> &Table {
        if charge.whole_gateway { &self.caps } else { &self.subjects }
    }
}

const FIXED_WINDOW: u64 = 1;
const TOKEN_BUCKET: u64 = 2;
const SLIDING_WINDOW: u64 = 3;
const ARRIVAL: u64 = 4;

/// The kind shares its word with a number that honest states keep far below 2^61. A log does not fit: the policy
/// gives gateways none, and what is not kept is as if it had not been seen.
fn record_of(fingerprint: u64, state: &State, now_ms: u64) -> Option<Record> {
    let tagged = |kind: u64, number: u64| kind | number << 3;
    let words = match state {
        State::FixedWindow(state) => [FIXED_WINDOW, state.start_ms, state.spent],
        State::SlidingWindow(state) => [tagged(SLIDING_WINDOW, state.previous), state.start_ms, state.current],
        State::TokenBucket(state) => [tagged(TOKEN_BUCKET, state.remainder), state.updated_ms, state.spent_mt],
        State::Tat(state) => [tagged(ARRIVAL, state.fraction), state.updated_ms, state.tat_ms],
        State::SlidingLog(_) => return None,
    };
    Some(Record { fingerprint, stamp: now_ms, words })
}

fn state_of(record: &Record) -> Option<State> {
    let [word, time, number] = record.words;
    let tagged = word >> 3;
    Some(match word & 7 {
        FIXED_WINDOW => State::FixedWindow(fixed_window::State { start_ms: time, spent: number }),
        SLIDING_WINDOW => State::SlidingWindow(sliding_window::State { start_ms: time, current: number, previous: tagged }),
        TOKEN_BUCKET => State::TokenBucket(token_bucket::State { spent_mt: number, remainder: tagged, updated_ms: time }),
        ARRIVAL => State::Tat(gcra::State { tat_ms: number, fraction: tagged, updated_ms: time }),
        _ => return None,
    })
}
