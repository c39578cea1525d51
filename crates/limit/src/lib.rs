//! How Weir counts: integer arithmetic, with the time as an argument.
//!
//! | module | concept |
//! |---|---|
//! | [`fixed_window`] | a count that starts again at multiples of the window, or with the month |
//! | [`sliding_window`] | two counts, from which the last window's length is estimated |
//! | [`sliding_log`] | every admission of the last window's length |
//! | [`token_bucket`] | a bucket that refills at a steady rate, kept in millitokens; as a meter, the leaky bucket |
//! | [`gcra`] | the same decisions from one timestamp |
//! | [`leaky_queue`] | what comes too early is delayed |
//! | [`rate`], [`calendar`] | reduced fractions; months in UTC |
//! | [`limit`] | any of them, behind one set of questions |
//! | [`decide`] | several limits decided together: all are charged, or none |
//!
//! Nothing here reads a clock, allocates in proportion to traffic, or uses a float. The authority's
//! memory store, the filter's local buckets and the tests of the Lua script all call this crate, so a
//! limit means the same wherever it is counted.
//!
//! Every product of two quantities stays at or below [`MAX_EXACT`], because the Lua script does the
//! same arithmetic in doubles: what a double cannot hold exactly is refused when a limit is made.

pub mod calendar;
pub mod decide;
pub mod fixed_window;
pub mod gcra;
pub mod leaky_queue;
pub mod limit;
pub mod rate;
pub mod sliding_log;
pub mod sliding_window;
pub mod token_bucket;

pub use decide::{Charge, Denial, Quota, Verdict, decide};
pub use fixed_window::{FixedWindow, Window};
pub use gcra::Gcra;
pub use leaky_queue::LeakyQueue;
pub use limit::{Limit, LimitError, State};
pub use rate::Rate;
pub use sliding_log::SlidingLog;
pub use sliding_window::SlidingWindow;
pub use token_bucket::TokenBucket;

/// The largest integer that every part of Weir can hold exactly: 2^53, where doubles (Lua, JSON) begin to skip.
pub const MAX_EXACT: u64 = 1 << 53;

/// The longest window or refill period, in milliseconds: 366 days.
pub const MAX_PERIOD_MS: u64 = 366 * 24 * 60 * 60 * 1000;

/// How long a store keeps a state after it has stopped to matter, in milliseconds.
///
/// It covers the clock of a store that jumps back a little; beyond it the state would be a fresh one anyway.
pub const TTL_SLACK_MS: u64 = 1_000;
