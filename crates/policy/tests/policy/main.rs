//! The policy through its public interface: read, compiled, matched and resolved.

mod bounds;
#[cfg(not(target_arch = "wasm32"))]
mod corpus;
mod durations;
mod enforcement;
mod identity;
mod limits;
mod matcher;
mod northstar;
mod plain;
mod resolve;
