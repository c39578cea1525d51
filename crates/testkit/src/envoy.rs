//! A real Envoy that runs `envoy/standalone/envoy.yaml`, edited for the occasion.
//!
//! The shipped file is the tested file: [`Config`] changes ports, paths and the policy in its structure and leaves the rest as
//! users copy it.

mod config;

use std::{env, ffi::OsString, net::SocketAddr, process::Command};

use tempfile::TempDir;

use crate::{Error, Process, Result, probe, process::or_missing, repository};

pub use config::{Config, to_value};

/// A running Envoy; ended when dropped.
#[derive(Debug)]
pub struct Envoy {
    // Before `dir`: the process is ended before its directory goes.
    process: Process,
    http: SocketAddr,
    admin: SocketAddr,
    dir: TempDir,
}

impl Envoy {
    fn start(config: &Config) -> Result<Self> {
        let dir = tempfile::tempdir().map_err(Error::file(env::temp_dir()))?;
        // JSON, which Envoy reads as well: the edits were made in the structure, not in the text.
        let file = dir.path().join("envoy.json");
        std::fs::write(&file, config.document().to_string()).map_err(Error::file(&file))?;

        let mut command = Command::new(program());
        command
            .arg("--config-path")
            .arg(&file)
            .args(["--concurrency", &config.workers().to_string()])
            // Hot restart would make two Envoys on one machine share memory.
            .arg("--disable-hot-restart")
            .args(["--log-level", "warning", "--component-log-level", "wasm:info"]);
        let mut process = Process::spawn("envoy", command, dir.path())
            .map_err(|error| or_missing(error, "run `make setup` first, or set ENVOY to the program"))?;
        let (http, admin) = (config.http_addr(), config.admin_addr());
        process.wait_until(|| probe::is_ok(admin, "/ready"))?;
        Ok(Self { process, http, admin, dir })
    }

    /// Where requests are sent: `http://127.0.0.1:<port>`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.http)
    }

    /// Where requests are sent, as an address.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.http
    }

    /// Where the admin interface is.
    #[must_use]
    pub fn admin_url(&self) -> String {
        format!("http://{}", self.admin)
    }

    /// A counter's or gauge's value by its full name; 0 when it does not exist yet, as it is before its first use.
    #[must_use]
    pub fn stat(&self, name: &str) -> u64 {
        self.stats(&format!("^{}$", name.replace('.', "\\.")))
            .into_iter()
            .find_map(|(found, value)| (found == name).then_some(value))
            .unwrap_or(0)
    }

    /// All counters and gauges whose name matches a regular expression.
    #[must_use]
    pub fn stats(&self, filter: &str) -> Vec<(String, u64)> {
        let filter: String = filter.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let answer = probe::get(self.admin, &format!("/stats?filter={filter}"));
        let body = answer.map(|answer| answer.body).unwrap_or_default();
        body.lines()
            .filter_map(|line| line.rsplit_once(": "))
            .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
            .collect()
    }

    /// How many connections a worker of the listener for requests has had, counted from 0.
    #[must_use]
    pub fn connections_of_worker(&self, worker: u32) -> u64 {
        self.stat(&format!("listener.127.0.0.1_{}.worker_{worker}.downstream_cx_total", self.http.port()))
    }

    /// How many requests are under way.
    #[must_use]
    pub fn active_requests(&self) -> u64 {
        self.stat("http.http.downstream_rq_active")
    }

    /// For how many requests nobody decided, by placement and reason: what to look at first when a figure is not as expected.
    #[must_use]
    pub fn undecided(&self) -> Vec<(String, u64)> {
        self.stats(r"^wasmcustom\.weir\.undecided\.")
    }

    /// What a page of the admin interface says: `/stats/prometheus`, `/config_dump`.
    #[must_use]
    pub fn admin(&self, path: &str) -> Option<String> {
        probe::get(self.admin, path).map(|answer| answer.body)
    }

    /// Ends it at once, as a crash would.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// The process, for its id and its log, which has the access log too.
    #[must_use]
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// The directory of its configuration and log, which goes when this is dropped.
    #[must_use]
    pub fn dir(&self) -> &std::path::Path {
        self.dir.path()
    }
}

/// The Envoy to run: `ENVOY` overrides the one that `make setup` installs.
#[must_use]
pub fn program() -> OsString {
    let chosen = env::var_os("ENVOY").filter(|path| !path.is_empty());
    chosen.unwrap_or_else(|| repository::root().join(".tools/venv/bin/envoy").into_os_string())
}
