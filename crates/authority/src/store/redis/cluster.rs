//! Which master of a Redis Cluster counts for which slot.
//!
//! The library's own cluster connection is not used: after a lost connection it sends again what may have been executed, it repeats
//! a whole pipeline when one command of it was redirected, and its `ASKING` is a message of its own, which another task's command
//! can follow. Here nothing is sent again but what a node has refused, one by one.
//!
//! The topology is learnt from all connected masters at once ([`topology`]): of those that find the cluster sound, the one with the
//! highest epoch is believed. It is learnt again every [`REFRESH_EVERY`], every [`LOOK_EVERY`] while a master is away, and at once
//! when a node redirects or refuses. A `MOVED` counts at once, for its slot.
//!
//! There is one [`Link`] for each master, at most [`MAX_NODES`]. A link to a node that is none in the topology is kept for a while
//! after it was named by a redirect, as the target of a slot on its way need not have any other.

mod slots;
mod topology;

pub(super) use slots::slot;

use super::access::Access;
use super::address::Node;
use super::link::{Link, Source};
use crate::metrics::StoreMetrics;
use ::redis::Cmd;
use slots::SLOTS;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use topology::Topology;

/// The most masters; what belongs to others is unavailable.
const MAX_NODES: usize = 256;

const LOOK_EVERY: Duration = Duration::from_millis(250);
const REFRESH_EVERY: Duration = Duration::from_secs(5);

/// Two refreshes are at least this far apart, whatever the nodes say.
const REFRESH_PAUSE: Duration = Duration::from_millis(100);

/// How long a link is kept for nothing but a redirect.
const KEEP_REDIRECTED: Duration = Duration::from_secs(30);

/// See the module.
pub(super) struct Cluster {
    shared: Arc<Shared>,
    /// The task ends with the cluster.
    _keeper: JoinSet<()>,
}

struct Shared {
    access: Access,
    seeds: Vec<Node>,
    prepare: Cmd,
    metrics: StoreMetrics,
    map: RwLock<Map>,
    /// The topology is in doubt.
    doubt: Notify,
}

/// What is known.
struct Map {
    /// The master of each slot.
    slots: Vec<Option<Arc<Link>>>,
    links: HashMap<Node, Known>,
    /// Replicas, which are asked when no master answers.
    replicas: Vec<Node>,
    /// Why decisions can't be expected.
    problem: Option<String>,
}

struct Known {
    link: Arc<Link>,
    redirected: Option<Instant>,
}

impl Cluster {
    /// Begins to learn the topology from the `seeds`.
    pub(super) fn open(seeds: &[Node], access: Access, prepare: Cmd, metrics: &StoreMetrics) -> Self {
        let names: Vec<_> = seeds.iter().map(ToString::to_string).collect();
        let problem = Some(format!("not connected to the cluster of {} yet", names.join(", ")));
        let map = Map { slots: vec![None; SLOTS], links: HashMap::new(), replicas: Vec::new(), problem };
        let shared = Arc::new(Shared {
            access,
            seeds: seeds.to_vec(),
            prepare,
            metrics: metrics.clone(),
            map: RwLock::new(map),
            doubt: Notify::new(),
        });
        let mut keeper = JoinSet::new();
        keeper.spawn(keep(Arc::clone(&shared)));
        Self { shared, _keeper: keeper }
    }

    /// The master of a slot, as far as is known.
    pub(super) fn master(&self, slot: u16) -> Option<Arc<Link>> {
        self.read(|map| map.slots.get(usize::from(slot)).cloned().flatten())
    }

    /// Takes a node at its word that `slot` is another's.
    pub(super) fn moved(&self, slot: u16, to: &Node) {
        if let Some(link) = self.link_to(to)
            && let Some(master) = self.shared.write().slots.get_mut(usize::from(slot))
        {
            *master = Some(link);
        }
        self.doubt();
    }

    /// The link to a node that was named by a redirect.
    pub(super) fn link_to(&self, node: &Node) -> Option<Arc<Link>> {
        self.shared.link(&mut self.shared.write(), node, Some(Instant::now()))
    }

    /// Has the topology learnt again.
    pub(super) fn doubt(&self) {
        self.shared.doubt.notify_one();
    }

    /// The node that a link leads to.
    pub(super) fn node_of(&self, link: &Arc<Link>) -> Option<Node> {
        self.read(|map| map.links.iter().find(|(_, known)| Arc::ptr_eq(&known.link, link)).map(|(node, _)| node.clone()))
    }

    /// Decisions can be expected as soon as one master counts: the others' failures are their own.
    pub(super) fn readiness(&self) -> Result<(), String> {
        self.read(|map| {
            if let Some(problem) = &map.problem {
                return Err(problem.clone());
            }
            let mut reasons = Vec::new();
            for Known { link, .. } in map.links.values() {
                match link.readiness() {
                    Ok(()) => return Ok(()),
                    Err(reason) => reasons.push(reason),
                }
            }
            reasons.sort();
            Err(reasons.join("; "))
        })
    }

    fn read<T>(&self, of: impl FnOnce(&Map) -> T) -> T {
        of(&self.shared.map.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Shared {
    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Map> {
        self.map.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The link to `node`, a new one if need be and there is room.
    fn link(&self, map: &mut Map, node: &Node, redirected: Option<Instant>) -> Option<Arc<Link>> {
        if let Some(known) = map.links.get_mut(node) {
            known.redirected = redirected.or(known.redirected);
            return Some(Arc::clone(&known.link));
        }
        if map.links.len() >= MAX_NODES {
            return None;
        }
        let client = self.access.client(node).ok()?;
        let source = Source::Fixed { client, place: node.to_string() };
        let link = Arc::new(Link::open(source, self.prepare.clone(), self.metrics.nodes.clone()));
        map.links.insert(node.clone(), Known { link: Arc::clone(&link), redirected });
        Some(link)
    }

    fn adopt(&self, topology: Topology) {
        let mut map = self.write();
        let wanted: Vec<_> = topology.masters().cloned().collect();
        let now = Instant::now();
        // First, so that there is room for the new ones.
        map.links.retain(|node, known| {
            wanted.contains(node) || known.redirected.is_some_and(|at| now.duration_since(at) < KEEP_REDIRECTED)
        });
        let mut slots = vec![None; SLOTS];
        for range in &topology.ranges {
            let link = self.link(&mut map, &range.master, None);
            for slot in slots.iter_mut().take(usize::from(range.last) + 1).skip(usize::from(range.first)) {
                slot.clone_from(&link);
            }
        }
        let uncovered = slots.iter().filter(|slot| slot.is_none()).count();
        self.metrics.slots_uncovered.set(i64::try_from(uncovered).unwrap_or(i64::MAX));
        let problem = match topology.sound {
            true => None,
            false => Some("the cluster is down (cluster_state:fail)".to_owned()),
        };
        if map.problem != problem {
            match &problem {
                None => tracing::info!(masters = map.links.len(), "the cluster is up"),
                Some(problem) => tracing::warn!(problem, uncovered, "cluster"),
            }
        }
        map.slots = slots;
        map.replicas = topology.replicas;
        map.problem = problem;
    }

    /// Keeps what is known: a topology that nobody tells need not be wrong.
    fn fail(&self, reason: String) {
        let mut map = self.write();
        if map.problem.as_ref() != Some(&reason) {
            tracing::warn!(reason, "cannot learn the cluster's topology");
            map.problem = Some(reason);
        }
    }

    fn a_master_is_away(&self) -> bool {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        map.problem.is_some() || map.links.values().any(|known| known.link.connection().is_none())
    }
}

async fn keep(shared: Arc<Shared>) {
    loop {
        match topology::learn(&shared).await {
            Ok(topology) => shared.adopt(topology),
            Err(reason) => shared.fail(reason),
        }
        tokio::time::sleep(REFRESH_PAUSE).await;
        let learnt = Instant::now();
        while timeout(LOOK_EVERY, shared.doubt.notified()).await.is_err() {
            if learnt.elapsed() >= REFRESH_EVERY || shared.a_master_is_away() {
                break;
            }
        }
    }
}
