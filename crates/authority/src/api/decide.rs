//! `POST /v1/decide`: a batch of checks, an answer for each; see [`weir_wire::decide`].
//!
//! The status speaks of the batch, never of a decision: 200 also when every check is denied or the store
//! is away, 400 with the path of the mistake when it is none, 413 beyond [`weir_wire::MAX_BODY_BYTES`].

use super::Api;
use super::problem::Problem;
use crate::batch::DecideBatch;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use std::sync::Arc;
use weir_wire::{Answer, DecideResponse, MAX_BODY_BYTES, VERSION};

/// See the module.
pub async fn decide(State(api): State<Arc<Api>>, body: Result<Bytes, BytesRejection>) -> Response {
    let body = match body {
        Ok(body) => body,
        Err(rejection) => return unread(&rejection).into_response(),
    };
    let batch = match DecideBatch::from_json(&body) {
        Ok(batch) => batch,
        Err(mistake) => return Problem::from(mistake).into_response(),
    };
    let outcomes = api.store.decide(&batch).await;
    let answers = batch.checks().iter().zip(outcomes).map(|(check, outcome)| Answer { id: check.id(), outcome }).collect();
    Json(DecideResponse { version: VERSION, answers }).into_response()
}

fn unread(rejection: &BytesRejection) -> Problem {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let detail = format!("a batch is at most {MAX_BODY_BYTES} bytes");
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body too large", detail)
        }
        _ => Problem::new(StatusCode::BAD_REQUEST, "bad request", "the body ended early"),
    }
}
