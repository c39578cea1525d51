//! A Redis Cluster whose slots move and whose masters die.

use crate::access::{CLUSTER_COMMANDS, COMMANDS};
use crate::build::{batch, bucket, verdict, whole, window};
use crate::failover::waiting;
use crate::load::{Load, Tally};
use crate::place::{PATIENCE, Place, UNAVAILABLE, decide_until, is_verdict, ready_at, text, until_told};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use weir_authority::Store;
use weir_authority::metrics::{Redirect, RedirectLabels};
use weir_authority::store::redis::Wait;
use weir_testkit::{RedisCluster, port};
use weir_wire::{Outcome, Subject, Tag};

fn redirects(store: &Store, kind: Redirect) -> u64 {
    store.metrics().redirects.get_or_create(&RedirectLabels { kind }).get()
}

/// Tenants of each of the three masters.
fn tenants(cluster: &RedisCluster) -> [String; 3] {
    [0, 1, 2].map(|master| {
        let mut names = (0..).map(|number| format!("tenant-{number}"));
        names.find(|name| cluster.master_of(&format!("{{t:{name}}}")).unwrap() == master).unwrap()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_over_all_masters_admit_exactly_each_limit() {
    let cluster = Arc::new(RedisCluster::start().unwrap());
    let tenants = tenants(&cluster);
    let place = Place::cluster(&cluster).await;
    let check = |tenant: &String| (Tag::Tenant(tenant.clone()), 1, vec![(window("W", 1_000), Subject::Whole, 1)]);
    let batch = Arc::new(batch(tenants.iter().map(check).collect()));
    let mut tasks = JoinSet::new();
    for task in 0..64 {
        let (store, batch) = (Arc::clone(&place.authorities[task % 2]), Arc::clone(&batch));
        tasks.spawn(async move {
            let mut admitted = [0; 3];
            for _ in 0..20 {
                for (sum, outcome) in admitted.iter_mut().zip(store.decide(&batch).await) {
                    *sum += verdict(outcome).admitted;
                }
            }
            admitted
        });
    }
    let sums =
        tasks.join_all().await.into_iter().reduce(|sums, admitted| [0, 1, 2].map(|tenant| sums[tenant] + admitted[tenant]));
    assert_eq!(sums, Some([1_000; 3]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_moves_under_load_fails_no_check_and_admits_exactly_the_limit() {
    const LIMIT: u64 = 20_000;
    let cluster = RedisCluster::start().unwrap();
    for node in cluster.nodes() {
        let user = ["ACL", "SETUSER", "weir", "on", ">secret", "~w:*"];
        node.ask(&[&user[..], &COMMANDS, &CLUSTER_COMMANDS].concat()).unwrap();
    }
    let url = cluster.url().replace("://", "://weir:secret@");
    let stores = [ready_at(&url).await, ready_at(&url).await];
    let load = Load::start(&[&stores[0], &stores[1]], whole("atlas", &[window("W", LIMIT)], 1));
    let slot = cluster.slot_of("{t:atlas}").unwrap();
    for _ in 0..4 {
        let from = cluster.master_of("{t:atlas}").unwrap();
        let to = (from + 1) % 3;
        load.go_on(100).await;
        cluster.begin_to_move(&slot, from, to).unwrap();
        load.go_on(100).await;
        cluster.move_keys(&slot, from, to).unwrap();
        load.go_on(100).await;
        cluster.end_to_move(&slot, from, to).unwrap();
        cluster.wait_until(|cluster| cluster.master_of("{t:atlas}").is_ok_and(|master| master == to)).unwrap();
    }
    load.go_on(100).await;
    let Tally { admitted, denied, unavailable, unknown } = load.end().await;
    assert_eq!((denied, unavailable, unknown), (0, 0, 0));
    let mut rest = 0;
    while let more @ 1.. = verdict(stores[0].decide(&whole("atlas", &[window("W", LIMIT)], 50)).await.remove(0)).admitted {
        rest += u64::from(more);
    }
    assert_eq!(admitted + rest, LIMIT);
    for kind in [Redirect::moved, Redirect::ask] {
        assert!(stores.iter().map(|store| redirects(store, kind)).sum::<u64>() > 0, "{kind:?}");
    }
    for node in cluster.nodes() {
        assert_eq!(node.ask(&["ACL", "LOG"]).unwrap(), "", "nothing was refused");
    }
    // The nodes' own count.
    let errors: String = cluster.nodes().iter().map(|node| node.ask(&["INFO", "errorstats"]).unwrap()).collect();
    assert!(errors.contains("errorstat_MOVED") && errors.contains("errorstat_ASK"), "{errors}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_whose_keys_are_on_two_nodes_charges_nothing_until_they_are_on_one() {
    let cluster = RedisCluster::start().unwrap();
    let store = ready_at(&cluster.url()).await;
    let rules = [bucket("A", 10), bucket("B", 10)];
    assert_eq!(verdict(store.decide(&whole("atlas", &rules, 2)).await.remove(0)).admitted, 2);

    let (slot, from) = (cluster.slot_of("{t:atlas}").unwrap(), cluster.master_of("{t:atlas}").unwrap());
    let to = (from + 1) % 3;
    cluster.begin_to_move(&slot, from, to).unwrap();
    let port = cluster.nodes()[to].port().to_string();
    cluster.nodes()[from].ask(&["MIGRATE", "127.0.0.1", &port, "w:{t:atlas}:A", "0", "5000"]).unwrap();
    assert_eq!(store.decide(&whole("atlas", &rules, 1)).await, [UNAVAILABLE]);
    assert!(redirects(&store, Redirect::try_again) > 1);

    cluster.move_keys(&slot, from, to).unwrap();
    let after = verdict(store.decide(&whole("atlas", &rules, 1)).await.remove(0));
    assert_eq!(after.quotas.iter().map(|quota| quota.remaining).collect::<Vec<_>>(), [7, 7]);
    cluster.end_to_move(&slot, from, to).unwrap();
    let after = verdict(store.decide(&whole("atlas", &rules, 1)).await.remove(0));
    assert_eq!(after.quotas.iter().map(|quota| quota.remaining).collect::<Vec<_>>(), [6, 6]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_master_that_dies_is_replaced_by_its_replica_while_the_others_decide() {
    let mut cluster = RedisCluster::start_brisk().unwrap();
    let [theirs, ours, _] = tenants(&cluster);
    let store = ready_at(&cluster.url()).await;
    let hit = |tenant: &str| whole(tenant, &[window("W", 1_000_000)], 1);
    for _ in 0..10 {
        verdict(store.decide(&hit(&theirs)).await.remove(0));
    }
    let master = cluster.master_of(&format!("{{t:{theirs}}}")).unwrap();
    let replica = cluster.replica_of(master);
    let (primary, copy) = (cluster.nodes()[master].port(), cluster.nodes()[replica].port());
    let offset = cluster.nodes()[master].ask(&["INFO", "replication"]).unwrap();
    let offset = offset.lines().find_map(|line| line.strip_prefix("master_repl_offset:")).unwrap().to_owned();
    cluster
        .wait_until(|cluster| {
            let info = cluster.nodes()[replica].ask(&["INFO", "replication"]).unwrap();
            let copied = info.lines().find_map(|line| line.strip_prefix("slave_repl_offset:")?.parse::<u64>().ok());
            copied >= offset.parse().ok()
        })
        .unwrap();
    cluster.node(master).kill();

    let (mut others, mut refused) = (0_u64, 0_u64);
    let counted = loop {
        verdict(store.decide(&hit(&ours)).await.remove(0));
        others += 1;
        match store.decide(&hit(&theirs)).await.remove(0) {
            Outcome::Verdict(verdict) => break verdict.quotas[0].remaining,
            Outcome::Failure(_) => refused += 1,
        }
        assert_eq!(store.readiness(), Ok(()), "most of it is there");
        tokio::time::sleep(Duration::from_millis(2)).await;
    };
    assert!(others > 1 && refused > 0);
    // One more than the ten, or than those whose outcome nobody knows.
    assert_eq!(counted, 1_000_000 - 11, "what was copied was not forgotten");
    let metrics = text(&store);
    assert!(metrics.contains(&format!("store_node_up{{node=\"127.0.0.1:{copy}\"}} 1")), "{primary}: {metrics}");
}

/// Each batch is one check, so each that `WAIT` was short for is one debit that the replica may lack.
#[tokio::test(flavor = "multi_thread")]
async fn d24_a_master_that_dies_under_load_forgets_only_what_was_not_waited_for() {
    let mut cluster = RedisCluster::start_brisk().unwrap();
    let wait = Wait { replicas: 1, timeout: Duration::from_millis(250) };
    let stores = [waiting(&cluster.url(), wait).await, waiting(&cluster.url(), wait).await];
    let load = Load::start(&[&stores[0], &stores[1]], whole("atlas", &[window("W", 1 << 40)], 1));
    let master = cluster.master_of("{t:atlas}").unwrap();
    let replica = cluster.replica_of(master);
    load.go_on(300).await;
    let short_before: u64 = stores.iter().map(|store| store.metrics().wait_short.get()).sum();
    cluster.node(master).kill();
    // Few, as each waits for replicas that are not there.
    load.go_on(40).await;
    let Tally { admitted, unavailable, unknown, .. } = load.end().await;
    // There is no replica any more, so since the failover all are short; those on their way at the kill are at most one a task.
    let possible = short_before + 32;
    let value = cluster.nodes()[replica].ask(&["GET", "w:{t:atlas}:W"]).unwrap();
    let spent: u64 = value.rsplit(' ').next().unwrap().parse().unwrap();
    let least = admitted - possible.min(admitted);
    assert!(
        (least..=admitted + unknown).contains(&spent),
        "{spent} spent, {admitted} admitted, {unknown} unknown, {possible} short"
    );
    assert!(unavailable > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_is_away_or_none_is_told() {
    let nobody = port::free().unwrap();
    let store = Store::redis_at(&format!("redis+cluster://127.0.0.1:{nobody}"), PATIENCE).unwrap();
    until_told(&store, "refused").await;
    assert_eq!(store.decide(&whole("atlas", &[bucket("R", 1)], 1)).await, [UNAVAILABLE]);

    let redis = weir_testkit::Redis::start().unwrap();
    let store = Store::redis_at(&redis.url().replace("redis://", "redis+cluster://"), PATIENCE).unwrap();
    until_told(&store, "give redis:// in the place").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_starts_later_is_found() {
    let mut cluster = RedisCluster::start().unwrap();
    let url = cluster.url();
    for index in 0..6 {
        cluster.node(index).process().pause();
    }
    let store = Store::redis_at(&url, PATIENCE).unwrap();
    until_told(&store, "no answer").await;
    for index in 0..6 {
        cluster.node(index).process().resume();
    }
    decide_until(&store, &whole("atlas", &[bucket("R", 1_000)], 1), is_verdict).await;
}
