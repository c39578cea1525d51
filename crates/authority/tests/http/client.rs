//! A served store, and what it answers.

use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use std::net::SocketAddr;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use weir_authority::{Store, SystemClock};

/// A server in this process; it shuts down when told to.
pub(crate) struct Served {
    pub(crate) addr: SocketAddr,
    pub(crate) shutdown: oneshot::Sender<()>,
    pub(crate) server: JoinHandle<()>,
}

pub(crate) async fn serve(store: Store) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let (shutdown, told) = oneshot::channel();
    let server = tokio::spawn(weir_authority::run(listener, store, async {
        told.await.ok();
    }));
    Served { addr, shutdown, server }
}

pub(crate) async fn serve_memory() -> Served {
    serve(Store::memory(1_000, SystemClock)).await
}

impl Served {
    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        client().get(format!("http://{}{path}", self.addr))
    }

    pub(crate) fn post(&self, body: impl Into<reqwest::Body>) -> RequestBuilder {
        client().post(format!("http://{}/v1/decide", self.addr)).body(body)
    }
}

pub(crate) fn client() -> Client {
    Client::builder().no_proxy().build().unwrap()
}

/// One check of a limit of 2.
pub(crate) fn check() -> Value {
    json!({
        "version": 1,
        "limits": [{"rule": "P-READ", "numbers": {"token_bucket": {"capacity": 2, "refill": 1, "period_ms": 86_400_000}}}],
        "checks": [{"id": 7, "hits": 1, "tag": {"tenant": "atlas"}, "charges": [
            {"limit": 0, "subject": {"principal": {"jwt": "U-17"}}, "cost": 1},
        ]}],
    })
}

/// The status and the body, once it is sure that the authority itself has answered.
pub(crate) async fn marked(request: RequestBuilder) -> (StatusCode, String) {
    let response: Response = request.send().await.unwrap();
    assert_eq!(response.headers()[weir_wire::ANSWER_MARK], "1");
    (response.status(), response.text().await.unwrap())
}
