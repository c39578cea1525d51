//! A small Northstar API to stand behind Envoy.
//!
//! It answers the five routes and `/health` with a few bytes of JSON, and counts what reached it: a limiter's test asks not
//! only what the caller saw, but what the service was spared. Any request may say how it wants to be answered:
//! `x-test-status` sets the status, `x-test-delay-ms` holds the answer back.

mod answers;

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
};

use tokio::{net::TcpListener, runtime, sync::oneshot};

use crate::{Error, Result};

/// A running upstream on a thread of its own; ended when dropped.
#[derive(Debug)]
pub struct Upstream {
    addr: SocketAddr,
    requests: Arc<AtomicU64>,
    shutdown: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Upstream {
    /// Starts one on a free loopback port.
    ///
    /// # Errors
    /// [`Error::Listen`] when it cannot listen.
    pub fn start() -> Result<Self> {
        Self::start_on(0)
    }

    /// Starts one on a loopback port of the caller's choice.
    ///
    /// # Errors
    /// As [`Upstream::start`].
    pub fn start_on(port: u16) -> Result<Self> {
        let listen = |reason| Error::Listen { port, reason };
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let addr = listener.local_addr().map_err(listen)?;
        let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(listen)?;

        let (shutdown, ended) = oneshot::channel();
        let requests = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&requests);
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                if let Ok(listener) = TcpListener::from_std(listener) {
                    // Not `with_graceful_shutdown`: a held answer must not hold up the end of a test.
                    tokio::select! {
                        _ = axum::serve(listener, answers::router(counter)) => {}
                        _ = ended => {}
                    }
                }
            });
        });
        Ok(Self { addr, requests, shutdown: Some(shutdown), thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// How many requests have reached it.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        drop(self.shutdown.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
