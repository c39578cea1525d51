//! Requests through the filter's engine, with a host, a clock and an authority made of paper.
#![expect(unreachable_pub, reason = "a test binary has no outside")]

#[path = "flow/world.rs"]
mod world;

#[path = "flow/answers.rs"]
mod answers;
#[path = "flow/batching.rs"]
mod batching;
#[path = "flow/denials.rs"]
mod denials;
#[path = "flow/fallback.rs"]
mod fallback;
#[path = "flow/flood.rs"]
mod flood;
#[path = "flow/identities.rs"]
mod identities;
#[path = "flow/local_kinds.rs"]
mod local_kinds;
#[path = "flow/queues.rs"]
mod queues;
#[path = "flow/routes.rs"]
mod routes;
#[path = "flow/watching.rs"]
mod watching;
