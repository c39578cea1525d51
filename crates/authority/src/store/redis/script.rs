//! The script: how a check becomes its arguments, and its answer a verdict.

use super::fault::Fault;
use crate::batch::Check;
use ::redis::{Cmd, Value};
use weir_limit::{Charge, Limit};
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
        let mut call = Cmd::with_capacity(4 + 6 * keys.len(), 64 + 96 * keys.len());
        call.arg("EVALSHA").arg(&self.sha1).arg(keys.len());
        for key in keys {
            call.arg(key);
        }
        call.arg(check.hits());
        for Charge { limit, cost } in check.charges() {
            match limit {
                Limit::FixedWindow(window) => {
                    call.arg("fw").arg(*cost).arg(window.limit()).arg(window.window_ms());
                }
                Limit::TokenBucket(bucket) => {
                    // Below 2^53, as the bucket was refused otherwise.
                    let capacity_mt = bucket.capacity() * 1000;
                    call.arg("tb").arg(*cost).arg(capacity_mt).arg(bucket.refill_mt()).arg(bucket.per_ms());
                }
            }
        }
        call
    }
}

/// Reads an answer to a check with that many `charges`.
pub(super) fn verdict(answer: Value, charges: usize) -> Result<Verdict, Fault> {
    match answer {
        Value::ServerError(error) => Err(Fault::from(&error)),
        Value::Array(values) => parse(&values).filter(|verdict| verdict.quotas.len() == charges).ok_or(UNREADABLE),
        _ => Err(UNREADABLE),
    }
}

/// Whether an answer says that something was charged.
pub(super) fn admits(answer: &Value) -> bool {
    matches!(answer, Value::Array(values) if matches!(values.first(), Some(Value::Int(1..))))
}

/// It was executed, but nobody can say with what result.
const UNREADABLE: Fault = Fault::Failed(Failure::Unknown);

fn parse(values: &[Value]) -> Option<Verdict> {
    let [admitted, quotas @ ..] = values else { return None };
    let (quotas, rest) = quotas.as_chunks::<3>();
    let quotas = quotas
        .iter()
        .map(|[remaining, reset_ms, wait_ms]| {
            Some(Quota { remaining: unsigned(remaining)?, reset_ms: unsigned(reset_ms)?, wait_ms: unsigned(wait_ms)? })
        })
        .collect::<Option<Vec<_>>>()?;
    rest.is_empty().then_some(Verdict { admitted: u32::try_from(unsigned(admitted)?).ok()?, quotas })
}

fn unsigned(value: &Value) -> Option<u64> {
    if let Value::Int(integer) = value { u64::try_from(*integer).ok() } else { None }
}
