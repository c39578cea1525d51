use super::{MemoryStore, SHARDS};
use crate::batch::DecideBatch;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use weir_wire::{ChargeRef, Check, DecideRequest, Failure, Numbers, Outcome, RuleLimit, Subject, Tag, VERSION};

/// A multiple of 10 s, so that windows begin with the tests.
const START_MS: u64 = 1_700_000_000_000;

/// A store whose clock the test moves.
struct Fixture {
    store: MemoryStore,
    now_ms: Arc<AtomicU64>,
}

fn store(max_subjects: usize) -> Fixture {
    let now_ms = Arc::new(AtomicU64::new(START_MS));
    let clock = Arc::clone(&now_ms);
    Fixture { store: MemoryStore::new(max_subjects, move || clock.load(Ordering::Relaxed)), now_ms }
}

impl Fixture {
    fn at(&self, ms: u64) {
        self.now_ms.store(START_MS + ms, Ordering::Relaxed);
    }

    /// One check of 20 per 10 s for `tenant`.
    fn window(&self, tenant: &str, hits: u32) -> Outcome {
        self.decide(Numbers::FixedWindow { limit: 20, window_ms: 10_000 }, tenant, hits)
    }

    fn decide(&self, numbers: Numbers, tenant: &str, hits: u32) -> Outcome {
        let charge = ChargeRef { limit: 0, subject: Subject::Whole, cost: 1, shadow: false };
        let check = Check { id: 0, hits, tag: Tag::Tenant(tenant.to_owned()), charges: vec![charge] };
        let limits = vec![RuleLimit { rule: "R".to_owned(), numbers }];
        let batch = DecideBatch::try_from(DecideRequest { version: VERSION, limits, checks: vec![check] }).unwrap();
        self.store.decide(&batch).remove(0)
    }
}

fn admitted(outcome: &Outcome) -> u32 {
    match outcome {
        Outcome::Verdict(verdict) => verdict.admitted,
        Outcome::Failure(failure) => panic!("{failure:?}"),
    }
}

#[test]
fn a_window_admits_its_limit_again_after_the_boundary() {
    let fixture = store(10);
    fixture.at(9_900);
    assert_eq!(admitted(&fixture.window("atlas", 30)), 20);
    fixture.at(10_100);
    assert_eq!(admitted(&fixture.window("atlas", 30)), 20);
}

#[test]
fn a_bucket_of_20_at_2_per_second_goes_by_the_timeline() {
    let fixture = store(10);
    let bucket = Numbers::TokenBucket { capacity: 20, refill: 2, period_ms: 1000 };
    for (ms, hits, passes, retry_ms) in [
        (0, 21, 20, Some(500)),
        (300, 1, 0, Some(200)),
        (500, 1, 1, Some(500)),
        (5_500, 20, 10, Some(500)),
        (15_500, 20, 20, Some(500)),
    ] {
        fixture.at(ms);
        let Outcome::Verdict(verdict) = fixture.decide(bucket, "atlas", hits) else { panic!("at {ms} ms") };
        assert_eq!((verdict.admitted, verdict.denial().map(|denial| denial.retry_ms)), (passes, retry_ms), "at {ms} ms");
    }
}

#[test]
fn a_full_store_still_counts_whom_it_knows() {
    let fixture = store(2);
    fixture.window("a", 1);
    fixture.window("b", 1);
    assert_eq!(fixture.window("c", 1), Outcome::Failure(Failure::Full));
    assert_eq!(admitted(&fixture.window("a", 30)), 19);
    assert_eq!(admitted(&fixture.window("b", 30)), 19);
}

#[test]
fn expired_counters_make_room_in_whatever_shard_they_are() {
    let subjects = 8 * SHARDS;
    let fixture = store(subjects);
    for round in 0..5_u64 {
        // One window and the slack of its TTL later.
        fixture.at(round * 20_000);
        for subject in 0..subjects {
            assert_eq!(admitted(&fixture.window(&format!("{round}-{subject}"), 1)), 1, "round {round}, subject {subject}");
        }
        assert_eq!(fixture.window("one more", 1), Outcome::Failure(Failure::Full));
    }
}

#[test]
fn a_counter_in_use_survives_the_expiry_of_its_first_write() {
    let fixture = store(1);
    let bucket = Numbers::TokenBucket { capacity: 10, refill: 1, period_ms: 1000 };
    assert_eq!(admitted(&fixture.decide(bucket, "atlas", 10)), 10);
    for second in 1..60 {
        fixture.at(second * 1000);
        assert_eq!(admitted(&fixture.decide(bucket, "atlas", 2)), 1, "second {second}");
        assert_eq!(fixture.window("birch", 1), Outcome::Failure(Failure::Full));
    }
}

#[test]
fn a_clock_set_back_denies_nobody_for_longer_than_the_slack() {
    let fixture = store(10);
    let bucket = Numbers::TokenBucket { capacity: 10, refill: 1, period_ms: 1000 };
    fixture.at(3_600_000);
    assert_eq!(admitted(&fixture.decide(bucket, "atlas", 10)), 10);
    fixture.at(0);
    assert_eq!(admitted(&fixture.decide(bucket, "atlas", 1)), 1);
}
