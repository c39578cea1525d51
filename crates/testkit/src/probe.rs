//! One blocking GET: enough to ask a server whether it is ready, or to read a page of Envoy's admin interface.

use std::{net::SocketAddr, time::Duration};

use ureq::Agent;

const TIMEOUT: Duration = Duration::from_secs(2);

/// An answer's status and body.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body, as text.
    pub body: String,
}

/// What `http://<addr><path>` answers, or `None` when nothing does within two seconds.
#[must_use]
pub fn get(addr: SocketAddr, path: &str) -> Option<Answer> {
    let agent: Agent =
        Agent::config_builder().timeout_global(Some(TIMEOUT)).http_status_as_error(false).proxy(None).build().into();
    let mut response = agent.get(format!("http://{addr}{path}")).call().ok()?;
    let status = response.status().as_u16();
    let body = response.body_mut().read_to_string().ok()?;
    Some(Answer { status, body })
}

/// Whether `http://<addr><path>` answers 200.
#[must_use]
pub fn is_ok(addr: SocketAddr, path: &str) -> bool {
    get(addr, path).is_some_and(|answer| answer.status == 200)
}
