//! A child process that cannot outlive its owner's scope.
//!
//! Dropping it asks with SIGTERM, waits a little, then ends it with SIGKILL, and reaps it: always by its own id. Both
//! output streams go to one file, whose last lines are part of every error, since "not ready" alone helps nobody.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{Error, Result};

/// How long a process may take to become ready. Generous: two busy cores compile wasm slowly.
pub const READY_WITHIN: Duration = Duration::from_secs(30);
/// How long a process may take to end after SIGTERM.
const END_WITHIN: Duration = Duration::from_secs(3);
const POLL_EVERY: Duration = Duration::from_millis(10);
const TAIL_LINES: usize = 20;

static GIVEN_UP: AtomicBool = AtomicBool::new(false);

/// Makes every wait for readiness in this program fail at once, now and later: for a program that has been asked to end.
pub fn give_up() {
    GIVEN_UP.store(true, Ordering::Relaxed);
}

/// Polls `ready` until it says so or [`READY_WITHIN`] has passed: for what is no process of its own.
///
/// # Errors
/// [`Error::NotReady`] without a log; [`Error::GivenUp`] after [`give_up`].
pub(crate) fn poll(name: &str, mut ready: impl FnMut() -> bool) -> Result<()> {
    let begun = Instant::now();
    while !ready() {
        if GIVEN_UP.load(Ordering::Relaxed) {
            return Err(Error::GivenUp { name: name.to_owned() });
        }
        if begun.elapsed() > READY_WITHIN {
            return Err(Error::NotReady { name: name.to_owned(), waited: READY_WITHIN, tail: String::new() });
        }
        thread::sleep(POLL_EVERY);
    }
    Ok(())
}

/// A running child process and its log.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Runs `command`, both streams appended to `<dir>/<name>.log`. The caller keeps `dir` alive.
    ///
    /// # Errors
    /// [`Error::File`] when the log cannot be opened, [`Error::Spawn`] when the program cannot be run.
    pub fn spawn(name: &str, mut command: Command, dir: &Path) -> Result<Self> {
        let log = dir.join(format!("{name}.log"));
        let out = File::options().create(true).append(true).open(&log).map_err(Error::file(&log))?;
        let err = out.try_clone().map_err(Error::file(&log))?;
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().map_err(|reason| Error::Spawn { program, reason })?;
        Ok(Self { name: name.to_owned(), child, log })
    }

    /// Polls `ready` until it says so, the process dies, or [`READY_WITHIN`] has passed.
    ///
    /// # Errors
    /// [`Error::Died`] or [`Error::NotReady`], each with the end of the log; [`Error::GivenUp`] after [`give_up`].
    pub fn wait_until(&mut self, mut ready: impl FnMut() -> bool) -> Result<()> {
        let begun = Instant::now();
        loop {
            self.check_alive()?;
            if ready() {
                return Ok(());
            }
            if GIVEN_UP.load(Ordering::Relaxed) {
                return Err(Error::GivenUp { name: self.name.clone() });
            }
            if begun.elapsed() > READY_WITHIN {
                return Err(Error::NotReady { name: self.name.clone(), waited: READY_WITHIN, tail: self.log_tail() });
            }
            thread::sleep(POLL_EVERY);
        }
    }

    /// Finds out whether the process still runs.
    ///
    /// # Errors
    /// [`Error::Died`] with the end of its log when it does not.
    pub fn check_alive(&mut self) -> Result<()> {
        match self.child.try_wait() {
            Ok(Some(status)) => Err(Error::Died { name: self.name.clone(), status, tail: self.log_tail() }),
            Ok(None) | Err(_) => Ok(()),
        }
    }

    /// Ends the process at once with SIGKILL, as a crash would, and reaps it.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Ends the process with SIGTERM, or with SIGKILL when it takes longer than three seconds, and reaps it.
    pub fn stop(&mut self) -> Option<ExitStatus> {
        if let Ok(Some(status)) = self.child.try_wait() {
            return Some(status);
        }
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        // One that is paused would not hear it.
        self.resume();
        let begun = Instant::now();
        while begun.elapsed() < END_WITHIN {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            thread::sleep(POLL_EVERY);
        }
        self.kill();
        None
    }

    /// Stops it where it is, as a machine that hangs would: its connections stay, and nothing answers.
    pub fn pause(&self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::STOP);
        // The signal takes each thread where it finds it: until the last one has stopped, something may still be answered.
        let begun = Instant::now();
        while !self.is_stopped() && begun.elapsed() < END_WITHIN {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Lets it go on after [`Process::pause`].
    pub fn resume(&self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::CONT);
    }

    /// Whether all its threads are stopped.
    fn is_stopped(&self) -> bool {
        // `<id> (<name>) <state> …`, and the name may hold anything.
        let stopped = |stat: String| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'));
        let threads = fs::read_dir(format!("/proc/{}/task", self.id())).into_iter().flatten().flatten();
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok()).all(stopped)
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The file that both output streams go to.
    #[must_use]
    pub fn log_path(&self) -> &Path {
        &self.log
    }

    /// All that it has written so far.
    ///
    /// # Errors
    /// [`Error::File`] when the log cannot be read.
    pub fn log(&self) -> Result<String> {
        let bytes = fs::read(&self.log).map_err(Error::file(&self.log))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The last lines that it has written.
    #[must_use]
    pub fn log_tail(&self) -> String {
        let log = self.log().unwrap_or_else(|error| error.to_string());
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Turns "no such file" into a message with a hint; for programs that a machine may lack.
pub(crate) fn or_missing(error: Error, hint: &str) -> Error {
    match error {
        Error::Spawn { program, reason } if reason.kind() == io::ErrorKind::NotFound => {
            Error::Missing { program, hint: hint.to_owned() }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn runs(id: u32) -> bool {
        Path::new(&format!("/proc/{id}")).exists()
    }

    #[test]
    fn dropping_ends_a_process_that_ignores_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let process = Process::spawn("sleeper", shell("exec sleep 60"), dir.path()).unwrap();
        let id = process.id();
        assert!(runs(id));
        drop(process);
        assert!(!runs(id));
    }

    #[test]
    fn an_early_death_is_told_with_the_end_of_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let mut process = Process::spawn("broken", shell("echo the reason >&2; exit 3"), dir.path()).unwrap();
        let error = process.wait_until(|| false).unwrap_err();
        assert!(matches!(&error, Error::Died { tail, .. } if tail == "the reason"), "{error}");
    }

    #[test]
    fn what_is_paused_does_nothing_until_it_is_resumed_and_can_be_ended() {
        let dir = tempfile::tempdir().unwrap();
        let mut process = Process::spawn("counter", shell("while :; do echo; done"), dir.path()).unwrap();
        process.wait_until(|| process_has_written(dir.path())).unwrap();
        process.pause();
        let written = process.log().unwrap().len();
        thread::sleep(POLL_EVERY);
        assert_eq!(process.log().unwrap().len(), written);
        process.resume();
        process.pause();
        assert!(process.stop().is_some());
    }

    fn process_has_written(dir: &Path) -> bool {
        fs::metadata(dir.join("counter.log")).is_ok_and(|log| log.len() > 0)
    }

    #[test]
    fn a_missing_program_is_told_with_a_hint() {
        let dir = tempfile::tempdir().unwrap();
        let error = Process::spawn("none", Command::new("/no/such/program"), dir.path()).unwrap_err();
        assert!(matches!(or_missing(error, "install it"), Error::Missing { hint, .. } if hint == "install it"));
    }
}
