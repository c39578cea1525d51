//! Rules that only watch: evaluated and counted, never felt.

use crate::timeline::{bucket, enforced, log, queue, watched, window};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_limit::{Charge, State, decide};

fn none<const N: usize>() -> [Option<State>; N] {
    [const { None }; N]
}

#[test]
fn a_rule_that_watches_counts_whom_it_would_have_denied_and_denies_nobody() {
    let charges = [watched(window(3, 10_000), 1), enforced(window(9, 10_000), 1)];
    let mut states = none::<2>();
    let verdict = decide(&charges, &mut states, 5, 0);
    assert_eq!((verdict.admitted, verdict.denial()), (5, None));
    assert_eq!(verdict.quotas.iter().map(|quota| quota.shadow_denied).collect::<Vec<_>>(), [2, 0]);
    assert_eq!(verdict.quotas.iter().map(|quota| quota.remaining).collect::<Vec<_>>(), [0, 4]);

    let verdict = decide(&charges, &mut states, 9, 1);
    assert_eq!((verdict.admitted, verdict.quotas[0].shadow_denied), (4, 4));
    assert_eq!(verdict.denial().map(|denial| denial.charge), Some(1), "the enforced rule is named");
    assert_eq!(verdict.quotas[0].wait_ms, 0, "nobody has to wait for it");
}

#[test]
fn what_it_lets_through_it_counts_as_if_it_enforced() {
    // By the watching rule alone: 20, then one each half second. Its state is that of an enforced twin.
    let (mut watching, mut enforcing) = (none::<1>(), none::<1>());
    let (mut would_deny, mut denied) = (0, 0);
    for now_ms in (0..10_000).step_by(100) {
        would_deny += decide(&[watched(bucket(20, 2, 1_000), 1)], &mut watching, 1, now_ms).quotas[0].shadow_denied;
        denied += 1 - decide(&[enforced(bucket(20, 2, 1_000), 1)], &mut enforcing, 1, now_ms).admitted;
        assert_eq!(watching, enforcing);
    }
    assert_eq!((would_deny, denied), (100 - 39, 100 - 39));
}

#[test]
fn a_denial_by_an_enforced_rule_is_not_charged_to_one_that_watches() {
    let charges = [watched(log(3, 10_000), 1), enforced(window(1, 10_000), 1)];
    let mut states = none::<2>();
    decide(&charges, &mut states, 1, 0);
    let before = states.clone();
    let verdict = decide(&charges, &mut states, 5, 1);
    assert_eq!((verdict.admitted, verdict.quotas[0].shadow_denied), (0, 0));
    assert_eq!(states, before);
}

#[test]
fn where_all_rules_watch_everything_passes() {
    let charges = [watched(window(3, 10_000), 1), watched(bucket(1, 1, 1_000), 1)];
    let mut states = none::<2>();
    let verdict = decide(&charges, &mut states, 64, 0);
    assert_eq!((verdict.admitted, verdict.denial()), (64, None));
    assert_eq!(verdict.quotas.iter().map(|quota| quota.shadow_denied).collect::<Vec<_>>(), [61, 63]);
}

#[test]
fn a_queue_that_watches_delays_nobody() {
    let charges = [watched(queue(9, 1, 1_000), 1), enforced(window(99, 10_000), 1)];
    assert_eq!(decide(&charges, &mut none::<2>(), 9, 0).delay_ms, 0);
}

#[test]
fn of_a_hit_it_has_no_room_for_it_counts_nothing() {
    // A cost of 2 under 3: the second would be the fourth unit.
    let charges = [Charge { cost: 2, ..watched(window(3, 10_000), 1) }];
    let verdict = decide(&charges, &mut none::<1>(), 2, 0);
    assert_eq!((verdict.quotas[0].remaining, verdict.quotas[0].shadow_denied), (1, 1));
}
