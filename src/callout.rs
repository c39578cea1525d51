//! Asking the authority: many requests, few callouts.
//!
//! | module | concept |
//! |---|---|
//! | [`outbox`] | checks that wait to be sent, coalesced, and those under way |
//! | [`batch`] | checks ↔ the messages of [`weir_wire`] |
//! | [`outcome`] | what came of a request's check |
//!
//! Everything that arrives in one turn of the event loop leaves in one callout, dispatched from the root
//! context: a callout made in a stream's callback dies with that stream. Equal checks become one with a
//! number of hits. A waiter is answered by its check's id, or by its deadline, whichever comes first.

pub mod batch;
pub mod outbox;
pub mod outcome;

pub use outbox::{Outbox, PendingCheck, Waiter};
pub use outcome::{Denial, Outcome, Undecided};
