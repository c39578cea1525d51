//! `GET /metrics`: what is counted, in the text that Prometheus reads.

use super::Api;
use super::problem::Problem;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

const OPEN_METRICS: HeaderValue = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// See the module.
pub async fn metrics(State(api): State<Arc<Api>>) -> Response {
    api.metrics.store_up.set(i64::from(api.store.readiness().is_ok()));
    match api.metrics.encode() {
        Ok(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(_) => Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "metrics", "a metric does not encode").into_response(),
    }
}
