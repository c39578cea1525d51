//! All scenarios in turn, several times; medians.

use serde::Serialize;

use crate::{
    Options, chain,
    cores::Cores,
    load::Load,
    sample::{self, Sample},
    scenario::{CEILING, Scenario},
};

/// All that was measured of one scenario.
#[derive(Debug, Serialize)]
pub(crate) struct Measured {
    pub(crate) name: &'static str,
    #[serde(skip)]
    pub(crate) title: &'static str,
    #[serde(skip)]
    pub(crate) store: bool,
    pub(crate) per_second: Spread,
    /// Throughput in percent of the ceiling's in the same round.
    pub(crate) percent_of_ceiling: Spread,
    /// The ceiling's CPU time for each request in percent of this one's in the same round: the same ratio where Envoy's core
    /// is the limit, and much the steadier one where others disturb it.
    pub(crate) percent_by_cpu: Spread,
    pub(crate) p50_us: Spread,
    pub(crate) p99_us: Spread,
    /// CPU time for each request, in nanoseconds.
    pub(crate) envoy_ns: Spread,
    pub(crate) authority_ns: Spread,
    pub(crate) redis_ns: Spread,
    pub(crate) requests_per_callout_x10: Spread,
    pub(crate) checks_per_callout_x10: Spread,
    /// Of Envoy's core, in percent of the time.
    pub(crate) stolen_percent: Spread,
    /// Latency with one connection, if measured.
    pub(crate) alone_p50_us: Option<Spread>,
    pub(crate) alone_p99_us: Option<Spread>,
    pub(crate) samples: Vec<Sample>,
}

/// A median with the least and the most.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Spread {
    pub(crate) least: u64,
    pub(crate) median: u64,
    pub(crate) most: u64,
}

/// Measures `scenarios` in turn.
pub(crate) fn measure(scenarios: &[Scenario], options: &Options, cores: Cores) -> anyhow::Result<Vec<Measured>> {
    chain::check_built(options)?;
    let mut samples: Vec<Vec<Sample>> = scenarios.iter().map(|_| Vec::new()).collect();
    for round in 1..=options.rounds {
        for (scenario, samples) in scenarios.iter().zip(&mut samples) {
            eprintln!("weir: round {round} of {}: {}", options.rounds, scenario.title);
            samples.push(sample::take(scenario, options, cores)?);
        }
    }
    let ceiling = scenarios.iter().position(|scenario| scenario.name == CEILING).and_then(|place| samples.get(place));
    let ceiling = ceiling.cloned().unwrap_or_default();
    Ok(scenarios.iter().zip(samples).map(|(scenario, samples)| Measured::new(scenario, samples, &ceiling)).collect())
}

impl Measured {
    fn new(scenario: &Scenario, samples: Vec<Sample>, ceiling: &[Sample]) -> Self {
        let each = |value: fn(&Sample) -> u64| Spread::of(samples.iter().map(value));
        let alone = |value: fn(&Load) -> u64| {
            scenario.alone.then(|| Spread::of(samples.iter().filter_map(|sample| sample.alone.as_ref()).map(value)))
        };
        let ratios = |ratio: fn(&Sample, &Sample) -> u64| {
            Spread::of(samples.iter().zip(ceiling).map(|(sample, ceiling)| ratio(sample, ceiling)))
        };
        Self {
            name: scenario.name,
            title: scenario.title,
            store: scenario.store.is_some(),
            per_second: each(|sample| sample.load.per_second()),
            percent_of_ceiling: ratios(|sample, ceiling| divided(sample.load.per_second(), 100, ceiling.load.per_second())),
            percent_by_cpu: ratios(|sample, ceiling| divided(envoy_ns(ceiling), 100, envoy_ns(sample))),
            p50_us: each(|sample| sample.load.p50_us),
            p99_us: each(|sample| sample.load.p99_us),
            envoy_ns: each(envoy_ns),
            authority_ns: each(|sample| divided(sample.authority_cpu_us, 1_000, sample.load.requests)),
            redis_ns: each(|sample| divided(sample.redis_cpu_us, 1_000, sample.load.requests)),
            requests_per_callout_x10: each(|sample| divided(sample.load.requests, 10, sample.callouts)),
            checks_per_callout_x10: each(|sample| divided(sample.checks, 10, sample.callouts)),
            stolen_percent: each(|sample| divided(sample.stolen_us, 100, sample.load.duration_us)),
            alone_p50_us: alone(|load| load.p50_us),
            alone_p99_us: alone(|load| load.p99_us),
            samples,
        }
    }
}

impl Spread {
    fn of(values: impl Iterator<Item = u64>) -> Self {
        let mut values: Vec<u64> = values.collect();
        values.sort_unstable();
        let at = |place: usize| values.get(place).copied().unwrap_or(0);
        Self { least: at(0), median: at(values.len() / 2), most: at(values.len().saturating_sub(1)) }
    }
}

fn envoy_ns(sample: &Sample) -> u64 {
    divided(sample.envoy_cpu_us, 1_000, sample.load.requests)
}

/// `amount × scale ÷ by`, rounded; 0 where there is nothing to divide by.
fn divided(amount: u64, scale: u64, by: u64) -> u64 {
    amount.saturating_mul(scale).saturating_add(by / 2).checked_div(by).unwrap_or(0)
}
