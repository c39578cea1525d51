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
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::map_response_with_state;
use axum::response::Response;
use axum::routing::{get, post};
use problem::Problem;
use std::sync::Arc;

const MARK: HeaderName = HeaderName::from_static(weir_wire::ANSWER_MARK);

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
        .layer(map_response_with_state(Arc::clone(&api), mark_and_count))
        .with_state(api)
}

async fn mark_and_count(State(api): State<Arc<Api>>, mut response: Response) -> Response {
    response.headers_mut().insert(MARK, HeaderValue::from_static("1"));
    let status = u32::from(response.status().as_u16());
    api.metrics.requests.get_or_create(&StatusLabels { status }).inc();
    response
}
