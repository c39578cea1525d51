//! How long a decision takes, for each algorithm: `cargo bench -p weir-limit`.
//!
//! *admits* is a subject that always has room, *denies* one that never has. A log is measured by its length, since
//! it is the one state that grows.

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use weir_limit::{Charge, FixedWindow, Gcra, LeakyQueue, Limit, SlidingLog, SlidingWindow, State, TokenBucket, decide};

const START_MS: u64 = 1_706_745_600_000;

fn of_each_kind(limit: u64) -> [(&'static str, Limit); 6] {
    let counted = "numbers that can be counted";
    [
        ("fixed window", Limit::FixedWindow(FixedWindow::new(limit, 60_000).expect(counted))),
        ("calendar month", Limit::FixedWindow(FixedWindow::monthly(limit).expect(counted))),
        ("sliding window", Limit::SlidingWindow(SlidingWindow::new(limit, 60_000).expect(counted))),
        ("token bucket", Limit::TokenBucket(TokenBucket::new(limit, 1_000, 60_000).expect(counted))),
        ("gcra", Limit::Gcra(Gcra::new(limit, 1_000, 60_000).expect(counted))),
        ("leaky queue", Limit::LeakyQueue(LeakyQueue::new(limit, 1_000, 60_000).expect(counted))),
    ]
}

fn charge(limit: Limit) -> Charge {
    Charge { limit, cost: 1, shadow: false }
}

/// A state that `hits` have left, one a millisecond.
fn after(limit: Limit, hits: u64) -> Option<State> {
    let mut state = [None];
    for nth in 0..hits {
        decide(&[charge(limit)], &mut state, 1, START_MS + nth);
    }
    let [state] = state;
    state
}

fn measure(criterion: &mut Criterion, name: &str, charges: &[Charge], states: &[Option<State>], now_ms: u64) {
    criterion.bench_function(name, |bencher| {
        bencher.iter(|| {
            let mut states = states.to_vec();
            decide(black_box(charges), &mut states, 1, black_box(now_ms))
        });
    });
}

fn algorithms(criterion: &mut Criterion) {
    for (name, limit) in of_each_kind(1_000_000) {
        measure(criterion, &format!("{name}, admits"), &[charge(limit)], &[after(limit, 7)], START_MS + 9);
    }
    for (name, limit) in of_each_kind(7) {
        measure(criterion, &format!("{name}, denies"), &[charge(limit)], &[after(limit, 7)], START_MS + 9);
    }
    for entries in [10, 100, 1_000, 10_000] {
        let limit = Limit::SlidingLog(SlidingLog::new(entries, 60_000).expect("a log that can be kept"));
        let state = after(limit, entries - 1);
        measure(criterion, &format!("sliding log of {entries}, admits"), &[charge(limit)], &[state], START_MS + entries);
        let state = after(limit, entries);
        measure(criterion, &format!("sliding log of {entries}, denies"), &[charge(limit)], &[state], START_MS + entries);
    }
}

fn together(criterion: &mut Criterion) {
    for rules in [1, 3, 5, 16] {
        let charges: Vec<Charge> =
            of_each_kind(1_000_000).into_iter().cycle().take(rules).map(|(_, limit)| charge(limit)).collect();
        let states: Vec<Option<State>> = charges.iter().map(|charge| after(charge.limit, 7)).collect();
        measure(criterion, &format!("{rules} rules together"), &charges, &states, START_MS + 9);
    }
}

criterion_group!(decisions, algorithms, together);
criterion_main!(decisions);
