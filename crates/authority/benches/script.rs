//! What a decision costs Redis: `cargo bench -p weir-authority --bench script`.
//!
//! Against a Redis of its own, in batches of 64 checks of as many tenants: decisions by 1, 3, 5 and 16 rules, and by
//! one rule of each algorithm, beside the same number of plain `SET`s and of `INCR` with `EXPIRE`. All admit, so all
//! write. Two figures each: microseconds that Redis itself spent (`INFO commandstats`), and the time until all answers
//! were back, the median of the batches. Ratios are to `SET` of the same run; a ratio survives another machine.

use redis::aio::MultiplexedConnection;
use std::time::{Duration, Instant};
use weir_authority::{DecideBatch, Store};
use weir_testkit::Redis;
use weir_wire::{ChargeRef, Check, DecideRequest, MAX_CHECKS, Numbers, Outcome, RuleLimit, Subject, Tag, VERSION};

const BATCHES: usize = 400;

/// Room for everything that a run asks for.
const ROOM: u64 = 9_000;

fn kinds() -> [(&'static str, Numbers); 7] {
    [
        ("token bucket", Numbers::TokenBucket { capacity: ROOM, refill: 2, period_ms: 1_000 }),
        ("fixed window", Numbers::FixedWindow { limit: ROOM, window_ms: 60_000 }),
        ("sliding window", Numbers::SlidingWindow { limit: ROOM, window_ms: 60_000 }),
        ("gcra", Numbers::Gcra { burst: ROOM, refill: 2, period_ms: 1_000 }),
        ("calendar month", Numbers::CalendarMonth { limit: ROOM }),
        ("leaky queue", Numbers::LeakyQueue { depth: ROOM, leak: 2, period_ms: 1_000 }),
        ("sliding log", Numbers::SlidingLog { limit: ROOM, window_ms: 60_000 }),
    ]
}

/// A check by these rules for each of 64 tenants.
fn batch(name: &str, rules: &[Numbers]) -> DecideBatch {
    let limits = rules.iter().enumerate().map(|(nth, numbers)| RuleLimit { rule: format!("R{nth}"), numbers: *numbers });
    let charge =
        |nth: usize| ChargeRef { limit: u32::try_from(nth).expect("few rules"), subject: Subject::Whole, cost: 1, shadow: false };
    let check = |id: u32| Check {
        id,
        hits: 1,
        tag: Tag::Tenant(format!("{name} {id}")),
        charges: (0..rules.len()).map(charge).collect(),
    };
    let checks = (0..).take(MAX_CHECKS).map(check).collect();
    DecideBatch::try_from(DecideRequest { version: VERSION, limits: limits.collect(), checks }).expect("a batch")
}

/// A Redis with who measures it.
struct Bench {
    store: Store,
    redis: MultiplexedConnection,
    set: Option<Figures>,
}

/// For one of a batch.
#[derive(Clone, Copy)]
struct Figures {
    in_redis_ns: u128,
    answered_ns: u128,
}

impl Bench {
    async fn decisions(&mut self, name: &str, rules: &[Numbers]) {
        let batch = batch(name, rules);
        self.reset().await;
        let mut took = Vec::with_capacity(BATCHES);
        for _ in 0..BATCHES {
            let started = Instant::now();
            let outcomes = self.store.decide(&batch).await;
            took.push(started.elapsed());
            assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Verdict(verdict) if verdict.admitted == 1)));
        }
        self.report(name, took, &["evalsha"]).await;
    }

    async fn commands(&mut self, name: &str, stats: &[&str], add: impl Fn(&mut redis::Pipeline, usize)) {
        self.reset().await;
        let mut took = Vec::with_capacity(BATCHES);
        for _ in 0..BATCHES {
            let mut pipeline = redis::pipe();
            (0..MAX_CHECKS).for_each(|tenant| add(&mut pipeline, tenant));
            let started = Instant::now();
            let _: redis::Value = pipeline.query_async(&mut self.redis).await.expect("answers");
            took.push(started.elapsed());
        }
        self.report(name, took, stats).await;
    }

    async fn reset(&mut self) {
        let _: () = redis::cmd("CONFIG").arg("RESETSTAT").query_async(&mut self.redis).await.expect("reset");
    }

    async fn report(&mut self, name: &str, mut took: Vec<Duration>, stats: &[&str]) {
        let info: String = redis::cmd("INFO").arg("commandstats").query_async(&mut self.redis).await.expect("figures");
        let spent_us = |command: &&str| -> u128 {
            let line = info.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:"))).expect("was called");
            let usec = line.split(',').find_map(|field| field.strip_prefix("usec=")).expect("its time");
            usec.parse().expect("a number")
        };
        took.sort_unstable();
        let figures = Figures {
            in_redis_ns: stats.iter().map(spent_us).sum::<u128>() * 1_000 / (BATCHES * MAX_CHECKS) as u128,
            answered_ns: took[took.len() / 2].as_nanos() / MAX_CHECKS as u128,
        };
        let set = *self.set.get_or_insert(figures);
        println!(
            "{name:<18} {:>10} {:>8} {:>14} {:>8}",
            hundredths(figures.in_redis_ns, 1_000),
            hundredths(figures.in_redis_ns, set.in_redis_ns),
            hundredths(figures.answered_ns, 1_000),
            hundredths(figures.answered_ns, set.answered_ns),
        );
    }
}

fn hundredths(number: u128, unit: u128) -> String {
    let hundredths = number * 100 / unit.max(1);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let server = Redis::start().expect("a Redis");
        let store = Store::redis_at(&server.url(), Duration::from_secs(10)).expect("an address");
        while store.readiness().is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let client = redis::Client::open(server.url()).expect("an address");
        let redis = client.get_multiplexed_async_connection().await.expect("a connection");
        let mut bench = Bench { store, redis, set: None };

        println!("{:<18} {:>10} {:>8} {:>14} {:>8}", "for one decision", "Redis, us", "to SET", "answered, us", "to SET");
        let key = |name: &str, tenant: usize| format!("w:{{t:{name} {tenant}}}:R0");
        let set = |pipeline: &mut redis::Pipeline, tenant: usize| {
            pipeline.cmd("SET").arg(key("set", tenant)).arg("tb 19000 0 1706745600000").arg("PX").arg(60_000);
        };
        // Once to warm up.
        bench.commands("SET (warming up)", &["set"], set).await;
        bench.set = None;
        bench.commands("SET", &["set"], set).await;
        bench
            .commands("INCR + EXPIRE", &["incr", "expire"], |pipeline, tenant| {
                let key = key("incr", tenant);
                pipeline.cmd("INCR").arg(&key).cmd("EXPIRE").arg(&key).arg(60);
            })
            .await;
        for count in [1, 3, 5, 16] {
            // The kinds that most rules are of, over and over; logs apart.
            let rules: Vec<Numbers> = kinds().iter().take(6).map(|(_, numbers)| *numbers).cycle().take(count).collect();
            bench.decisions(&format!("{count} rules"), &rules).await;
        }
        for (name, numbers) in kinds() {
            bench.decisions(name, &[numbers]).await;
        }
    });
}
