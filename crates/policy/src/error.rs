//! What is wrong with a policy: the place, what was found there, and what to write instead.

use std::fmt;

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct PolicyError {
    /// Where, such as `routes.catalog.rules[1]`; empty for the document as a whole.
    pub path: String,
    /// What is wrong there and what would be right.
    pub message: String,
}

/// All mistakes of a document, in the order of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyErrors(pub Vec<PolicyError>);

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
