//! A policy from YAML, as people write it (JSON is YAML too).

use crate::document::Document;
use crate::error::{PolicyError, PolicyErrors};
use crate::{Policy, compile};
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Error, MessageFormatter, UserMessageFormatter};

/// Reads a document. The parser bounds depth, aliases and size, so that a YAML bomb is an error.
///
/// # Errors
/// The first mistake of spelling, with its line and column.
pub fn read(text: &str) -> Result<Document, PolicyErrors> {
    // Names given twice are refused by the document's own types, and in their words.
    let options = serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::PassThrough, with_snippet: false };
    let mut place = None;
    serde_saphyr::with_deserializer_from_str_with_options(text, options, |deserializer| {
        serde_path_to_error::deserialize(deserializer).map_err(|error| {
            place = Some(error.path().to_string());
            error.into_inner()
        })
    })
    .map_err(|error| {
        let place = place.filter(|place| place != ".").unwrap_or_else(|| "document".into());
        let message = match &error {
            Error::Eof { .. } => "is empty or ends too early".into(),
            Error::InvalidScalar { ty: "boolean", .. } => "must be true or false".into(),
            Error::InvalidScalar { ty: "u64", .. } => "must be a whole number, at least 0 and below 2^64".into(),
            Error::Unexpected { expected: "mapping start", .. } => "must be a mapping, such as `name: value`".into(),
            Error::Unexpected { expected: "sequence start", .. } => "must be a list, such as `[a, b]`".into(),
            _ => UserMessageFormatter.format_message(&error).into_owned(),
        };
        let message = match error.location() {
            Some(at) => format!("{message} (line {}, column {})", at.line(), at.column()),
            None => message,
        };
        PolicyErrors(vec![PolicyError::new(&place, &message)])
    })
}

/// Reads and compiles a document.
///
/// # Errors
/// The first mistake of spelling, or all mistakes of meaning.
pub fn load(text: &str) -> Result<Policy, PolicyErrors> {
    compile::compile(&read(text)?)
}
