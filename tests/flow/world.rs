//! A gateway on paper: workers with shared data, a clock that is set by hand, and an authority that counts
//! with the same arithmetic as the real one.

use std::cell::RefCell;
use std::collections::HashMap;
use weir::engine::{Answer, Engine};
use weir::facts::Facts;
use weir::flow::Step;
use weir::quota_headers::QuotaHeaders;
use weir::reply::Reply;
use weir::shared::{Outdated, SharedData};
use weir_limit::{Charge, Limit, State};
use weir_policy::{Placement, Policy, compile, yaml};
use weir_wire::{DecideRequest, DecideResponse, key, numbers};

/// The example policy.
pub const NORTHSTAR: &str = include_str!("../../policies/northstar.yaml");

/// A Monday at noon, at the start of a minute.
pub const NOON_MS: u64 = 1_796_040_000_000;

/// Shared data in a map.
#[derive(Default)]
pub struct PaperData(RefCell<HashMap<String, (Vec<u8>, u32)>>);

impl SharedData for PaperData {
    fn get(&self, key: &str) -> Option<(Vec<u8>, u32)> {
        self.0.borrow().get(key).cloned()
    }

    fn set(&self, key: &str, value: &[u8], version: Option<u32>) -> Result<(), Outdated> {
        let mut data = self.0.borrow_mut();
        let known = data.get(key).map_or(0, |(_, version)| *version);
        if version.is_some_and(|version| version != known) {
            return Err(Outdated);
        }
        data.insert(key.into(), (value.into(), known + 1));
        Ok(())
    }
}

impl PaperData {
    /// Overwrites all values with `bytes`, as another user of the same data might.
    pub fn vandalize(&self, bytes: &[u8]) {
        for (value, version) in self.0.borrow_mut().values_mut() {
            *value = bytes.into();
            *version += 1;
        }
    }

    /// Bytes of all values.
    pub fn size(&self) -> usize {
        self.0.borrow().values().map(|(value, _)| value.len()).sum()
    }

    /// Number of keys.
    pub fn keys(&self) -> usize {
        self.0.borrow().len()
    }
}

/// A request on paper.
#[derive(Clone, Default)]
pub struct Request {
    properties: HashMap<String, Vec<u8>>,
    headers: HashMap<String, Vec<u8>>,
}

impl Request {
    /// A request on one of the policy's routes.
    pub fn on(route: &str) -> Self {
        Self::default().property(&["xds", "route_metadata", "filter_metadata", "weir", "route"], route).from("192.0.2.1:4711")
    }

    /// With a verified token.
    pub fn by(self, tenant: &str, user: &str) -> Self {
        self.claim("tenant", tenant).claim("sub", user)
    }

    /// With one verified claim.
    pub fn claim(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.property(&["metadata", "filter_metadata", "envoy.filters.http.jwt_authn", "jwt_payload", name], value)
    }

    /// From an address.
    pub fn from(self, address: &str) -> Self {
        self.property(&["source", "address"], address)
    }

    /// With a property.
    pub fn property(mut self, path: &[&str], value: impl AsRef<[u8]>) -> Self {
        self.properties.insert(path.join("/"), value.as_ref().into());
        self
    }

    /// With a header.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.insert(name.into(), value.as_ref().into());
        self
    }
}

impl Facts for Request {
    fn header(&self, name: &str) -> Option<Vec<u8>> {
        self.headers.get(name).cloned()
    }

    fn property(&self, path: &[&str]) -> Option<Vec<u8>> {
        self.properties.get(&path.join("/")).cloned()
    }
}

/// What the authority does.
#[derive(Clone, Debug, Default)]
pub enum Authority {
    /// Decides.
    #[default]
    Up,
    /// Gives this answer to everything.
    Says(Answer),
    /// Cannot be called.
    CannotBeCalled,
    /// Does not answer; see [`World::answer_late`].
    Silent,
}

/// A gateway with some workers.
pub struct World {
    pub now_ms: u64,
    pub authority: Authority,
    pub workers: Vec<Engine>,
    pub data: PaperData,
    /// Each call to the store: when, and what was asked.
    pub calls: Vec<(u64, DecideRequest)>,
    pub store: HashMap<String, State>,
    unanswered: Vec<(usize, u32, Vec<u8>)>,
    requests: HashMap<u32, Request>,
    last_stream: u32,
    last_token: u32,
}

impl World {
    /// Workers at the quota placement, under the example policy.
    pub fn quota(workers: usize) -> Self {
        Self::new(workers, Placement::Quota, NORTHSTAR)
    }

    /// Workers at the edge placement, under the example policy.
    pub fn edge(workers: usize) -> Self {
        Self::new(workers, Placement::Edge, NORTHSTAR)
    }

    /// Workers under a policy.
    pub fn new(workers: usize, placement: Placement, policy: &str) -> Self {
        let data = PaperData::default();
        let engine = |_| {
            let engine = Engine::new(placement, compiled(policy));
            engine.prepare(&data);
            engine
        };
        let workers = (0..workers).map(engine).collect();
        Self {
            now_ms: NOON_MS,
            authority: Authority::Up,
            workers,
            data,
            calls: Vec::new(),
            store: HashMap::new(),
            unanswered: Vec::new(),
            requests: HashMap::new(),
            last_stream: 0,
            last_token: 0,
        }
    }

    /// One request at the first worker, to its end.
    pub fn send(&mut self, request: &Request) -> Step {
        self.send_to(0, request)
    }

    /// One request at a worker, to its end; [`Step::Wait`] if it has none yet.
    pub fn send_to(&mut self, worker: usize, request: &Request) -> Step {
        let (stream, step) = self.begin(worker, request);
        if step != Step::Wait {
            return step;
        }
        let done = self.turn(worker);
        done.into_iter().find(|(done, _)| *done == stream).map_or(Step::Wait, |(_, step)| step)
    }

    /// A request's headers arrive at a worker.
    pub fn begin(&mut self, worker: usize, request: &Request) -> (u32, Step) {
        self.last_stream += 1;
        self.requests.insert(self.last_stream, request.clone());
        let step = self.workers[worker].request(self.last_stream, request, &self.data, || self.now_ms);
        (self.last_stream, step)
    }

    /// One turn of a worker's event loop: what can be sent is sent, what can be answered is.
    pub fn turn(&mut self, worker: usize) -> Vec<(u32, Step)> {
        while let Some((body, checks)) = self.workers[worker].take_batch(&self.data) {
            self.last_token += 1;
            let token = self.last_token;
            if matches!(self.authority, Authority::CannotBeCalled) {
                self.workers[worker].batch_not_sent(checks, &self.data);
                continue;
            }
            self.workers[worker].batch_sent(token, checks);
            let answer = match self.authority.clone() {
                Authority::Up => self.decide(&body),
                Authority::Says(answer) => answer,
                Authority::CannotBeCalled | Authority::Silent => {
                    self.unanswered.push((worker, token, body));
                    continue;
                }
            };
            self.workers[worker].answered(token, &answer, &self.data, self.now_ms);
        }
        self.completed(worker)
    }

    /// The authority answers what it has been silent about.
    pub fn answer_late(&mut self) {
        for (worker, token, body) in std::mem::take(&mut self.unanswered) {
            let answer = self.decide(&body);
            self.workers[worker].answered(token, &answer, &self.data, self.now_ms);
        }
    }

    /// The host gives up on what the authority has been silent about.
    pub fn give_up(&mut self, answer: &Answer) {
        for (worker, token, _) in std::mem::take(&mut self.unanswered) {
            self.workers[worker].answered(token, answer, &self.data, self.now_ms);
        }
    }

    /// A response's headers arrive at a worker.
    pub fn respond(&mut self, worker: usize, stream: u32, status: u32) -> Option<QuotaHeaders> {
        let request = self.requests.remove(&stream).unwrap_or_default();
        self.workers[worker].response(stream, || Some(status), &request, &self.data, || self.now_ms)
    }

    /// The root's tick of a worker.
    pub fn tick(&mut self, worker: usize) {
        self.workers[worker].tick(&self.data, self.now_ms);
    }

    /// All that can be completed at a worker.
    pub fn completed(&mut self, worker: usize) -> Vec<(u32, Step)> {
        std::iter::from_fn(|| self.workers[worker].next_ready(&self.data, self.now_ms)).collect()
    }

    /// What the authority would answer to a batch.
    pub fn decide(&mut self, body: &[u8]) -> Answer {
        let request: DecideRequest = serde_json::from_slice(body).expect("the filter sends what the authority reads");
        let answers = request.checks.iter().map(|check| {
            let limit = |charge: &weir_wire::ChargeRef| &request.limits[charge.limit as usize];
            let charges: Vec<Charge> = check.charges.iter().map(|charge| counted(limit(charge).numbers, charge)).collect();
            let key = |charge| key::store_key(&limit(charge).rule, &check.tag, &charge.subject);
            let keys: Vec<String> = check.charges.iter().map(key).collect();
            let mut states: Vec<Option<State>> = keys.iter().map(|key| self.store.get(key).cloned()).collect();
            let verdict = weir_limit::decide(&charges, &mut states, check.hits.into(), self.now_ms);
            self.store.extend(keys.into_iter().zip(states).filter_map(|(key, state)| Some((key, state?))));
            weir_wire::Answer { id: check.id, outcome: weir_wire::Outcome::Verdict(verdict.into()) }
        });
        let response = DecideResponse { version: weir_wire::VERSION, answers: answers.collect() };
        self.calls.push((self.now_ms, request));
        Answer::Body(serde_json::to_vec(&response).expect("an answer"))
    }
}

/// A policy from YAML.
pub fn compiled(policy: &str) -> Policy {
    compile::compile(&yaml::read(policy).expect("a document")).expect("a policy")
}

fn counted(numbers: numbers::Numbers, charge: &weir_wire::ChargeRef) -> Charge {
    let limit: Limit = numbers.try_into().expect("a limit");
    Charge { limit, cost: charge.cost, shadow: charge.shadow }
}

/// The reply of a step that is one.
pub fn reply(step: &Step) -> &Reply {
    match step {
        Step::Reply(reply) => reply,
        other => panic!("no reply, but {other:?}"),
    }
}

/// A reply's header.
pub fn header<'a>(reply: &'a Reply, name: &str) -> Option<&'a str> {
    reply.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
}

/// A member of a reply's body.
pub fn member(reply: &Reply, name: &str) -> serde_json::Value {
    let body: serde_json::Value = serde_json::from_str(&reply.body).expect("a JSON body");
    body[name].clone()
}
