//! Some of the counters, with the order in which they expire.
//!
//! The queue holds one record per counter. A write moves the counter's expiry but not its record; the
//! record is put right when it comes to the front. So a write costs no queue operation, the queue is
//! never longer than the map, and a sweep looks at a bounded number of records.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use weir_limit::State;

/// See the module.
#[derive(Default)]
pub(super) struct Shard {
    counters: HashMap<Arc<str>, Counter>,
    expiries: BinaryHeap<Reverse<(u64, Arc<str>)>>,
}

struct Counter {
    state: State,
    expires_ms: u64,
}

impl Shard {
    /// An expired state says the same as none, so it may be returned; see [`weir_limit::Limit::ttl_ms`].
    pub(super) fn get(&self, key: &str) -> Option<State> {
        self.counters.get(key).map(|counter| counter.state.clone())
    }

    pub(super) fn set(&mut self, key: &str, state: State, expires_ms: u64) {
        if let Some(counter) = self.counters.get_mut(key) {
            *counter = Counter { state, expires_ms };
            return;
        }
        let key: Arc<str> = key.into();
        self.expiries.push(Reverse((expires_ms, Arc::clone(&key))));
        self.counters.insert(key, Counter { state, expires_ms });
    }

    /// Drops expired counters, looking at no more than `looks` of them; how many were dropped.
    pub(super) fn sweep(&mut self, now_ms: u64, looks: usize) -> usize {
        let mut dropped = 0;
        for _ in 0..looks {
            let Some(first) = self.expiries.peek_mut().filter(|first| first.0.0 <= now_ms) else { break };
            let Reverse((recorded_ms, key)) = PeekMut::pop(first);
            match self.counters.get(&key).map(|counter| counter.expires_ms) {
                // A clock that was set back can have moved an expiry before its record: later than due is harmless.
                Some(expires_ms) if expires_ms > now_ms => self.expiries.push(Reverse((expires_ms.max(recorded_ms), key))),
                _ => {
                    self.counters.remove(&key);
                    dropped += 1;
                }
            }
        }
        dropped
    }
}
