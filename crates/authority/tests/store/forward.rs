//! An address that stays while the Redis behind it is another: what a service or a floating address is.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use weir_testkit::Redis;

pub(crate) struct Forward {
    addr: SocketAddr,
    port: Arc<AtomicU16>,
    _task: JoinSet<()>,
}

impl Forward {
    pub(crate) async fn to(redis: &Redis) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (addr, port) = (listener.local_addr().unwrap(), Arc::new(AtomicU16::new(redis.port())));
        let mut task = JoinSet::new();
        let target = Arc::clone(&port);
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut client, _)) = listener.accept().await {
                let port = target.load(Ordering::Relaxed);
                connections.spawn(async move {
                    let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
                    let _ = copy_bidirectional(&mut client, &mut server).await;
                });
            }
        });
        Self { addr, port, _task: task }
    }

    /// New connections lead to another from now on.
    pub(crate) fn lead_to(&self, redis: &Redis) {
        self.port.store(redis.port(), Ordering::Relaxed);
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://{}", self.addr)
    }
}
