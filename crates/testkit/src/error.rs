//! Why a server could not be had: each message is one that a newcomer can act upon.

use std::{io, path::PathBuf, process::ExitStatus, time::Duration};

/// A server could not be started or did not become ready.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program is not on this machine.
    #[error("{program} was not found: {hint}")]
    Missing {
        /// What was looked for.
        program: String,
        /// What to do about it.
        hint: String,
    },
    /// The program is there but could not be run.
    #[error("{program} could not be started: {reason}")]
    Spawn {
        /// What was run.
        program: String,
        /// The system's reason.
        reason: io::Error,
    },
    /// The process ended by itself before it was ready.
    #[error("{name} ended early ({status}); the end of its log:\n{tail}")]
    Died {
        /// Which process.
        name: String,
        /// How it ended.
        status: ExitStatus,
        /// The last lines that it wrote.
        tail: String,
    },
    /// The process lives but did not become ready in time.
    #[error("{name} was not ready after {}s; the end of its log:\n{tail}", waited.as_secs())]
    NotReady {
        /// Which process.
        name: String,
        /// How long it was given.
        waited: Duration,
        /// The last lines that it wrote.
        tail: String,
    },
    /// [`process::give_up`](crate::process::give_up) was called meanwhile.
    #[error("{name} was not waited for any longer")]
    GivenUp {
        /// Which process.
        name: String,
    },
    /// No port of [`port::RANGE`](crate::port::RANGE) is free.
    #[error("no free loopback port")]
    NoPort,
    /// A server of this process could not listen.
    #[error("port {port} cannot be listened on: {reason}")]
    Listen {
        /// The port that was asked for; 0 for any.
        port: u16,
        /// The system's reason.
        reason: io::Error,
    },
    /// A server refused what it was asked.
    #[error("{question} at port {port}: {reason}")]
    Refused {
        /// What it was asked.
        question: String,
        /// Where it listens.
        port: u16,
        /// Its own words.
        reason: String,
    },
    /// A document is not YAML.
    #[error("{}: {reason}", path.display())]
    Yaml {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and where.
        reason: String,
    },
    /// A private key could not be read or made.
    #[error("{}: {reason}; remove it to have a new one made", path.display())]
    Key {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A file could not be read or written.
    #[error("{}: {reason}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// The system's reason.
        reason: io::Error,
    },
}

impl Error {
    /// For `map_err`: an I/O error with the path that it is about.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |reason| Self::File { path, reason }
    }

    /// A mistake about the private key at `path`.
    pub(crate) fn key(path: &std::path::Path, reason: impl std::fmt::Display) -> Self {
        Self::Key { path: path.to_owned(), reason: reason.to_string() }
    }
}
