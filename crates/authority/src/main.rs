//! `weir-authority`: arguments, log, signals. Everything else is the library.

use clap::Parser;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;
use weir_authority::{Store, SystemClock, Target};

/// Counts for the gateways, in memory or in Redis.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Where to listen, host:port; port 0 takes a free one, which is then printed.
    #[arg(long, env = "WEIR_LISTEN", default_value = "127.0.0.1:8180")]
    listen: String,

    /// Where to count: `memory`, or redis://[user:password@]host:port.
    #[arg(long, env = "WEIR_STORE", default_value = "memory", hide_env_values = true)]
    store: String,

    /// How long a decision may take in Redis before its outcome counts as unknown.
    #[arg(long, env = "WEIR_STORE_TIMEOUT_MS", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    store_timeout_ms: u64,

    /// How many counters the memory store holds.
    #[arg(long, env = "WEIR_MEMORY_MAX_SUBJECTS", default_value_t = 1_000_000,
          value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    memory_max_subjects: u32,

    /// What to log to stderr: a level, or directives such as `info,weir_authority=debug`.
    #[arg(long, env = "WEIR_LOG", default_value = "info")]
    log: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    match start(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("weir-authority: {message}");
            ExitCode::FAILURE
        }
    }
}

async fn start(arguments: Arguments) -> Result<(), String> {
    let filter = EnvFilter::try_new(&arguments.log).map_err(|error| format!("--log {:?}: {error}", arguments.log))?;
    let colours = io::stderr().is_terminal();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(colours).init();

    // Before the listener: a bad URL should not look like a server that was there for a moment.
    let store = store(&arguments)?;
    let listen = &arguments.listen;
    let listener = TcpListener::bind(listen).await.map_err(|error| {
        format!("cannot listen on {listen}: {error}; end what uses it, or choose another with --listen or WEIR_LISTEN")
    })?;
    let address = listener.local_addr().map_err(|error| format!("cannot tell the address of {listen}: {error}"))?;
    let shutdown = shutdown().map_err(|error| format!("cannot wait for signals: {error}"))?;
    // A launcher may have closed its end after it has read the line.
    let _ = writeln!(io::stdout(), "listening on {address}");

    weir_authority::run(listener, store, shutdown).await;
    Ok(())
}

fn store(arguments: &Arguments) -> Result<Store, String> {
    let remedy = |error: weir_authority::StoreError| format!("--store or WEIR_STORE: {error}");
    match arguments.store.parse().map_err(remedy)? {
        Target::Memory => {
            let max_subjects = usize::try_from(arguments.memory_max_subjects).unwrap_or(usize::MAX);
            Ok(Store::memory(max_subjects, SystemClock))
        }
        Target::Redis(url) => Store::redis(&url, Duration::from_millis(arguments.store_timeout_ms)).map_err(remedy),
    }
}

/// Ready at SIGTERM or SIGINT.
fn shutdown() -> io::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("shutting down");
    })
}
