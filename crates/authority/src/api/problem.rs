//! What is wrong with a request: `{"title", "detail", "path"}`.

use crate::batch::Mistake;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use serde::Serialize;

/// An answer that says what to change.
#[derive(Debug, Serialize)]
pub struct Problem {
    #[serde(skip)]
    status: StatusCode,
    title: &'static str,
    detail: String,
    /// Where in the body; empty when it is not about a place in it.
    path: String,
}

impl Problem {
    /// About the request as a whole.
    pub fn new(status: StatusCode, title: &'static str, detail: impl Into<String>) -> Self {
        Self { status, title, detail: detail.into(), path: String::new() }
    }
}

impl From<Mistake> for Problem {
    fn from(mistake: Mistake) -> Self {
        let path = mistake.path().to_owned();
        Self { path, ..Self::new(StatusCode::BAD_REQUEST, "bad request", mistake.detail()) }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let content_type = [(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"))];
        (self.status, content_type, Json(self)).into_response()
    }
}
