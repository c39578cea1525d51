//! What came of a request's check.

use std::rc::Rc;
use weir_wire::{Failure, Quota};

/// What came of a request's check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The store admitted it; how each of its rules stands after the batch.
    Admitted(Rc<[Quota]>),
    /// The store denied it.
    Denied(Denial),
    /// Nobody decided: the route says what that means.
    Undecided(Undecided),
}

/// A denial by the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// Index of the first charge that denies.
    pub charge: usize,
    /// The longest wait of all that deny, in milliseconds.
    pub retry_ms: u64,
    /// How each of its rules stands; empty when the denial was remembered, not asked for.
    pub quotas: Rc<[Quota]>,
}

/// Why nobody decided. A charge may have happened in all cases but the first four; it is never refunded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Undecided {
    /// Too many requests wait already.
    QueueFull,
    /// The callout could not be made: no such cluster, no healthy host, a circuit breaker.
    NotSent,
    /// The store is not there.
    StoreUnavailable,
    /// The store has no room for another subject.
    StoreFull,
    /// The store did not answer the authority.
    StoreUnknown,
    /// No answer from the authority: refused or reset, or the proxy answered in its place.
    AuthorityUnreachable,
    /// No answer within the policy's deadline.
    DeadlineExceeded,
    /// An answer that is none: not the authority's, not complete, or not understood.
    AnswerMalformed,
    /// The authority refused the batch as malformed.
    BatchRefused,
}

impl Denial {
    /// A denial that the store spoke a moment ago.
    #[must_use]
    pub fn remembered(charge: usize, retry_ms: u64) -> Self {
        Self { charge, retry_ms, quotas: Rc::new([]) }
    }

    /// Whether it was.
    #[must_use]
    pub fn is_remembered(&self) -> bool {
        self.quotas.is_empty()
    }
}

impl Undecided {
    /// As metrics, bodies and response details spell it.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::NotSent => "not_sent",
            Self::StoreUnavailable => "store_unavailable",
            Self::StoreFull => "store_full",
            Self::StoreUnknown => "store_unknown",
            Self::AuthorityUnreachable => "authority_unreachable",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::AnswerMalformed => "answer_malformed",
            Self::BatchRefused => "batch_refused",
        }
    }
}

impl From<Failure> for Undecided {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Unavailable => Self::StoreUnavailable,
            Failure::Unknown => Self::StoreUnknown,
            Failure::Full => Self::StoreFull,
        }
    }
}
