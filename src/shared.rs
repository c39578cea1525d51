//! Data that all workers of one Envoy share.
//!
//! The host offers keys with values and a compare-and-swap: no expiry, no deletion, no insert-if-absent. So
//! Weir never adds a key for a subject. It keeps [`table::Table`]s of a fixed number of slots, made once.

pub mod table;

pub use table::{Record, Table};

/// The host's shared data.
pub trait SharedData {
    /// The value of `key` with its version, or nothing.
    fn get(&self, key: &str) -> Option<(Vec<u8>, u32)>;

    /// Sets `key`; with a `version`, only if the value still has it.
    ///
    /// # Errors
    /// [`Outdated`] when another worker was faster.
    fn set(&self, key: &str, value: &[u8], version: Option<u32>) -> Result<(), Outdated>;
}

/// Another worker has changed the value since it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outdated;
