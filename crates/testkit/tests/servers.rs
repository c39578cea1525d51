//! The servers of the testkit, each for real. The filter and the authority have to be built: `make test` sees to it.

use std::{net::SocketAddr, process::Command};

use weir_testkit::{
    Authority, Redis, RedisCluster, Sentinels, Upstream,
    authority::Started,
    envoy::{self, Config},
    probe, repository,
    tokens::Keys,
};

/// The status that Envoy answers a GET with.
fn status(addr: SocketAddr, path: &str) -> Option<u16> {
    probe::get(addr, path).map(|answer| answer.status)
}

#[test]
fn envoy_accepts_the_shipped_file_as_it_is() {
    let root = repository::root();
    // The development keys that the file names.
    Keys::development().unwrap();
    let output = Command::new(envoy::program())
        .args(["--mode", "validate", "--config-path", "envoy/standalone/envoy.yaml"])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_shipped_file_has_the_example_policy() {
    let document = envoy::to_value(&repository::root().join("envoy/standalone/envoy.yaml")).unwrap();
    let filters = &document["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]["http_filters"];
    let policy = envoy::to_value(&repository::root().join("policies/northstar.yaml")).unwrap();
    assert_eq!(filters[0]["typed_config"]["config"]["configuration"]["value"]["policy"], policy);
}

#[test]
fn envoy_starts_with_the_shipped_file_on_other_ports() {
    let upstream = Upstream::start().unwrap();
    let envoy = Config::standalone().unwrap().upstream(upstream.addr()).start().unwrap();
    assert_eq!(status(envoy.addr(), "/health"), Some(200));
    assert_eq!(status(envoy.addr(), "/catalog"), Some(401));
    assert_eq!(upstream.requests(), 1);
}

#[test]
fn an_authority_comes_back_on_its_port_and_waits_for_its_redis() {
    let mut redis = Redis::start().unwrap();
    let mut authority = Authority::start(&redis.url()).unwrap();
    let addr = authority.addr();
    authority.kill();
    redis.kill();
    authority.restart(Started::Alive).unwrap();
    assert_eq!((authority.addr(), status(addr, "/readyz")), (addr, Some(503)));
    redis.restart().unwrap();
    authority.wait(Started::Ready).unwrap();
}

#[test]
fn a_cluster_has_three_masters_and_moves_a_slot() {
    let cluster = RedisCluster::start().unwrap();
    let (from, slot) = (cluster.master_of("{t:atlas}").unwrap(), cluster.slot_of("{t:atlas}").unwrap());
    let to = (from + 1) % 3;
    cluster.begin_to_move(&slot, from, to).unwrap();
    cluster.move_keys(&slot, from, to).unwrap();
    cluster.end_to_move(&slot, from, to).unwrap();
    cluster.wait_until(|cluster| cluster.master_of("{t:atlas}").is_ok_and(|master| master == to)).unwrap();
}

#[test]
fn sentinels_promote_a_replica() {
    let mut primary = Redis::start().unwrap();
    let replica = primary.replica().unwrap();
    let mut sentinels = Sentinels::start(&primary, 1).unwrap();
    primary.kill();
    sentinels.wait_for(&replica).unwrap();
}
