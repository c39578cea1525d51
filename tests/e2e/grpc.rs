//! Callers that speak gRPC are answered in it: as an HTTP status a denial would turn into UNAVAILABLE, which clients retry.

use crate::caller::{Answer, Caller, send, until_refused};
use crate::patience::until_some;
use crate::policy::only_read;
use reqwest::RequestBuilder;
use serde_json::json;
use weir_testkit::Stack;
use weir_testkit::stack::Store;

fn grpc(request: RequestBuilder) -> RequestBuilder {
    request.header("content-type", "application/grpc").header("te", "trailers")
}

fn has_status(answer: &Answer, status: &str) -> bool {
    let is_grpc = answer.header("content-type").is_some_and(|kind| kind.starts_with("application/grpc"));
    answer.status == 200 && is_grpc && answer.header("grpc-status") == Some(status)
}

#[tokio::test]
async fn a_denial_is_resource_exhausted() {
    let plan = Stack::plan(Store::Memory).unwrap().patience_ms(5_000).policy(|policy| only_read(policy, 3));
    let stack = plan.start().unwrap();
    let user = Caller::over_http2(&stack.envoy).user("atlas", "U-17");
    until_refused(|| user.catalog()).await;
    for kind in ["application/grpc", "application/grpc+proto"] {
        let answer = send(user.catalog().header("content-type", kind)).await;
        assert!(has_status(&answer, "8"), "{answer:?}");
        assert_eq!(answer.header("x-envoy-ratelimited"), Some("true"));
        assert!(answer.retry_after() >= 1);
        assert!(answer.header("ratelimit").is_some_and(|quotas| quotas.starts_with(r#""P-READ";r=0"#)), "{answer:?}");
    }
    // Others are told in their own way, also those that only look alike: told a gRPC status, Envoy would answer them 200.
    for kind in ["application/json", "application/grpc-web", "application/grpc-web+proto", "application/grpcfoo"] {
        assert_eq!(send(user.catalog().header("content-type", kind)).await.status, 429, "{kind}");
    }
}

#[tokio::test]
async fn a_closed_route_is_unavailable() {
    let stack = Stack::plan(Store::Redis).unwrap().start_without_redis().unwrap();
    let user = Caller::over_http2(&stack.envoy).user("atlas", "U-17");
    let closed = async || Some(send(grpc(user.post("/checkout"))).await).filter(|answer| has_status(answer, "14"));
    let answer = until_some("closed routes are unavailable", closed).await;
    assert!(answer.retry_after() >= 1);
}

#[tokio::test]
async fn a_caller_without_a_name_is_unauthenticated() {
    let plan = Stack::plan(Store::Memory).unwrap().patience_ms(5_000);
    let stack = plan.policy(|policy| policy["identity"]["jwt"]["principal"] = json!("user")).start().unwrap();
    let nobody = Caller::over_http2(&stack.envoy).claiming(|claims| claims.claim("tenant", "atlas"));
    let answer = send(grpc(nobody.catalog())).await;
    assert!(has_status(&answer, "16"), "{answer:?}");
}
