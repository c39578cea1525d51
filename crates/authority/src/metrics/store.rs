//! What is counted about a store.

use super::nodes::NodeMetrics;
use crate::batch::DecideBatch;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::time::Duration;
use weir_wire::{Failure, Outcome};

/// Checks of a batch; the last is the bound of a batch.
const BATCH_SIZES: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

/// Seconds, from a lock in memory to a store that hangs.
const LATENCIES: [f64; 12] = [0.000_01, 0.000_05, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.25];

/// Counted by a store, shown by [`super::Metrics`].
#[derive(Clone)]
pub struct StoreMetrics {
    /// Requests that were decided on, by what was decided.
    pub decisions: Family<DecisionLabels, Counter>,
    /// Checks in a batch.
    pub batch_size: Histogram,
    /// Seconds a batch took.
    pub latency: Histogram,
    /// How often a script was missing and loaded again.
    pub script_reloads: Counter,
    /// Checks that a node of a cluster sent elsewhere.
    pub redirects: Family<RedirectLabels, Counter>,
    /// Slots of a cluster that nobody serves, as far as is known.
    pub slots_uncovered: Gauge,
    /// Batches with admissions that fewer replicas had in time than were asked for.
    pub wait_short: Counter,
    /// What is known about each server.
    pub nodes: NodeMetrics,
}

/// The label of [`StoreMetrics::redirects`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RedirectLabels {
    /// What the node said.
    pub kind: Redirect,
}

/// Why a check was sent again; nowhere had it been executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
#[expect(non_camel_case_types, reason = "the variants are the label's values")]
pub enum Redirect {
    /// Another node has the slot.
    moved,
    /// Another node is getting the slot.
    ask,
    /// The slot's keys are on two nodes at the moment.
    try_again,
}

/// The label of [`StoreMetrics::decisions`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct DecisionLabels {
    /// What was decided, or why nothing was.
    pub outcome: DecisionOutcome,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
#[expect(non_camel_case_types, reason = "the variants are the label's values")]
pub enum DecisionOutcome {
    /// It passes.
    admitted,
    /// A rule denies it.
    denied,
    /// See [`Failure::Unavailable`].
    unavailable,
    /// See [`Failure::Unknown`].
    unknown,
    /// See [`Failure::Full`].
    full,
}

impl Default for StoreMetrics {
    fn default() -> Self {
        Self {
            decisions: Family::default(),
            batch_size: Histogram::new(BATCH_SIZES),
            latency: Histogram::new(LATENCIES),
            script_reloads: Counter::default(),
            redirects: Family::default(),
            slots_uncovered: Gauge::default(),
            wait_short: Counter::default(),
            nodes: NodeMetrics::default(),
        }
    }
}

impl StoreMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("decisions", "Requests decided on, by outcome", self.decisions.clone());
        registry.register("batch_size", "Checks in a batch", self.batch_size.clone());
        registry.register_with_unit("store_latency", "Time a batch took in the store", Unit::Seconds, self.latency.clone());
        registry.register("script_reloads", "Times the store had lost a script", self.script_reloads.clone());
        registry.register("store_redirects", "Checks that a node of a cluster sent elsewhere", self.redirects.clone());
        registry.register("store_slots_uncovered", "Slots of a cluster that nobody serves", self.slots_uncovered.clone());
        registry.register("wait_short", "Batches that fewer replicas had in time than asked for", self.wait_short.clone());
        self.nodes.register(registry);
    }

    /// Counts what became of a batch.
    pub(crate) fn observe(&self, batch: &DecideBatch, outcomes: &[Outcome], took: Duration) {
        self.latency.observe(took.as_secs_f64());
        // At most 64.
        self.batch_size.observe(f64::from(u32::try_from(outcomes.len()).unwrap_or(u32::MAX)));
        for (check, outcome) in batch.checks().iter().zip(outcomes) {
            let hits = u64::from(check.hits());
            match outcome {
                Outcome::Verdict(verdict) => {
                    let admitted = u64::from(verdict.admitted);
                    self.count(DecisionOutcome::admitted, admitted);
                    self.count(DecisionOutcome::denied, hits.saturating_sub(admitted));
                }
                Outcome::Failure(Failure::Unavailable) => self.count(DecisionOutcome::unavailable, hits),
                Outcome::Failure(Failure::Unknown) => self.count(DecisionOutcome::unknown, hits),
                Outcome::Failure(Failure::Full) => self.count(DecisionOutcome::full, hits),
            }
        }
    }

    fn count(&self, outcome: DecisionOutcome, requests: u64) {
        if requests > 0 {
            self.decisions.get_or_create(&DecisionLabels { outcome }).inc_by(requests);
        }
    }
}
