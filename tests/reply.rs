//! Which protocol a caller speaks, and what a response means in it.

use weir::reply::{http_status, is_grpc};

#[test]
fn grpc_is_what_envoy_takes_for_it() {
    for grpc in ["application/grpc", "application/grpc+proto", "application/grpc+json"] {
        assert!(is_grpc(grpc.as_bytes()), "{grpc}");
    }
    for other in [
        "",
        "application/json",
        "application/grpc-web",
        "application/grpc-web+proto",
        "application/grpcfoo",
        "x/application/grpc",
    ] {
        assert!(!is_grpc(other.as_bytes()), "{other}");
    }
}

#[test]
fn a_failed_authentication_is_one_in_either_protocol() {
    assert_eq!(http_status(401, || unreachable!("not asked for")), Some(401));
    assert_eq!(http_status(200, || Some(16)), Some(401));
    assert_eq!(http_status(200, || Some(7)), Some(403));
    assert_eq!(http_status(200, || Some(8)), Some(200));
    assert_eq!(http_status(200, || None), Some(200));
}
