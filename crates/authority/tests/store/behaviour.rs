//! The same cases over memory, a real Redis and a Redis Cluster.

use crate::build::{batch, bucket, jwt, log, numbered, one_of_each, queue, rule, user, verdict, watched, whole, window};
use crate::place::Place;
use std::sync::Arc;
use tokio::task::JoinSet;
use weir_limit::Denial;
use weir_wire::{Numbers, Quota, RuleLimit, Subject, Tag, Verdict};

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
    each_algorithm_admits_exactly_its_limit_under_concurrency
    a_sliding_window_has_no_room_for_one_more
    a_sliding_log_records_each_hit_of_a_moment_and_no_denial
    a_burst_of_gcra_comes_back_at_its_rate
    a_queue_says_when_the_last_of_the_hits_has_its_turn
    a_month_ends_within_a_month
    a_rule_that_watches_denies_nobody_and_says_whom_it_would_have_denied
    a_question_without_hits_is_answered_and_charges_nothing
    sixteen_rules_of_every_algorithm_are_one_decision
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
    for limit in numbered(one_of_each("R", 20)) {
        let first = place.decide_one(&whole("atlas", std::slice::from_ref(&limit), 12)).await;
        assert_eq!((first.admitted, first.quotas[0].remaining, first.denial()), (12, 8, None));
        let second = place.decide_one(&whole("atlas", &[limit], 12)).await;
        assert_eq!((second.admitted, second.quotas[0].remaining), (8, 0));
        assert!(second.quotas[0].wait_ms > 0, "an empty bucket is known to be empty");
    }
}

async fn a_denial_by_the_last_rule_debits_nothing_anywhere(place: Place) {
    let full = numbered(one_of_each("R", 5));
    place.decide_one(&whole("atlas", &[window("LAST", 1)], 1)).await;
    let denied = place.decide_one(&whole("atlas", &[&full[..], &[window("LAST", 1)]].concat(), 1)).await;
    assert_eq!((denied.admitted, denied.denial().map(|denial| denial.charge)), (0, Some(7)));
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
    let [bucket, window, month, counter, log, gcra, queue] = one_of_each("R", 3);
    // A month and a window keep the same kind of state, and so do GCRA and a queue.
    for limit in [bucket.clone(), window, counter.clone(), month, log, gcra, bucket, queue, counter] {
        let verdict = place.decide_one(&whole("atlas", std::slice::from_ref(&limit), 4)).await;
        assert_eq!(verdict.admitted, 3, "{limit:?}");
    }
}

async fn a_raised_capacity_is_there_at_once_and_a_cut_grants_no_burst(place: Place) {
    for (capacity, hits, admitted) in [(10, 10, 10), (15, 10, 5), (5, 1, 0), (16, 2, 1)] {
        for limit in numbered(one_of_each("R", capacity)) {
            let verdict = place.decide_one(&whole("atlas", std::slice::from_ref(&limit), hits)).await;
            assert_eq!(verdict.admitted, admitted, "{limit:?}");
        }
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

async fn each_algorithm_admits_exactly_its_limit_under_concurrency(place: Place) {
    for limit in numbered(one_of_each("R", 300)) {
        let batch = Arc::new(whole("atlas", std::slice::from_ref(&limit), 1));
        let mut tasks = JoinSet::new();
        for task in 0..64 {
            let store = Arc::clone(&place.authorities[task % place.authorities.len()]);
            let batch = Arc::clone(&batch);
            tasks.spawn(async move {
                let mut admitted = 0;
                for _ in 0..8 {
                    admitted += verdict(store.decide(&batch).await.remove(0)).admitted;
                }
                admitted
            });
        }
        assert_eq!(tasks.join_all().await.into_iter().sum::<u32>(), 300, "{limit:?}");
    }
}

async fn a_sliding_window_has_no_room_for_one_more(place: Place) {
    let window_ms = 100 * 86_400_000;
    let limit = rule("R", Numbers::SlidingWindow { limit: 20, window_ms });
    let verdict = place.decide_one(&whole("atlas", &[limit], 25)).await;
    assert_eq!((verdict.admitted, verdict.quotas[0].remaining), (20, 0));
    // All twenty stand in this window: the first twentieth of the next one lets one go.
    let Quota { reset_ms, wait_ms, .. } = verdict.quotas[0];
    assert!((window_ms..=2 * window_ms).contains(&reset_ms), "{reset_ms}");
    assert_eq!(wait_ms, reset_ms - window_ms + window_ms / 20);
}

async fn a_sliding_log_records_each_hit_of_a_moment_and_no_denial(place: Place) {
    let decide = async |limit, hits| place.decide_one(&whole("atlas", &[log("R", limit)], hits)).await;
    assert_eq!(decide(20, 12).await.quotas[0].remaining, 8);
    assert_eq!(decide(20, 64).await.admitted, 8);
    for _ in 0..50 {
        assert_eq!(decide(20, 1).await.admitted, 0);
    }
    assert_eq!(decide(70, 64).await.admitted, 50);
}

async fn a_burst_of_gcra_comes_back_at_its_rate(place: Place) {
    let limit = rule("R", Numbers::Gcra { burst: 20, refill: 2, period_ms: 1_000_000 });
    assert_eq!(place.decide_one(&user("atlas", "U-17", limit.clone(), 17)).await.quotas[0].remaining, 3);
    let denied = place.decide_one(&user("atlas", "U-17", limit, 10)).await;
    assert_eq!((denied.admitted, denied.quotas[0].remaining), (0, 3));
    assert!((3_400_000..=3_500_000).contains(&denied.quotas[0].wait_ms), "{denied:?}");
}

async fn a_queue_says_when_the_last_of_the_hits_has_its_turn(place: Place) {
    let decide = async |hits| place.decide_one(&whole("atlas", &[queue("Q", 5), window("W", 99)], hits)).await;
    let first = decide(1).await;
    assert_eq!((first.admitted, first.delay_ms), (1, 0));
    let three = decide(3).await;
    assert_eq!(three.admitted, 3);
    assert!((2_900_000..=3_000_000).contains(&three.delay_ms), "{three:?}");
    let full = decide(9).await;
    assert_eq!((full.admitted, full.denial().map(|denial| denial.charge)), (1, Some(0)));
    assert!((3_900_000..=4_000_000).contains(&full.delay_ms), "{full:?}");
    let denied = decide(1).await;
    assert_eq!((denied.admitted, denied.delay_ms), (0, 0));
}

async fn a_month_ends_within_a_month(place: Place) {
    let limit = rule("M", Numbers::CalendarMonth { limit: 20 });
    let verdict = place.decide_one(&whole("atlas", &[limit], 25)).await;
    assert_eq!((verdict.admitted, verdict.quotas[0].remaining), (20, 0));
    assert!((1..=31 * 86_400_000).contains(&verdict.quotas[0].wait_ms), "{verdict:?}");
}

async fn a_rule_that_watches_denies_nobody_and_says_whom_it_would_have_denied(place: Place) {
    for limit in numbered(one_of_each("R", 3)) {
        let limits = [limit.clone(), window(&format!("OF-{}", limit.rule), 9)];
        let verdict = place.decide_one(&watched("atlas", &limits, 5)).await;
        assert_eq!((verdict.admitted, verdict.denial(), verdict.delay_ms), (5, None, 0), "{limit:?}");
        assert_eq!(verdict.quotas.iter().map(|quota| quota.shadow_denied).collect::<Vec<_>>(), [2, 0], "{limit:?}");
        let verdict = place.decide_one(&watched("atlas", &limits, 9)).await;
        assert_eq!((verdict.admitted, verdict.denial().map(|denial| denial.charge)), (4, Some(1)), "{limit:?}");
        assert_eq!(verdict.quotas[0].shadow_denied, 4, "{limit:?}");
        // It has counted what it let pass: enforced from now on, it has nothing left.
        assert_eq!(place.decide_one(&whole("atlas", &[limit], 1)).await.admitted, 0);
    }
}

async fn a_question_without_hits_is_answered_and_charges_nothing(place: Place) {
    let limits = numbered(one_of_each("R", 5));
    for hits in [0, 2, 0, 3] {
        let before = place.decide_one(&whole("atlas", &limits, 0)).await;
        let again = place.decide_one(&whole("atlas", &limits, 0)).await;
        let remaining = |verdict: &Verdict| verdict.quotas.iter().map(|quota| quota.remaining).collect::<Vec<_>>();
        assert_eq!(remaining(&before), remaining(&again));
        assert_eq!((before.admitted, before.delay_ms, before.denial()), (0, 0, None));
        assert_eq!(place.decide_one(&whole("atlas", &limits, hits)).await.admitted, hits);
    }
    let full = place.decide_one(&whole("atlas", &limits, 0)).await;
    assert_eq!((full.admitted, full.denial().map(|denial| denial.charge)), (0, Some(0)));
}

async fn sixteen_rules_of_every_algorithm_are_one_decision(place: Place) {
    let all: Vec<_> = one_of_each("R", 9).into_iter().cycle().take(15).chain([bucket("LAST", 4)]).collect();
    let limits = numbered(all);
    let verdict = place.decide_one(&whole("atlas", &limits, 6)).await;
    assert_eq!((verdict.admitted, verdict.denial().map(|denial| denial.charge)), (4, Some(15)));
    assert_eq!(verdict.quotas.iter().map(|quota| quota.remaining).collect::<Vec<_>>(), [[5; 15].as_slice(), &[0]].concat());
}
