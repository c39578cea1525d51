//! Which way a check goes: to the one Redis there is, or to the master of its slot.

use super::access::Access;
use super::address::{Node, Place};
use super::cluster::{self, Cluster};
use super::link::{Link, Source};
use super::sentinel::Sentinels;
use super::settings::Settings;
use crate::batch::DecideBatch;
use crate::metrics::StoreMetrics;
use crate::store::StoreError;
use ::redis::Cmd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// See the module.
pub(super) enum Way {
    One { link: Arc<Link>, warned: AtomicBool },
    Cluster(Cluster),
}

/// A check that has no outcome yet.
pub(super) struct Pending {
    /// In its batch.
    pub(super) index: usize,
    /// The script has to be loaded first.
    pub(super) load: bool,
    /// It goes there, behind an `ASKING`.
    pub(super) asking: Option<Arc<Link>>,
    /// It waits for a connection that is being made.
    pub(super) patient: bool,
}

/// Checks that leave together.
pub(super) struct Send {
    pub(super) link: Arc<Link>,
    pub(super) load: bool,
    pub(super) patient: bool,
    pub(super) checks: Vec<Pending>,
}

impl Pending {
    pub(super) fn new(index: usize) -> Self {
        Self { index, load: false, asking: None, patient: false }
    }
}

impl Way {
    pub(super) fn open(settings: &Settings, prepare: &Cmd, metrics: &StoreMetrics) -> Result<Self, StoreError> {
        let access = Access::new(settings)?;
        let refused = |reason: String| StoreError::Address { reason };
        let source = match &settings.address.place {
            Place::Cluster(seeds) => return Ok(Self::Cluster(Cluster::open(seeds, access, prepare.clone(), metrics))),
            Place::One(node) => Source::Fixed { client: access.client(node).map_err(refused)?, place: node.to_string() },
            Place::Socket(path) => {
                let client = access.client_of_socket(path.clone()).map_err(refused)?;
                Source::Fixed { client, place: path.display().to_string() }
            }
            Place::Sentinel { sentinels, master } => {
                let to_sentinels = access.to_sentinels(&settings.sentinel)?;
                Source::Sentinels(Sentinels::new(sentinels, master, access, &to_sentinels).map_err(refused)?)
            }
        };
        let link = Arc::new(Link::open(source, prepare.clone(), metrics.nodes.clone()));
        Ok(Self::One { link, warned: AtomicBool::new(false) })
    }

    pub(super) fn readiness(&self) -> Result<(), String> {
        match self {
            Self::One { link, .. } => link.readiness(),
            Self::Cluster(cluster) => cluster.readiness(),
        }
    }

    /// Sorts checks by the link that they leave by. Those without any are left out.
    pub(super) fn sends(&self, batch: &DecideBatch, pending: Vec<Pending>) -> Vec<Send> {
        let mut sends: Vec<Send> = Vec::new();
        for check in pending {
            let link = match (&check.asking, self) {
                (Some(link), _) => Some(Arc::clone(link)),
                (None, Self::One { link, .. }) => Some(Arc::clone(link)),
                // All keys of a check have one hash tag.
                (None, Self::Cluster(cluster)) => {
                    let key = batch.checks()[check.index].keys().first();
                    key.and_then(|key| cluster.master(cluster::slot(key.as_bytes())))
                }
            };
            let Some(link) = link else {
                self.doubt();
                continue;
            };
            let (load, patient) = (check.load, check.patient);
            match sends.iter_mut().find(|send| Arc::ptr_eq(&send.link, &link)) {
                Some(send) => {
                    send.load |= load;
                    send.patient |= patient;
                    send.checks.push(check);
                }
                None => sends.push(Send { link, load, patient, checks: vec![check] }),
            }
        }
        sends
    }

    /// Takes note that a slot is another's. False when there is no way to it.
    pub(super) fn moved(&self, by: &Arc<Link>, slot: u16, to: &str) -> bool {
        match self {
            Self::One { warned, .. } => {
                if !warned.swap(true, Ordering::Relaxed) {
                    tracing::error!("this redis is one node of a cluster: give redis+cluster:// in the place of redis://");
                }
                false
            }
            Self::Cluster(cluster) => match told(cluster, by, to) {
                Some(node) => {
                    cluster.moved(slot, &node);
                    true
                }
                None => false,
            },
        }
    }

    /// The link to the node that is getting a slot.
    pub(super) fn asked(&self, by: &Arc<Link>, to: &str) -> Option<Arc<Link>> {
        match self {
            Self::One { .. } => None,
            Self::Cluster(cluster) => cluster.link_to(&told(cluster, by, to)?),
        }
    }

    /// Takes note of a Redis that takes no writes.
    pub(super) fn astray(&self) {
        match self {
            Self::One { link, .. } => {
                if let Some(connection) = link.connection() {
                    link.doubt(&connection, "it does not take writes");
                }
            }
            Self::Cluster(cluster) => cluster.doubt(),
        }
    }

    /// Takes note that the way may be another by now.
    pub(super) fn doubt(&self) {
        if let Self::Cluster(cluster) = self {
            cluster.doubt();
        }
    }
}

fn told(cluster: &Cluster, by: &Arc<Link>, to: &str) -> Option<Node> {
    Node::told(to, &cluster.node_of(by)?)
}
