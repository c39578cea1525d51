//! `POST /v1/decide`: a batch of checks, an answer for each.
//!
//! Checks of a batch mostly share their rules, so the limits are listed once and checks point at them.
//!
//! ```json
//! {"version":1,
//!  "limits":[{"rule":"P-READ","numbers":{"token_bucket":{"capacity":20,"refill":2,"period_ms":1000}}}],
//!  "checks":[{"id":7,"hits":1,"tag":{"tenant":"atlas"},
//!             "charges":[{"limit":0,"subject":{"principal":{"jwt":"U-17"}},"cost":1}]}]}
//! ```
//! ```json
//! {"version":1,
//!  "answers":[{"id":7,"outcome":{"verdict":{"admitted":1,"quotas":[{"remaining":19,"reset_ms":500}]}}}]}
//! ```

use crate::numbers::Numbers;
use crate::subject::{Subject, Tag};
use serde::{Deserialize, Serialize};
use weir_limit::Denial;

/// A batch of checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecideRequest {
    /// [`crate::VERSION`].
    pub version: u32,
    /// The limits that the checks point at, at most [`crate::MAX_LIMITS`].
    pub limits: Vec<RuleLimit>,
    /// What is to be decided, each on its own, at most [`crate::MAX_CHECKS`].
    pub checks: Vec<Check>,
}

/// A rule's name with its numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleLimit {
    /// See [`crate::is_name`].
    pub rule: String,
    /// The algorithm and its numbers.
    pub numbers: Numbers,
}

/// Equal requests to be decided together: all their rules are charged, or none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Unique within the batch; the answer carries it.
    pub id: u32,
    /// How many equal requests this stands for, at most [`crate::MAX_HITS`]; 0 asks how things stand and charges nothing.
    pub hits: u32,
    /// What all its buckets have in common.
    pub tag: Tag,
    /// The rules to charge, in the policy's order; 1 to [`crate::MAX_CHARGES`].
    pub charges: Vec<ChargeRef>,
}

/// One rule to charge.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChargeRef {
    /// Index into [`DecideRequest::limits`].
    pub limit: u32,
    /// Who is counted under the tag.
    #[serde(default, skip_serializing_if = "Subject::is_whole")]
    pub subject: Subject,
    /// Units per hit: at least 1, at most the limit's capacity.
    pub cost: u64,
    /// Whether the rule only watches; see [`weir_limit::Charge::shadow`].
    #[serde(default, skip_serializing_if = "is_false")]
    pub shadow: bool,
}

/// The answers to a batch, in any order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecideResponse {
    /// [`crate::VERSION`].
    pub version: u32,
    /// One for each check.
    pub answers: Vec<Answer>,
}

/// What became of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The check's id.
    pub id: u32,
    /// Decided, or not.
    pub outcome: Outcome,
}

/// Decided, or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Outcome {
    /// The store decided.
    Verdict(Verdict),
    /// The store could not decide.
    Failure(Failure),
}

/// What was decided; see [`weir_limit::Verdict`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// How many of the hits pass; the first ones.
    pub admitted: u32,
    /// In how many milliseconds the turn of the last of them comes; absent when it is now.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub delay_ms: u64,
    /// How each charge stands after that, in their order.
    pub quotas: Vec<Quota>,
}

/// How one rule stands after a decision; see [`weir_limit::Quota`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// Whole units left.
    pub remaining: u64,
    /// Milliseconds until the whole capacity is there again.
    pub reset_ms: u64,
    /// Milliseconds until there is room for one more hit; absent when there is now.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub wait_ms: u64,
    /// How many of the admitted hits a rule that only watches would have denied; absent when none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shadow_denied: u64,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Verdict {
    /// What the next hit would be denied by; `None` when it would pass.
    #[must_use]
    pub fn denial(&self) -> Option<Denial> {
        Denial::of(self.quotas.iter().map(|quota| quota.wait_ms))
    }
}

/// Why the store could not decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The store is not there, and nothing was charged.
    Unavailable,
    /// No answer came back: the charge may have happened, and is never refunded.
    Unknown,
    /// The store has no room for another subject; nothing was charged.
    Full,
}

impl From<weir_limit::Verdict> for Verdict {
    fn from(verdict: weir_limit::Verdict) -> Self {
        Self {
            admitted: u32::try_from(verdict.admitted).unwrap_or(u32::MAX),
            delay_ms: verdict.delay_ms,
            quotas: verdict
                .quotas
                .into_iter()
                .map(|quota| Quota {
                    remaining: quota.remaining,
                    reset_ms: quota.reset_ms,
                    wait_ms: quota.wait_ms,
                    shadow_denied: quota.shadow_denied,
                })
                .collect(),
        }
    }
}
