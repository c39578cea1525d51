//! A Redis that is not there, goes away, hangs, forgets or refuses.

use crate::build::{bucket, log, verdict, whole, window};
use crate::load::{Load, Tally};
use crate::place::{PATIENCE, UNAVAILABLE, Witness, decide_until, is_verdict, ready, until};
use std::process::Command;
use std::time::Duration;
use weir_authority::Store;
use weir_authority::metrics::{NodeLabels, ReplicaLabels};
use weir_testkit::{Redis, port};
use weir_wire::{Failure, Outcome};

/// What Redis has counted under the window `W` of `atlas`.
fn spent(witness: &mut Witness) -> u64 {
    let value: String = witness.ask("GET w:{t:atlas}:W");
    value.rsplit(' ').next().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn flushed_scripts_fail_no_check_and_charge_none_twice() {
    let redis = Redis::start().unwrap();
    let (store, mut witness) = (ready(&redis).await, Witness::of(&redis));
    let load = Load::start(&[&store], whole("atlas", &[window("W", 1 << 40)], 1));
    for _ in 0..20 {
        load.go_on(50).await;
        witness.ask::<()>("SCRIPT FLUSH");
    }
    load.go_on(50).await;
    let Tally { admitted, unavailable, unknown, .. } = load.end().await;
    assert_eq!((unavailable, unknown), (0, 0));
    assert_eq!(spent(&mut witness), admitted);
    assert!(store.metrics().script_reloads.get() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_connections_charge_nothing_twice_and_nothing_silently() {
    let redis = Redis::start().unwrap();
    let (store, mut witness) = (ready(&redis).await, Witness::of(&redis));
    let load = Load::start(&[&store], whole("atlas", &[window("W", 1 << 40)], 1));
    for _ in 0..10 {
        load.go_on(50).await;
        witness.ask::<i64>("CLIENT KILL TYPE normal");
    }
    load.go_on(50).await;
    let Tally { admitted, unknown, .. } = load.end().await;
    let spent = spent(&mut witness);
    assert!((admitted..=admitted + unknown).contains(&spent), "{spent} spent, {admitted} admitted, {unknown} unknown");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_died_is_used_again_when_it_is_back() {
    let mut redis = Redis::start().unwrap();
    let store = ready(&redis).await;
    let batch = whole("atlas", &[bucket("R", 1_000_000)], 1);
    verdict(store.decide(&batch).await.remove(0));

    redis.kill();
    decide_until(&store, &batch, |outcome| *outcome == UNAVAILABLE).await;
    let reason = store.readiness().unwrap_err();
    assert!(reason.starts_with("waiting for redis: ") && reason.contains(&redis.port().to_string()), "{reason}");

    redis.restart().unwrap();
    decide_until(&store, &batch, is_verdict).await;
    assert_eq!(store.readiness(), Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_started_first_waits_for_its_redis() {
    let mut redis = Redis::start().unwrap();
    redis.kill();
    let store = Store::redis_at(&redis.url(), PATIENCE).unwrap();
    let batch = whole("atlas", &[bucket("R", 10)], 1);
    assert_eq!(store.decide(&batch).await, [UNAVAILABLE]);
    assert!(store.readiness().is_err());

    redis.restart().unwrap();
    decide_until(&store, &batch, is_verdict).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_hangs_leaves_one_decision_unknown_and_then_none() {
    let mut redis = Redis::start().unwrap();
    let store = Store::redis_at(&redis.url(), Duration::from_millis(50)).unwrap();
    let batch = whole("atlas", &[bucket("R", 1_000_000)], 1);
    decide_until(&store, &batch, is_verdict).await;

    let pid = redis.process().id().to_string();
    let signal = |name: &str| assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    signal("-STOP");
    decide_until(&store, &batch, |outcome| *outcome == Outcome::Failure(Failure::Unknown)).await;
    decide_until(&store, &batch, |outcome| *outcome == UNAVAILABLE).await;
    signal("-CONT");
    decide_until(&store, &batch, is_verdict).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_is_not_ready_and_charges_nothing() {
    let redis = Redis::start().unwrap();
    let (store, mut witness) = (ready(&redis).await, Witness::of(&redis));
    let batch = whole("atlas", &[bucket("R", 10)], 1);
    let nobody = port::free().unwrap();
    witness.ask::<()>(&format!("REPLICAOF 127.0.0.1 {nobody}"));
    // Whether it comes as READONLY or MASTERDOWN, or the probe was first.
    assert_eq!(store.decide(&batch).await, [UNAVAILABLE]);
    until(|| store.readiness().is_err_and(|reason| reason.contains("replica"))).await;

    witness.ask::<()>("REPLICAOF NO ONE");
    let Outcome::Verdict(verdict) = decide_until(&store, &batch, is_verdict).await else { unreachable!() };
    assert_eq!(verdict.quotas[0].remaining, 9);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_without_memory_charges_nothing() {
    let redis = Redis::start().unwrap();
    let (store, mut witness) = (ready(&redis).await, Witness::of(&redis));
    let batch = whole("atlas", &[bucket("R", 10), window("W", 10)], 1);
    witness.ask::<()>("CONFIG SET maxmemory 1");
    assert_eq!(store.decide(&batch).await, [UNAVAILABLE]);
    // A log is written by more than one command.
    assert_eq!(store.decide(&whole("atlas", &[log("L", 10), window("W", 10)], 1)).await, [UNAVAILABLE]);
    assert_eq!(witness.ask::<i64>("DBSIZE"), 0);
    witness.ask::<()>("CONFIG SET maxmemory 0");
    assert_eq!(verdict(store.decide(&batch).await.remove(0)).quotas[0].remaining, 9);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_may_evict_counts_is_told() {
    for (policy, evicts) in [("noeviction", 0), ("allkeys-lru", 1)] {
        let redis = Redis::start_with(&["--maxmemory-policy", policy]).unwrap();
        let store = ready(&redis).await;
        let node = NodeLabels { node: format!("127.0.0.1:{}", redis.port()) };
        let exported = store.metrics().nodes.evicts.get_or_create(&node).get();
        assert_eq!(exported, evicts, "{policy}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_is_busy_with_a_script_of_others_charges_nothing_and_says_so() {
    let redis = Redis::start_with(&["--busy-reply-threshold", "20"]).unwrap();
    let (store, mut witness) = (ready(&redis).await, Witness::of(&redis));
    let batch = whole("atlas", &[bucket("R", 1_000_000)], 1);
    let mut other = Witness::of(&redis);
    let script = std::thread::spawn(move || other.fails(redis::cmd("EVAL").arg("while true do end").arg(0)));
    until(|| store.readiness().is_err_and(|reason| reason.to_uppercase().contains("BUSY"))).await;
    assert_eq!(store.decide(&batch).await, [UNAVAILABLE]);

    witness.ask::<()>("SCRIPT KILL");
    assert!(script.join().unwrap().contains("killed"));
    let Outcome::Verdict(verdict) = decide_until(&store, &batch, is_verdict).await else { unreachable!() };
    assert!(verdict.quotas[0].remaining <= 999_999);
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_and_their_lag_are_exported() {
    let redis = Redis::start().unwrap();
    let mut replica = redis.replica().unwrap();
    let store = ready(&redis).await;
    let nodes = store.metrics().nodes.clone();
    let node = NodeLabels { node: format!("127.0.0.1:{}", redis.port()) };
    let labels = ReplicaLabels { node: node.node.clone(), replica: format!("127.0.0.1:{}", replica.port()) };
    let replicas = || nodes.replicas.get_or_create(&node).get();
    let lag_bytes = || nodes.lag_bytes.get_or_create(&labels).get();
    until(|| (replicas(), nodes.master.get_or_create(&node).get(), nodes.up.get_or_create(&node).get()) == (1, 1, 1)).await;

    replica.process().pause();
    verdict(store.decide(&whole("atlas", &[bucket("R", 10)], 1)).await.remove(0));
    until(|| lag_bytes() > 0 && nodes.lag_seconds.get_or_create(&labels).get() > 0).await;
    replica.process().resume();
    until(|| lag_bytes() == 0).await;
    replica.kill();
    until(|| replicas() == 0).await;
}
