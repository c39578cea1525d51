//! Requests through Envoy, and what came back.

use reqwest::header::HeaderMap;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::Value;
use std::collections::BTreeMap;
use tokio::task::JoinSet;
use weir_testkit::Envoy;
use weir_testkit::tokens::{Claims, Keys};

/// A client of the API.
#[derive(Clone)]
pub(crate) struct Caller {
    client: Client,
    url: String,
    keys: Keys,
}

/// One who calls with a token.
#[derive(Clone)]
pub(crate) struct User {
    caller: Caller,
    token: String,
}

/// What one request was answered.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Caller {
    /// One who opens a connection for each request under way.
    pub(crate) fn of(envoy: &Envoy) -> Self {
        Self::with(Client::builder(), envoy)
    }

    /// One whose requests are streams of one HTTP/2 connection.
    pub(crate) fn over_http2(envoy: &Envoy) -> Self {
        Self::with(Client::builder().http2_prior_knowledge(), envoy)
    }

    fn with(builder: reqwest::ClientBuilder, envoy: &Envoy) -> Self {
        let client = builder.no_proxy().build().unwrap();
        Self { client, url: envoy.url(), keys: Keys::development().unwrap() }
    }

    /// A user of a tenant.
    pub(crate) fn user(&self, tenant: &str, user: &str) -> User {
        self.bearer(self.keys.token(tenant, user))
    }

    /// Whoever the claims say.
    pub(crate) fn claiming(&self, claims: impl FnOnce(Claims<'_>) -> Claims<'_>) -> User {
        self.bearer(claims(self.keys.claims()).sign())
    }

    /// Whoever bears a token.
    pub(crate) fn bearer(&self, token: impl Into<String>) -> User {
        User { caller: self.clone(), token: token.into() }
    }

    /// A request of nobody in particular.
    pub(crate) fn anonymous(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    /// A login that succeeds, if it gets that far.
    pub(crate) fn login(&self) -> RequestBuilder {
        self.anonymous(Method::POST, "/login").body(r#"{"password":"correct"}"#)
    }
}

impl User {
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.caller.anonymous(method, path).bearer_auth(&self.token)
    }

    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.request(Method::GET, path)
    }

    pub(crate) fn post(&self, path: &str) -> RequestBuilder {
        self.request(Method::POST, path)
    }

    pub(crate) fn catalog(&self) -> RequestBuilder {
        self.get("/catalog")
    }
}

impl Answer {
    /// The only value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).into_iter();
        let value = values.next()?.to_str().ok();
        assert!(values.next().is_none(), "{name} is there twice: {self:?}");
        value
    }

    pub(crate) fn retry_after(&self) -> u64 {
        let value = self.header("retry-after");
        value.and_then(|seconds| seconds.parse().ok()).unwrap_or_else(|| panic!("no Retry-After in {self:?}"))
    }

    /// The body, of an answer that Weir made.
    pub(crate) fn problem(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The status, with the rule that denied or the reason for which nobody decided, where the answer has one.
    pub(crate) fn summary(&self) -> String {
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let why = body["rule"].as_str().or(body["reason"].as_str()).unwrap_or_default();
        format!("{} {why}", self.status).trim_end().to_owned()
    }

    /// Whether the answer says how quotas stand, as only the store knows.
    pub(crate) fn is_decided_by_the_store(&self) -> bool {
        self.status == 200 && self.headers.contains_key("ratelimit")
    }
}

/// Sends one request.
pub(crate) async fn send(request: RequestBuilder) -> Answer {
    try_send(request).await.unwrap()
}

/// Sends one request that may get no answer.
pub(crate) async fn try_send(request: RequestBuilder) -> reqwest::Result<Answer> {
    let response = request.send().await?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Ok(Answer { status, headers, body: response.bytes().await?.into() })
}

/// Sends all requests at once.
pub(crate) async fn at_once(requests: impl IntoIterator<Item = RequestBuilder>) -> Vec<Answer> {
    over_connections(usize::MAX, requests).await
}

/// Sends requests, so many of them at a time.
pub(crate) async fn over_connections(most: usize, requests: impl IntoIterator<Item = RequestBuilder>) -> Vec<Answer> {
    let mut waiting = requests.into_iter();
    let mut sending: JoinSet<_> = waiting.by_ref().take(most).map(send).collect();
    let mut answers = Vec::new();
    while let Some(answer) = sending.join_next().await {
        answers.push(answer.unwrap());
        if let Some(request) = waiting.next() {
            sending.spawn(send(request));
        }
    }
    answers
}

/// Sends requests one after the other until one is not answered 200; the answer to that one, with how many were.
pub(crate) async fn until_refused(request: impl Fn() -> RequestBuilder) -> (usize, Answer) {
    const MOST: usize = 1_000;
    for passed in 0..MOST {
        let answer = send(request()).await;
        if answer.status != 200 {
            return (passed, answer);
        }
    }
    panic!("{MOST} passed");
}

/// The answers counted by their summaries: `[("200", 20), ("429 P-READ", 1)]`.
pub(crate) fn tally(answers: &[Answer]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for answer in answers {
        *counts.entry(answer.summary()).or_default() += 1;
    }
    counts
}

/// How many answers have a status.
pub(crate) fn count(answers: &[Answer], status: u16) -> usize {
    answers.iter().filter(|answer| answer.status == status).count()
}

/// What [`tally`] should say.
pub(crate) fn counts<const N: usize>(expected: [(&str, usize); N]) -> BTreeMap<String, usize> {
    expected.into_iter().map(|(summary, count)| (summary.to_owned(), count)).collect()
}
