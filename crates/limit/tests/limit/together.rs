//! Several limits decided together, and several hits at once.

use crate::timeline::{Subject, bucket, enforced, window};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_limit::{Charge, Denial, Limit, Quota, State, Verdict, decide};

fn charges<const N: usize>(limits: [Limit; N]) -> [Charge; N] {
    limits.map(|limit| enforced(limit, 1))
}

/// P-READ before P-TENANT, as the example's catalog has them.
fn user_and_tenant() -> [Charge; 2] {
    charges([bucket(20, 2, 1_000), window(1_000, 60_000)])
}

#[test]
fn d07_fifty_users_within_their_own_rates_are_held_to_the_tenants_minute() {
    let mut users: [Option<State>; 50] = [const { None }; 50];
    let mut tenant = None;
    let mut admitted = 0;
    // Each asks twice a second: 6,000 in the minute, and never too many by P-READ.
    for now_ms in (0..60_000).step_by(500) {
        for user in &mut users {
            let mut states = [user.take(), tenant.take()];
            let verdict = decide(&user_and_tenant(), &mut states, 1, now_ms);
            assert!(verdict.admitted == 1 || verdict.denial().unwrap().charge == 1, "only P-TENANT denies");
            admitted += verdict.admitted;
            [*user, tenant] = states;
        }
    }
    assert_eq!(admitted, 1_000);
}

#[test]
fn d07_one_user_at_a_hundred_a_second_cannot_take_the_tenants_minute() {
    let mut states = [None, None];
    let admitted: u64 = (0..60_000).step_by(10).map(|now_ms| decide(&user_and_tenant(), &mut states, 1, now_ms).admitted).sum();
    // 20 + 2 × 59.99 s; the other 861 of the minute are there for everybody else.
    assert_eq!(admitted, 139);
    assert_eq!(decide(&user_and_tenant(), &mut [None, states[1].clone()], 0, 59_990).quotas[1].remaining, 861);
}

#[test]
fn d09_the_last_of_five_denies_and_the_other_four_are_untouched() {
    let charges = charges([bucket(20, 2, 1_000), window(20, 1_000), bucket(9, 1, 7), window(100, 60_000), bucket(3, 1, 1_000)]);
    let mut states = [const { None }; 5];
    assert_eq!(decide(&charges, &mut states, 3, 0).admitted, 3);

    let before = states.clone();
    let verdict = decide(&charges, &mut states, 1, 400);
    assert_eq!((verdict.admitted, verdict.denial()), (0, Some(Denial { charge: 4, retry_ms: 600 })));
    assert_eq!(states, before);
}

#[test]
fn the_first_denying_rule_is_named_with_the_longest_wait_of_all() {
    let charges = charges([window(100, 1_000), bucket(1, 2, 1_000), window(1, 9_000), bucket(1, 1, 3_000)]);
    let mut states = [const { None }; 4];
    let verdict = decide(&charges, &mut states, 2, 0);
    assert_eq!((verdict.admitted, verdict.denial()), (1, Some(Denial { charge: 1, retry_ms: 9_000 })));
    assert_eq!(decide(&charges, &mut states, 1, 8_999).denial(), Some(Denial { charge: 2, retry_ms: 1 }));
}

#[test]
fn of_many_hits_as_many_pass_as_every_rule_has_room_for() {
    let charges = charges([bucket(20, 2, 1_000), window(12, 60_000), bucket(15, 1, 1_000)]);
    let mut states = [const { None }; 3];
    let verdict = decide(&charges, &mut states, 64, 0);
    let quotas = [
        Quota { remaining: 8, reset_ms: 6_000, wait_ms: 0, shadow_denied: 0 },
        Quota { remaining: 0, reset_ms: 60_000, wait_ms: 60_000, shadow_denied: 0 },
        Quota { remaining: 3, reset_ms: 12_000, wait_ms: 0, shadow_denied: 0 },
    ];
    assert_eq!(verdict, Verdict { admitted: 12, delay_ms: 0, quotas: quotas.into() });
}

#[test]
fn the_verdict_says_what_stands_in_the_way_of_the_next_even_when_all_passed() {
    let mut subject = Subject::new(bucket(20, 2, 1_000));
    assert_eq!(subject.decide(1, 19, 0).denial(), None);
    let verdict = subject.decide(1, 1, 0);
    assert_eq!((verdict.admitted, verdict.denial()), (1, Some(Denial { charge: 0, retry_ms: 500 })));
}

#[test]
fn each_rule_has_its_own_cost() {
    let charges = [enforced(bucket(20, 2, 1_000), 10), enforced(window(5, 1_000), 2)];
    let mut states = [None, None];
    let verdict = decide(&charges, &mut states, 3, 0);
    assert_eq!((verdict.admitted, verdict.denial()), (2, Some(Denial { charge: 0, retry_ms: 5_000 })));
    assert_eq!(verdict.quotas.iter().map(|quota| quota.remaining).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn asking_without_hits_spends_nothing() {
    let mut subject = Subject::new(window(5, 1_000));
    let verdict = subject.decide(1, 0, 0);
    assert_eq!((verdict.admitted, verdict.denial(), verdict.quotas[0].remaining), (0, None, 5));
    assert_eq!(subject.state, None);
}

#[test]
fn no_rule_denies_nothing() {
    assert_eq!(decide(&[], &mut [], 7, 0), Verdict { admitted: 7, delay_ms: 0, quotas: vec![] });
}
