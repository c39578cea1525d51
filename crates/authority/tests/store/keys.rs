//! What is left in Redis.

use crate::build::{bucket, user, verdict, whole, window};
use crate::place::{Witness, ready};
use weir_testkit::Redis;

#[tokio::test(flavor = "multi_thread")]
async fn every_key_has_a_ttl_from_its_first_write() {
    let redis = Redis::start().unwrap();
    let (store, mut witness) = (ready(&redis).await, Witness::of(&redis));
    for (name, cost) in [("one", 1), ("many", 7)] {
        verdict(store.decide(&user("atlas", name, bucket("B", 10), cost)).await.remove(0));
        verdict(store.decide(&user("atlas", name, window("W", 10), cost)).await.remove(0));
    }
    let keys: Vec<String> = witness.ask("KEYS *");
    assert_eq!(keys.len(), 4);
    for key in keys {
        assert!(witness.ask::<i64>(&format!("PTTL {key}")) > 0, "{key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_writes_nothing() {
    let redis = Redis::start().unwrap();
    let (store, mut witness) = (ready(&redis).await, Witness::of(&redis));
    verdict(store.decide(&whole("atlas", &[window("FULL", 1), bucket("USER", 9)], 1)).await.remove(0));
    let key = "w:{t:atlas}:USER";
    let before: String = witness.ask(&format!("GET {key}"));
    let denied = store.decide(&whole("atlas", &[bucket("USER", 9), window("FULL", 1), bucket("NEW", 9)], 1)).await.remove(0);
    assert_eq!(verdict(denied).admitted, 0);
    assert_eq!(witness.ask::<String>(&format!("GET {key}")), before);
    assert_eq!(witness.ask::<i64>("DBSIZE"), 2, "the rule that was not there yet left no key");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_foreign_value_bans_anybody() {
    let redis = Redis::start().unwrap();
    let (store, mut witness) = (ready(&redis).await, Witness::of(&redis));
    let key = "w:{t:atlas}:R";
    let far_future = 99_999_999_999_999_u64;
    let seeds = [
        format!("LPUSH {key} 1"),
        format!("SADD {key} 1"),
        format!("HSET {key} a 1"),
        format!("SET {key} 999999999999"),
        format!("SET {key} nonsense"),
        redis_set(key, "fw 5 99999"),
        redis_set(key, "fw -1 -1"),
        redis_set(key, "tb 99999 0 5"),
        redis_set(key, "tb 1e9 0 5"),
        redis_set(key, &format!("tb 99999 0 {far_future}")),
        redis_set(key, &format!("tb {} 0 5", "9".repeat(400))),
        redis_set(key, "tb 1 2"),
    ];
    for limit in [bucket("R", 10), window("R", 10)] {
        for seed in &seeds {
            witness.ask::<redis::Value>("FLUSHDB");
            seeded(&mut witness, seed);
            let verdict = verdict(store.decide(&whole("atlas", std::slice::from_ref(&limit), 4)).await.remove(0));
            assert_eq!((verdict.admitted, verdict.quotas[0].remaining), (4, 6), "{seed} under {limit:?}");
            assert!(witness.ask::<i64>(&format!("PTTL {key}")) > 0, "{seed}");
        }
    }
}

/// A value with spaces, which [`Witness::ask`] would take apart.
fn redis_set(key: &str, value: &str) -> String {
    format!("SET {key} {}", value.replace(' ', "_"))
}

fn seeded(witness: &mut Witness, seed: &str) {
    let mut words = seed.split(' ');
    let mut command = redis::cmd(words.next().unwrap());
    for word in words {
        command.arg(word.replace('_', " "));
    }
    witness.run::<redis::Value>(&command);
}
