//! Weir's filter: the decisions of one plugin in one Envoy worker.
//!
//! | module | concept |
//! |---|---|
//! | [`config`] | the plugin's configuration, parsed or refused |
//! | [`engine`] | what the streams of one plugin share, and the order of things |
//! | [`flow`] | one request: facts in, [`flow::Step`] out |
//! | [`facts`] | what can be asked about a request |
//! | [`route`], [`identity`] | facts → which route, whose request |
//! | [`negative_cache`] | recent denials, so that a flood is not asked about |
//! | [`local_buckets`] | counters of this gateway alone: local rules, fallback and its cap |
//! | [`shared`] | fixed tables in the data that Envoy's workers share |
//! | [`callout`] | the batch: queue, coalesce, send, match answers by id, deadline |
//! | [`settle`] | the response phase: failed authentications are charged |
//! | [`reply`] | what a caller who does not pass is told |
//! | [`quota_headers`] | what a caller is told about its quotas |
//! | [`telemetry`] | one table of metrics |
//! | `wasm` | the only user of the Proxy-Wasm SDK: events in, host calls out |
//!
//! All but `wasm` is pure: the host's clock is an argument, its shared data a trait. So the same code runs
//! in Envoy and in tests on the host.
//!
//! A panic here costs a worker all its streams. The lints below keep out what can panic.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

pub mod callout;
pub mod config;
pub mod engine;
pub mod facts;
pub mod fingerprint;
pub mod flow;
pub mod identity;
pub mod local_buckets;
pub mod negative_cache;
pub mod quota_headers;
pub mod reply;
pub mod route;
pub mod settle;
pub mod shared;
pub mod telemetry;
#[cfg(target_arch = "wasm32")]
mod wasm;
