//! Clients that go away while they wait.

use crate::caller::{Caller, counts, send, tally, try_send};
use crate::harm;
use crate::patience::until;
use crate::policy::only_read;
use crate::witness::Witness;
use std::time::Duration;
use tokio::task::JoinSet;
use weir_testkit::Stack;
use weir_testkit::stack::Store;

/// While the authority hangs, one batch is under way and the rest waits. Then every second client leaves.
#[tokio::test]
async fn those_who_leave_in_the_midst_of_a_batch_take_nobody_with_them() {
    let plan = Stack::plan(Store::Redis).unwrap().patience_ms(10_000).policy(|policy| only_read(policy, 1_000));
    let mut stack = plan.envoy(|config| config.concurrency(2)).start().unwrap();
    let caller = Caller::of(&stack.envoy);
    assert_eq!(send(caller.user("atlas", "U-0").catalog()).await.status, 200);

    for round in 0..3 {
        stack.authority.process().pause();
        let (mut leaving, mut staying) = (JoinSet::new(), JoinSet::new());
        for n in 0..150 {
            // Some ask the same and are one check, others ask something of their own.
            let user = |who: &str| caller.user("atlas", &format!("{who}-{round}-{}", n % 40));
            leaving.spawn(try_send(user("leaving").catalog()));
            staying.spawn(send(user("staying").catalog()));
        }
        until("all of them wait", || stack.envoy.active_requests() == 300).await;
        leaving.shutdown().await;
        until("half of them has left", || stack.envoy.active_requests() == 150).await;
        stack.authority.process().resume();
        let answers = staying.join_all().await;
        assert_eq!(tally(&answers), counts([("200", 150)]), "round {round}");
    }

    harm::none(&mut stack).await;
}

/// What is not asked for any more is not charged; what was asked already is, and is never refunded.
#[tokio::test]
async fn those_who_leave_before_their_batch_is_sent_are_not_charged() {
    let plan = Stack::plan(Store::Redis).unwrap().patience_ms(10_000).policy(|policy| only_read(policy, 1_000));
    let mut stack = plan.start().unwrap();
    let mut redis = Witness::of(stack.redis());
    let caller = Caller::of(&stack.envoy);
    let user = caller.user("atlas", "U-17");
    assert_eq!(send(user.catalog()).await.status, 200);

    // At most two batches of 64 are under way at a time.
    stack.authority.process().pause();
    let mut leaving: JoinSet<_> = (0..400).map(|_| try_send(user.catalog())).collect();
    until("all of them wait", || stack.envoy.active_requests() == 400).await;
    leaving.shutdown().await;
    until("all of them have left", || stack.envoy.active_requests() == 0).await;
    stack.authority.process().resume();

    assert_eq!(send(user.catalog()).await.status, 200);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let charged = redis.spent_of_bucket("w:{t:atlas}:P-READ:jwt:U-17");
    assert!((2..=2 + 128).contains(&charged), "{charged} charged");
}
