//! The built `weir-authority`, as users run it.

use std::{
    env,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    process::Command,
};

use tempfile::TempDir;

use crate::{Error, Process, Result, port, probe, repository};

const NAME: &str = "weir-authority";

/// When an authority counts as started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Started {
    /// It answers `/healthz`: it lives, its store may not be there yet.
    Alive,
    /// It answers `/readyz`: its store is there.
    Ready,
}

/// A running authority; ended when dropped.
#[derive(Debug)]
pub struct Authority {
    // Before `dir`: the process is ended before its directory goes.
    process: Process,
    addr: SocketAddr,
    store: String,
    arguments: Vec<String>,
    dir: TempDir,
}

impl Authority {
    /// Starts one on a free port in front of `store` (`memory` or a Redis URL) and waits until it is ready.
    ///
    /// # Errors
    /// [`Error::Missing`] when it is not built, or why it did not start.
    pub fn start(store: &str) -> Result<Self> {
        Self::start_with(store, port::free()?, &[], Started::Ready)
    }

    /// The same on a port of the caller's choice, with more arguments, up to the state asked for.
    ///
    /// # Errors
    /// As [`Authority::start`].
    pub fn start_with(store: &str, port: u16, arguments: &[&str], until: Started) -> Result<Self> {
        let dir = tempfile::tempdir().map_err(Error::file(env::temp_dir()))?;
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
        let process = launch(addr, store, &arguments, &dir)?;
        let mut authority = Self { process, addr, store: store.to_owned(), arguments, dir };
        authority.wait(until)?;
        Ok(authority)
    }

    /// Ends it at once, as a crash would.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again on the same port, up to the state asked for.
    ///
    /// # Errors
    /// As [`Authority::start`].
    pub fn restart(&mut self, until: Started) -> Result<()> {
        self.process.stop();
        self.process = launch(self.addr, &self.store, &self.arguments, &self.dir)?;
        self.wait(until)
    }

    /// Waits for a state.
    ///
    /// # Errors
    /// [`Error::Died`] or [`Error::NotReady`].
    pub fn wait(&mut self, until: Started) -> Result<()> {
        let path = match until {
            Started::Alive => "/healthz",
            Started::Ready => "/readyz",
        };
        let addr = self.addr;
        self.process.wait_until(|| probe::is_ok(addr, path))
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The address as clients want it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The process, for its id and its log.
    #[must_use]
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }
}

fn launch(addr: SocketAddr, store: &str, arguments: &[String], dir: &TempDir) -> Result<Process> {
    let mut command = Command::new(program()?);
    command.args(["--listen", &addr.to_string(), "--store", store]).args(arguments);
    Process::spawn(NAME, command, dir.path())
}

fn program() -> Result<PathBuf> {
    repository::binary(NAME).ok_or_else(|| Error::Missing { program: NAME.to_owned(), hint: "run `make build` first".to_owned() })
}
