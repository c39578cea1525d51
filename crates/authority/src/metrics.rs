//! What is counted about the authority. Labels are enumerations: no subject, rule or key is ever one.

mod nodes;
mod store;

pub use nodes::{NodeLabels, NodeMetrics, ReplicaLabels};
pub use store::{DecisionLabels, DecisionOutcome, Redirect, RedirectLabels, StoreMetrics};

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::fmt;

/// Everything that `GET /metrics` shows.
pub struct Metrics {
    registry: Registry,
    /// HTTP answers by status.
    pub requests: Family<StatusLabels, Counter>,
    /// 1 while the store can be expected to decide.
    pub store_up: Gauge,
}

/// The labels of [`Metrics::requests`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct StatusLabels {
    /// One of the few that the authority answers with.
    pub status: u32,
}

impl Metrics {
    /// Registers the authority's own metrics and those of its store.
    #[must_use]
    pub fn new(store: &StoreMetrics) -> Self {
        let mut registry = Registry::with_prefix("weir_authority");
        let (requests, store_up) = (Family::default(), Gauge::default());
        registry.register("http_requests", "HTTP requests by the status of their answer", requests.clone());
        registry.register("store_up", "1 while the store can be expected to decide", store_up.clone());
        store.register(&mut registry);
        Self { registry, requests, store_up }
    }

    /// The text that Prometheus reads.
    ///
    /// # Errors
    /// A metric that does not encode.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}
