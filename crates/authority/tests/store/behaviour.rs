//! The same cases over memory, a real Redis and a Redis Cluster.

use crate::build::{batch, bucket, jwt, user, verdict, whole, window};
use crate::place::Place;
use std::sync::Arc;
use tokio::task::JoinSet;
use weir_limit::Denial;
use weir_wire::{Numbers, RuleLimit, Subject, Tag};

macro_rules! over_all_stores {
    ($($case:ident)*) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() { super::$case(super::Place::memory().await).await; })*
        }
        mod redis {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() { super::$case(super::Place::redis().await).await; })*
        }
        mod cluster {
            // One after the other: a cluster is six processes.
            #[tokio::test(flavor = "multi_thread")]
            async fn every_case() {
                let cluster = std::sync::Arc::new(weir_testkit::RedisCluster::start().unwrap());
                $(eprintln!(stringify!($case));
                super::$case(super::Place::cluster(&cluster).await).await;)*
            }
        }
    };
}

over_all_stores! {
    an_empty_batch_has_no_answers
    each_check_is_decided_on_its_own_and_in_order
    hits_are_admitted_first_come_first_served
    a_denial_by_the_last_rule_debits_nothing_anywhere
    the_first_denying_rule_is_named_with_the_longest_wait
    rules_of_one_subject_have_counters_of_their_own
    subjects_that_look_alike_share_nothing
    a_weighted_cost_waits_for_its_deficit
    a_rule_of_another_algorithm_starts_clean
    a_raised_capacity_is_there_at_once_and_a_cut_grants_no_burst
    the_largest_numbers_are_counted_exactly
    a_limit_of_1000_admits_exactly_1000_under_concurrency
}

async fn an_empty_batch_has_no_answers(place: Place) {
    assert!(place.decide(&batch(Vec::new())).await.is_empty());
}

async fn each_check_is_decided_on_its_own_and_in_order(place: Place) {
    let check = |user: &str| (Tag::Tenant("atlas".to_owned()), 1, vec![(bucket("R", 2), jwt(user), 1)]);
    let verdicts = place.decide(&batch(vec![check("a"), check("a"), check("b"), check("a")])).await;
    let admitted: Vec<_> = verdicts.iter().map(|verdict| (verdict.admitted, verdict.quotas[0].remaining)).collect();
    assert_eq!(admitted, [(1, 1), (1, 0), (1, 1), (0, 0)]);
}

async fn hits_are_admitted_first_come_first_served(place: Place) {
    for limit in [bucket("R", 20), window("W", 20)] {
        let first = place.decide_one(&whole("atlas", std::slice::from_ref(&limit), 12)).await;
        assert_eq!((first.admitted, first.quotas[0].remaining, first.denial()), (12, 8, None));
        let second = place.decide_one(&whole("atlas", &[limit], 12)).await;
        assert_eq!((second.admitted, second.quotas[0].remaining), (8, 0));
        assert!(second.quotas[0].wait_ms > 0, "an empty bucket is known to be empty");
    }
}

async fn a_denial_by_the_last_rule_debits_nothing_anywhere(place: Place) {
    let full = [bucket("A", 5), window("B", 5), bucket("C", 5), window("D", 5)];
    place.decide_one(&whole("atlas", &[window("LAST", 1)], 1)).await;
    let denied = place.decide_one(&whole("atlas", &[&full[..], &[window("LAST", 1)]].concat(), 1)).await;
    assert_eq!((denied.admitted, denied.denial().map(|denial| denial.charge)), (0, Some(4)));
    let after = place.decide_one(&whole("atlas", &full, 5)).await;
    assert_eq!(after.admitted, 5, "{after:?}");
}

async fn the_first_denying_rule_is_named_with_the_longest_wait(place: Place) {
    let refill_in = |rule: &str, period_ms| RuleLimit {
        rule: rule.to_owned(),
        numbers: Numbers::TokenBucket { capacity: 1, refill: 1, period_ms },
    };
    let limits = [bucket("ROOM", 9), refill_in("SHORT", 1_000_000), refill_in("LONG", 9_000_000)];
    place.decide_one(&whole("atlas", &limits, 1)).await;
    let denied = place.decide_one(&whole("atlas", &limits, 1)).await;
    assert_eq!(denied.quotas[0].wait_ms, 0);
    let Some(Denial { charge: 1, retry_ms: 8_900_000..=9_000_000 }) = denied.denial() else { panic!("{denied:?}") };
}

async fn rules_of_one_subject_have_counters_of_their_own(place: Place) {
    assert_eq!(place.decide_one(&whole("atlas", &[bucket("A", 3)], 3)).await.admitted, 3);
    assert_eq!(place.decide_one(&whole("atlas", &[bucket("B", 3)], 3)).await.admitted, 3);
}

async fn subjects_that_look_alike_share_nothing(place: Place) {
    let limit = || vec![(bucket("R", 1), Subject::Whole, 1)];
    let tags = ["a:b", "a", "a%3Ab", "a}", "{a}", "192.0.2.1"].map(|tenant| Tag::Tenant(tenant.to_owned()));
    let checks = tags.into_iter().chain([Tag::Ip("192.0.2.1".to_owned())]).map(|tag| (tag, 1, limit()));
    let verdicts = place.decide(&batch(checks.collect())).await;
    assert!(verdicts.iter().all(|verdict| verdict.admitted == 1), "{verdicts:?}");
    for (tenant, sub) in [("a:b", "c"), ("a", "b:c"), ("a", "c")] {
        assert_eq!(place.decide_one(&user(tenant, sub, bucket("R", 1), 1)).await.admitted, 1, "{tenant} {sub}");
    }
}

async fn a_weighted_cost_waits_for_its_deficit(place: Place) {
    let limit =
        RuleLimit { rule: "R".to_owned(), numbers: Numbers::TokenBucket { capacity: 20, refill: 2, period_ms: 1_000_000 } };
    assert_eq!(place.decide_one(&user("atlas", "U-17", limit.clone(), 17)).await.quotas[0].remaining, 3);
    let denied = place.decide_one(&user("atlas", "U-17", limit, 10)).await;
    // Seven tokens at two per 1,000 s, less what came back since.
    assert!((3_400_000..=3_500_000).contains(&denied.quotas[0].wait_ms), "{denied:?}");
    assert_eq!(denied.quotas[0].remaining, 3);
}

async fn a_rule_of_another_algorithm_starts_clean(place: Place) {
    for limit in [bucket("R", 3), window("R", 3), bucket("R", 3)] {
        assert_eq!(place.decide_one(&whole("atlas", &[limit], 4)).await.admitted, 3);
    }
}

async fn a_raised_capacity_is_there_at_once_and_a_cut_grants_no_burst(place: Place) {
    for (capacity, hits, admitted) in [(10, 10, 10), (15, 10, 5), (5, 1, 0), (16, 2, 1)] {
        let verdict = place.decide_one(&whole("atlas", &[bucket("B", capacity)], hits)).await;
        assert_eq!(verdict.admitted, admitted, "a bucket of {capacity}");
        let verdict = place.decide_one(&whole("atlas", &[window("W", capacity)], hits)).await;
        assert_eq!(verdict.admitted, admitted, "a window of {capacity}");
    }
}

async fn the_largest_numbers_are_counted_exactly(place: Place) {
    let limit = window("R", 1 << 53);
    let spend = async |cost| place.decide_one(&user("atlas", "U-17", limit.clone(), cost)).await;
    assert_eq!(spend((1 << 53) - 3).await.quotas[0].remaining, 3);
    assert_eq!(spend(4).await.admitted, 0);
    assert_eq!(spend(2).await.quotas[0].remaining, 1);
    assert_eq!(spend(1).await.quotas[0].remaining, 0);
    assert_eq!(spend(1).await.admitted, 0);
}

async fn a_limit_of_1000_admits_exactly_1000_under_concurrency(place: Place) {
    let batch = Arc::new(whole("atlas", &[bucket("B", 1_000), window("W", 5_000)], 1));
    let mut tasks = JoinSet::new();
    for task in 0..64 {
        let store = Arc::clone(&place.authorities[task % place.authorities.len()]);
        let batch = Arc::clone(&batch);
        tasks.spawn(async move {
            let mut admitted = 0;
            for _ in 0..40 {
                admitted += verdict(store.decide(&batch).await.remove(0)).admitted;
            }
            admitted
        });
    }
    assert_eq!(tasks.join_all().await.into_iter().sum::<u32>(), 1_000);
    let window = place.decide_one(&whole("atlas", &[window("W", 5_000)], 1)).await;
    assert_eq!(window.quotas[0].remaining, 3_999, "1,560 denials charged nothing");
}
