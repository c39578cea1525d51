//! Three Sentinels that watch one primary and its replicas.

use super::{Redis, commands, program, spawn};
use crate::{Error, Process, Result, port};
use std::{env, fs, process::Command};
use tempfile::TempDir;

/// What they call the primary.
const MASTER: &str = "weir";

/// Running Sentinels; ended when dropped.
#[derive(Debug)]
pub struct Sentinels {
    sentinels: Vec<Sentinel>,
}

#[derive(Debug)]
struct Sentinel {
    // Before `dir`: the process is ended before its directory goes.
    process: Process,
    port: u16,
    _dir: TempDir,
}

impl Sentinels {
    /// Starts three that watch `primary`, and waits until they know each other and `replicas` of its replicas.
    ///
    /// # Errors
    /// As [`Redis::start`].
    pub fn start(primary: &Redis, replicas: usize) -> Result<Self> {
        let mut sentinels = (0..3).map(|_| sentinel(primary)).collect::<Result<Vec<_>>>()?;
        for Sentinel { process, port, .. } in &mut sentinels {
            process.wait_until(|| {
                let knows = |field: &str, number: &str| fact(*port, field).as_deref() == Some(number);
                knows("num-other-sentinels", "2") && knows("num-slaves", &replicas.to_string())
            })?;
        }
        Ok(Self { sentinels })
    }

    /// The address as clients want it.
    #[must_use]
    pub fn url(&self) -> String {
        let hosts: Vec<_> = self.sentinels.iter().map(|sentinel| format!("127.0.0.1:{}", sentinel.port)).collect();
        format!("redis+sentinel://{}/{MASTER}", hosts.join(","))
    }

    /// Waits until all of them name `redis` as the master.
    ///
    /// # Errors
    /// [`Error::NotReady`] with the end of a log.
    pub fn wait_for(&mut self, redis: &Redis) -> Result<()> {
        let wanted = redis.port().to_string();
        for Sentinel { process, port, .. } in &mut self.sentinels {
            process.wait_until(|| fact(*port, "port").as_ref() == Some(&wanted))?;
        }
        Ok(())
    }

    /// The processes, to end or to pause one.
    pub fn processes(&mut self) -> impl Iterator<Item = &mut Process> {
        self.sentinels.iter_mut().map(|sentinel| &mut sentinel.process)
    }
}

fn sentinel(primary: &Redis) -> Result<Sentinel> {
    let dir = tempfile::tempdir().map_err(Error::file(env::temp_dir()))?;
    let (file, port) = (dir.path().join("sentinel.conf"), port::free()?);
    // A Sentinel keeps what it learns in its file.
    let config = format!(
        "port {port}\nbind 127.0.0.1\ndir {}\n\
         sentinel monitor {MASTER} 127.0.0.1 {} 2\n\
         sentinel down-after-milliseconds {MASTER} 1000\n\
         sentinel failover-timeout {MASTER} 5000\n",
        dir.path().display(),
        primary.port(),
    );
    fs::write(&file, config).map_err(Error::file(&file))?;
    let mut command = Command::new(program());
    command.arg(&file).arg("--sentinel");
    let process = spawn("sentinel", command, &dir)?;
    Ok(Sentinel { process, port, _dir: dir })
}

/// One of the facts that a Sentinel knows about the master.
fn fact(port: u16, field: &str) -> Option<String> {
    let facts = commands::ask(port, &["SENTINEL", "MASTER", MASTER]).ok()?;
    let mut lines = facts.lines();
    lines.find(|line| *line == field)?;
    lines.next().map(str::to_owned)
}
