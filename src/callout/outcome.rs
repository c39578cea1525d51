//! What came of a request's check.

use std::rc::Rc;
use weir_wire::{Failure, Quota};

/// What came of a request's check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The store admitted it.
    Admitted {
        /// How each of its rules stands after the batch.
        quotas: Rc<[Quota]>,
        /// In how many milliseconds its turn comes.
        delay_ms: u64,
    },
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
    /// How long that one must be waited for, in milliseconds.
    pub wait_ms: u64,
    /// Index of the charge that must be waited for longest.
    pub longest: usize,
    /// And how long, in milliseconds: before that the request cannot pass.
    pub retry_ms: u64,
    /// How each of its rules stands; empty when the denial was remembered, not asked for.
    pub quotas: Rc<[Quota]>,
}

/// Why nobody decided. A charge may have happened unless the variant says otherwise; it is never refunded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Undecided {
    /// Too many requests wait already. Nothing was charged.
    QueueFull,
    /// The callout could not be made: no such cluster, no healthy host, a circuit breaker. Nothing was charged.
    NotSent,
    /// The store is not there. Nothing was charged.
    StoreUnavailable,
    /// The store has no room for another subject. Nothing was charged.
    StoreFull,
    /// The store did not answer the authority.
    StoreUnknown,
    /// No answer from the authority: refused or reset, or the proxy answered in its place.
    AuthorityUnreachable,
    /// No answer within the policy's deadline.
    DeadlineExceeded,
    /// An answer that is none: not the authority's, not complete, or not understood.
    AnswerMalformed,
    /// The authority refused the batch as malformed. Nothing was charged.
    BatchRefused,
}

impl Denial {
    /// From the wait of each charge, in their order; `None` when none of them denies.
    #[must_use]
    pub fn of(waits_ms: impl Iterator<Item = u64>, quotas: Rc<[Quota]>) -> Option<Self> {
        let mut waits = waits_ms.enumerate().filter(|(_, wait_ms)| *wait_ms > 0);
        let (charge, wait_ms) = waits.next()?;
        let (longest, retry_ms) = waits.fold((charge, wait_ms), |known, next| if next.1 > known.1 { next } else { known });
        Some(Self { charge, wait_ms, longest, retry_ms, quotas })
    }

    /// Whether the store spoke it a moment ago, to another request.
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
