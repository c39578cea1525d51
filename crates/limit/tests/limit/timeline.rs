//! Timelines: a table of decisions, one a row, about one subject under one limit.

use weir_limit::{Charge, FixedWindow, Gcra, LeakyQueue, Limit, SlidingLog, SlidingWindow, State, TokenBucket, Verdict, decide};

/// `capacity` tokens, `refill` back every `period_ms`.
pub(crate) fn bucket(capacity: u64, refill: u64, period_ms: u64) -> Limit {
    Limit::TokenBucket(TokenBucket::new(capacity, refill, period_ms).expect("a bucket that can be counted"))
}

/// `limit` units in each `window_ms`.
pub(crate) fn window(limit: u64, window_ms: u64) -> Limit {
    Limit::FixedWindow(FixedWindow::new(limit, window_ms).expect("a window that can be counted"))
}

/// `limit` units in each calendar month.
pub(crate) fn month(limit: u64) -> Limit {
    Limit::FixedWindow(FixedWindow::monthly(limit).expect("a month that can be counted"))
}

/// About `limit` units in any `window_ms`, from two counts.
pub(crate) fn counter(limit: u64, window_ms: u64) -> Limit {
    Limit::SlidingWindow(SlidingWindow::new(limit, window_ms).expect("a window that can be counted"))
}

/// At most `limit` units in any `window_ms`, from a log.
pub(crate) fn log(limit: u64, window_ms: u64) -> Limit {
    Limit::SlidingLog(SlidingLog::new(limit, window_ms).expect("a log that can be kept"))
}

/// Bursts of `burst`, then `refill` every `period_ms`.
pub(crate) fn gcra(burst: u64, refill: u64, period_ms: u64) -> Limit {
    Limit::Gcra(Gcra::new(burst, refill, period_ms).expect("a burst that can be counted"))
}

/// `depth` units that wait at a time, `leak` leave every `period_ms`.
pub(crate) fn queue(depth: u64, leak: u64, period_ms: u64) -> Limit {
    Limit::LeakyQueue(LeakyQueue::new(depth, leak, period_ms).expect("a queue that can be counted"))
}

/// A charge of a rule that denies.
pub(crate) fn enforced(limit: Limit, cost: u64) -> Charge {
    Charge { limit, cost, shadow: false }
}

/// A charge of a rule that only watches.
pub(crate) fn watched(limit: Limit, cost: u64) -> Charge {
    Charge { limit, cost, shadow: true }
}

/// One subject under one limit, and what a store remembers of it.
pub(crate) struct Subject {
    pub(crate) limit: Limit,
    pub(crate) state: Option<State>,
}

impl Subject {
    pub(crate) fn new(limit: Limit) -> Self {
        Self { limit, state: None }
    }

    pub(crate) fn decide(&mut self, cost: u64, hits: u64, now_ms: u64) -> Verdict {
        decide(&[enforced(self.limit, cost)], std::slice::from_mut(&mut self.state), hits, now_ms)
    }

    /// How many of `hits` pass at a cost of 1.
    pub(crate) fn admits(&mut self, hits: u64, now_ms: u64) -> u64 {
        self.decide(1, hits, now_ms).admitted
    }

    /// Plays the rows of `table`: `now_ms cost hits | admitted remaining retry_ms`, the last 0 when one more
    /// hit would pass. What does not begin with a digit is a heading.
    pub(crate) fn plays(&mut self, table: &str) {
        for row in table.lines().map(str::trim).filter(|line| line.starts_with(|first: char| first.is_ascii_digit())) {
            let numbers: Vec<u64> = row
                .split([' ', '|'])
                .filter(|word| !word.is_empty())
                .map(|word| word.replace('_', "").parse().expect("a number"))
                .collect();
            let [now_ms, cost, hits, expected @ ..] = numbers.as_slice() else { panic!("six numbers, not `{row}`") };
            let verdict = self.decide(*cost, *hits, *now_ms);
            let seen = [verdict.admitted, verdict.quotas[0].remaining, verdict.denial().map_or(0, |denial| denial.retry_ms)];
            assert_eq!(seen, *expected, "[admitted, remaining, retry_ms] in the row `{row}`");
        }
    }
}

/// Plays `table` on a subject that was never seen; see [`Subject::plays`].
pub(crate) fn timeline(limit: Limit, table: &str) {
    Subject::new(limit).plays(table);
}
