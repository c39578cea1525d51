//! Connections: HTTP/1.1 and h2c with prior knowledge on one port.
//!
//! What is bounded: connections, streams of each, the head of a request, the time it may take, its body,
//! and the time that a shutdown waits. Beyond the bound of connections, new ones wait in the kernel's queue.

use crate::api;
use crate::store::Store;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

const MAX_CONNECTIONS: usize = 4096;
const MAX_STREAMS: u32 = 256;
const MAX_HEAD_BYTES: u32 = 16 * 1024;

/// Counts while a connection is idle too, so it is longer than a gateway's pauses.
const HEAD_TIMEOUT: Duration = Duration::from_secs(75);

/// How long a shutdown waits for requests in flight.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Pause after a failed accept: out of file descriptors is no reason to spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves `store` on `listener` until `shutdown`, then finishes what is in flight.
pub async fn run(listener: TcpListener, store: Store, shutdown: impl Future<Output = ()>) {
    let service = TowerToHyperService::new(api::router(store));
    let builder = builder();
    let graceful = GracefulShutdown::new();
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut shutdown = std::pin::pin!(shutdown);

    loop {
        let (stream, slot) = tokio::select! {
            accepted = accept(&listener, &slots) => match accepted {
                Some(accepted) => accepted,
                None => continue,
            },
            () = &mut shutdown => break,
        };
        let (builder, service, watcher) = (builder.clone(), service.clone(), graceful.watcher());
        tokio::spawn(async move {
            // Whether it is HTTP/1.1 or h2c only the first bytes tell, and hyper waits for them as long as it takes.
            if !matches!(timeout(HEAD_TIMEOUT, stream.peek(&mut [0])).await, Ok(Ok(1..))) {
                return;
            }
            let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
            if let Err(error) = watcher.watch(connection).await {
                tracing::debug!(error, "connection");
            }
            drop(slot);
        });
    }

    drop(listener);
    if timeout(DRAIN_TIMEOUT, graceful.shutdown()).await.is_err() {
        tracing::warn!("requests were still in flight after {} s", DRAIN_TIMEOUT.as_secs());
    }
}

async fn accept(listener: &TcpListener, slots: &Arc<Semaphore>) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            // Answers are small and waited for.
            stream.set_nodelay(true).ok()?;
            Some((stream, slot))
        }
        Err(error) => {
            tracing::warn!(%error, "accept");
            sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(MAX_STREAMS).max_header_list_size(MAX_HEAD_BYTES);
    builder
}
