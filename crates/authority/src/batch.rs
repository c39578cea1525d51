//! A batch that can be decided: every check has its keys, and every number fits.
//!
//! [`DecideBatch::from_json`] is the only way to one, so the stores have no "can't happen" of their own:
//! indices are resolved, costs are admissible, products stay below 2^53, and no check charges one
//! counter twice (which the all-or-nothing arithmetic could not honour).

mod mistake;
mod validate;

#[cfg(test)]
mod tests;

pub use mistake::Mistake;

use serde::Deserialize;
use weir_limit::Charge;
use weir_wire::{DecideRequest, Tag, VERSION};

/// Checks that can be decided, at most [`weir_wire::MAX_CHECKS`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecideBatch {
    checks: Vec<Check>,
}

/// Equal requests with the counters they charge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    id: u32,
    hits: u32,
    tag: Tag,
    keys: Vec<String>,
    charges: Vec<Charge>,
}

impl DecideBatch {
    /// Reads and validates the body of a `POST /v1/decide`.
    ///
    /// # Errors
    /// The first mistake, with its path.
    pub fn from_json(body: &[u8]) -> Result<Self, Mistake> {
        // Tracking the path costs about half of the parse again, so only a body that fails pays for it.
        let request: DecideRequest = serde_json::from_slice(body).map_err(|error| explain(body, &error))?;
        Self::try_from(request)
    }

    /// The checks, in the request's order.
    #[must_use]
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }
}

impl TryFrom<DecideRequest> for DecideBatch {
    type Error = Mistake;

    fn try_from(request: DecideRequest) -> Result<Self, Mistake> {
        validate::checks(request).map(|checks| Self { checks })
    }
}

impl Check {
    /// What the answer is matched by.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// How many equal requests this stands for; none only asks.
    #[must_use]
    pub fn hits(&self) -> u32 {
        self.hits
    }

    /// What all its keys have in common.
    #[must_use]
    pub fn tag(&self) -> &Tag {
        &self.tag
    }

    /// The counters, beside [`Check::charges`]; no key twice.
    #[must_use]
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The limits with their costs; never empty.
    #[must_use]
    pub fn charges(&self) -> &[Charge] {
        &self.charges
    }
}

/// Finds the path of what `serde_json` stumbled over.
fn explain(body: &[u8], error: &serde_json::Error) -> Mistake {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }

    // A newer peer's fields are unknown here; its version is the real reason.
    if let Ok(Version { version }) = serde_json::from_slice(body)
        && version != VERSION
    {
        return Mistake::version(version);
    }
    let deserializer = &mut serde_json::Deserializer::from_slice(body);
    match serde_path_to_error::deserialize::<_, DecideRequest>(deserializer) {
        // What follows the document has no path.
        Ok(_) => Mistake::new("", error.to_string()),
        Err(located) => {
            let path = located.path().to_string();
            Mistake::new(if path == "." { String::new() } else { path }, located.inner().to_string())
        }
    }
}
