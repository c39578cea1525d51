//! `GET /healthz`: the process runs. It never looks at the store: a restart would not bring that back.

/// See the module.
pub async fn healthz() -> &'static str {
    "ok\n"
}
