//! The script decides as the crate does, whatever happened before.
//!
//! Random sequences of checks, costs, limits that change under a live state, rules that watch, questions
//! without hits, and a clock that jumps both ways are decided by [`weir_limit::decide()`] and by the script in a
//! real Redis. The script asks the store for the time; here its source is rendered with the two words of `TIME`
//! taken from the end of `ARGV`, and without expiry, which goes by Redis' own clock.
//!
//! While the clock only goes forward and no numbers change, the memory store decides the same too: it forgets
//! what has expired, and that changes no decision.

use super::script::{DECIDE, Script, verdict};
use crate::batch::DecideBatch;
use crate::store::memory::MemoryStore;
use ::redis::{Connection, Value};
use proptest::prelude::*;
use proptest::sample::select;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use weir_limit::State;
use weir_testkit::Redis;
use weir_wire::{ChargeRef, Check, DecideRequest, Numbers, Outcome, Principal, Quota, RuleLimit, Subject, Tag, VERSION, Verdict};

const START_MS: u64 = 1_700_000_000_000;

/// Forty of these stay below 2^53.
const MAX_JUMP_MS: u64 = 100_000_000_000_000;

/// One check, and how the clock moved before it.
#[derive(Debug, Clone)]
struct Step {
    jump: Jump,
    hits: u32,
    /// With its cost, and whether the rule only watches.
    charges: Vec<(RuleLimit, Subject, u64, bool)>,
}

#[derive(Debug, Clone)]
enum Jump {
    By(i64),
    /// To the moment at which the last verdict said there would be room, or all of it: where off-by-ones live.
    ToRoom,
    ToReset,
}

impl Jump {
    fn ms(&self, last: &Verdict) -> i64 {
        let longest =
            |of: fn(&Quota) -> u64| i64::try_from(last.quotas.iter().map(of).max().unwrap_or(0).min(MAX_JUMP_MS)).unwrap();
        match self {
            Self::By(ms) => *ms,
            Self::ToRoom => longest(|quota| quota.wait_ms),
            Self::ToReset => longest(|quota| quota.reset_ms),
        }
    }
}

fn numbers() -> impl Strategy<Value = Numbers> {
    let small = prop_oneof![1..50_u64, Just(1_000), Just(40_000)];
    let large = select(vec![1_u64 << 20, 1 << 30, 4_503_599_627_370, 1 << 52, 1 << 53]);
    let amount = prop_oneof![8 => small, 1 => large];
    let period = prop_oneof![1..20_u64, select(vec![300, 997, 1_000, 7_001, 60_000, 86_400_000, 366 * 86_400_000])];
    let numbers = (0..7_u8, amount, 1..1_000_u64, period).prop_map(|(kind, amount, rate, ms)| match kind {
        0 => Numbers::FixedWindow { limit: amount, window_ms: ms },
        1 => Numbers::CalendarMonth { limit: amount },
        2 => Numbers::SlidingWindow { limit: amount, window_ms: ms },
        3 => Numbers::SlidingLog { limit: amount, window_ms: ms },
        4 => Numbers::TokenBucket { capacity: amount, refill: rate, period_ms: ms },
        5 => Numbers::Gcra { burst: amount, refill: rate, period_ms: ms },
        _ => Numbers::LeakyQueue { depth: amount, leak: rate, period_ms: ms },
    });
    numbers.prop_filter("a limit", |numbers| weir_limit::Limit::try_from(*numbers).is_ok())
}

/// A few rules, so that states are met again: mostly by the same numbers, at times by others of the same name.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let rule = (select(vec!["A", "B", "C"]), numbers()).prop_map(|(rule, numbers)| RuleLimit { rule: rule.to_owned(), numbers });
    prop::collection::vec(rule, 1..6).prop_flat_map(|rules| prop::collection::vec(step(rules), 1..40))
}

/// Whether no rule has other numbers later on.
fn numbers_stay(steps: &[Step]) -> bool {
    let mut numbers = HashMap::new();
    let mut limits = steps.iter().flat_map(|step| &step.charges).map(|(limit, ..)| limit);
    limits.all(|limit| *numbers.entry(&limit.rule).or_insert(limit.numbers) == limit.numbers)
}

fn step(rules: Vec<RuleLimit>) -> impl Strategy<Value = Step> {
    let jump = prop_oneof![
        5 => Just(Jump::By(0)),
        5 => (0..2_000_i64).prop_map(Jump::By),
        3 => Just(Jump::ToRoom),
        3 => Just(Jump::ToReset),
        2 => (0..100_000_000_i64).prop_map(Jump::By),
        2 => (-1_500..0_i64).prop_map(Jump::By),
        // One slack, and a little more.
        2 => (-1_001..=-1_000_i64).prop_map(Jump::By),
        1 => (-100_000_000..0_i64).prop_map(Jump::By),
    ];
    let subject = prop_oneof![Just(Subject::Whole), Just(Subject::Principal(Principal::Jwt("u".to_owned())))];
    let charge = (select(rules), subject, prop_oneof![4 => 1..5_u64, 1 => any::<u64>()], prop::bool::weighted(0.2));
    (jump, prop_oneof![Just(0), Just(1), 1..=64_u32], prop::collection::vec(charge, 1..5))
        .prop_map(|(jump, hits, charges)| Step { jump, hits, charges })
}

/// The step's check; nothing when the random costs make none.
fn batch(step: &Step) -> Option<DecideBatch> {
    let mut limits = Vec::new();
    let mut charges = Vec::new();
    for (limit, subject, cost, shadow) in &step.charges {
        let capacity = weir_limit::Limit::try_from(limit.numbers).ok()?.capacity();
        charges.push(ChargeRef {
            limit: u32::try_from(limits.len()).ok()?,
            subject: subject.clone(),
            cost: cost.saturating_sub(1) % capacity + 1,
            shadow: *shadow,
        });
        limits.push(limit.clone());
    }
    let check = Check { id: 1, hits: step.hits, tag: Tag::Tenant("t".to_owned()), charges };
    DecideBatch::try_from(DecideRequest { version: VERSION, limits, checks: vec![check] }).ok()
}

/// What the crate has counted.
#[derive(Default)]
struct Model(HashMap<String, State>);

impl Model {
    fn decide(&mut self, batch: &DecideBatch, now_ms: u64) -> Verdict {
        let check = &batch.checks()[0];
        let mut states: Vec<Option<State>> = check.keys().iter().map(|key| self.0.get(key).cloned()).collect();
        let verdict = weir_limit::decide(check.charges(), &mut states, u64::from(check.hits()), now_ms);
        for (key, state) in check.keys().iter().zip(states) {
            self.0.extend(state.map(|state| (key.clone(), state)));
        }
        verdict.into()
    }
}

/// The script in a Redis of its own, with the time as an argument.
struct Scripted {
    _server: Redis,
    redis: Connection,
    script: Script,
}

impl Scripted {
    fn start() -> Self {
        let server = Redis::start().unwrap();
        let mut redis = ::redis::Client::open(server.url()).unwrap().get_connection().unwrap();
        let source = DECIDE
            .replace("redis.call('TIME')", "{ ARGV[#ARGV - 1], ARGV[#ARGV] }")
            .replace(", 'PX', reset_ms + TTL_SLACK_MS)", ")")
            .replace("redis.call('PEXPIRE', key, reset_ms + TTL_SLACK_MS)", "");
        assert!(!source.contains("'TIME'") && !source.contains("'PX'") && !source.contains("'PEXPIRE'"));
        let script = Script::of(source);
        let _: Value = script.load().query(&mut redis).unwrap();
        Self { _server: server, redis, script }
    }

    fn flush(&mut self) {
        let _: Value = ::redis::cmd("FLUSHDB").query(&mut self.redis).unwrap();
    }

    fn decide(&mut self, batch: &DecideBatch, now_ms: u64) -> Verdict {
        let check = &batch.checks()[0];
        let mut call = self.script.call(check);
        call.arg(now_ms / 1000).arg(now_ms % 1000 * 1000 + 999);
        let answer: Value = call.query(&mut self.redis).unwrap();
        verdict(answer, check.charges()).unwrap()
    }
}

/// The memory store, with a clock that the test moves.
struct Memory {
    store: MemoryStore,
    now_ms: Arc<AtomicU64>,
}

impl Memory {
    fn new() -> Self {
        let now_ms = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&now_ms);
        Self { store: MemoryStore::new(10_000, move || clock.load(Ordering::Relaxed)), now_ms }
    }

    fn decide(&self, batch: &DecideBatch, now_ms: u64) -> Verdict {
        self.now_ms.store(now_ms, Ordering::Relaxed);
        match self.store.decide(batch).remove(0) {
            Outcome::Verdict(verdict) => verdict,
            Outcome::Failure(failure) => panic!("{failure:?}"),
        }
    }
}

#[test]
fn script_and_crate_and_memory_decide_alike() {
    let scripted = RefCell::new(Scripted::start());
    let config = ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(steps in steps())| {
        let scripted = &mut *scripted.borrow_mut();
        scripted.flush();
        let (mut model, memory) = (Model::default(), Memory::new());
        let (mut now_ms, mut forgets_nothing) = (START_MS, numbers_stay(&steps));
        let mut last = Verdict { admitted: 0, delay_ms: 0, quotas: Vec::new() };
        for step in &steps {
            let jump_ms = step.jump.ms(&last);
            now_ms = now_ms.saturating_add_signed(jump_ms);
            forgets_nothing &= jump_ms >= 0;
            if let Some(batch) = batch(step) {
                last = model.decide(&batch, now_ms);
                prop_assert_eq!(&scripted.decide(&batch, now_ms), &last, "at {} ms: {:?}", now_ms, batch);
                if forgets_nothing {
                    prop_assert_eq!(&memory.decide(&batch, now_ms), &last, "at {} ms: {:?}", now_ms, batch);
                }
            }
        }
    });
}

/// Long enough that halving has something to halve: hundreds of entries, of which some leave at each step.
#[test]
fn a_long_log_is_read_alike() {
    let mut scripted = Scripted::start();
    let rule = |limit, window_ms| RuleLimit { rule: "A".to_owned(), numbers: Numbers::SlidingLog { limit, window_ms } };
    let (mut model, mut now_ms, mut longest) = (Model::default(), START_MS, 0);
    for nth in 0..4_000_u64 {
        // A few at a time, at times a pause, at times a clock set back by less and by more than the slack.
        let jump_ms = match nth % 1_000 {
            0 => 1_500,
            333 => -900,
            666 => -1_700,
            _ => i64::try_from(nth * nth % 7).unwrap(),
        };
        now_ms = now_ms.saturating_add_signed(jump_ms);
        // The numbers change under the log, too.
        let limit = if nth % 500 < 400 { rule(2_000, 2_000) } else { rule(700, 900) };
        let hits = u32::try_from(nth % 5).unwrap();
        let step = Step { jump: Jump::By(0), hits, charges: vec![(limit, Subject::Whole, 1 + nth % 3, false)] };
        let batch = batch(&step).unwrap();
        assert_eq!(scripted.decide(&batch, now_ms), model.decide(&batch, now_ms), "step {nth}");
        if let Some(State::SlidingLog(log)) = model.0.values().next() {
            longest = longest.max(log.entries.len());
        }
    }
    assert!(longest > 200, "{longest}");
}

#[test]
fn every_month_of_a_century_begins_alike() {
    let mut scripted = Scripted::start();
    let rule = RuleLimit { rule: "M".to_owned(), numbers: Numbers::CalendarMonth { limit: 5 } };
    let batch = batch(&Step { jump: Jump::By(0), hits: 3, charges: vec![(rule, Subject::Whole, 1, false)] }).unwrap();
    let (mut model, mut now_ms) = (Model::default(), 0);
    // 1970 to 2101, past the February of 2100, which has 28 days.
    while now_ms < 4_133_980_800_000 {
        let (start_ms, end_ms) = weir_limit::calendar::month(now_ms);
        for now_ms in [start_ms, start_ms + 15 * 86_400_000, end_ms - 1] {
            assert_eq!(scripted.decide(&batch, now_ms), model.decide(&batch, now_ms), "at {now_ms} ms");
        }
        now_ms = end_ms;
    }
}

/// Around the ends of windows, with a clock that swings by a little more than the slack: random sequences seldom are there.
#[test]
fn a_clock_that_swings_at_a_boundary_is_counted_alike() {
    // The first of a month, and a multiple of ten seconds.
    const BOUNDARY_MS: u64 = 1_706_745_600_000;
    let mut scripted = Scripted::start();
    for numbers in [
        Numbers::FixedWindow { limit: 20, window_ms: 10_000 },
        Numbers::CalendarMonth { limit: 20 },
        Numbers::SlidingWindow { limit: 20, window_ms: 10_000 },
        Numbers::SlidingLog { limit: 20, window_ms: 10_000 },
        Numbers::Gcra { burst: 20, refill: 2, period_ms: 1_000 },
    ] {
        scripted.flush();
        let rule = RuleLimit { rule: "A".to_owned(), numbers };
        let mut model = Model::default();
        for nth in 0..2_000_u64 {
            // Twenty moments from 1.1 s before each boundary to 1.1 s after it, in an order that jumps about.
            let now_ms = BOUNDARY_MS + nth / 20 % 7 * 10_000 + nth * nth * 367 % 2_200 - 1_100;
            let hits = u32::try_from(nth * 7 % 5).unwrap();
            let step = Step { jump: Jump::By(0), hits, charges: vec![(rule.clone(), Subject::Whole, 1 + nth % 3, false)] };
            let batch = batch(&step).unwrap();
            assert_eq!(scripted.decide(&batch, now_ms), model.decide(&batch, now_ms), "{numbers:?}, step {nth} at {now_ms} ms");
        }
    }
}
