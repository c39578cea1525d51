//! A `redis-server` of one's own, on a free port, without persistence; with replicas, as a cluster, or behind Sentinels.

mod cluster;
mod commands;
mod sentinel;

pub use cluster::RedisCluster;
pub use sentinel::Sentinels;

use std::{
    env,
    ffi::OsString,
    io::{Read, Write},
    net::{Ipv4Addr, TcpStream},
    process::Command,
    time::Duration,
};

use tempfile::TempDir;

use crate::{Error, Process, Result, port, process::or_missing};

const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// A running Redis; ended when dropped.
#[derive(Debug)]
pub struct Redis {
    // Before `dir`: the process is ended before its directory goes.
    process: Process,
    port: u16,
    arguments: Vec<String>,
    dir: TempDir,
}

impl Redis {
    /// Starts a Redis that neither saves nor evicts, and waits until it answers `PING`.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no `redis-server` (`REDIS_SERVER` names another), or why it did not start.
    pub fn start() -> Result<Self> {
        Self::start_with(&[])
    }

    /// The same with more arguments, which override the ones given here: `&["--maxmemory-policy", "allkeys-lru"]`.
    ///
    /// # Errors
    /// As [`Redis::start`].
    pub fn start_with(arguments: &[&str]) -> Result<Self> {
        let dir = tempfile::tempdir().map_err(Error::file(env::temp_dir()))?;
        let port = port::free()?;
        let arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
        let process = launch(port, &arguments, &dir)?;
        Ok(Self { process, port, arguments, dir })
    }

    /// Starts one that copies this one, and waits until it has.
    ///
    /// # Errors
    /// As [`Redis::start`].
    pub fn replica(&self) -> Result<Self> {
        let mut replica = Self::start_with(&["--replicaof", &format!("127.0.0.1 {}", self.port)])?;
        replica.wait_in_sync()?;
        Ok(replica)
    }

    /// Waits until it copies its primary.
    ///
    /// # Errors
    /// [`Error::NotReady`] with the end of its log.
    pub fn wait_in_sync(&mut self) -> Result<()> {
        let port = self.port;
        self.process.wait_until(|| commands::info(port, "replication", "master_link_status").as_deref() == Some("up"))
    }

    /// Waits until it has all that `primary` has written before the call.
    ///
    /// # Errors
    /// [`Error::NotReady`] with the end of its log.
    pub fn wait_caught_up(&mut self, primary: &Self) -> Result<()> {
        let offset = |port, field| commands::info(port, "replication", field)?.parse::<u64>().ok();
        let (port, wanted) = (self.port, offset(primary.port, "master_repl_offset"));
        self.process.wait_until(|| wanted.is_some() && offset(port, "slave_repl_offset") >= wanted)
    }

    /// Makes a replica a primary.
    ///
    /// # Errors
    /// [`Error::Refused`] when it does not answer.
    pub fn promote(&self) -> Result<()> {
        self.ask(&["REPLICAOF", "NO", "ONE"]).map(drop)
    }

    /// What it answers to a command, as text.
    ///
    /// # Errors
    /// [`Error::Refused`] with its own words.
    pub fn ask(&self, words: &[&str]) -> Result<String> {
        commands::ask(self.port, words)
    }

    /// Ends it at once, as a crash would. What it held is lost.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again on the same port, empty.
    ///
    /// # Errors
    /// As [`Redis::start`].
    pub fn restart(&mut self) -> Result<()> {
        self.process.stop();
        self.process = launch(self.port, &self.arguments, &self.dir)?;
        Ok(())
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address as clients want it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// The process, for its id and its log.
    #[must_use]
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }
}

fn launch(port: u16, arguments: &[String], dir: &TempDir) -> Result<Process> {
    let mut command = Command::new(program());
    command
        .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction"])
        // A replica is there at once.
        .args(["--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0"])
        .args(["--port", &port.to_string()])
        .arg("--dir")
        .arg(dir.path())
        .args(arguments);
    let mut process = spawn("redis", command, dir)?;
    process.wait_until(|| answers_ping(port))?;
    Ok(process)
}

fn program() -> OsString {
    env::var_os("REDIS_SERVER").unwrap_or_else(|| "redis-server".into())
}

fn spawn(name: &str, command: Command, dir: &TempDir) -> Result<Process> {
    Process::spawn(name, command, dir.path())
        .map_err(|error| or_missing(error, "install Debian's package redis-server, or set REDIS_SERVER to the program"))
}

fn answers_ping(port: u16) -> bool {
    let ping = || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(PROBE_TIMEOUT))?;
        stream.write_all(b"PING\r\n")?;
        let mut answer = [0; 7];
        stream.read_exact(&mut answer)?;
        std::io::Result::Ok(answer == *b"+PONG\r\n")
    };
    ping().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_on_the_same_port_after_a_kill() {
        let mut redis = Redis::start().unwrap();
        let port = redis.port();
        redis.kill();
        assert!(!answers_ping(port));
        redis.restart().unwrap();
        assert_eq!(redis.port(), port);
        assert!(answers_ping(port));
    }

    #[test]
    fn bad_arguments_are_told_with_redis_own_words() {
        let error = Redis::start_with(&["--no-such-option", "1"]).unwrap_err();
        assert!(matches!(error, Error::Died { .. }), "{error}");
    }
}
