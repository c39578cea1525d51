//! A policy from YAML, as people write it (JSON is YAML too).

use crate::document::Document;
use crate::error::{PolicyError, PolicyErrors};
use crate::{Policy, compile};

/// Reads a document. The parser bounds depth, aliases and size, so that a YAML bomb is an error.
///
/// # Errors
/// The first mistake of spelling, with its line and column.
pub fn read(text: &str) -> Result<Document, PolicyErrors> {
    serde_saphyr::from_str(text)
        .map_err(|error| PolicyErrors(vec![PolicyError { path: "document".into(), message: error.to_string() }]))
}

/// Reads and compiles a document.
///
/// # Errors
/// The first mistake of spelling, or all mistakes of meaning.
pub fn load(text: &str) -> Result<Policy, PolicyErrors> {
    compile::compile(&read(text)?)
}
