//! Any algorithm, behind one set of questions.
//!
//! A [`Limit`] is the rule's numbers, a [`State`] what a store remembers of one subject. Stores hold
//! `Option<State>`: nothing remembered is a subject that has spent nothing, so forgetting a state that
//! has run out changes no decision, and every state can carry a TTL ([`Limit::ttl_ms`]).
//!
//! A state that belongs to another algorithm (the policy changed) counts as none: the rule starts clean.

use crate::{FixedWindow, TokenBucket, fixed_window, token_bucket};

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
    /// See [`TokenBucket`].
    TokenBucket(TokenBucket),
}

/// What a store remembers of one subject under one rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Of a [`FixedWindow`].
    FixedWindow(fixed_window::State),
    /// Of a [`TokenBucket`].
    TokenBucket(token_bucket::State),
}

impl Limit {
    /// The largest cost that this limit could ever admit at once.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        match self {
            Self::FixedWindow(window) => window.limit(),
            Self::TokenBucket(bucket) => bucket.capacity(),
        }
    }

    /// Over how many milliseconds the capacity is meant: the window, or the time an empty bucket takes to fill.
    #[must_use]
    pub fn period_ms(&self) -> u64 {
        match self {
            Self::FixedWindow(window) => window.window_ms(),
            Self::TokenBucket(bucket) => bucket.time_to_full_ms(),
        }
    }

    /// What is left of `state` at `now_ms` (milliseconds since the Unix epoch): refilled, rolled over, or fresh.
    #[must_use]
    pub fn at(&self, state: Option<State>, now_ms: u64) -> State {
        match self {
            Self::FixedWindow(window) => State::FixedWindow(match state {
                Some(State::FixedWindow(state)) => window.at(state, now_ms),
                _ => window.fresh(now_ms),
            }),
            Self::TokenBucket(bucket) => State::TokenBucket(match state {
                Some(State::TokenBucket(state)) => bucket.at(state, now_ms),
                _ => bucket.fresh(now_ms),
            }),
        }
    }

    /// Whole units that a `state` made current by [`Limit::at`] could still spend.
    #[must_use]
    pub fn remaining(&self, state: &State) -> u64 {
        match (self, state) {
            (Self::FixedWindow(window), State::FixedWindow(state)) => window.remaining(state),
            (Self::TokenBucket(bucket), State::TokenBucket(state)) => bucket.remaining(state),
            _ => self.capacity(),
        }
    }

    /// `state` with `units` spent. The caller has made sure that they are there.
    #[must_use]
    pub fn spend(&self, state: State, units: u64) -> State {
        match (self, state) {
            (Self::FixedWindow(_), State::FixedWindow(state)) => State::FixedWindow(state.spend(units)),
            (Self::TokenBucket(_), State::TokenBucket(state)) => State::TokenBucket(state.spend(units)),
            (_, state) => state,
        }
    }

    /// Milliseconds until `cost` units could be spent, if nobody else spends; 0 when they can be now.
    #[must_use]
    pub fn wait_ms(&self, state: &State, cost: u64, now_ms: u64) -> u64 {
        match (self, state) {
            (Self::FixedWindow(window), State::FixedWindow(state)) => window.wait_ms(state, cost, now_ms),
            (Self::TokenBucket(bucket), State::TokenBucket(state)) => bucket.wait_ms(state, cost),
            _ => 0,
        }
    }

    /// Milliseconds until the subject has its whole capacity again, if nobody spends.
    #[must_use]
    pub fn reset_ms(&self, state: &State, now_ms: u64) -> u64 {
        match (self, state) {
            (Self::FixedWindow(window), State::FixedWindow(state)) => window.reset_ms(state, now_ms),
            (Self::TokenBucket(bucket), State::TokenBucket(state)) => bucket.reset_ms(state),
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
