//! The plugin's configuration: JSON, or the protobuf that Envoy makes of YAML; unknown fields refused.
//!
//! ```json
//! {"placement": "quota", "authority": {"cluster": "weir-authority"}, "policy": {"version": 1, "rules": {}, "routes": {}}}
//! ```

pub mod structure;

use serde::Deserialize;
use weir_policy::{Document, Placement, Policy, PolicyErrors, compile};

/// A configuration that can be enforced.
#[derive(Debug)]
pub struct Config {
    /// Where in the filter chain this plugin stands.
    pub placement: Placement,
    /// Envoy's cluster of the authority.
    pub cluster: String,
    /// The policy.
    pub policy: Policy,
}

/// Why a configuration is refused. The proxy then keeps what it had.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Misspelled: the place is part of the message.
    #[error("plugin configuration: {0}")]
    Spelling(String),
    /// The authority's cluster has no name.
    #[error("plugin configuration: authority.cluster: must name the Envoy cluster of the authority")]
    NoCluster,
    /// The policy cannot work.
    #[error("plugin configuration: policy: {0}")]
    Policy(#[from] PolicyErrors),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    placement: WrittenPlacement,
    authority: Authority,
    policy: Document,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenPlacement {
    Edge,
    Quota,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Authority {
    cluster: String,
}

impl Config {
    /// Parses and compiles a configuration: the text of a `StringValue`, or the bytes of a `Struct`.
    ///
    /// # Errors
    /// What is wrong, where, and what would be right.
    pub fn parse(bytes: &[u8]) -> Result<Self, ConfigError> {
        // A `google.protobuf.Struct` is no JSON, and JSON is no Struct.
        let text = structure::parse(bytes).map(|value| value.to_string());
        let json = text.as_deref().map_or(bytes, str::as_bytes);
        let written = read(json).map_err(ConfigError::Spelling)?;
        if written.authority.cluster.is_empty() {
            return Err(ConfigError::NoCluster);
        }
        let placement = match written.placement {
            WrittenPlacement::Edge => Placement::Edge,
            WrittenPlacement::Quota => Placement::Quota,
        };
        Ok(Self { placement, cluster: written.authority.cluster, policy: compile::compile(&written.policy)? })
    }
}

fn read(json: &[u8]) -> Result<Written, String> {
    let json = &mut serde_json::Deserializer::from_slice(json);
    let written = serde_path_to_error::deserialize(&mut *json).map_err(|error| error.to_string())?;
    json.end().map_err(|error| error.to_string())?;
    Ok(written)
}
