//! What the upstream answers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Request, State},
    http::{HeaderMap, StatusCode},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};

/// The password that logs in; every other one fails.
const PASSWORD: &str = "correct";

pub(super) fn router(requests: Arc<AtomicU64>) -> Router {
    Router::new()
        .route("/catalog", get(async || Json(json!({ "items": ["lantern", "compass"] }))))
        .route("/checkout", post(async || Json(json!({ "order": "placed" }))))
        .route("/login", post(login))
        .route("/reports/export", post(async || (StatusCode::ACCEPTED, Json(json!({ "export": "started" })))))
        .route("/search", post(async || Json(json!({ "hits": [] }))))
        .route("/health", get(async || Json(json!({ "status": "ok" }))))
        .route("/echo", post(async |body: Bytes| body).layer(DefaultBodyLimit::disable()))
        .route("/internal/{*page}", get(async || Json(json!({ "internal": true }))))
        .layer(middleware::from_fn_with_state(requests, as_asked))
}

async fn login(body: String) -> Response {
    let given = serde_json::from_str::<Value>(&body).unwrap_or_default();
    if given["password"] == PASSWORD {
        Json(json!({ "login": "welcome" })).into_response()
    } else {
        (StatusCode::UNAUTHORIZED, Json(json!({ "login": "refused" }))).into_response()
    }
}

/// Counts the request and lets it say how it wants to be answered.
async fn as_asked(State(requests): State<Arc<AtomicU64>>, request: Request, next: Next) -> Response {
    requests.fetch_add(1, Ordering::Relaxed);
    let status = number(request.headers(), "x-test-status").and_then(|status| StatusCode::from_u16(status).ok());
    if let Some(delay) = number(request.headers(), "x-test-delay-ms") {
        tokio::time::sleep(Duration::from_millis(delay)).await;
    }
    match status {
        Some(status) => (status, Json(json!({ "status": status.as_u16() }))).into_response(),
        None => next.run(request).await,
    }
}

fn number<T: std::str::FromStr>(headers: &HeaderMap, name: &str) -> Option<T> {
    headers.get(name)?.to_str().ok()?.parse().ok()
}
