//! The leaky bucket as a queue: turns by hand, how many wait, and for how long at most.

use crate::timeline::{Subject, gcra, queue, timeline};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use weir_limit::{LeakyQueue, Limit, decide};

/// Five at a time, two leave a second.
fn five() -> Limit {
    queue(5, 2, 1_000)
}

/// When the turns of `hits` requests at `now_ms` come; `None` for one that is denied.
fn turns(subject: &mut Subject, hits: usize, now_ms: u64) -> Vec<Option<u64>> {
    let turn = |verdict: weir_limit::Verdict| (verdict.admitted == 1).then_some(now_ms + verdict.delay_ms);
    (0..hits).map(|_| turn(subject.decide(1, 1, now_ms))).collect()
}

#[test]
fn d02_turns_are_spaced_by_the_rate_and_the_sixth_is_denied() {
    let mut subject = Subject::new(five());
    assert_eq!(turns(&mut subject, 6, 0), [Some(0), Some(500), Some(1_000), Some(1_500), Some(2_000), None]);
    subject.plays("0 1 1 | 0 0 500\n 499 1 1 | 0 0 1");
    assert_eq!(turns(&mut subject, 2, 500), [Some(2_500), None]);
    // Idle for longer than the queue takes: the next goes at once, and saves up nothing.
    assert_eq!(turns(&mut subject, 3, 60_000), [Some(60_000), Some(60_500), Some(61_000)]);
}

#[test]
fn d02_odd_rates_are_spaced_exactly_and_rounded_up() {
    // Three a second: the k-th turn is k/3 s after the first.
    let mut subject = Subject::new(queue(1_000, 3, 1_000));
    let turns = turns(&mut subject, 1_000, 0);
    for (nth, turn) in (0..).zip(turns) {
        assert_eq!(turn, Some((nth * 1_000_u64).div_ceil(3)));
    }
}

#[test]
fn turns_go_on_where_they_were_however_the_requests_arrive() {
    let mut subject = Subject::new(queue(10, 3, 1_000));
    let mut nth = 0;
    // 4.8 a second want in, 3 get a turn; every turn is exact to the millisecond after 1,000 s.
    for now_ms in (0..1_000_000).step_by(208) {
        let verdict = subject.decide(1, 1, now_ms);
        if verdict.admitted == 1 {
            assert_eq!(now_ms + verdict.delay_ms, (nth * 1_000_u64).div_ceil(3), "the {nth}th");
            nth += 1;
        }
    }
    assert!((3_000..=3_010).contains(&nth), "{nth}");
}

#[test]
fn nobody_waits_longer_than_the_others_in_a_full_queue_take() {
    for (depth, leak, per_ms) in [(5, 2, 1_000), (1, 7, 1_000), (100, 3, 1_000), (17, 7, 11)] {
        let longest_ms = LeakyQueue::new(depth, leak, per_ms).unwrap().longest_delay_ms();
        assert_eq!(longest_ms, ((depth - 1) * per_ms).div_ceil(leak));
        let mut subject = Subject::new(queue(depth, leak, per_ms));
        let delays = (0..5_000).map(|now_ms| subject.decide(1, u64::MAX, now_ms).delay_ms);
        assert_eq!(delays.max(), Some(longest_ms), "{depth} deep, {leak} per {per_ms} ms");
    }
}

#[test]
fn of_several_hits_the_delay_is_that_of_the_last() {
    let mut subject = Subject::new(five());
    let verdict = subject.decide(1, 4, 0);
    assert_eq!((verdict.admitted, verdict.delay_ms), (4, 1_500));
    let verdict = subject.decide(1, 4, 0);
    assert_eq!((verdict.admitted, verdict.delay_ms, verdict.denial().unwrap().retry_ms), (1, 2_000, 500));
    let verdict = subject.decide(1, 4, 0);
    assert_eq!((verdict.admitted, verdict.delay_ms), (0, 0));
}

#[test]
fn a_cost_takes_as_many_turns_and_begins_with_the_first_of_them() {
    let mut subject = Subject::new(five());
    assert_eq!(subject.decide(3, 1, 0).delay_ms, 0);
    assert_eq!(subject.decide(2, 1, 0).delay_ms, 1_500);
    assert_eq!(subject.decide(1, 1, 500).delay_ms, 2_000);
}

#[test]
fn it_lets_in_what_a_burst_of_its_depth_does() {
    let table = "now_ms  cost  hits | admitted  remaining  retry_ms
                      0     1     9 |        5          0       500
                    700     1     9 |        1          0       300
                  1_000     2     9 |        0          1       500
                  9_999     5     9 |        1          0     2_500";
    timeline(five(), table);
    timeline(gcra(5, 2, 1_000), table);
}

#[test]
fn of_two_queues_the_longer_delay_holds_and_other_limits_delay_nobody() {
    use crate::timeline::enforced;
    let charges = [enforced(queue(9, 10, 1_000), 1), enforced(queue(9, 2, 1_000), 1), enforced(gcra(9, 1, 1_000), 1)];
    let mut states = [const { None }; 3];
    assert_eq!(decide(&charges, &mut states, 3, 0).delay_ms, 1_000);
    assert_eq!(decide(&charges[2..], &mut states[2..], 3, 0).delay_ms, 0);
}

#[test]
fn a_clock_set_back_a_little_shortens_no_turn() {
    let mut subject = Subject::new(five());
    assert_eq!(subject.decide(1, 3, 10_000).delay_ms, 1_000);
    assert_eq!(subject.decide(1, 1, 9_000).delay_ms, 1_500);
    assert_eq!(subject.decide(1, 1, 0).delay_ms, 0, "and by hours, starts clean");
}
