//! What is known about the servers of a store. Their names are labels: there are few, and they are named by configuration or by the
//! cluster itself; those that are gone are removed.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Gauges by server.
#[derive(Clone, Default)]
pub struct NodeMetrics {
    /// 1 while there is a connection that counts.
    pub up: Family<NodeLabels, Gauge>,
    /// 1 when it is a master, 0 when it is a replica.
    pub master: Family<NodeLabels, Gauge>,
    /// 1 when it may forget counts to save memory.
    pub evicts: Family<NodeLabels, Gauge>,
    /// Replicas that are connected to it.
    pub replicas: Family<NodeLabels, Gauge>,
    /// What a replica has not acknowledged, in bytes of the replication stream.
    pub lag_bytes: Family<ReplicaLabels, Gauge>,
    /// Since when a replica has acknowledged nothing.
    pub lag_seconds: Family<ReplicaLabels, Gauge>,
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct NodeLabels {
    /// `host:port`, or what Sentinels call the master.
    pub node: String,
}

/// A replica of a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ReplicaLabels {
    /// As in [`NodeLabels`].
    pub node: String,
    /// `host:port`.
    pub replica: String,
}

impl NodeMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        let Self { up, master, evicts, replicas, lag_bytes, lag_seconds } = self.clone();
        registry.register("store_node_up", "1 while a server of the store can be expected to decide", up);
        registry.register("store_node_master", "1 when a server of the store is a master", master);
        registry.register("store_evicts", "1 when a server of the store may forget counts to save memory", evicts);
        registry.register("store_replicas", "Replicas that are connected to a server of the store", replicas);
        registry.register("store_replica_lag_bytes", "What a replica has not acknowledged", lag_bytes);
        registry.register("store_replica_lag_seconds", "Since when a replica has acknowledged nothing", lag_seconds);
    }

    /// Forgets a server.
    pub(crate) fn remove(&self, node: &NodeLabels) {
        self.forget_findings(node);
        self.up.remove(node);
    }

    /// Forgets what only a server itself can say.
    pub(crate) fn forget_findings(&self, node: &NodeLabels) {
        for family in [&self.master, &self.evicts, &self.replicas] {
            family.remove(node);
        }
    }
}
