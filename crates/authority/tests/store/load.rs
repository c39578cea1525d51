//! Many that decide at the same time.

use crate::place::until;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::task::JoinSet;
use weir_authority::{DecideBatch, Store};
use weir_wire::{Failure, Outcome};

/// 32 tasks that decide until the rest is done; what became of all their requests.
pub(crate) struct Load {
    tasks: JoinSet<()>,
    stop: Arc<AtomicBool>,
    counters: Arc<Counters>,
}

#[derive(Default)]
struct Counters {
    admitted: AtomicU64,
    denied: AtomicU64,
    unavailable: AtomicU64,
    unknown: AtomicU64,
}

/// What became of requests.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) admitted: u64,
    pub(crate) denied: u64,
    pub(crate) unavailable: u64,
    pub(crate) unknown: u64,
}

impl Load {
    /// A batch of one check of one hit, over all of the stores.
    pub(crate) fn start(stores: &[&Arc<Store>], batch: DecideBatch) -> Self {
        let (stop, counters, batch) = (Arc::new(AtomicBool::new(false)), Arc::new(Counters::default()), Arc::new(batch));
        let mut tasks = JoinSet::new();
        for task in 0..32 {
            let store = Arc::clone(stores[task % stores.len()]);
            let (batch, stop, counters) = (Arc::clone(&batch), Arc::clone(&stop), Arc::clone(&counters));
            tasks.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let counter = match store.decide(&batch).await.remove(0) {
                        Outcome::Verdict(verdict) if verdict.admitted == 1 => &counters.admitted,
                        Outcome::Verdict(_) => &counters.denied,
                        Outcome::Failure(Failure::Unavailable) => &counters.unavailable,
                        Outcome::Failure(_) => &counters.unknown,
                    };
                    counter.fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
            });
        }
        Self { tasks, stop, counters }
    }

    /// Waits for `more` admissions.
    pub(crate) async fn go_on(&self, more: u64) {
        let target = self.counters.admitted.load(Ordering::Relaxed) + more;
        until(|| self.counters.admitted.load(Ordering::Relaxed) >= target).await;
    }

    pub(crate) async fn end(self) -> Tally {
        self.stop.store(true, Ordering::Relaxed);
        self.tasks.join_all().await;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counters { admitted, denied, unavailable, unknown } = &*self.counters;
        Tally { admitted: read(admitted), denied: read(denied), unavailable: read(unavailable), unknown: read(unknown) }
    }
}
