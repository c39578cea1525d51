//! What the filter and the authority say to each other, and how the store's keys are spelled.
//!
//! | module | concept |
//! |---|---|
//! | [`decide`] | `POST /v1/decide`: a batch of checks, an answer for each |
//! | [`subject`] | whom a rule counts: a tenant, a principal, an address |
//! | [`key`] | the store's key of a rule and a subject |
//! | [`numbers`] | a limit's numbers as they are sent |
//!
//! A check carries resolved numbers, so the authority needs no policy to decide, and one decision uses
//! exactly one policy snapshot. All types refuse unknown fields: the version says which are known.

pub mod decide;
pub mod key;
pub mod numbers;
pub mod subject;

pub use decide::{Answer, ChargeRef, Check, DecideRequest, DecideResponse, Failure, Outcome, Quota, RuleLimit, Verdict};
pub use numbers::Numbers;
pub use subject::{Principal, Subject, Tag};

/// The version of these messages. A peer that speaks another one is told so, and decides nothing.
pub const VERSION: u32 = 1;

/// Where a batch is posted.
pub const DECIDE_PATH: &str = "/v1/decide";

/// The header that marks an answer as the authority's own: Envoy makes 503 and 504 of its own that look alike.
pub const ANSWER_MARK: &str = "x-weir-authority";

/// The largest body of a batch, in bytes, that the authority reads.
pub const MAX_BODY_BYTES: usize = 1024 * 1024;

/// The most checks in a batch.
pub const MAX_CHECKS: usize = 64;

/// The most rules in one check.
pub const MAX_CHARGES: usize = 16;

/// The most limits that a batch may list: as many as its checks could have charges.
pub const MAX_LIMITS: usize = MAX_CHECKS * MAX_CHARGES;

/// The most equal requests that one check may stand for; it may also stand for none and only ask.
pub const MAX_HITS: u32 = 64;

/// The longest part of a subject, in bytes.
pub const MAX_SUBJECT_BYTES: usize = 256;

/// The longest name of a rule, in bytes.
pub const MAX_NAME_BYTES: usize = 64;

/// Whether `name` can stand in a store's key, a header and a metric as it is: letters, digits, `_` and `-`.
#[must_use]
pub fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}
