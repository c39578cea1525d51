//! The policy through its public interface: read, compiled, matched and resolved.

mod bounds;
#[cfg(not(target_arch = "wasm32"))]
mod corpus;
mod durations;
mod identity;
mod matcher;
mod northstar;
mod plain;
mod resolve;
