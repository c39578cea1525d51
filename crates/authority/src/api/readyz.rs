//! `GET /readyz`: 200 when the store can be expected to decide, else 503 with what is waited for.

use super::Api;
use axum::extract::State;
use axum::http::StatusCode;
use std::sync::Arc;

/// See the module.
pub async fn readyz(State(api): State<Arc<Api>>) -> (StatusCode, String) {
    match api.store.readiness() {
        Ok(()) => (StatusCode::OK, "ready\n".to_owned()),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
    }
}
