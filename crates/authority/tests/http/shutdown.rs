//! A shutdown finishes what is in flight, and does not wait for the idle.

use crate::client::{Served, check, serve_memory};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn a_request_in_flight_is_answered_and_idle_connections_are_closed() {
    let Served { addr, shutdown, server } = serve_memory().await;
    let mut idle = TcpStream::connect(addr).await.unwrap();
    idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    idle.read_exact(&mut [0; 16]).await.unwrap();

    // The server asks for the body: it is in the middle of the request.
    let body = check().to_string();
    let mut busy = TcpStream::connect(addr).await.unwrap();
    let head = format!("POST /v1/decide HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\r\n", body.len());
    busy.write_all(head.as_bytes()).await.unwrap();
    let mut go_on = [0; 25];
    busy.read_exact(&mut go_on).await.unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");

    shutdown.send(()).unwrap();
    idle.read_to_end(&mut Vec::new()).await.unwrap();
    assert!(TcpStream::connect(addr).await.is_err(), "nothing new is accepted");

    busy.write_all(body.as_bytes()).await.unwrap();
    let mut answer = String::new();
    busy.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains(r#""admitted":1"#), "{answer}");
    server.await.unwrap();
}
