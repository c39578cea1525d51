//! Recent denials: what the store has denied a moment ago is denied here, without asking it again.
//!
//! A flood of one key costs the store one call each [`MOST_DENIED_MS`] (or each wait, where that is shorter),
//! however many workers there are. That takes two things. A denial is remembered for `min(wait, 250 ms)`, never
//! longer, in a table of this VM over a fixed table that the workers share (512 slots × 8 records × 40 bytes =
//! 160 KiB). And when it has run out, one request *claims* the question; the others, of all workers, are parked until
//! its answer is known, so they are neither denied beyond the bound nor asked about.
//!
//! A wait is counted from when the answer came, as the caller's `Retry-After` is: so a denial may outlast the
//! store's own by the answer's travel time. Counted from the question, the next one would come too early, and
//! a flood would cost a call more for each of its waits.
//!
//! A denial is of a cost: who could not pay 10 may well pay 1. Keys carry the policy's version, so
//! a new policy is not bound by the denials of the old one. A record that had to give way to
//! others only means that the store is asked once more.

use crate::shared::{Record, SharedData, Table};
use weir_policy::compile::MAX_DEADLINE_MS;

/// The longest that a denial is remembered, in milliseconds.
pub const MOST_DENIED_MS: u64 = 250;

/// How long after a denial has run out its key still counts as flooded, in milliseconds.
const RECENT_MS: u64 = 1_000;

/// How old this VM's idea of whether there are any denials may be, in milliseconds.
const HORIZON_AGE_MS: u64 = 1;

const SLOTS: u32 = 512;
const HORIZON_KEY: &str = "weir.1.negative.horizon";

/// How many counters are remembered to be absent, for less than a millisecond.
const ABSENT: usize = 256;

const SETS: usize = 512;
const WAYS: usize = 4;

/// How a counter stands, as far as this gateway knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nothing is known: ask.
    Open,
    /// The store has said no; the caller is to wait this long, in milliseconds.
    Denied(u64),
    /// A denial has just run out: ask, once [`NegativeCache::claim`] says so.
    RanOut,
    /// Somebody is asking: wait for what is said.
    BeingAsked,
}

/// The denials.
#[derive(Debug)]
pub struct NegativeCache {
    recent: Vec<Denied>,
    /// Counters that the shared table did not know, and when: a busy tenant is not looked up for each request.
    absent: Vec<(u64, u64)>,
    table: Table,
    /// Until when the shared table can have anything to say, and when that was read.
    horizon: (u64, u64),
}

/// One denial: all times are milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, Default)]
struct Denied {
    fingerprint: u64,
    /// Until when it is denied here.
    until_ms: u64,
    /// When the store would admit again.
    admits_at_ms: u64,
    /// What was denied; cheaper requests may pass.
    cost: u64,
    /// Until when somebody is asking.
    asked_until_ms: u64,
}

impl Default for NegativeCache {
    fn default() -> Self {
        Self {
            recent: vec![Denied::default(); SETS.saturating_mul(WAYS)],
            absent: vec![(0, 0); ABSENT],
            table: Table::new("negative", SLOTS),
            horizon: (0, 0),
        }
    }
}

impl NegativeCache {
    /// Makes the shared table, before the first request.
    pub fn prepare(&self, shared: &dyn SharedData) {
        self.table.prepare(shared);
        if shared.get(HORIZON_KEY).is_none() {
            let _ = shared.set(HORIZON_KEY, &0_u64.to_le_bytes(), None);
        }
    }

    /// How long the counter is denied to a request of `cost`, as far as this VM knows by itself: no host call.
    pub fn recalled(&mut self, fingerprint: u64, cost: u64, now_ms: u64) -> Option<u64> {
        match self.recall(fingerprint)?.standing(cost, now_ms) {
            Standing::Denied(retry_ms) => Some(retry_ms),
            Standing::Open | Standing::RanOut | Standing::BeingAsked => None,
        }
    }

    /// How the counter stands for a request of `cost`, as far as any worker knows.
    pub fn standing(&mut self, shared: &dyn SharedData, fingerprint: u64, cost: u64, now_ms: u64) -> Standing {
        if let Some(retry_ms) = self.recalled(fingerprint, cost, now_ms) {
            return Standing::Denied(retry_ms);
        }
        if now_ms >= self.horizon(shared, now_ms) || self.is_absent(fingerprint, now_ms) {
            return Standing::Open;
        }
        let Some(denied) = self.table.read(shared, fingerprint).map(Denied::from_record) else {
            self.remember_absent(fingerprint, now_ms);
            return Standing::Open;
        };
        let standing = denied.standing(cost, now_ms);
        if let Standing::Denied(_) = standing {
            self.remember(denied, now_ms);
        }
        standing
    }

    /// Whether the caller is the one to ask about a counter whose denial [ran out](Standing::RanOut); for
    /// `lease_ms` nobody else is.
    pub fn claim(&self, shared: &dyn SharedData, fingerprint: u64, cost: u64, lease_ms: u64, now_ms: u64) -> bool {
        let claimed = self.table.update(shared, fingerprint, |record| match record.map(Denied::from_record) {
            Some(denied) if denied.standing(cost, now_ms) == Standing::RanOut => {
                let denied = Denied { asked_until_ms: now_ms.saturating_add(lease_ms), ..denied };
                (Some(denied.into_record()), true)
            }
            // Gone meanwhile: nothing is known, so anybody may ask.
            None => (None, true),
            Some(denied) => (None, denied.standing(cost, now_ms) == Standing::Open),
        });
        claimed.unwrap_or(false)
    }

    /// Remembers that the store denied `cost` and would admit it in `wait_ms`.
    pub fn deny(&mut self, shared: &dyn SharedData, fingerprint: u64, cost: u64, wait_ms: u64, now_ms: u64) {
        let until_ms = now_ms.saturating_add(wait_ms.min(MOST_DENIED_MS));
        let denied = Denied { fingerprint, until_ms, admits_at_ms: now_ms.saturating_add(wait_ms), cost, asked_until_ms: 0 };
        let kept = self.table.update(shared, fingerprint, |record| match record.map(Denied::from_record) {
            // What denies a cheaper request denies this one too.
            Some(known) if known.cost < cost && known.until_ms > now_ms => (None, known),
            _ => (Some(denied.into_record()), denied),
        });
        // Too contended to share: this VM still remembers. (It also goes before what is remembered to be absent.)
        self.remember(kept.unwrap_or(denied), now_ms);
        self.raise_horizon(shared, until_ms.saturating_add(RECENT_MS));
    }

    /// Forgets a counter that was asked about: it admits again, or nobody could say. Whoever is parked then asks.
    pub fn clear(&mut self, shared: &dyn SharedData, fingerprint: u64) {
        let _ = self.table.update(shared, fingerprint, |record| {
            (record.map(|record| Denied { asked_until_ms: 0, until_ms: 0, ..Denied::from_record(record) }.into_record()), ())
        });
        if let Some(denied) = self.set(fingerprint).iter_mut().find(|denied| denied.fingerprint == fingerprint) {
            *denied = Denied::default();
        }
    }

    fn is_absent(&self, fingerprint: u64, now_ms: u64) -> bool {
        self.absent.get(absent_place(fingerprint)) == Some(&(fingerprint, now_ms))
    }

    fn remember_absent(&mut self, fingerprint: u64, now_ms: u64) {
        if let Some(place) = self.absent.get_mut(absent_place(fingerprint)) {
            *place = (fingerprint, now_ms);
        }
    }

    fn horizon(&mut self, shared: &dyn SharedData, now_ms: u64) -> u64 {
        let (horizon_ms, read_ms) = self.horizon;
        if now_ms.abs_diff(read_ms) < HORIZON_AGE_MS {
            return horizon_ms;
        }
        let horizon_ms = shared.get(HORIZON_KEY).and_then(|(bytes, _)| word(&bytes)).unwrap_or(0);
        self.horizon = (horizon_ms, now_ms);
        horizon_ms
    }

    fn raise_horizon(&mut self, shared: &dyn SharedData, horizon_ms: u64) {
        let Some((bytes, version)) = shared.get(HORIZON_KEY) else { return };
        if word(&bytes).is_none_or(|known| known < horizon_ms) {
            // Lost to another worker: its horizon is about as far, and this VM knows its own.
            let _ = shared.set(HORIZON_KEY, &horizon_ms.to_le_bytes(), Some(version));
        }
        self.horizon.0 = self.horizon.0.max(horizon_ms);
    }

    fn recall(&mut self, fingerprint: u64) -> Option<Denied> {
        self.set(fingerprint).iter().find(|denied| denied.fingerprint == fingerprint).copied()
    }

    fn remember(&mut self, denied: Denied, now_ms: u64) {
        let set = self.set(denied.fingerprint);
        let place = set
            .iter()
            .position(|known| known.fingerprint == denied.fingerprint)
            .or_else(|| set.iter().enumerate().min_by_key(|(_, known)| known.until_ms.max(now_ms)).map(|(place, _)| place));
        if let Some(slot) = place.and_then(|place| set.get_mut(place)) {
            *slot = denied;
        }
    }

    fn set(&mut self, fingerprint: u64) -> &mut [Denied] {
        // The upper half picks the set: the lower one picks the shared table's slot.
        let set = usize::try_from(fingerprint >> 32).unwrap_or(0) % SETS;
        let start = set.saturating_mul(WAYS);
        self.recent.get_mut(start..start.saturating_add(WAYS)).unwrap_or_default()
    }
}

impl Denied {
    fn standing(&self, cost: u64, now_ms: u64) -> Standing {
        if cost < self.cost || self.until_ms == 0 {
            return Standing::Open;
        }
        // A clock that was set back would make a denial last: none is ever longer than the bound.
        if self.until_ms > now_ms && self.until_ms.saturating_sub(now_ms) <= MOST_DENIED_MS {
            return Standing::Denied(self.admits_at_ms.saturating_sub(now_ms));
        }
        // Nobody asks longer than a deadline; a clock that was set back would make it seem so.
        if self.asked_until_ms > now_ms && self.asked_until_ms.saturating_sub(now_ms) <= MAX_DEADLINE_MS {
            return Standing::BeingAsked;
        }
        if now_ms.abs_diff(self.until_ms) < RECENT_MS { Standing::RanOut } else { Standing::Open }
    }

    fn from_record(record: Record) -> Self {
        let Record { fingerprint, stamp, words: [admits_at_ms, cost, asked_until_ms] } = record;
        Self { fingerprint, until_ms: stamp, admits_at_ms, cost, asked_until_ms }
    }

    fn into_record(self) -> Record {
        let Self { fingerprint, until_ms, admits_at_ms, cost, asked_until_ms } = self;
        Record { fingerprint, stamp: until_ms, words: [admits_at_ms, cost, asked_until_ms] }
    }
}

fn absent_place(fingerprint: u64) -> usize {
    usize::try_from(fingerprint >> 32).unwrap_or(0) % ABSENT
}

fn word(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_le_bytes)
}
