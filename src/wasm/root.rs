//! One plugin in one worker: configuration, batches, completions, ticks.
//!
//! A stream that waits wakes the root through a queue of its own, in the next turn of the event loop; so
//! whatever arrives in one turn leaves in one callout. The engine is never borrowed across a host call that
//! runs other callbacks.

use super::host::{HostData, now_ms};
use super::stream::Stream;
use super::{abi, metrics};
use crate::callout::Undecided;
use crate::config::Config;
use crate::engine::{Answer, Engine, MOST_COMPLETIONS};
use crate::flow::Step;
use crate::reply::{Reply, is_grpc};
use proxy_wasm::hostcalls;
use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{ContextType, MapType};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// How often deadlines are looked at. Requests are held at most this much longer.
const TICK: Duration = Duration::from_millis(10);

/// Every this many ticks the counts are handed to the host.
const TICKS_PER_REPORT: u32 = 20;

/// The shared counter that gives each plugin's queue a name of its own: a queue wakes whoever registered it last.
const QUEUE_COUNTER: &str = "weir.1.queues";

/// One plugin in one worker.
pub(super) struct Root {
    id: u32,
    plugin: Option<Plugin>,
    ticks: u32,
}

/// What the plugin's streams hold on to.
#[derive(Clone)]
pub(super) struct Plugin {
    pub(super) engine: Rc<RefCell<Engine>>,
    wake: Rc<Wake>,
    authority: Rc<Authority>,
}

struct Wake {
    queue: u32,
    pending: Cell<bool>,
}

struct Authority {
    cluster: String,
}

impl Root {
    pub(super) fn new(id: u32) -> Self {
        Self { id, plugin: None, ticks: 0 }
    }

    fn configure(&mut self) -> Result<(), String> {
        let json = hostcalls::get_buffer(proxy_wasm::types::BufferType::PluginConfiguration, 0, usize::MAX);
        let json = json.ok().flatten().unwrap_or_default();
        let Config { placement, cluster, policy } = Config::parse(&json).map_err(|error| error.to_string())?;
        let queue = register_queue()?;
        log::info!("weir: policy version {} with {} routes at {placement:?}", policy.version(), policy.routes().len());
        let engine = Engine::new(placement, policy);
        engine.prepare(&HostData);
        self.plugin = Some(Plugin {
            engine: Rc::new(RefCell::new(engine)),
            wake: Rc::new(Wake { queue, pending: Cell::new(false) }),
            authority: Rc::new(Authority { cluster }),
        });
        hostcalls::set_tick_period(TICK).map_err(|status| format!("the host has no ticks: {status:?}"))
    }

    /// Sends what can be sent, then completes what can be completed: the authority works meanwhile.
    fn pump(&self) {
        let Some(plugin) = &self.plugin else { return };
        plugin.send();
        plugin.complete();
        // Completions made the host forget whose turn it is.
        let _ = hostcalls::set_effective_context(self.id);
        plugin.wake_if_wanted();
    }
}

impl Context for Root {
    fn on_http_call_response(&mut self, token: u32, _num_headers: usize, body_size: usize, _num_trailers: usize) {
        let Some(plugin) = &self.plugin else { return };
        let answer = read_answer(body_size);
        plugin.engine.borrow_mut().answered(token, &answer, &HostData, now_ms());
        self.pump();
    }
}

impl RootContext for Root {
    fn on_configure(&mut self, _size: usize) -> bool {
        let configured = self.configure();
        // Each mistake is a line of its own, with the host's prefix.
        for line in configured.as_ref().err().into_iter().flat_map(|error| error.lines()) {
            log::error!("weir: {line}");
        }
        configured.is_ok()
    }

    fn on_queue_ready(&mut self, queue: u32) {
        if let Some(plugin) = &self.plugin {
            let _ = hostcalls::dequeue_shared_queue(queue);
            plugin.wake.pending.set(false);
        }
        self.pump();
    }

    fn on_tick(&mut self) {
        let Some(plugin) = &self.plugin else { return };
        plugin.engine.borrow_mut().tick(&HostData, now_ms());
        self.ticks = self.ticks.wrapping_add(1);
        if self.ticks.is_multiple_of(TICKS_PER_REPORT) {
            plugin.report();
        }
        self.pump();
    }

    fn create_http_context(&self, context_id: u32) -> Option<Box<dyn HttpContext>> {
        let plugin = self.plugin.clone()?;
        Some(Box::new(Stream::new(context_id, plugin)))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}

impl Plugin {
    /// Wakes the root in the next turn of the event loop, once, if it has anything to do.
    pub(super) fn wake_if_wanted(&self) {
        if !self.wake.pending.get() && self.engine.borrow().wants_wake() {
            // A queue that is gone leaves it to the tick.
            self.wake.pending.set(hostcalls::enqueue_shared_queue(self.wake.queue, Some(b"1")).is_ok());
        }
    }

    fn send(&self) {
        loop {
            let batch = self.engine.borrow_mut().take_batch(&HostData);
            let Some((body, checks)) = batch else { return };
            let timeout = Duration::from_millis(self.engine.borrow().policy().deadline_ms());
            match self.authority.dispatch(&body, timeout) {
                Some(token) => self.engine.borrow_mut().batch_sent(token, checks),
                None => self.engine.borrow_mut().batch_not_sent(checks, &HostData),
            }
        }
    }

    fn complete(&self) {
        let now_ms = now_ms();
        for _ in 0..MOST_COMPLETIONS {
            let next = self.engine.borrow_mut().next_ready(&HostData, now_ms);
            let Some((stream, step)) = next else { return };
            // A stream that is gone has no context any more.
            if hostcalls::set_effective_context(stream).is_err() {
                continue;
            }
            match step {
                Step::Continue => abi::resume_request(),
                Step::Reply(reply) => send(&reply),
                Step::Wait => {}
            }
        }
    }

    fn report(&self) {
        let mut engine = self.engine.borrow_mut();
        let (placement, policy) = (engine.placement(), engine.policy());
        let telemetry = engine.telemetry();
        telemetry.drain(|counter, amount| metrics::add(counter.name(placement, &policy), amount));
        for size in telemetry.drain_batch_sizes() {
            metrics::record("weir.batch_hits".into(), size);
        }
    }
}

impl Authority {
    fn dispatch(&self, body: &[u8], timeout: Duration) -> Option<u32> {
        let headers = vec![
            (":method", "POST"),
            (":path", weir_wire::DECIDE_PATH),
            (":authority", self.cluster.as_str()),
            ("content-type", "application/json"),
        ];
        hostcalls::dispatch_http_call(&self.cluster, headers, Some(body), Vec::new(), timeout).ok()
    }
}

/// Answers the request of the effective context, in its own protocol.
pub(super) fn send(reply: &Reply) {
    let content_type = abi::header(MapType::HttpRequestHeaders, "content-type").unwrap_or_default();
    if is_grpc(&content_type) {
        let headers: Vec<_> = reply.headers.iter().filter(|(name, _)| *name != "content-type").cloned().collect();
        abi::local_response(200, &reply.details, &reply.body, &headers, reply.grpc_status as i32);
    } else {
        abi::local_response(reply.status, &reply.details, &reply.body, &reply.headers, abi::NO_GRPC_STATUS);
    }
}

/// The proxy makes answers of its own (503, 504) that look like the authority's: only the mark tells.
fn read_answer(body_size: usize) -> Answer {
    let header = |name| abi::header(MapType::HttpCallResponseHeaders, name);
    let status = header(":status");
    if header(weir_wire::ANSWER_MARK).is_none() {
        let because = match status.as_deref() {
            Some(b"504") => Undecided::DeadlineExceeded,
            Some(b"200") => Undecided::AnswerMalformed,
            _ => Undecided::AuthorityUnreachable,
        };
        return Answer::Failed(because);
    }
    match status.as_deref() {
        Some(b"200") => abi::callout_body(body_size).map_or(Answer::Failed(Undecided::AnswerMalformed), Answer::Body),
        _ => Answer::Refused,
    }
}

fn register_queue() -> Result<u32, String> {
    let number = next_number().ok_or("the host's shared data is too contended to name a queue; try again")?;
    hostcalls::register_shared_queue(&format!("weir.{number}")).map_err(|status| format!("the host has no queues: {status:?}"))
}

fn next_number() -> Option<u64> {
    use crate::shared::SharedData;
    (0..64).find_map(|_| {
        let (number, version) = match HostData.get(QUEUE_COUNTER) {
            Some((bytes, version)) => (u64::from_le_bytes(bytes.try_into().ok()?), Some(version)),
            None => (0, None),
        };
        let number = number.wrapping_add(1);
        HostData.set(QUEUE_COUNTER, &number.to_le_bytes(), version).ok().map(|()| number)
    })
}
