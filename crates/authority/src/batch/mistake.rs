//! Why a batch cannot be decided, and where it says so.

/// The first thing that is wrong with a batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {detail}")]
pub struct Mistake {
    path: String,
    detail: String,
}

impl Mistake {
    pub(super) fn new(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { path: path.into(), detail: detail.into() }
    }

    pub(super) fn version(version: u32) -> Self {
        Self::new("version", format!("version {version} is not spoken here; this authority speaks {}", weir_wire::VERSION))
    }

    /// Where, such as `checks[3].charges[0].cost`; empty for the document as a whole.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What, in a sentence that names the bound.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }
}
