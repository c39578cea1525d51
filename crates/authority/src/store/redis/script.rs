//! The script: how a check becomes its arguments, and its answer a verdict.

use super::fault::Fault;
use crate::batch::Check;
use ::redis::{Cmd, Value};
use weir_limit::{Charge, Gcra, Limit, Window};
use weir_wire::{Failure, Quota, Verdict};

/// `lua/decide.lua`, whose head documents what goes in and comes out.
pub(super) const DECIDE: &str = include_str!("../lua/decide.lua");

/// A script and the name that Redis has for it.
pub(super) struct Script {
    source: String,
    sha1: String,
}

impl Script {
    pub(super) fn decide() -> Self {
        Self::of(DECIDE.to_owned())
    }

    pub(super) fn of(source: String) -> Self {
        let sha1 = ::redis::Script::new(&source).get_hash().to_owned();
        Self { source, sha1 }
    }

    /// The command that makes it known to Redis.
    pub(super) fn load(&self) -> Cmd {
        let mut load = ::redis::cmd("SCRIPT");
        load.arg("LOAD").arg(&self.source);
        load
    }

    /// The command that decides `check`.
    pub(super) fn call(&self, check: &Check) -> Cmd {
        let keys = check.keys();
        let mut call = Cmd::with_capacity(5 + 6 * keys.len(), 64 + 96 * keys.len());
        call.arg("EVALSHA").arg(&self.sha1).arg(keys.len());
        for key in keys {
            call.arg(key);
        }
        call.arg(check.hits()).arg(watching(check.charges()));
        for Charge { limit, cost, .. } in check.charges() {
            let (kind, numbers) = numbers(limit);
            call.arg(kind).arg(*cost);
            for number in numbers {
                call.arg(number);
            }
        }
        call
    }
}

/// Nothing when all enforce: the common case costs the script no look.
fn watching(charges: &[Charge]) -> String {
    if charges.iter().any(|charge| charge.shadow) {
        charges.iter().map(|charge| if charge.shadow { '1' } else { '0' }).collect()
    } else {
        String::new()
    }
}

fn numbers(limit: &Limit) -> (&'static str, [u64; 3]) {
    let of_rate = |gcra: &Gcra| [gcra.burst(), gcra.rate().units(), gcra.rate().per_ms()];
    match limit {
        Limit::FixedWindow(window) => match window.window() {
            Window::Every { ms } => ("fw", [window.limit(), ms, 0]),
            Window::Month => ("mo", [window.limit(), 0, 0]),
        },
        Limit::SlidingWindow(window) => ("sw", [window.limit(), window.window_ms(), 0]),
        Limit::SlidingLog(log) => ("sl", [log.limit(), log.window_ms(), 0]),
        // Below 2^53, as the bucket was refused otherwise.
        Limit::TokenBucket(bucket) => ("tb", [bucket.capacity() * 1000, bucket.refill_mt(), bucket.per_ms()]),
        Limit::Gcra(gcra) => ("gc", of_rate(gcra)),
        Limit::LeakyQueue(queue) => ("lq", of_rate(queue.turns())),
    }
}

/// Reads an answer to a check with these `charges`.
pub(super) fn verdict(answer: Value, charges: &[Charge]) -> Result<Verdict, Fault> {
    match answer {
        Value::ServerError(error) => Err(Fault::from(&error)),
        Value::Array(values) => parse(&values, charges).ok_or(UNREADABLE),
        _ => Err(UNREADABLE),
    }
}

/// Whether an answer says that something was charged.
pub(super) fn admits(answer: &Value) -> bool {
    matches!(answer, Value::Array(values) if matches!(values.first(), Some(Value::Int(1..))))
}

/// It was executed, but nobody can say with what result.
const UNREADABLE: Fault = Fault::Failed(Failure::Unknown);

fn parse(values: &[Value], charges: &[Charge]) -> Option<Verdict> {
    let [admitted, delay_ms, rest @ ..] = values else { return None };
    let (quotas, shadow_denied) = rest.split_at_checked(3 * charges.len())?;
    let expected = if charges.iter().any(|charge| charge.shadow) { charges.len() } else { 0 };
    if shadow_denied.len() != expected {
        return None;
    }
    let (quotas, _) = quotas.as_chunks::<3>();
    let quotas = quotas.iter().enumerate().map(|(nth, [remaining, reset_ms, wait_ms])| {
        Some(Quota {
            remaining: unsigned(remaining)?,
            reset_ms: unsigned(reset_ms)?,
            wait_ms: unsigned(wait_ms)?,
            shadow_denied: shadow_denied.get(nth).map_or(Some(0), unsigned)?,
        })
    });
    Some(Verdict {
        admitted: u32::try_from(unsigned(admitted)?).ok()?,
        delay_ms: unsigned(delay_ms)?,
        quotas: quotas.collect::<Option<_>>()?,
    })
}

fn unsigned(value: &Value) -> Option<u64> {
    if let Value::Int(integer) = value { u64::try_from(*integer).ok() } else { None }
}
