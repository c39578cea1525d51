//! Bodies that arrive while their request waits for its decision.

use crate::caller::{Caller, at_once, counts, send, tally};
use crate::patience::until;
use serde_json::json;
use weir_testkit::Stack;
use weir_testkit::stack::{Plan, Store};

/// What Envoy buffers for a connection before it tells the client to wait.
const BUFFER: usize = 32 * 1024;
const BODY: usize = 1024 * 1024;

fn plan() -> Plan {
    // The upstream sends back what it is sent there.
    let echo = json!({
        "match": { "path": "/echo" },
        "route": { "cluster": "upstream" },
        "metadata": { "filter_metadata": { "weir": { "route": "checkout" } } },
    });
    Stack::plan(Store::Memory).unwrap().patience_ms(10_000).envoy(|config| {
        let config = config.edit_http(|http| {
            http["route_config"]["virtual_hosts"][0]["routes"].as_array_mut().unwrap().insert(0, echo);
        });
        config.edit(|document| document["static_resources"]["listeners"][0]["per_connection_buffer_limit_bytes"] = json!(BUFFER))
    })
}

/// Different from one end to the other, so that no piece can be missing or out of place.
fn body() -> Vec<u8> {
    (0..BODY / 8).flat_map(|place| format!("{place:07} ").into_bytes()).collect()
}

/// A body far beyond the buffer waits with its request and then passes, every byte of it.
#[tokio::test]
async fn a_body_beyond_envoys_buffer_passes_whole_once_it_is_decided() {
    for http2 in [false, true] {
        let mut stack = plan().start().unwrap();
        let caller = if http2 { Caller::over_http2(&stack.envoy) } else { Caller::of(&stack.envoy) };
        let user = caller.user("atlas", "U-17");

        stack.authority.process().pause();
        let request = tokio::spawn(send(user.post("/echo").body(body())));
        until("it waits", || stack.envoy.active_requests() == 1).await;
        // As much as Envoy takes of it is there.
        let received = || stack.envoy.stat("http.http.downstream_cx_rx_bytes_total");
        until("its body arrives", || received() > u64::try_from(BUFFER).unwrap()).await;
        stack.authority.process().resume();

        let answer = request.await.unwrap();
        assert_eq!(answer.status, 200, "{}", answer.summary());
        assert!(answer.body == body(), "{} bytes came back", answer.body.len());
    }
}

/// A denial answers at once, however much of the body is still to come.
#[tokio::test]
async fn a_denied_request_with_a_large_body_is_answered() {
    let stack = plan().start().unwrap();
    let user = Caller::over_http2(&stack.envoy).user("atlas", "U-17");
    let checkouts = at_once((0..12).map(|_| user.post("/checkout"))).await;
    assert!(checkouts.iter().any(|answer| answer.status == 429), "{:?}", tally(&checkouts));
    assert_eq!(tally(&[send(user.post("/checkout").body(body())).await]), counts([("429 P-CHECKOUT", 1)]));
}
