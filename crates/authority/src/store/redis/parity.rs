//! The script decides as the crate does, whatever happened before.
//!
//! Random sequences of checks, costs, limits that change under a live state, and a clock that jumps both
//! ways are decided by [`weir_limit::decide()`] and by the script in a real Redis. The script asks the store
//! for the time; here its source is rendered with the two words of `TIME` taken from the end of `ARGV`, and
//! without expiry, which goes by Redis' own clock.

use super::script::{DECIDE, Script, verdict};
use crate::batch::DecideBatch;
use ::redis::{Connection, Value};
use proptest::prelude::*;
use proptest::sample::select;
use std::cell::RefCell;
use std::collections::HashMap;
use weir_limit::State;
use weir_testkit::Redis;
use weir_wire::{ChargeRef, Check, DecideRequest, Numbers, Principal, Quota, RuleLimit, Subject, Tag, VERSION, Verdict};

const START_MS: u64 = 1_700_000_000_000;

/// Forty of these stay below 2^53.
const MAX_JUMP_MS: u64 = 100_000_000_000_000;

/// One check, and how the clock moved before it.
#[derive(Debug, Clone)]
struct Step {
    jump: Jump,
    hits: u32,
    charges: Vec<(RuleLimit, Subject, u64)>,
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
    let numbers = (any::<bool>(), amount, 1..1_000_u64, period).prop_map(|(window, amount, refill, ms)| match window {
        true => Numbers::FixedWindow { limit: amount, window_ms: ms },
        false => Numbers::TokenBucket { capacity: amount, refill, period_ms: ms },
    });
    numbers.prop_filter("a limit", |numbers| weir_limit::Limit::try_from(*numbers).is_ok())
}

/// A few rules, so that states are met again: mostly by the same numbers, at times by others of the same name.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let rule = (select(vec!["A", "B", "C"]), numbers()).prop_map(|(rule, numbers)| RuleLimit { rule: rule.to_owned(), numbers });
    prop::collection::vec(rule, 1..6).prop_flat_map(|rules| prop::collection::vec(step(rules), 1..40))
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
    let charge = (select(rules), subject, prop_oneof![4 => 1..5_u64, 1 => any::<u64>()]);
    (jump, prop_oneof![Just(1), 1..=64_u32], prop::collection::vec(charge, 1..5)).prop_map(|(jump, hits, charges)| Step {
        jump,
        hits,
        charges,
    })
}

/// The step's check; nothing when the random costs make none.
fn batch(step: &Step) -> Option<DecideBatch> {
    let mut limits = Vec::new();
    let mut charges = Vec::new();
    for (limit, subject, cost) in &step.charges {
        let capacity = weir_limit::Limit::try_from(limit.numbers).ok()?.capacity();
        charges.push(ChargeRef {
            limit: u32::try_from(limits.len()).ok()?,
            subject: subject.clone(),
            cost: (cost - 1) % capacity + 1,
        });
        limits.push(limit.clone());
    }
    let check = Check { id: 1, hits: step.hits, tag: Tag::Tenant("t".to_owned()), charges };
    DecideBatch::try_from(DecideRequest { version: VERSION, limits, checks: vec![check] }).ok()
}

fn decide_by_crate(states: &mut HashMap<String, State>, batch: &DecideBatch, now_ms: u64) -> Verdict {
    let check = &batch.checks()[0];
    let mut current: Vec<Option<State>> = check.keys().iter().map(|key| states.get(key).copied()).collect();
    let verdict = weir_limit::decide(check.charges(), &mut current, u64::from(check.hits()), now_ms);
    if verdict.admitted > 0 {
        states.extend(check.keys().iter().cloned().zip(current.into_iter().flatten()));
    }
    verdict.into()
}

fn decide_by_script(redis: &mut Connection, script: &Script, batch: &DecideBatch, now_ms: u64) -> Verdict {
    let mut call = script.call(&batch.checks()[0]);
    call.arg(now_ms / 1000).arg(now_ms % 1000 * 1000 + 999);
    let answer: Value = call.query(redis).unwrap();
    verdict(answer, batch.checks()[0].charges().len()).unwrap()
}

#[test]
fn script_and_crate_decide_alike() {
    let server = Redis::start().unwrap();
    let redis = ::redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    let source = DECIDE
        .replace("redis.call('TIME')", "{ ARGV[#ARGV - 1], ARGV[#ARGV] }")
        .replace(", 'PX', format('%.0f', reset_ms + TTL_SLACK_MS)", "");
    assert!(!source.contains("'TIME'") && !source.contains("'PX'"));
    let script = Script::of(source);
    let redis = RefCell::new(redis);
    let _: Value = script.load().query(&mut redis.borrow_mut()).unwrap();

    let config = ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(steps in steps())| {
        let redis = &mut *redis.borrow_mut();
        let _: Value = ::redis::cmd("FLUSHDB").query(redis).unwrap();
        let (mut now_ms, mut states) = (START_MS, HashMap::new());
        let mut last = Verdict { admitted: 0, quotas: Vec::new() };
        for step in &steps {
            now_ms = now_ms.saturating_add_signed(step.jump.ms(&last));
            if let Some(batch) = batch(step) {
                last = decide_by_crate(&mut states, &batch, now_ms);
                let script = decide_by_script(redis, &script, &batch, now_ms);
                prop_assert_eq!(&script, &last, "at {} ms: {:?}", now_ms, batch);
            }
        }
    });
}
