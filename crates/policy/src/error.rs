//! What is wrong with a policy: the place, what was found there, and what to write instead.

use std::fmt;

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct PolicyError {
    /// Where, such as `routes.catalog.rules[1]`; `document` for all of it.
    pub path: String,
    /// What is wrong there and what would be right.
    pub message: String,
}

/// All mistakes of a document, section by section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyErrors(pub Vec<PolicyError>);

impl PolicyError {
    /// Names come from the document: what could forge a line of a log or move a terminal's cursor is escaped.
    pub(crate) fn new(path: &str, message: &str) -> Self {
        Self { path: printable(path), message: printable(message) }
    }
}

fn printable(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut shown, character| {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
        shown
    })
}

impl std::error::Error for PolicyErrors {}

impl fmt::Display for PolicyErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                formatter.write_str("\n")?;
            }
            write!(formatter, "{error}")?;
        }
        Ok(())
    }
}
