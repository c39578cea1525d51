//! Any algorithm, behind one set of questions.
//!
//! A [`Limit`] is the rule's numbers, a [`State`] what a store remembers of one subject. Stores hold
//! `Option<State>`: nothing remembered is a subject that has spent nothing, so forgetting a state that
//! has run out changes no decision, and every state can carry a TTL ([`Limit::ttl_ms`]).
//!
//! A state that belongs to another algorithm (the policy changed) counts as none: the rule starts clean.

use crate::{
    FixedWindow, Gcra, LeakyQueue, SlidingLog, SlidingWindow, TokenBucket, fixed_window, gcra, sliding_log, sliding_window,
    token_bucket,
};

/// Why numbers do not make a limit. The variant carries the number that decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// A limit, capacity or refill of zero admits nothing, ever.
    #[error("{what} must be at least 1")]
    Zero {
        /// The number's name, as the policy spells it.
        what: &'static str,
    },
    /// A window or period outside 1 ms to 366 days.
    #[error("{what} of {ms} ms is not between 1 ms and 366 days")]
    Period {
        /// The number's name, as the policy spells it.
        what: &'static str,
        /// What was asked for, in milliseconds.
        ms: u64,
    },
    /// A log with more entries than are read and written whole.
    #[error("limit of {limit} is more than a log keeps ({}); use a sliding_window", crate::sliding_log::MOST_ENTRIES)]
    TooManyEntries {
        /// What was asked for.
        limit: u64,
    },
    /// Numbers whose products a double cannot hold exactly.
    #[error("{what} is too large to be counted exactly (beyond 2^53)")]
    TooLarge {
        /// The number's name, as the policy spells it.
        what: &'static str,
    },
}

/// A rule's algorithm with its numbers, checked: it can be counted exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// See [`FixedWindow`].
    FixedWindow(FixedWindow),
    /// See [`SlidingWindow`].
    SlidingWindow(SlidingWindow),
    /// See [`SlidingLog`].
    SlidingLog(SlidingLog),
    /// See [`TokenBucket`].
    TokenBucket(TokenBucket),
    /// See [`Gcra`].
    Gcra(Gcra),
    /// See [`LeakyQueue`].
    LeakyQueue(LeakyQueue),
}

/// What a store remembers of one subject under one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Of a [`FixedWindow`].
    FixedWindow(fixed_window::State),
    /// Of a [`SlidingWindow`].
    SlidingWindow(sliding_window::State),
    /// Of a [`SlidingLog`].
    SlidingLog(sliding_log::State),
    /// Of a [`TokenBucket`].
    TokenBucket(token_bucket::State),
    /// Of a [`Gcra`] or a [`LeakyQueue`]: both keep the same timestamps.
    Tat(gcra::State),
}

impl Limit {
    /// The largest cost that this limit could ever admit at once.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        match self {
            Self::FixedWindow(window) => window.limit(),
            Self::SlidingWindow(window) => window.limit(),
            Self::SlidingLog(log) => log.limit(),
            Self::TokenBucket(bucket) => bucket.capacity(),
            Self::Gcra(gcra) => gcra.burst(),
            Self::LeakyQueue(queue) => queue.turns().burst(),
        }
    }

    /// Over how many milliseconds the capacity is meant: the window, or the time that all of it takes to come back.
    #[must_use]
    pub fn period_ms(&self) -> u64 {
        match self {
            Self::FixedWindow(window) => window.window().longest_ms(),
            Self::SlidingWindow(window) => window.window_ms(),
            Self::SlidingLog(log) => log.window_ms(),
            Self::TokenBucket(bucket) => bucket.time_to_full_ms(),
            Self::Gcra(gcra) => gcra.time_to_full_ms(),
            Self::LeakyQueue(queue) => queue.turns().time_to_full_ms(),
        }
    }

    /// What is left of `state` at `now_ms` (milliseconds since the Unix epoch): refilled, rolled over, or fresh.
    #[must_use]
    pub fn at(&self, state: Option<State>, now_ms: u64) -> State {
        match (self, state) {
            (Self::FixedWindow(window), Some(State::FixedWindow(state))) => State::FixedWindow(window.at(state, now_ms)),
            (Self::FixedWindow(window), _) => State::FixedWindow(window.fresh(now_ms)),
            (Self::SlidingWindow(window), Some(State::SlidingWindow(state))) => State::SlidingWindow(window.at(state, now_ms)),
            (Self::SlidingWindow(window), _) => State::SlidingWindow(window.fresh(now_ms)),
            (Self::SlidingLog(log), Some(State::SlidingLog(state))) => State::SlidingLog(log.at(state, now_ms)),
            (Self::SlidingLog(_), _) => State::SlidingLog(sliding_log::State::default()),
            (Self::TokenBucket(bucket), Some(State::TokenBucket(state))) => State::TokenBucket(bucket.at(state, now_ms)),
            (Self::TokenBucket(bucket), _) => State::TokenBucket(bucket.fresh(now_ms)),
            (Self::Gcra(gcra), Some(State::Tat(state))) => State::Tat(gcra.at(state, now_ms)),
            (Self::LeakyQueue(queue), Some(State::Tat(state))) => State::Tat(queue.turns().at(state, now_ms)),
            (Self::Gcra(_) | Self::LeakyQueue(_), _) => State::Tat(Gcra::fresh(now_ms)),
        }
    }

    /// Whole units that a `state` made current by [`Limit::at`] could still spend.
    #[must_use]
    pub fn remaining(&self, state: &State, now_ms: u64) -> u64 {
        match (self, state) {
            (Self::FixedWindow(window), State::FixedWindow(state)) => window.remaining(state),
            (Self::SlidingWindow(window), State::SlidingWindow(state)) => window.remaining(state, now_ms),
            (Self::SlidingLog(log), State::SlidingLog(state)) => log.remaining(state),
            (Self::TokenBucket(bucket), State::TokenBucket(state)) => bucket.remaining(state),
            (Self::Gcra(gcra), State::Tat(state)) => gcra.remaining(state),
            (Self::LeakyQueue(queue), State::Tat(state)) => queue.turns().remaining(state),
            _ => self.capacity(),
        }
    }

    /// `state` with `units` spent. The caller has made sure that they are there.
    #[must_use]
    pub fn spend(&self, state: State, units: u64, now_ms: u64) -> State {
        match (self, state) {
            (Self::FixedWindow(_), State::FixedWindow(state)) => State::FixedWindow(state.spend(units)),
            (Self::SlidingWindow(_), State::SlidingWindow(state)) => State::SlidingWindow(state.spend(units)),
            (Self::SlidingLog(_), State::SlidingLog(state)) => State::SlidingLog(state.spend(units, now_ms)),
            (Self::TokenBucket(_), State::TokenBucket(state)) => State::TokenBucket(state.spend(units)),
            (Self::Gcra(gcra), State::Tat(state)) => State::Tat(gcra.spend(state, units)),
            (Self::LeakyQueue(queue), State::Tat(state)) => State::Tat(queue.turns().spend(state, units)),
            (_, state) => state,
        }
    }

    /// Milliseconds until `cost` units could be spent, if nobody else spends; 0 when they can be now.
    #[must_use]
    pub fn wait_ms(&self, state: &State, cost: u64, now_ms: u64) -> u64 {
        match (self, state) {
            (Self::FixedWindow(window), State::FixedWindow(state)) => window.wait_ms(state, cost, now_ms),
            (Self::SlidingWindow(window), State::SlidingWindow(state)) => window.wait_ms(state, cost, now_ms),
            (Self::SlidingLog(log), State::SlidingLog(state)) => log.wait_ms(state, cost, now_ms),
            (Self::TokenBucket(bucket), State::TokenBucket(state)) => bucket.wait_ms(state, cost),
            (Self::Gcra(gcra), State::Tat(state)) => gcra.wait_ms(state, cost),
            (Self::LeakyQueue(queue), State::Tat(state)) => queue.turns().wait_ms(state, cost),
            _ => 0,
        }
    }

    /// Milliseconds until the subject has its whole capacity again, if nobody spends.
    #[must_use]
    pub fn reset_ms(&self, state: &State, now_ms: u64) -> u64 {
        match (self, state) {
            (Self::FixedWindow(window), State::FixedWindow(state)) => window.reset_ms(state, now_ms),
            (Self::SlidingWindow(window), State::SlidingWindow(state)) => window.reset_ms(state, now_ms),
            (Self::SlidingLog(log), State::SlidingLog(state)) => log.reset_ms(state, now_ms),
            (Self::TokenBucket(bucket), State::TokenBucket(state)) => bucket.reset_ms(state),
            (Self::Gcra(gcra), State::Tat(state)) => gcra.reset_ms(state),
            (Self::LeakyQueue(queue), State::Tat(state)) => queue.turns().reset_ms(state),
            _ => 0,
        }
    }

    /// In how many milliseconds the turn of the last `cost` units of `state` comes; 0 for all that do not delay.
    #[must_use]
    pub fn delay_ms(&self, state: &State, cost: u64) -> u64 {
        match (self, state) {
            (Self::LeakyQueue(queue), State::Tat(state)) => queue.delay_ms(state, cost),
            _ => 0,
        }
    }

    /// How long a store must keep `state`, in milliseconds: until it equals a fresh one, and a little slack.
    #[must_use]
    pub fn ttl_ms(&self, state: &State, now_ms: u64) -> u64 {
        self.reset_ms(state, now_ms).saturating_add(crate::TTL_SLACK_MS)
    }
}

pub(crate) fn period(what: &'static str, ms: u64) -> Result<u64, LimitError> {
    if (1..=crate::MAX_PERIOD_MS).contains(&ms) { Ok(ms) } else { Err(LimitError::Period { what, ms }) }
}

pub(crate) fn positive(what: &'static str, number: u64) -> Result<u64, LimitError> {
    match number {
        0 => Err(LimitError::Zero { what }),
        1..=crate::MAX_EXACT => Ok(number),
        _ => Err(LimitError::TooLarge { what }),
    }
}

/// A number whose sums with its like a double holds exactly.
pub(crate) fn countable(what: &'static str, number: Option<u64>) -> Result<u64, LimitError> {
    number.filter(|number| *number <= crate::MAX_EXACT / 2).ok_or(LimitError::TooLarge { what })
}
