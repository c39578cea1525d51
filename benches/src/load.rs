//! One run of `wrk`.

use std::{env, io::ErrorKind, net::SocketAddr, path::Path, process::Command, time::Duration};

use anyhow::{Context, anyhow, bail};
use serde::{Deserialize, Serialize};
use weir_testkit::repository;

use crate::chain::PATH;

/// What came of it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Load {
    /// Requests that were answered.
    pub(crate) requests: u64,
    pub(crate) duration_us: u64,
    pub(crate) p50_us: u64,
    pub(crate) p99_us: u64,
    /// Answers with a status of 400 or more.
    pub(crate) refused: u64,
    /// Requests without an answer.
    pub(crate) broken: u64,
}

impl Load {
    pub(crate) fn per_second(&self) -> u64 {
        self.requests.saturating_mul(1_000_000).checked_div(self.duration_us).unwrap_or(0)
    }
}

/// Asks `addr` with the tokens of a file in turn, over so many connections, each with one request at a time.
pub(crate) fn run(addr: SocketAddr, tokens: &Path, connections: u32, duration: Duration) -> anyhow::Result<Load> {
    let output = Command::new(program())
        .args(["--threads", "1", "--latency", "--timeout", "5s"])
        .args(["--connections", &connections.to_string(), "--duration", &format!("{}s", duration.as_secs())])
        .arg("--script")
        .arg(repository::root().join("benches/load.lua"))
        .arg(format!("http://{addr}{PATH}"))
        .arg("--")
        .arg(tokens)
        .output()
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => anyhow!("wrk was not found: install it (Debian package wrk)"),
            _ => anyhow!("wrk could not be run: {error}"),
        })?;
    let said = String::from_utf8_lossy(&output.stdout);
    let Some(line) = said.lines().find_map(|line| line.strip_prefix("weir ")) else {
        bail!("wrk did not finish:\n{said}{}", String::from_utf8_lossy(&output.stderr));
    };
    serde_json::from_str(line).with_context(|| format!("wrk said {line:?}"))
}

/// What it calls itself.
pub(crate) fn version() -> String {
    let output = Command::new(program()).arg("--version").output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    said.split_whitespace().nth(1).unwrap_or("unknown").to_owned()
}

fn program() -> std::ffi::OsString {
    env::var_os("WRK").filter(|program| !program.is_empty()).unwrap_or_else(|| "wrk".into())
}
