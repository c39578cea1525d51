//! Users, passwords, databases.

use crate::build::{bucket, log, verdict, whole};
use crate::place::{PATIENCE, UNAVAILABLE, Witness, decide_until, is_verdict, ready_at, until, until_told};
use weir_authority::Store;
use weir_testkit::Redis;

/// The commands that the authority needs.
pub(crate) const COMMANDS: [&str; 7] = ["+evalsha", "+script|load", "+time", "+mget", "+set", "+role", "+info"];

/// Those that rules with a sliding log need beside them: a log is a list.
const LOG_COMMANDS: [&str; 7] = ["+llen", "+lindex", "+ltrim", "+lset", "+rpush", "+del", "+pexpire"];

/// Those that it needs of a cluster beside them.
pub(crate) const CLUSTER_COMMANDS: [&str; 3] = ["+cluster|info", "+cluster|slots", "+asking"];

#[test]
fn the_documentation_lists_the_same() {
    let page = include_str!("../../../../docs/operations.md").replace('\'', "");
    assert!(page.contains(&format!("~w:* {}\n", COMMANDS.join(" "))));
    assert!(page.contains(&CLUSTER_COMMANDS.join(" ")));
    assert!(page.contains(&LOG_COMMANDS.join(" ")));
}

fn allow(redis: &Redis, password: &str, commands: &[&str]) {
    let user = ["ACL", "SETUSER", "weir", "reset", "on", password, "~w:*"];
    redis.ask(&[&user[..], commands].concat()).unwrap();
}

fn url(redis: &Redis, user: &str) -> String {
    format!("redis://{user}@127.0.0.1:{}", redis.port())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_may_only_what_is_needed_decides() {
    let redis = Redis::start().unwrap();
    allow(&redis, ">secret", &COMMANDS);
    let store = ready_at(&url(&redis, "weir:secret")).await;
    let batch = whole("atlas", &[bucket("R", 10)], 1);
    verdict(store.decide(&batch).await.remove(0));
    redis.ask(&["SCRIPT", "FLUSH"]).unwrap();
    verdict(store.decide(&batch).await.remove(0));
    assert_eq!(redis.ask(&["ACL", "LOG"]).unwrap(), "", "nothing was refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_may_only_what_a_log_needs_counts_by_one() {
    let redis = Redis::start().unwrap();
    allow(&redis, ">secret", &[&COMMANDS[..], &LOG_COMMANDS].concat());
    let store = ready_at(&url(&redis, "weir:secret")).await;
    let batch = whole("atlas", &[log("L", 10)], 1);
    for _ in 0..3 {
        verdict(store.decide(&batch).await.remove(0));
    }
    assert_eq!(redis.ask(&["ACL", "LOG"]).unwrap(), "", "nothing was refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_listed_as_needed_is() {
    let redis = Redis::start().unwrap();
    let batch = whole("atlas", &[bucket("R", 10)], 1);
    for missing in COMMANDS.iter().filter(|command| !["+role", "+info"].contains(command)) {
        let rest: Vec<_> = COMMANDS.into_iter().filter(|command| command != missing).collect();
        allow(&redis, ">secret", &rest);
        let store = Store::redis_at(&url(&redis, "weir:secret"), PATIENCE).unwrap();
        match *missing {
            "+script|load" => until_told(&store, "'script|load'").await,
            _ => until(|| store.readiness().is_ok()).await,
        }
        // Redis does not always say that it was before the first write.
        assert!(!is_verdict(&store.decide(&batch).await[0]), "{missing}");
    }
    assert_eq!(redis.ask(&["DBSIZE"]).unwrap(), "0", "and nothing was charged");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_told_and_a_right_one_is_taken_as_soon_as_it_is() {
    let redis = Redis::start().unwrap();
    allow(&redis, ">other", &COMMANDS);
    let store = Store::redis_at(&url(&redis, "weir:secret"), PATIENCE).unwrap();
    until_told(&store, "WEIR_REDIS_PASSWORD").await;
    let reason = store.readiness().unwrap_err();
    assert!(reason.contains("WRONGPASS") && reason.contains(&redis.port().to_string()) && !reason.contains("secret"), "{reason}");
    let batch = whole("atlas", &[bucket("R", 10)], 1);
    assert_eq!(store.decide(&batch).await, [UNAVAILABLE]);
    allow(&redis, ">secret", &COMMANDS);
    decide_until(&store, &batch, is_verdict).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_that_is_missing_is_asked_for() {
    let redis = Redis::start().unwrap();
    redis.ask(&["CONFIG", "SET", "requirepass", "secret"]).unwrap();
    let store = Store::redis_at(&redis.url(), PATIENCE).unwrap();
    until_told(&store, "it wants a password").await;
    ready_at(&url(&redis, ":secret")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_are_in_the_database_that_is_named() {
    let redis = Redis::start().unwrap();
    let store = ready_at(&format!("{}/3", redis.url())).await;
    verdict(store.decide(&whole("atlas", &[bucket("R", 10)], 1)).await.remove(0));
    let mut witness = Witness::of(&redis);
    assert_eq!(witness.ask::<i64>("DBSIZE"), 0);
    witness.ask::<()>("SELECT 3");
    assert_eq!(witness.ask::<i64>("DBSIZE"), 1);

    let store = Store::redis_at(&format!("{}/99", redis.url()), PATIENCE).unwrap();
    until_told(&store, "DB index is out of range").await;
}
