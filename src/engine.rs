//! What the streams of one plugin in one worker share, and the order of things.
//!
//! ```text
//! request ──► flow ──► outbox ──► take_batch ─(host)─► answered ──► ready ──► next_ready ──► flow
//!                 └──► parked ────────────────────────────┘ (another request asks the same)
//! ```
//!
//! Whoever waits is in exactly one of outbox, parked, held (until a queue's turn) and ready, and its [`Flow`] is kept by the host's id of
//! its stream. The host resumes or answers at most [`MOST_COMPLETIONS`] streams in one callback: each nests
//! its own callbacks, and some hundred of them overflow the host's stack. The rest stays in `ready`.

use crate::callout::{Outbox, Outcome, PendingCheck, Undecided, Waiter, batch, outbox::MOST_WAITING};
use crate::flow::delay::{Held, MOST_HELD};
use crate::flow::{Flow, Moment, Step};
use crate::local_buckets::LocalBuckets;
use crate::negative_cache::NegativeCache;
use crate::shared::SharedData;
use crate::telemetry::{Counter, Telemetry};
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::rc::Rc;
use weir_policy::{Placement, Policy};
use weir_wire::Verdict;

/// The most streams to be completed in one callback of the host.
pub const MOST_COMPLETIONS: usize = 64;

/// What came of a callout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The authority's own answer, status 200.
    Body(Vec<u8>),
    /// The authority's own answer, any other status.
    Refused,
    /// No answer of the authority.
    Failed(Undecided),
}

/// The decisions of one plugin in one worker.
#[derive(Debug)]
pub struct Engine {
    placement: Placement,
    policy: Rc<Policy>,
    negative_cache: NegativeCache,
    local_buckets: LocalBuckets,
    outbox: Outbox,
    parked: Vec<Waiter>,
    held: Vec<Held>,
    ready: VecDeque<(u32, Outcome)>,
    flows: HashMap<u32, Flow>,
    telemetry: Telemetry,
}

impl Engine {
    /// An engine that enforces the rules of `policy` that belong to `placement`.
    #[must_use]
    pub fn new(placement: Placement, policy: Policy) -> Self {
        Self {
            placement,
            policy: Rc::new(policy),
            negative_cache: NegativeCache::default(),
            local_buckets: LocalBuckets::default(),
            outbox: Outbox::default(),
            parked: Vec::new(),
            held: Vec::new(),
            ready: VecDeque::new(),
            flows: HashMap::new(),
            telemetry: Telemetry::default(),
        }
    }

    /// Makes the shared tables, before the first request.
    pub fn prepare(&self, shared: &dyn SharedData) {
        self.negative_cache.prepare(shared);
        self.local_buckets.prepare(shared);
    }

    /// Whether the root should be woken: there is something to send, or to complete.
    #[must_use]
    pub fn wants_wake(&self) -> bool {
        self.outbox.can_send() || !self.ready.is_empty()
    }

    /// The next batch: its body, and its checks, which are to be given back to [`Engine::batch_sent`] or
    /// [`Engine::batch_not_sent`].
    pub fn take_batch(&mut self, shared: &dyn SharedData) -> Option<(Vec<u8>, Vec<PendingCheck>)> {
        let (flows, negative_cache) = (&self.flows, &mut self.negative_cache);
        let is_alive = |stream| flows.contains_key(&stream);
        let checks = self.outbox.take_batch(is_alive, |dropped| give_up(negative_cache, dropped, shared));
        (!checks.is_empty()).then(|| (batch::request(&self.policy, &checks), checks))
    }

    /// A batch is under way; `token` is the host's name for it.
    pub fn batch_sent(&mut self, token: u32, checks: Vec<PendingCheck>) {
        let hits = checks.iter().map(|check| u64::from(check.hits())).fold(0, u64::saturating_add);
        self.telemetry.batch_sent(u64::try_from(checks.len()).unwrap_or(u64::MAX), hits);
        self.outbox.sent(token, checks);
    }

    /// The host would not send a batch.
    pub fn batch_not_sent(&mut self, checks: Vec<PendingCheck>, shared: &dyn SharedData) {
        self.outbox.finish(&checks);
        for check in checks {
            give_up(&mut self.negative_cache, &check, shared);
            self.make_ready(check, &Err(Undecided::NotSent));
        }
    }

    /// A callout has ended.
    pub fn answered(&mut self, token: u32, answer: &Answer, shared: &dyn SharedData, now_ms: u64) {
        let Some(checks) = self.outbox.take_answered(token) else { return };
        let verdicts = match answer {
            Answer::Body(body) => batch::verdicts(body, &checks),
            Answer::Refused => vec![Err(Undecided::BatchRefused); checks.len()],
            Answer::Failed(because) => vec![Err(*because); checks.len()],
        };
        for (check, verdict) in checks.into_iter().zip(verdicts) {
            match &verdict {
                Ok(verdict) => self.learn(&check, verdict, shared, now_ms),
                Err(_) => give_up(&mut self.negative_cache, &check, shared),
            }
            self.make_ready(check, &verdict);
        }
        self.unpark(shared, now_ms);
    }

    /// Time has passed: deadlines, and whoever waits for what another worker learns.
    pub fn tick(&mut self, shared: &dyn SharedData, now_ms: u64) {
        for stream in self.outbox.expire(now_ms) {
            self.ready.push_back((stream, Outcome::Undecided(Undecided::DeadlineExceeded)));
        }
        self.unpark(shared, now_ms);
        self.release_held(now_ms);
    }

    /// The next stream to be completed, with what the host is to do; never [`Step::Wait`].
    pub fn next_ready(&mut self, shared: &dyn SharedData, now_ms: u64) -> Option<(u32, Step)> {
        while let Some((stream, outcome)) = self.ready.pop_front() {
            // Gone meanwhile: nothing to complete.
            let Some(mut flow) = self.flows.remove(&stream) else { continue };
            let step = self.conclude(Moment { stream, shared, now_ms }, &mut flow, outcome);
            let held = step == Step::Wait;
            if held || (step == Step::Continue && flow.has_response_work()) {
                self.keep(stream, flow);
            }
            if !held {
                return Some((stream, step));
            }
        }
        None
    }

    /// A stream has ended, whatever ended it.
    pub fn gone(&mut self, stream: u32) {
        self.flows.remove(&stream);
    }

    /// The policy in force.
    #[must_use]
    pub fn policy(&self) -> Rc<Policy> {
        Rc::clone(&self.policy)
    }

    /// Where this plugin stands.
    #[must_use]
    pub fn placement(&self) -> Placement {
        self.placement
    }

    /// The counts.
    pub fn telemetry(&mut self) -> &mut Telemetry {
        &mut self.telemetry
    }

    pub(crate) fn negative_cache(&mut self) -> &mut NegativeCache {
        &mut self.negative_cache
    }

    pub(crate) fn local_buckets(&self) -> &LocalBuckets {
        &self.local_buckets
    }

    pub(crate) fn push(&mut self, check: PendingCheck) -> Result<(), Undecided> {
        self.outbox.push(check)
    }

    pub(crate) fn park(&mut self, waiter: Waiter) -> Result<(), Undecided> {
        if self.parked.len() >= MOST_WAITING {
            return Err(Undecided::QueueFull);
        }
        self.parked.push(waiter);
        Ok(())
    }

    /// # Errors
    /// What was to be held, when no more can be.
    pub(crate) fn hold_until(&mut self, held: Held) -> Result<(), Held> {
        if self.held.len() >= MOST_HELD {
            return Err(held);
        }
        self.held.push(held);
        Ok(())
    }

    pub(crate) fn take_due(&mut self, now_ms: u64) -> Vec<Held> {
        let mut due: Vec<Held> = self.held.extract_if(.., |held| held.turn_ms <= now_ms).collect();
        due.sort_by_key(|held| held.turn_ms);
        due
    }

    pub(crate) fn make_one_ready(&mut self, stream: u32, outcome: Outcome) {
        self.ready.push_back((stream, outcome));
    }

    pub(crate) fn keep(&mut self, stream: u32, flow: Flow) {
        self.flows.insert(stream, flow);
    }

    pub(crate) fn take_flow(&mut self, stream: u32) -> Option<Flow> {
        self.flows.remove(&stream)
    }

    /// What the store said of a check's counters is remembered for those who come next.
    fn learn(&mut self, check: &PendingCheck, verdict: &Verdict, shared: &dyn SharedData, now_ms: u64) {
        for ((charge, quota), (fingerprint, asked)) in check.charges.iter().zip(&verdict.quotas).zip(&check.counters) {
            if quota.shadow_denied > 0
                && let Some(limit) = self.policy.limit(charge.limit)
            {
                self.telemetry.add(Counter::ShadowDenied(limit.rule), quota.shadow_denied);
            }
            if quota.wait_ms > 0 {
                self.negative_cache.deny(shared, *fingerprint, charge.cost, quota.wait_ms, now_ms);
            } else if *asked {
                self.negative_cache.clear(shared, *fingerprint);
            }
        }
    }

    fn make_ready(&mut self, check: PendingCheck, verdict: &Result<Verdict, Undecided>) {
        self.ready.extend(check.outcomes(verdict).map(|(waiter, outcome)| (waiter.stream, outcome)));
    }

    /// Parked requests look again: there may be a denial, or nobody who asks any more.
    fn unpark(&mut self, shared: &dyn SharedData, now_ms: u64) {
        for waiter in std::mem::take(&mut self.parked) {
            let Waiter { stream, deadline_ms } = waiter;
            if deadline_ms <= now_ms {
                self.ready.push_back((stream, Outcome::Undecided(Undecided::DeadlineExceeded)));
                continue;
            }
            let Some(flow) = self.flows.remove(&stream) else { continue };
            let outcome = self.ask(Moment { stream, shared, now_ms }, &flow);
            self.keep(stream, flow);
            self.ready.extend(outcome.map(|outcome| (stream, outcome)));
        }
    }
}

/// A check will not be answered, or not by a verdict: whoever waits for it to ask should ask itself.
fn give_up(negative_cache: &mut NegativeCache, check: &PendingCheck, shared: &dyn SharedData) {
    for fingerprint in check.asks() {
        negative_cache.clear(shared, fingerprint);
    }
}
