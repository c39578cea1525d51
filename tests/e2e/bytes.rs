//! Headers and paths that are no text. Clients send what they like: it is refused or passed on, and harms nobody else.

use crate::caller::Caller;
use crate::harm;
use crate::routes::{self, Routes};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use weir_testkit::Stack;
use weir_testkit::stack::Store;

/// Bytes that are no UTF-8 alone, cut off, or that nobody may encode.
const NO_TEXT: [&[u8]; 4] = [b"\xff", b"\xc3", b"a\x80b", b"\xed\xa0\x80"];

/// A request as it is on the wire; the status of the answer, or nothing when there is none.
fn status(addr: SocketAddr, line: &[u8], headers: &[(&str, &[u8])]) -> Option<u16> {
    let mut request = line.to_vec();
    request.extend_from_slice(b" HTTP/1.1\r\n");
    for (name, value) in headers.iter().copied().chain([("connection", &b"close"[..])]) {
        request.extend_from_slice(name.as_bytes());
        request.extend_from_slice(b": ");
        request.extend_from_slice(value);
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"\r\n");
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(&request).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).split(' ').nth(1)?.parse().ok()
}

fn line(start: &[u8], bytes: &[u8]) -> Vec<u8> {
    [start, bytes].concat()
}

#[tokio::test]
async fn header_bytes_that_are_no_text_harm_nobody() {
    let mut stack = Stack::plan(Store::Memory).unwrap().patience_ms(5_000).start().unwrap();
    let addr = stack.envoy.addr();
    let host = ("host", &b"api.example"[..]);
    let token = Caller::of(&stack.envoy).user("atlas", "U-17").token().to_owned();
    let bearer = [b"Bearer ", token.as_bytes()].concat();
    let authorization = ("authorization", &bearer[..]);

    for bytes in NO_TEXT {
        let forged = [b"Bearer ", bytes].concat();
        assert_eq!(status(addr, b"GET /catalog", &[host, ("authorization", &forged)]), Some(401), "{bytes:x?}");
        for name in ["x-anything", "content-type", "x-forwarded-for", "accept"] {
            assert_eq!(status(addr, b"GET /catalog", &[host, authorization, (name, bytes)]), Some(200), "{name}: {bytes:x?}");
            // Login is decided by the address.
            let login = status(addr, b"POST /login", &[host, ("content-length", b"0"), (name, bytes)]);
            assert!(matches!(login, Some(401 | 429)), "{name}: {bytes:x?}: {login:?}");
        }
        let odd_host = status(addr, b"GET /catalog", &[("host", bytes), authorization]);
        assert!(matches!(odd_host, Some(200 | 400)), "{bytes:x?}: {odd_host:?}");
        let odd_path = status(addr, &line(b"GET /", bytes), &[host, authorization]);
        assert!(matches!(odd_path, Some(400 | 404)), "{bytes:x?}: {odd_path:?}");
        harm::none(&mut stack).await;
    }
}

/// A denial reads the request's content type, to answer in its protocol.
#[tokio::test]
async fn a_denied_request_with_a_content_type_that_is_no_text_is_answered() {
    let plan = Stack::plan(Store::Memory).unwrap().patience_ms(5_000);
    let mut stack = plan.policy(|policy| crate::policy::only_read(policy, 1)).start().unwrap();
    let token = Caller::of(&stack.envoy).user("atlas", "U-17").token().to_owned();
    let bearer = [b"Bearer ", token.as_bytes()].concat();
    for (index, bytes) in NO_TEXT.into_iter().cycle().take(8).enumerate() {
        let headers = [("host", &b"api.example"[..]), ("authorization", &bearer), ("content-type", bytes)];
        assert_eq!(status(stack.envoy.addr(), b"GET /catalog", &headers), Some(if index == 0 { 200 } else { 429 }));
    }
    harm::none(&mut stack).await;
}

/// Where the policy's own matchers look at the request, no spelling of it takes it out of its route: what is no text gets as
/// far as Envoy's parser.
#[tokio::test]
async fn a_path_or_host_that_is_no_text_does_not_escape_its_route() {
    let plan = Stack::plan(Store::Memory).unwrap().patience_ms(5_000);
    let stack = plan.envoy(|config| routes::replace(config, Routes::unnamed())).start().unwrap();
    let addr = stack.envoy.addr();
    let bearer = [b"Bearer ", Caller::of(&stack.envoy).user("atlas", "U-17").token().as_bytes()].concat();
    let authorization = ("authorization", &bearer[..]);
    for bytes in NO_TEXT {
        for path in [&b"GET /catalog?q="[..], b"GET /catalog#", b"GET /catalog/"] {
            assert_eq!(status(addr, &line(path, bytes), &[("host", b"api.example"), authorization]), Some(400), "{bytes:x?}");
        }
        assert_eq!(status(addr, b"GET /catalog", &[("host", bytes), authorization]), Some(400), "{bytes:x?}");
    }
    assert_eq!(stack.upstream.requests(), 0);
}
