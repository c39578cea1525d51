//! A table of fixed size in the shared data: slots addressed by fingerprint, a few records in each.
//!
//! Memory is `slots × 8 records × 40 bytes` whatever the traffic. When a slot is full, the record that is
//! [`Record::stamp`]ed oldest gives way; what that costs is for the table's user to state. A slot is read
//! and written whole, by compare-and-swap, so two workers never undo each other's change.

use super::{Outdated, SharedData};

/// Records in a slot.
pub const RECORDS_PER_SLOT: usize = 8;

const WORDS: usize = 5;
const WORD_BYTES: usize = 8;
const RECORD_BYTES: usize = WORDS * WORD_BYTES;

/// How often an update is repeated when other workers are faster. Beyond it the update is given up.
const MOST_ATTEMPTS: u32 = 16;

/// One subject's record: whose it is, how recent, and three words for the table's user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Record {
    /// Whose; 0 is nobody's.
    pub fingerprint: u64,
    /// When it was last of use, in milliseconds since the Unix epoch.
    pub stamp: u64,
    /// The user's.
    pub words: [u64; 3],
}

/// A table in the shared data.
#[derive(Debug)]
pub struct Table {
    keys: Vec<String>,
}

impl Table {
    /// A table of `slots` slots (at least one) under keys that begin with `name`.
    #[must_use]
    pub fn new(name: &str, slots: u32) -> Self {
        Self { keys: (0..slots.max(1)).map(|slot| format!("weir.1.{name}.{slot}")).collect() }
    }

    /// Makes the slots that do not exist yet. Before the first request, because the host would let two
    /// workers that both insert a missing key overwrite each other.
    pub fn prepare(&self, shared: &dyn SharedData) {
        for key in self.keys.iter().filter(|key| shared.get(key).is_none()) {
            // Lost to another worker that prepares the same slot: it is there, which is all that matters.
            let _ = shared.set(key, &[], None);
        }
    }

    /// The record of `fingerprint`.
    #[must_use]
    pub fn read(&self, shared: &dyn SharedData, fingerprint: u64) -> Option<Record> {
        let (bytes, _) = shared.get(self.key(fingerprint)?)?;
        parse(&bytes).find(|record| record.fingerprint == fingerprint)
    }

    /// Changes the record of `fingerprint` in one step. `change` is given the record, or nothing, and says
    /// what is to stand there (`None`: leave it as it is) and what to report; it may run several times.
    ///
    /// # Errors
    /// [`Outdated`] when other workers were faster too often, or the table was not prepared.
    pub fn update<T>(
        &self,
        shared: &dyn SharedData,
        fingerprint: u64,
        mut change: impl FnMut(Option<Record>) -> (Option<Record>, T),
    ) -> Result<T, Outdated> {
        let key = self.key(fingerprint).ok_or(Outdated)?;
        for _ in 0..MOST_ATTEMPTS {
            let (bytes, version) = shared.get(key).ok_or(Outdated)?;
            let mut records: Vec<Record> = parse(&bytes).collect();
            let position = records.iter().position(|record| record.fingerprint == fingerprint);
            let (record, report) = change(position.and_then(|position| records.get(position)).copied());
            let Some(record) = record else { return Ok(report) };
            put(&mut records, position, record);
            if shared.set(key, &serialize(&records), Some(version)).is_ok() {
                return Ok(report);
            }
        }
        Err(Outdated)
    }

    fn key(&self, fingerprint: u64) -> Option<&str> {
        let slots = u64::try_from(self.keys.len()).ok()?;
        // The lower half picks the slot; records are told apart by all of it.
        let slot = usize::try_from((fingerprint & u64::from(u32::MAX)).checked_rem(slots)?).ok()?;
        self.keys.get(slot).map(String::as_str)
    }
}

fn put(records: &mut Vec<Record>, position: Option<usize>, record: Record) {
    let place = position.or_else(|| {
        let oldest = || records.iter().enumerate().min_by_key(|(_, record)| record.stamp).map(|(index, _)| index);
        if records.len() < RECORDS_PER_SLOT { None } else { oldest() }
    });
    match place.and_then(|place| records.get_mut(place)) {
        Some(slot) => *slot = record,
        None => records.push(record),
    }
}

/// Shared data may hold anything: what is not whole records is passed over.
fn parse(bytes: &[u8]) -> impl Iterator<Item = Record> + '_ {
    bytes.chunks_exact(RECORD_BYTES).take(RECORDS_PER_SLOT).filter_map(|chunk| {
        let mut words = chunk.chunks_exact(WORD_BYTES).filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?)));
        let record =
            Record { fingerprint: words.next()?, stamp: words.next()?, words: [words.next()?, words.next()?, words.next()?] };
        (record.fingerprint != 0).then_some(record)
    })
}

fn serialize(records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(records.len().saturating_mul(RECORD_BYTES));
    for Record { fingerprint, stamp, words } in records {
        for word in [fingerprint, stamp].into_iter().chain(words) {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }
    bytes
}
