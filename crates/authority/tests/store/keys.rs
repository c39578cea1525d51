//! What is left in Redis.

use crate::build::{bucket, log, numbered, one_of_each, rule, user, verdict, watched, whole, window};
use crate::place::{Witness, ready};
use weir_testkit::Redis;
use weir_wire::Numbers;

#[tokio::test(flavor = "multi_thread")]
async fn every_key_has_a_ttl_from_its_first_write() {
    let redis = Redis::start().unwrap();
    let (store, mut witness) = (ready(&redis).await, Witness::of(&redis));
    for (name, cost) in [("one", 1), ("many", 7)] {
        for limit in numbered(one_of_each("R", 10)) {
            verdict(store.decide(&user("atlas", name, limit, cost)).await.remove(0));
        }
    }
    let keys: Vec<String> = witness.ask("KEYS *");
    assert_eq!(keys.len(), 2 * 7);
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
    let (far_future, nines) = (99_999_999_999_999_u64, "9".repeat(400));
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
        redis_set(key, &format!("tb {nines} 0 5")),
        redis_set(key, "tb 1 2"),
        redis_set(key, "sw 5 99999 99999"),
        redis_set(key, &format!("sw {far_future} 99999 99999")),
        redis_set(key, "sw 1 2"),
        redis_set(key, "tat 5 0 5"),
        redis_set(key, &format!("tat {far_future} 0 5")),
        redis_set(key, &format!("tat {far_future} 0 {far_future}")),
        redis_set(key, &format!("tat {nines} {nines} {nines}")),
        pushed(key, &["5 99 99"]),
        pushed(key, &["5 99"]),
        pushed(key, &["nonsense", "5 9 9"]),
        pushed(key, &[&format!("{far_future} 99 99")]),
        pushed(key, &[&format!("{nines} {nines} {nines}")]),
    ];
    for limit in one_of_each("R", 10) {
        for seed in &seeds {
            witness.ask::<redis::Value>("FLUSHDB");
            seeded(&mut witness, seed);
            let verdict = verdict(store.decide(&whole("atlas", std::slice::from_ref(&limit), 4)).await.remove(0));
            assert_eq!((verdict.admitted, verdict.quotas[0].remaining), (4, 6), "{seed} under {limit:?}");
            assert!(witness.ask::<i64>(&format!("PTTL {key}")) > 0, "{seed}");
        }
    }
}

/// Damage in a log costs what it hides, not the decision, and not the next ones.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_log_is_still_decided_and_starts_clean() {
    let redis = Redis::start().unwrap();
    let (store, mut witness) = (ready(&redis).await, Witness::of(&redis));
    let at_ms = witness.ask::<(u64, u64)>("TIME").0 * 1_000 - 1_000;
    let (before, now) = (|sum: u64| format!("5 1 {sum}"), |sum: u64| format!("{at_ms} 1 {sum}"));
    for entries in [
        vec![now(1), "x y z".into(), now(3)],
        vec![before(1), "x".into(), now(3)],
        vec![before(9), now(3), now(2)],
        vec![now(3), now(2), now(1)],
        vec![before(1), now(2), "x".into()],
        vec![format!("{at_ms} 9 3")],
    ] {
        for (limit, hits) in [(10, 0), (10, 4), (1, 1), (2, 9)] {
            witness.ask::<i64>("DEL w:{t:atlas}:R");
            seeded(&mut witness, &pushed("w:{t:atlas}:R", &entries.iter().map(String::as_str).collect::<Vec<_>>()));
            let limit = rule("R", Numbers::SlidingLog { limit, window_ms: 60_000 });
            for _ in 0..3 {
                verdict(store.decide(&whole("atlas", std::slice::from_ref(&limit), hits)).await.remove(0));
            }
        }
    }
}

/// Halving and all: a long log takes no longer to read than a short one, and what has left it goes.
#[tokio::test(flavor = "multi_thread")]
async fn what_has_left_a_log_is_trimmed_by_the_next_admission() {
    let redis = Redis::start().unwrap();
    let (store, mut witness) = (ready(&redis).await, Witness::of(&redis));
    let at_ms = witness.ask::<(u64, u64)>("TIME").0 * 1_000;
    let gone = (1..=900_u64).map(|nth| format!("{nth} 1 {nth}"));
    let live = (901..=950).map(|nth| format!("{at_ms} 1 {nth}"));
    let entries: Vec<String> = gone.chain(live).collect();
    seeded(&mut witness, &pushed("w:{t:atlas}:L", &entries.iter().map(String::as_str).collect::<Vec<_>>()));
    let verdict = verdict(store.decide(&whole("atlas", &[log("L", 60)], 1)).await.remove(0));
    assert_eq!((verdict.admitted, verdict.quotas[0].remaining), (1, 9));
    assert_eq!(witness.ask::<i64>("LLEN w:{t:atlas}:L"), 51);
    assert!(witness.ask::<i64>("PTTL w:{t:atlas}:L") > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_leaves_no_key() {
    let redis = Redis::start().unwrap();
    let (store, mut witness) = (ready(&redis).await, Witness::of(&redis));
    let limits = numbered(one_of_each("R", 10));
    assert_eq!(verdict(store.decide(&whole("atlas", &limits, 0)).await.remove(0)).quotas.len(), 7);
    assert_eq!(witness.ask::<i64>("DBSIZE"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hit_does_not_put_off_the_end_of_a_window() {
    let redis = Redis::start().unwrap();
    let (store, mut witness) = (ready(&redis).await, Witness::of(&redis));
    let limits = [window("W", 99), rule("M", Numbers::CalendarMonth { limit: 99 })];
    let mut before = i64::MAX;
    for _ in 0..3 {
        verdict(store.decide(&whole("atlas", &limits, 1)).await.remove(0));
        let ttl_ms: i64 = witness.ask("PTTL w:{t:atlas}:W");
        assert!(witness.ask::<i64>("PTTL w:{t:atlas}:M") > 0);
        // Up to the rounding of two clocks that are read one after the other.
        assert!((1..=before.saturating_add(5)).contains(&ttl_ms), "{ttl_ms} after {before}");
        before = ttl_ms;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_watches_keeps_its_count_to_its_limit() {
    let redis = Redis::start().unwrap();
    let (store, mut witness) = (ready(&redis).await, Witness::of(&redis));
    for _ in 0..9 {
        verdict(store.decide(&watched("atlas", &[log("L", 3)], 1)).await.remove(0));
    }
    let log: Vec<String> = witness.ask("LRANGE w:{t:atlas}:L 0 -1");
    assert!(log.len() <= 3 && log.last().unwrap().ends_with(" 3"), "{log:?}");
}

/// A value with spaces, which [`Witness::ask`] would take apart.
fn redis_set(key: &str, value: &str) -> String {
    format!("SET {key} {}", value.replace(' ', "_"))
}

/// The same for the entries of a list.
fn pushed(key: &str, entries: &[&str]) -> String {
    let entries: Vec<String> = entries.iter().map(|entry| entry.replace(' ', "_")).collect();
    format!("RPUSH {key} {}", entries.join(" "))
}

fn seeded(witness: &mut Witness, seed: &str) {
    let mut words = seed.split(' ');
    let mut command = redis::cmd(words.next().unwrap());
    for word in words {
        command.arg(word.replace('_', " "));
    }
    witness.run::<redis::Value>(&command);
}
