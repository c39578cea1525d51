//! Requests through Envoy, and what came back.

use std::collections::BTreeMap;

use reqwest::{Client, Method, RequestBuilder};
use serde_json::Value;
use tokio::task::JoinSet;
use weir_testkit::tokens::Keys;

/// A client of the API.
#[derive(Clone)]
pub(super) struct Caller {
    client: Client,
    url: String,
    keys: Keys,
}

/// What one request was answered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// The denying rule, where the answer names one.
    pub(super) rule: Option<String>,
    /// Why no decision could be made, where the answer says so.
    pub(super) reason: Option<String>,
    pub(super) retry_after: Option<String>,
}

impl Caller {
    pub(super) fn new(url: String) -> anyhow::Result<Self> {
        let client = Client::builder().no_proxy().build()?;
        Ok(Self { client, url, keys: Keys::development()? })
    }

    /// A token for a user of a tenant.
    pub(super) fn token(&self, tenant: &str, user: &str) -> String {
        self.keys.token(tenant, user)
    }

    /// A request of whom the token is for.
    pub(super) fn verified(&self, method: Method, path: &str, token: &str) -> RequestBuilder {
        self.anonymous(method, path).bearer_auth(token)
    }

    /// A request of nobody in particular.
    pub(super) fn anonymous(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }
}

/// Sends one request.
pub(super) async fn send(request: RequestBuilder) -> anyhow::Result<Answer> {
    let response = request.send().await?;
    let status = response.status().as_u16();
    let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let body: Value = serde_json::from_slice(&response.bytes().await?).unwrap_or_default();
    let text = |field: &str| body[field].as_str().map(str::to_owned);
    Ok(Answer { status, rule: text("rule"), reason: text("reason"), retry_after })
}

/// Sends requests, `at_once` of them at a time, and collects the answers.
pub(super) async fn send_all(requests: Vec<RequestBuilder>, at_once: usize) -> anyhow::Result<Vec<Answer>> {
    let mut waiting = requests.into_iter();
    let mut sending = JoinSet::new();
    for request in waiting.by_ref().take(at_once) {
        sending.spawn(send(request));
    }
    let mut answers = Vec::new();
    while let Some(answer) = sending.join_next().await {
        answers.push(answer??);
        if let Some(request) = waiting.next() {
            sending.spawn(send(request));
        }
    }
    Ok(answers)
}

/// The answers counted, as text: `20 × 200, 1 × 429 P-READ`.
pub(super) fn tally(answers: &[Answer]) -> String {
    let mut counts = BTreeMap::<_, usize>::new();
    for answer in answers {
        *counts.entry((answer.status, answer.rule.as_deref().unwrap_or_default())).or_default() += 1;
    }
    let texts: Vec<_> =
        counts.into_iter().map(|((status, rule), count)| format!("{count} × {status} {rule}").trim_end().to_owned()).collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_counts_by_status_and_rule() {
        let answer =
            |status, rule: Option<&str>| Answer { status, rule: rule.map(str::to_owned), reason: None, retry_after: None };
        let answers = [answer(429, Some("P-READ")), answer(200, None), answer(200, None)];
        assert_eq!(tally(&answers), "2 × 200, 1 × 429 P-READ");
    }
}
