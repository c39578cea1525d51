//! What Weir costs: Envoy with and without it, under load, in one run.
//!
//! | module | concept |
//! |---|---|
//! | [`scenario`] | what is compared |
//! | [`chain`] | a scenario's Envoy: the shipped file, edited |
//! | [`stack`] | a scenario's processes, each on its core |
//! | [`cores`] | which core, and how busy it was |
//! | [`load`] | one run of `wrk` |
//! | [`sample`] | one measurement of one scenario, and whether it counts |
//! | [`rounds`] | all scenarios in turn, several times; medians |
//! | [`machine`] | where it was measured |
//! | [`report`] | the tables |
//!
//! Absolute numbers are the machine's; ratios within one run are Weir's. So the scenarios take turns (A B C A B C …), each
//! time with fresh processes, and a ratio is the median of the rounds' ratios. Envoy has one worker and a core of its own;
//! the load, the authority and Redis share another. Envoy answers by itself, so that no upstream is measured, and verifies
//! tokens with a cache, since a signature costs more than everything else here. Nothing is logged for each request.

mod chain;
mod cores;
mod load;
mod machine;
mod report;
mod rounds;
mod sample;
mod scenario;
mod stack;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::Parser;
use weir_testkit::repository;

/// What to measure, and for how long.
#[derive(Debug, Parser)]
#[command(about, version)]
struct Options {
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
    /// How often each scenario is measured.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds of load in each measurement.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Connections under load.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,
    /// Only the scenarios with these names.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Another build of the filter.
    #[arg(long, default_value_os_t = repository::filter())]
    filter: PathBuf,
    /// Another policy for Weir where it allows; its `catalog` is called.
    #[arg(long)]
    policy: Option<PathBuf>,
    /// Speak HTTP/2 with the authority, not HTTP/1.1.
    #[arg(long)]
    http2: bool,
}

impl Options {
    fn duration(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weir: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> anyhow::Result<()> {
    let scenarios = scenario::chosen(&options.only)?;
    let cores = cores::Cores::divide()?;
    let machine = machine::Machine::describe(cores);
    let results = rounds::measure(&scenarios, options, cores)?;
    if options.json {
        println!("{}", serde_json::to_string_pretty(&serde_json::json!({ "machine": machine, "scenarios": results }))?);
    } else {
        print!("{}", report::markdown(&machine, &results, options));
    }
    Ok(())
}
