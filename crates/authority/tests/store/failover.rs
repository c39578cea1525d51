//! A replica takes over: by Sentinels, or behind an address that stays.

use crate::build::{verdict, whole, window};
use crate::forward::Forward;
use crate::place::{PATIENCE, Witness, decide_until, is_verdict, ready_at, ready_throughout, until, until_told};
use std::sync::Arc;
use std::time::Duration;
use weir_authority::store::redis::{Credentials, Settings, Wait};
use weir_authority::{Store, Target};
use weir_testkit::{Redis, Sentinels};

const LIMIT: u64 = 10_000;

/// As many requests at once, at most 64: how many of them are admitted.
async fn debit(store: &Store, hits: u32) -> u64 {
    u64::from(verdict(store.decide(&whole("atlas", &[window("W", LIMIT)], hits)).await.remove(0)).admitted)
}

/// Debits `number` or as much of it as there is.
async fn debit_all(store: &Store, number: u64) -> u64 {
    let mut admitted = 0;
    while admitted < number {
        match debit(store, u32::try_from((number - admitted).min(50)).unwrap()).await {
            0 => break,
            more => admitted += more,
        }
    }
    admitted
}

pub(crate) async fn waiting(url: &str, wait: Wait) -> Arc<Store> {
    let Target::Redis(address) = url.parse().unwrap() else { unreachable!() };
    let store = Arc::new(Store::redis(&Settings { wait: Some(wait), ..Settings::new(address, PATIENCE) }).unwrap());
    ready_throughout(&store).await;
    store
}

/// 25,000 calls a second and 100 ms of lag.
#[tokio::test(flavor = "multi_thread")]
async fn d24_a_failover_forgets_the_debits_of_the_lag_and_no_more() {
    const LAG: u64 = 25_000 * 100 / 1_000;
    let mut primary = Redis::start().unwrap();
    let mut replica = primary.replica().unwrap();
    let forward = Forward::to(&primary).await;
    let store = ready_at(&forward.url()).await;

    let mut admitted = debit_all(&store, 4_000).await;
    replica.wait_caught_up(&primary).unwrap();
    // It copies nothing any more: nobody listens on that port.
    replica.ask(&["REPLICAOF", "127.0.0.1", "1"]).unwrap();
    admitted += debit_all(&store, LAG).await;
    assert_eq!(admitted, 4_000 + LAG);

    primary.kill();
    replica.promote().unwrap();
    forward.lead_to(&replica);
    decide_until(&store, &whole("birch", &[window("W", LIMIT)], 1), is_verdict).await;
    admitted += debit_all(&store, 2 * LIMIT).await;
    assert_eq!(admitted - LIMIT, LAG, "what the replica did not have, and not one more");
}

#[tokio::test(flavor = "multi_thread")]
async fn d24_with_wait_the_replica_has_what_was_admitted() {
    let mut primary = Redis::start().unwrap();
    let mut replica = primary.replica().unwrap();
    let forward = Forward::to(&primary).await;
    let wait = Wait { replicas: 1, timeout: Duration::from_millis(250) };
    let store = waiting(&forward.url(), wait).await;
    let mut admitted = 0;
    for _ in 0..100 {
        admitted += debit(&store, 1).await;
    }
    // At once, as nobody waits for anything any more.
    primary.kill();
    let short = store.metrics().wait_short.get();
    assert!(admitted == 100 && short < 100, "{short} were not waited for long enough");
    replica.promote().unwrap();
    forward.lead_to(&replica);
    decide_until(&store, &whole("birch", &[window("W", LIMIT)], 1), is_verdict).await;
    let value: String = Witness::of(&replica).ask("GET w:{t:atlas}:W");
    let copied: u64 = value.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((100 - short..=100).contains(&copied), "{copied} copied, {short} short");

    // There is no replica any more: that is counted, and the decision stands.
    let before = store.metrics().wait_short.get();
    assert_eq!(debit(&store, 1).await, 1);
    assert_eq!(store.metrics().wait_short.get(), before + 1);
    replica.process().check_alive().unwrap();
}

/// A replica that hangs delays each, but not one behind the other.
#[tokio::test(flavor = "multi_thread")]
async fn many_that_wait_for_a_replica_in_vain_are_all_decided() {
    let primary = Redis::start().unwrap();
    let mut replica = primary.replica().unwrap();
    let store = waiting(&primary.url(), Wait { replicas: 1, timeout: Duration::from_millis(50) }).await;
    replica.process().pause();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..400 {
        let store = Arc::clone(&store);
        tasks.spawn(async move { debit(&store, 1).await });
    }
    // One after the other it would be 20 s, and more than PATIENCE.
    assert_eq!(tasks.join_all().await.into_iter().sum::<u64>(), 400);
    assert_eq!(store.metrics().wait_short.get(), 400);
    assert_eq!(store.readiness(), Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn sentinels_lead_to_the_new_master_and_not_back() {
    let mut primary = Redis::start().unwrap();
    let mut replica = primary.replica().unwrap();
    let mut sentinels = Sentinels::start(&primary, 1).unwrap();
    let url = sentinels.url();
    let store = ready_at(&url).await;
    assert_eq!(debit_all(&store, 4_000).await, 4_000);
    replica.wait_caught_up(&primary).unwrap();

    primary.kill();
    decide_until(&store, &whole("birch", &[window("W", LIMIT)], 1), is_verdict).await;
    assert_eq!(debit_all(&store, LIMIT).await, 6_000, "the replica had all");
    assert_eq!(replica.ask(&["ROLE"]).unwrap().lines().next(), Some("master"));

    // The old one comes back empty, as a master by itself.
    primary.restart().unwrap();
    sentinels.wait_for(&replica).unwrap();
    for _ in 0..200 {
        assert_eq!(debit(&store, 1).await, 0, "no count was forgotten");
    }
    // An authority that starts now, while one of the sentinels is away, goes to the right one.
    sentinels.processes().next().unwrap().kill();
    let late = ready_at(&url).await;
    assert_eq!(debit(&late, 1).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_master_that_is_demoted_under_way_is_left() {
    let primary = Redis::start().unwrap();
    let replica = primary.replica().unwrap();
    let mut sentinels = Sentinels::start(&primary, 1).unwrap();
    let store = ready_at(&sentinels.url()).await;
    assert_eq!(debit(&store, 1).await, 1);
    let port = sentinels.url();
    let port: u16 = port.split([':', ',']).nth(2).unwrap().parse().unwrap();
    let mut sentinel = redis::Client::open(format!("redis://127.0.0.1:{port}")).unwrap().get_connection().unwrap();
    redis::cmd("SENTINEL").arg("FAILOVER").arg("weir").query::<()>(&mut sentinel).unwrap();
    sentinels.wait_for(&replica).unwrap();
    let batch = whole("birch", &[window("W", LIMIT)], 1);
    // Until the counts are in the new one: the old one may take writes for a moment.
    let mut witness = Witness::of(&replica);
    decide_until(&store, &batch, |outcome| is_verdict(outcome) && witness.ask::<i64>("EXISTS w:{t:birch}:W") == 1).await;
    until(|| primary.ask(&["ROLE"]).is_ok_and(|role| role.starts_with("slave"))).await;
    verdict(store.decide(&batch).await.remove(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn sentinels_that_know_no_such_master_are_told() {
    let primary = Redis::start().unwrap();
    let sentinels = Sentinels::start(&primary, 0).unwrap();
    let store = Store::redis_at(&sentinels.url().replace("/weir", "/other"), PATIENCE).unwrap();
    until_told(&store, "No such master").await;
    assert!(store.readiness().unwrap_err().contains("\"other\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn sentinels_have_users_of_their_own() {
    let primary = Redis::start().unwrap();
    let sentinels = Sentinels::start(&primary, 0).unwrap();
    let url = sentinels.url();
    let places: Vec<_> = url.trim_start_matches("redis+sentinel://").trim_end_matches("/weir").split(',').collect();
    let witnesses = places.iter().map(|place| Witness::at(&format!("redis://{place}")));
    let mut witnesses: Vec<_> = witnesses.collect();
    for witness in &mut witnesses {
        witness.ask::<()>("ACL SETUSER weir on >secret +sentinel|master");
    }
    let Target::Redis(address) = url.parse().unwrap() else { unreachable!() };
    let credentials = |password: &str| Credentials { user: Some("weir".to_owned()), password: Some(password.to_owned()) };
    let store = |password| {
        let sentinel = credentials(password);
        Store::redis(&Settings { sentinel, ..Settings::new(address.clone(), PATIENCE) }).unwrap()
    };
    ready_throughout(&store("secret")).await;
    for witness in &mut witnesses {
        assert!(witness.ask::<Vec<redis::Value>>("ACL LOG").is_empty(), "nothing was refused");
    }
    until_told(&store("wrong"), "WRONGPASS").await;
}
