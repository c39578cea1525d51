//! Which core runs what, and how busy it was.
//!
//! Envoy gets the first core that this process may use and everything else the second, so that a faster limiter leaves more
//! of Envoy's core to requests, and nothing else does.

use std::fs;

use anyhow::{Context, ensure};
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

/// Linux counts CPU time in hundredths of a second, on every architecture that Envoy runs on.
const TICK_US: u64 = 10_000;

/// The two cores.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cores {
    pub(crate) envoy: usize,
    pub(crate) others: usize,
}

impl Cores {
    /// Takes two cores; this process and what it starts stay on the second.
    pub(crate) fn divide() -> anyhow::Result<Self> {
        let mine = sched_getaffinity(None).context("the cores of this process cannot be read")?;
        let mut usable = (0..CpuSet::MAX_CPU).filter(|core| mine.is_set(*core));
        let (envoy, others) = (usable.next(), usable.next());
        ensure!(others.is_some(), "two cores are needed: one for Envoy, one for everything else");
        let cores = Self { envoy: envoy.unwrap_or_default(), others: others.unwrap_or_default() };
        sched_setaffinity(None, &only(cores.others)).context("this process cannot be kept on one core")?;
        Ok(cores)
    }

    /// Moves all threads of a process to Envoy's core.
    pub(crate) fn give_envoy(self, process: u32) -> anyhow::Result<()> {
        for task in fs::read_dir(format!("/proc/{process}/task"))? {
            let task = task?.file_name().to_string_lossy().parse().ok().and_then(Pid::from_raw);
            sched_setaffinity(task, &only(self.envoy)).context("Envoy cannot be kept on one core")?;
        }
        Ok(())
    }

    /// Time that Envoy's core has been busy for whomever, in microseconds since it started.
    pub(crate) fn envoy_core_busy_us(self) -> u64 {
        let name = format!("cpu{} ", self.envoy);
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = stat.lines().find_map(|line| line.strip_prefix(&name)).unwrap_or_default();
        // user nice system idle iowait irq softirq steal
        let times: Vec<u64> = line.split_whitespace().filter_map(|time| time.parse().ok()).collect();
        [0, 1, 2, 5, 6, 7].iter().filter_map(|place| times.get(*place)).sum::<u64>() * TICK_US
    }
}

/// CPU time that a process has used, all its threads together, in microseconds.
pub(crate) fn process_cpu_us(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The second field is the name in parentheses, which may hold anything; utime and stime are the 14th and 15th.
    let fields = stat.rsplit_once(')').map(|(_, fields)| fields).unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|time| time.parse::<u64>().ok()).sum::<u64>() * TICK_US
}

fn only(core: usize) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(core);
    set
}
