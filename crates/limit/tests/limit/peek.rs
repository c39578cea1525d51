//! No hits at all: a question without consequences, answered truly.

use crate::timeline::{Subject, bucket, counter, enforced, gcra, log, month, queue, watched, window};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_limit::{Limit, decide};

fn one_of_each() -> [Limit; 7] {
    [
        window(20, 10_000),
        month(20),
        counter(20, 10_000),
        log(20, 10_000),
        bucket(20, 2, 1_000),
        gcra(20, 2, 1_000),
        queue(20, 2, 1_000),
    ]
}

#[test]
fn a_peek_writes_nothing_whatever_the_state() {
    for limit in one_of_each() {
        let mut subject = Subject::new(limit);
        for (spent, now_ms) in [(0, 0), (7, 3), (20, 12_500), (0, 99_999)] {
            subject.admits(spent, now_ms);
            let before = subject.state.clone();
            let verdict = subject.decide(1, 0, now_ms + 1);
            assert_eq!((verdict.admitted, verdict.delay_ms), (0, 0), "{limit:?}");
            assert_eq!(subject.state, before, "{limit:?}");
        }
    }
}

#[test]
fn a_peek_says_what_is_left_and_how_long_until_there_is_room() {
    for limit in one_of_each() {
        let mut subject = Subject::new(limit);
        assert_eq!(subject.decide(1, 0, 0).quotas[0].remaining, 20, "{limit:?}");
        for hits in [7, 13] {
            let spent = subject.decide(1, hits, 0);
            assert_eq!(subject.decide(1, 0, 0).quotas, spent.quotas, "{limit:?}");
        }
        let wait_ms = subject.decide(1, 0, 0).denial().expect("nothing is left").retry_ms;
        assert!(subject.decide(1, 0, wait_ms - 1).denial().is_some(), "{limit:?}");
        assert_eq!(subject.decide(1, 0, wait_ms).denial(), None, "{limit:?}");
        assert_eq!(subject.admits(1, wait_ms), 1, "{limit:?}");
    }
}

#[test]
fn a_peek_at_several_rules_names_the_first_that_would_deny() {
    let charges = [watched(window(1, 10_000), 1), enforced(window(9, 10_000), 1), enforced(bucket(2, 1, 1_000), 1)];
    let mut states = [const { None }; 3];
    assert_eq!(decide(&charges, &mut states, 2, 0).admitted, 2);
    let before = states.clone();
    let verdict = decide(&charges, &mut states, 0, 400);
    assert_eq!(verdict.denial().map(|denial| (denial.charge, denial.retry_ms)), Some((2, 600)));
    assert_eq!(verdict.quotas.iter().map(|quota| quota.remaining).collect::<Vec<_>>(), [0, 7, 0]);
    assert_eq!(states, before);
}
