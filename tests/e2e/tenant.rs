//! A tenant's minute over all its users.

use crate::caller::{Caller, User, at_once, count, over_connections, tally};
use std::collections::BTreeSet;
use std::time::Duration;
use weir_testkit::stack::Store;
use weir_testkit::{Stack, window};

on_both_stores!(d07_fifty_users_together_are_held_to_the_tenants_thousand);

const MINUTE: Duration = Duration::from_secs(60);

/// Fifty users who spend their 20 at once spend the tenant's 1,000 to the unit. What their own buckets get back after that is
/// of no use to them.
async fn d07_fifty_users_together_are_held_to_the_tenants_thousand(store: Store) {
    let stack = Stack::plan(store).unwrap().patience_ms(5_000).start().unwrap();
    let caller = Caller::of(&stack.envoy);
    let users: Vec<User> = (0..50).map(|user| caller.user("atlas", &format!("U-{user}"))).collect();
    let birch = caller.user("birch", "U-4");

    window::with_room(MINUTE, Duration::from_secs(20));
    let flood = over_connections(50, (0..20).flat_map(|_| users.iter().map(User::catalog)));
    let (flood, others) = tokio::join!(flood, at_once((0..12).map(|_| birch.catalog())));
    assert_eq!(count(&flood, 200), 1_000, "{:?}", tally(&flood));
    assert_eq!(count(&others, 200), 12, "{:?}", tally(&others));

    // Each bucket has a token or two again.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let beyond = at_once(users.iter().map(User::catalog)).await;
    assert_eq!(tally(&beyond), crate::caller::counts([("429 P-TENANT", 50)]));
    let others = at_once((0..2).map(|_| birch.catalog())).await;
    assert_eq!(count(&others, 200), 2, "{:?}", tally(&others));

    // The minute ends for all of them at once, so they are told different seconds.
    let hints: BTreeSet<u64> = beyond.iter().map(crate::caller::Answer::retry_after).collect();
    assert!(hints.len() > 2, "d20: {hints:?}");
    assert!(hints.iter().all(|seconds| (1..=66).contains(seconds)), "{hints:?}");
}
