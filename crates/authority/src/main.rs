//! `weir-authority`: arguments, log, signals. Everything else is the library.

use clap::{Args, Parser};
use std::env;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;
use weir_authority::store::redis::{Address, Credentials, Settings, TlsFiles, Wait};
use weir_authority::{Store, StoreError, SystemClock, Target};

/// Counts for the gateways, in memory or in Redis.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Where to listen, host:port; port 0 takes a free one, which is then printed.
    #[arg(long, env = "WEIR_LISTEN", default_value = "127.0.0.1:8180")]
    listen: String,

    /// Where to count: `memory`, redis://[user:password@]host:port/database, redis+cluster://host,host or
    /// redis+sentinel://host,host/master; rediss for TLS. A password may also stand in WEIR_REDIS_PASSWORD.
    #[arg(long, env = "WEIR_STORE", default_value = "memory", hide_env_values = true)]
    store: String,

    /// How long a decision may take in Redis before its outcome counts as unknown.
    #[arg(long, env = "WEIR_STORE_TIMEOUT_MS", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    store_timeout_ms: u64,

    #[command(flatten)]
    redis: RedisArguments,

    /// How many counters the memory store holds.
    #[arg(long, env = "WEIR_MEMORY_MAX_SUBJECTS", default_value_t = 1_000_000,
          value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    memory_max_subjects: u32,

    /// What to log to stderr: a level, or directives such as `info,weir_authority=debug`.
    #[arg(long, env = "WEIR_LOG", default_value = "info")]
    log: String,
}

/// What concerns Redis beside its address.
#[derive(Debug, Args)]
struct RedisArguments {
    /// A PEM file with the authorities that may have signed Redis' certificate, in the place of the system's.
    #[arg(long, env = "WEIR_REDIS_CA", value_name = "FILE")]
    redis_ca: Option<PathBuf>,

    /// A PEM file with the certificate to show to Redis.
    #[arg(long, env = "WEIR_REDIS_CERT", value_name = "FILE")]
    redis_cert: Option<PathBuf>,

    /// A PEM file with the key of that certificate.
    #[arg(long, env = "WEIR_REDIS_KEY", value_name = "FILE")]
    redis_key: Option<PathBuf>,

    /// Who asks the Sentinels, if they want a user; the password stands in WEIR_SENTINEL_PASSWORD.
    #[arg(long, env = "WEIR_SENTINEL_USER", value_name = "USER")]
    sentinel_user: Option<String>,

    /// How many replicas should have an admission before it is answered; 0 for none.
    #[arg(long, env = "WEIR_WAIT_REPLICAS", default_value_t = 0, value_name = "N")]
    wait_replicas: u16,

    /// For how long that is waited for. The decision stands all the same.
    #[arg(long, env = "WEIR_WAIT_TIMEOUT_MS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=250),
          value_name = "MS")]
    wait_timeout_ms: u64,
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
    let remedy = |error: StoreError| format!("--store or WEIR_STORE: {error}");
    match arguments.store.parse().map_err(remedy)? {
        Target::Memory => {
            let max_subjects = usize::try_from(arguments.memory_max_subjects).unwrap_or(usize::MAX);
            Ok(Store::memory(max_subjects, SystemClock))
        }
        Target::Redis(mut address) => {
            if let Some(password) = password("WEIR_REDIS_PASSWORD") {
                if address.credentials.password.is_some() {
                    return Err("the password is given twice, in the store's URL and in WEIR_REDIS_PASSWORD: give one".to_owned());
                }
                address.credentials.password = Some(password);
            }
            Store::redis(&settings(address, arguments)?).map_err(remedy)
        }
    }
}

fn settings(address: Address, arguments: &Arguments) -> Result<Settings, String> {
    let RedisArguments { redis_ca, redis_cert, redis_key, sentinel_user, wait_replicas, wait_timeout_ms } = &arguments.redis;
    if *wait_replicas > 0 && *wait_timeout_ms >= arguments.store_timeout_ms {
        return Err(format!(
            "--wait-timeout-ms {wait_timeout_ms} is no less than --store-timeout-ms {}: raise the latter, which is over both",
            arguments.store_timeout_ms
        ));
    }
    Ok(Settings {
        address,
        timeout: Duration::from_millis(arguments.store_timeout_ms),
        tls: TlsFiles { ca: redis_ca.clone(), certificate: redis_cert.clone(), key: redis_key.clone() },
        sentinel: Credentials { user: sentinel_user.clone(), password: password("WEIR_SENTINEL_PASSWORD") },
        wait: (*wait_replicas > 0).then(|| Wait { replicas: *wait_replicas, timeout: Duration::from_millis(*wait_timeout_ms) }),
    })
}

/// A password has no option: whoever lists the processes of a machine reads their options.
fn password(variable: &str) -> Option<String> {
    env::var(variable).ok().filter(|password| !password.is_empty())
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
