//! What each endpoint answers. Every answer is marked; see [`marked`].

use crate::client::{check, marked, serve, serve_memory};
use reqwest::StatusCode;
use serde_json::{Value, json};
use std::time::Duration;
use weir_authority::{Store, SystemClock};
use weir_testkit::port;
use weir_wire::MAX_BODY_BYTES;

#[tokio::test]
async fn a_batch_is_answered_by_id() {
    let served = serve_memory().await;
    let (status, body) = marked(served.post(check().to_string())).await;
    assert_eq!(status, StatusCode::OK);
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&answer["version"], &answer["answers"][0]["id"]), (&json!(1), &json!(7)));
    let verdict = &answer["answers"][0]["outcome"]["verdict"];
    assert_eq!((&verdict["admitted"], &verdict["quotas"][0]["remaining"]), (&json!(1), &json!(1)));
}

#[tokio::test]
async fn a_bad_request_names_the_path_of_the_mistake() {
    let served = serve_memory().await;
    let mut batch = check();
    batch["checks"][0]["charges"][0]["cost"] = json!(3);
    let response = served.post(batch.to_string()).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let problem: Value = response.json().await.unwrap();
    assert_eq!(
        problem,
        json!({
            "title": "bad request",
            "detail": "3 is not between 1 and the limit's capacity of 2",
            "path": "checks[0].charges[0].cost",
        })
    );
}

#[tokio::test]
async fn a_body_beyond_the_bound_is_refused() {
    let served = serve_memory().await;
    let padded = |bytes: usize| {
        let batch = check().to_string();
        batch.clone() + &" ".repeat(bytes - batch.len())
    };
    assert_eq!(marked(served.post(padded(MAX_BODY_BYTES))).await.0, StatusCode::OK);
    let (status, body) = marked(served.post(padded(MAX_BODY_BYTES + 1))).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(body.contains("a batch is at most 1048576 bytes"), "{body}");
}

#[tokio::test]
async fn what_is_not_there_is_marked_too() {
    let served = serve_memory().await;
    assert_eq!(marked(served.get("/v2/decide")).await.0, StatusCode::NOT_FOUND);
    assert_eq!(marked(served.get("/v1/decide")).await.0, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn without_its_store_it_lives_says_what_it_waits_for_and_decides_nothing() {
    let port = port::free().unwrap();
    let store = Store::redis_at(&format!("redis://:secret@127.0.0.1:{port}"), Duration::from_millis(50)).unwrap();
    let served = serve(store).await;
    assert_eq!(marked(served.get("/healthz")).await.0, StatusCode::OK);
    let (status, reason) = marked(served.get("/readyz")).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(reason.contains(&format!("127.0.0.1:{port}")) && !reason.contains("secret"), "{reason}");

    let (status, body) = marked(served.post(check().to_string())).await;
    assert_eq!((status, body.contains(r#"{"failure":"unavailable"}"#)), (StatusCode::OK, true), "{body}");
    assert!(marked(served.get("/metrics")).await.1.contains("weir_authority_store_up 0"));
}

#[tokio::test]
async fn a_full_store_says_so() {
    let served = serve(Store::memory(0, SystemClock)).await;
    let (_, body) = marked(served.post(check().to_string())).await;
    assert!(body.contains(r#"{"failure":"full"}"#), "{body}");
}

#[tokio::test]
async fn metrics_count_requests_by_outcome_and_name_no_subject() {
    let served = serve_memory().await;
    let mut batch = check();
    batch["checks"][0]["hits"] = json!(5);
    marked(served.post(batch.to_string())).await;
    assert_eq!(marked(served.get("/readyz")).await.0, StatusCode::OK);
    let (_, text) = marked(served.get("/metrics")).await;
    for line in [
        r#"weir_authority_decisions_total{outcome="admitted"} 2"#,
        r#"weir_authority_decisions_total{outcome="denied"} 3"#,
        r#"weir_authority_http_requests_total{status="200"} 2"#,
        "weir_authority_batch_size_count 1",
        "weir_authority_store_latency_seconds_count 1",
        "weir_authority_script_reloads_total 0",
        "weir_authority_store_up 1",
    ] {
        assert!(text.lines().any(|present| present == line), "{line} in\n{text}");
    }
    assert!(!text.contains("atlas") && !text.contains("U-17"));
}
