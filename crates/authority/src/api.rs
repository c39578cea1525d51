//! The endpoints.
//!
//! | module | endpoint |
//! |---|---|
//! | [`decide`] | `POST /v1/decide` |
//! | [`healthz`] | `GET /healthz` |
//! | [`readyz`] | `GET /readyz` |
//! | [`metrics`] | `GET /metrics` |
//!
//! Every answer carries [`weir_wire::ANSWER_MARK`], also a 404: Envoy invents 503 and 504 of its own, and
//! a gateway trusts no status without the mark.

pub mod decide;
pub mod healthz;
pub mod metrics;
pub mod problem;
pub mod readyz;

use crate::metrics::{Metrics, StatusLabels};
use crate::store::Store;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn, map_response_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use problem::Problem;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

const MARK: HeaderName = HeaderName::from_static(weir_wire::ANSWER_MARK);

/// How long a request may take with its body and its answer: longer than any decision.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);

/// What the endpoints share.
pub struct Api {
    store: Store,
    metrics: Metrics,
}

/// The endpoints over `store`.
pub fn router(store: Store) -> Router {
    let metrics = Metrics::new(store.metrics());
    let api = Arc::new(Api { store, metrics });
    Router::new()
        .route(weir_wire::DECIDE_PATH, post(decide::decide))
        .route("/healthz", get(healthz::healthz))
        .route("/readyz", get(readyz::readyz))
        .route("/metrics", get(metrics::metrics))
        .fallback(async || Problem::new(StatusCode::NOT_FOUND, "not found", "there is no such path here"))
        .layer(DefaultBodyLimit::max(weir_wire::MAX_BODY_BYTES))
        .layer(from_fn(in_time))
        .layer(map_response_with_state(Arc::clone(&api), mark_and_count))
        .with_state(api)
}

/// Somebody who sends a body byte by byte does not keep a stream for ever.
async fn in_time(request: Request, next: Next) -> Response {
    timeout(REQUEST_TIMEOUT, next.run(request)).await.unwrap_or_else(|_| {
        let detail = format!("the request took longer than {} s", REQUEST_TIMEOUT.as_secs());
        Problem::new(StatusCode::REQUEST_TIMEOUT, "request timeout", detail).into_response()
    })
}

async fn mark_and_count(State(api): State<Arc<Api>>, mut response: Response) -> Response {
    response.headers_mut().insert(MARK, HeaderValue::from_static("1"));
    let status = u32::from(response.status().as_u16());
    api.metrics.requests.get_or_create(&StatusLabels { status }).inc();
    response
}
