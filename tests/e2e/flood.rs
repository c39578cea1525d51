//! A flood on a key that is denied costs the store four calls a second, whatever the flood.

use crate::caller::{Caller, User, count, send, tally, until_refused};
use crate::patience::until;
use crate::witness::Witness;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use weir_testkit::Stack;
use weir_testkit::stack::Store;

const CONNECTIONS: usize = 48;
const FLOOD: Duration = Duration::from_secs(5);

/// Connections that each repeat one user's request as fast as it is answered, until they are told to stop.
struct Flood {
    connections: JoinSet<()>,
    stop: Arc<AtomicBool>,
    answers: Arc<AtomicU64>,
}

impl Flood {
    fn start(user: &User) -> Self {
        let (stop, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut connections = JoinSet::new();
        for _ in 0..CONNECTIONS {
            let (user, stop, answers) = (user.clone(), Arc::clone(&stop), Arc::clone(&answers));
            connections.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let answer = send(user.catalog()).await;
                    assert!([200, 429].contains(&answer.status), "{answer:?}");
                    answers.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        Self { connections, stop, answers }
    }

    fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    async fn stop(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(ended) = self.connections.join_next().await {
            ended.unwrap();
        }
    }
}

#[tokio::test]
async fn d11_a_flooded_key_costs_four_store_calls_a_second_and_others_do_not_notice() {
    let plan = Stack::plan(Store::Redis).unwrap().patience_ms(5_000).envoy(|config| config.concurrency(2));
    let mut stack = plan.start().unwrap();
    let mut redis = Witness::of(stack.redis());
    let caller = Caller::of(&stack.envoy);
    let (flooder, other) = (caller.user("atlas", "U-17"), caller.user("birch", "U-4"));
    until_refused(|| flooder.catalog()).await;

    let flood = Flood::start(&flooder);
    until("the flood is there", || flood.answers() > 500).await;
    let (begun, calls, answers) = (Instant::now(), redis.script_calls(), flood.answers());

    let mut others = Vec::new();
    while begun.elapsed() < FLOOD {
        others.push(send(other.catalog()).await);
        tokio::time::sleep(FLOOD / 20).await;
    }
    let calls = redis.script_calls() - calls;
    let (lasted, answers) = (begun.elapsed(), flood.answers() - answers);
    flood.stop().await;

    assert!(answers > 1_000, "only {answers} answers in {lasted:?}: no flood");
    assert_eq!(count(&others, 200), others.len(), "{:?}", tally(&others));
    let of_others = u64::try_from(others.len()).unwrap();
    // One more, since the stretch of time may begin just before a call.
    let most = u64::try_from(lasted.as_millis() * 4 / 1_000).unwrap() + 1;
    assert!(calls - of_others <= most, "{calls} store calls, {of_others} of others, in {lasted:?} with {answers} answers");
}
