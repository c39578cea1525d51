//! The authority: the one place that counts, so that any number of gateways share one limit.
//!
//! | module | concept |
//! |---|---|
//! | [`batch`] | a request's checks, validated: what the stores take |
//! | [`store`] | where counts live: [`store::memory`] for one node, [`store::redis`] for a fleet |
//! | [`api`] | the endpoints, one per file |
//! | [`server`] | connections: HTTP/1.1 and h2c on one port, graceful shutdown |
//! | [`metrics`] | what is counted about the authority itself |
//! | [`clock`] | the time, as an argument |
//!
//! A check carries resolved numbers, so the authority knows no policy and keeps no state of its own
//! beside the store: any number of them may serve one Redis.

pub mod api;
pub mod batch;
pub mod clock;
pub mod metrics;
pub mod server;
pub mod store;

pub use batch::{Check, DecideBatch, Mistake};
pub use clock::{Clock, SystemClock};
pub use server::run;
pub use store::{Store, StoreError, Target};
