//! Where it was measured.

use std::{ffi::OsStr, fs, process::Command, thread};

use serde::Serialize;
use weir_testkit::envoy;

use crate::{cores::Cores, load};

/// The machine and the versions.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) processor: String,
    pub(crate) memory_mib: u64,
    pub(crate) envoy_core: usize,
    pub(crate) other_core: usize,
    pub(crate) envoy: String,
    pub(crate) redis: String,
    pub(crate) wrk: String,
    pub(crate) weir: &'static str,
}

impl Machine {
    pub(crate) fn describe(cores: Cores) -> Self {
        let online = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let processors = online.lines().filter(|line| line.starts_with("processor")).count();
        let memory_kib = value_of("/proc/meminfo", "MemTotal").split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok());
        Self {
            cores: if processors > 0 { processors } else { thread::available_parallelism().map_or(0, usize::from) },
            processor: value_of("/proc/cpuinfo", "model name"),
            memory_mib: memory_kib.unwrap_or(0) / 1_024,
            envoy_core: cores.envoy,
            other_core: cores.others,
            envoy: envoy_version(&said(&envoy::program())),
            redis: word_after(&said(&redis_program()), "v=").to_owned(),
            wrk: load::version(),
            weir: env!("CARGO_PKG_VERSION"),
        }
    }
}

fn redis_program() -> std::ffi::OsString {
    std::env::var_os("REDIS_SERVER").unwrap_or_else(|| "redis-server".into())
}

fn said(program: &OsStr) -> String {
    let output = Command::new(program).arg("--version").output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

/// From `<path>  version: <commit>/1.40.0/Clean/RELEASE/BoringSSL`.
fn envoy_version(said: &str) -> String {
    word_after(said, "version: ").split('/').nth(1).unwrap_or("unknown").to_owned()
}

fn word_after<'a>(text: &'a str, mark: &str) -> &'a str {
    text.split_once(mark).and_then(|(_, rest)| rest.split_whitespace().next()).unwrap_or("unknown")
}

/// The first value of a name in a file of `name: value` lines.
fn value_of(file: &str, name: &str) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let values = text.lines().filter_map(|line| line.split_once(':')).map(|(name, value)| (name.trim(), value.trim()));
    values.into_iter().find_map(|(found, value)| (found == name).then(|| value.to_owned())).unwrap_or_default()
}
