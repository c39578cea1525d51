//! What a decision costs Redis: `cargo bench -p weir-authority --bench script`.
//!
//! Against a Redis of its own, in batches of 64 checks of as many tenants: decisions by 1, 3, 5 and 16 rules, and by
//! one rule of each algorithm, beside the same number of plain `SET`s and of `INCR` with `EXPIRE`. All admit, so all
//! write. Two figures each, medians of rounds in which every case has its turn: microseconds that Redis itself spent
//! (`INFO commandstats`), and the time until the answers were back. Ratios are to `SET` of the same run.

use redis::aio::MultiplexedConnection;
use std::time::{Duration, Instant};
use weir_authority::{DecideBatch, Store};
use weir_testkit::Redis;
use weir_wire::{ChargeRef, Check, DecideRequest, MAX_CHECKS, Numbers, Outcome, RuleLimit, Subject, Tag, VERSION};

const ROUNDS: usize = 21;

/// Of 64, in each round.
const BATCHES: usize = 20;

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

/// What is measured, once for each of 64 tenants.
enum Case {
    Decisions(DecideBatch),
    Commands(redis::Pipeline, &'static [&'static str]),
}

/// Nanoseconds for one of a batch.
#[derive(Clone, Copy)]
struct Figures {
    in_redis: u128,
    answered: u128,
}

fn cases() -> Vec<(String, Case)> {
    let commands = |add: &dyn Fn(&mut redis::Pipeline, String)| {
        let mut pipeline = redis::pipe();
        (0..MAX_CHECKS).for_each(|tenant| add(&mut pipeline, format!("w:{{t:tenant {tenant}}}:R0")));
        pipeline
    };
    let set = commands(&|pipeline, key| {
        pipeline.cmd("SET").arg(key).arg("tb 19000 0 1706745600000").arg("PX").arg(60_000);
    });
    let incr = commands(&|pipeline, key| {
        pipeline.cmd("INCR").arg(format!("{key} incr")).cmd("EXPIRE").arg(format!("{key} incr")).arg(60);
    });
    let mut cases = vec![
        ("SET".to_owned(), Case::Commands(set, &["set"])),
        ("INCR + EXPIRE".to_owned(), Case::Commands(incr, &["incr", "expire"])),
    ];
    for count in [1, 3, 5, 16] {
        // The kinds that most rules are of, over and over.
        let rules: Vec<Numbers> = kinds().iter().take(2).map(|(_, numbers)| *numbers).cycle().take(count).collect();
        cases.push((format!("{count} rules"), Case::Decisions(batch(&format!("{count} rules"), &rules))));
    }
    let mixed: Vec<Numbers> = kinds().iter().take(5).map(|(_, numbers)| *numbers).collect();
    cases.push(("5 kinds of rules".to_owned(), Case::Decisions(batch("mixed", &mixed))));
    cases.extend(kinds().into_iter().map(|(name, numbers)| (name.to_owned(), Case::Decisions(batch(name, &[numbers])))));
    cases
}

async fn measure(store: &Store, redis: &mut MultiplexedConnection, case: &Case) -> Figures {
    let _: () = redis::cmd("CONFIG").arg("RESETSTAT").query_async(redis).await.expect("reset");
    let started = Instant::now();
    for _ in 0..BATCHES {
        match case {
            Case::Decisions(batch) => {
                let admitted = |outcome: &Outcome| matches!(outcome, Outcome::Verdict(verdict) if verdict.admitted == 1);
                assert!(store.decide(batch).await.iter().all(admitted));
            }
            Case::Commands(pipeline, _) => {
                let _: redis::Value = pipeline.query_async(redis).await.expect("answers");
            }
        }
    }
    let took = started.elapsed();
    let info: String = redis::cmd("INFO").arg("commandstats").query_async(redis).await.expect("figures");
    let spent_us = |command: &&str| -> u128 {
        let line = info.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:"))).expect("was called");
        let usec = line.split(',').find_map(|field| field.strip_prefix("usec=")).expect("its time");
        usec.parse().expect("a number")
    };
    let commands: &[&str] = match case {
        Case::Decisions(_) => &["evalsha"],
        Case::Commands(_, commands) => commands,
    };
    let decisions = (BATCHES * MAX_CHECKS) as u128;
    Figures { in_redis: commands.iter().map(spent_us).sum::<u128>() * 1_000 / decisions, answered: took.as_nanos() / decisions }
}

/// The median of the rounds.
fn median(rounds: &[Figures], of: impl Fn(&Figures) -> u128) -> u128 {
    let mut figures: Vec<u128> = rounds.iter().map(of).collect();
    figures.sort_unstable();
    figures[figures.len() / 2]
}

fn hundredths(number: u128, unit: u128) -> String {
    let hundredths = number * 100 / unit.max(1);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

async fn run() {
    let server = Redis::start().expect("a Redis");
    let store = Store::redis_at(&server.url(), Duration::from_secs(10)).expect("an address");
    while store.readiness().is_err() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let client = redis::Client::open(server.url()).expect("an address");
    let mut redis = client.get_multiplexed_async_connection().await.expect("a connection");

    let cases = cases();
    let mut rounds: Vec<Vec<Figures>> = cases.iter().map(|_| Vec::with_capacity(ROUNDS)).collect();
    for _ in 0..ROUNDS {
        for ((_, case), figures) in cases.iter().zip(&mut rounds) {
            figures.push(measure(&store, &mut redis, case).await);
        }
    }
    let [set, ..] = rounds.as_slice() else { return };
    let (set_in_redis, set_answered) = (median(set, |set| set.in_redis), median(set, |set| set.answered));
    println!("{:<18} {:>10} {:>8} {:>14} {:>8}", "for one decision", "Redis, us", "to SET", "answered, us", "to SET");
    for ((name, _), figures) in cases.iter().zip(&rounds) {
        let (in_redis, answered) = (median(figures, |of| of.in_redis), median(figures, |of| of.answered));
        println!(
            "{name:<18} {:>10} {:>8} {:>14} {:>8}",
            hundredths(in_redis, 1_000),
            hundredths(in_redis, set_in_redis),
            hundredths(answered, 1_000),
            hundredths(answered, set_answered),
        );
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    runtime.block_on(run());
}
