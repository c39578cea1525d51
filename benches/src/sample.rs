//! One measurement of one scenario, and whether it counts.

use std::{thread::sleep, time::Duration};

use anyhow::{Context, ensure};
use serde::Serialize;
use weir_testkit::Envoy;

use crate::{
    Options,
    cores::Cores,
    load::{self, Load},
    scenario::Scenario,
    stack::{Cpu, Stack},
};

const WARM_UP: Duration = Duration::from_secs(2);
/// With one connection there is little to wait for.
const ALONE: Duration = Duration::from_secs(2);
/// Longer than the filter keeps its counts before it tells Envoy.
const COUNTS_SETTLE: Duration = Duration::from_millis(300);

/// What was measured.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Sample {
    pub(crate) load: Load,
    pub(crate) envoy_cpu_us: u64,
    pub(crate) authority_cpu_us: u64,
    pub(crate) redis_cpu_us: u64,
    /// Time of Envoy's core that was not Envoy's: how much others disturbed.
    pub(crate) stolen_us: u64,
    pub(crate) callouts: u64,
    pub(crate) checks: u64,
    /// The same with one connection, where the scenario asks for it.
    pub(crate) alone: Option<Load>,
}

/// Envoy's counters that tell what happened to requests.
#[derive(Debug, Clone, Copy)]
struct Counts {
    allowed: u64,
    refused: u64,
    failed: u64,
    denials: u64,
    undecided: u64,
    callouts: u64,
    checks: u64,
}

/// Starts the scenario, warms it up and measures it.
pub(crate) fn take(scenario: &Scenario, options: &Options, cores: Cores) -> anyhow::Result<Sample> {
    let mut stack = Stack::start(scenario, options, cores)?;
    let (addr, tokens) = (stack.envoy.addr(), stack.tokens.clone());
    load::run(addr, &tokens, options.connections, WARM_UP)?;
    sleep(COUNTS_SETTLE);

    let counts = Counts::read(&stack.envoy, scenario);
    let (cpu, busy_us) = (stack.cpu(), cores.envoy_core_busy_us());
    let load = load::run(addr, &tokens, options.connections, options.duration())?;
    let (cpu, busy_us) = (stack.cpu().since(cpu), cores.envoy_core_busy_us().saturating_sub(busy_us));
    sleep(COUNTS_SETTLE);
    let counts = Counts::read(&stack.envoy, scenario).since(counts);
    check(scenario, &load, counts).with_context(|| format!("the run is invalid: {}: {load:?} {counts:?}", scenario.name))?;

    let alone = scenario.alone.then(|| load::run(addr, &tokens, 1, ALONE)).transpose()?;
    Ok(Sample {
        load,
        envoy_cpu_us: cpu.envoy_us,
        authority_cpu_us: cpu.authority_us,
        redis_cpu_us: cpu.redis_us,
        stolen_us: busy_us.saturating_sub(cpu.envoy_us),
        callouts: counts.callouts,
        checks: counts.checks,
        alone,
    })
}

/// A number counts only if every request got the answer that the scenario is about.
fn check(scenario: &Scenario, load: &Load, counts: Counts) -> anyhow::Result<()> {
    ensure!(load.requests > 0, "no request was answered");
    ensure!(load.broken == 0, "requests went without an answer");
    ensure!(counts.failed == 0, "answers with a status of 500 or more");
    ensure!(counts.undecided == 0, "requests that nobody decided");
    if scenario.denies() {
        ensure!(load.refused == load.requests && counts.allowed == 0, "requests passed that were to be denied");
        ensure!(counts.denials >= load.requests, "denials that were not the limiter's 429");
    } else {
        ensure!(load.refused == 0 && counts.refused == 0, "requests that were not answered by 200");
    }
    Ok(())
}

impl Counts {
    fn read(envoy: &Envoy, scenario: &Scenario) -> Self {
        let sum = |filter: &str| envoy.stats(filter).into_iter().map(|(_, count)| count).sum();
        Self {
            allowed: envoy.stat("http.http.downstream_rq_2xx"),
            refused: envoy.stat("http.http.downstream_rq_4xx"),
            failed: envoy.stat("http.http.downstream_rq_5xx"),
            denials: sum(scenario.denials()),
            undecided: sum("^wasmcustom\\.weir\\.undecided\\."),
            callouts: sum("^wasmcustom\\.weir\\.callouts\\."),
            checks: sum("^wasmcustom\\.weir\\.checks\\."),
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            allowed: self.allowed.saturating_sub(before.allowed),
            refused: self.refused.saturating_sub(before.refused),
            failed: self.failed.saturating_sub(before.failed),
            denials: self.denials.saturating_sub(before.denials),
            undecided: self.undecided.saturating_sub(before.undecided),
            callouts: self.callouts.saturating_sub(before.callouts),
            checks: self.checks.saturating_sub(before.checks),
        }
    }
}

impl Cpu {
    fn since(self, before: Self) -> Self {
        Self {
            envoy_us: self.envoy_us.saturating_sub(before.envoy_us),
            authority_us: self.authority_us.saturating_sub(before.authority_us),
            redis_us: self.redis_us.saturating_sub(before.redis_us),
        }
    }
}
