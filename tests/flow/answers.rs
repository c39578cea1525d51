//! Answers that are none: each request gets its route's mode, and none another's verdict.

use crate::world::{Authority, Request, World, member, reply};
use weir::callout::Undecided;
use weir::engine::Answer;
use weir::flow::Step;

fn checkout() -> Request {
    Request::on("checkout").by("atlas", "U-17")
}

fn reason_after(answer: Answer) -> String {
    let mut world = World::quota(1);
    world.authority = Authority::Says(answer);
    let step = world.send(&checkout());
    assert_eq!(reply(&step).status, 503);
    member(reply(&step), "reason").as_str().expect("a reason").into()
}

fn reason_after_body(body: &str) -> String {
    reason_after(Answer::Body(body.into()))
}

const QUOTAS: &str = r#"[{"remaining":9,"reset_ms":1},{"remaining":9,"reset_ms":1}]"#;

#[test]
fn what_is_no_answer_is_told_apart_from_what_is_none() {
    let verdict = |id: u32, admitted: u32, quotas: &str| {
        format!(
            r#"{{"version":1,"answers":[{{"id":{id},"outcome":{{"verdict":{{"admitted":{admitted},"quotas":{quotas}}}}}}}]}}"#
        )
    };
    let malformed = [
        String::new(),
        "<html>captive</html>".into(),
        "{}".into(),
        r#"{"version":1,"answers":[]}"#.into(),
        r#"{"version":2,"answers":[]}"#.into(),
        verdict(0, 1, QUOTAS).replace("\"version\":1", "\"version\":2"),
        verdict(0, 1, QUOTAS).replace("]}", ""),
        verdict(1, 1, QUOTAS),
        verdict(4_294_967_295, 1, QUOTAS),
        verdict(0, 2, QUOTAS),
        verdict(0, 0, QUOTAS),
        verdict(0, 1, r#"[{"remaining":9,"reset_ms":1}]"#),
        verdict(0, 1, "[]"),
        verdict(0, 1, QUOTAS).replace("\"id\"", "\"surprise\":1,\"id\""),
    ];
    for body in malformed {
        assert_eq!(reason_after_body(&body), "answer_malformed", "{body}");
    }
    let mut world = World::quota(1);
    world.authority = Authority::Says(Answer::Body(verdict(0, 1, QUOTAS).into()));
    assert_eq!(world.send(&checkout()), Step::Continue);
}

#[test]
fn each_failure_has_its_reason() {
    let failure = |name: &str| format!(r#"{{"version":1,"answers":[{{"id":0,"outcome":{{"failure":"{name}"}}}}]}}"#);
    assert_eq!(reason_after_body(&failure("unavailable")), "store_unavailable");
    assert_eq!(reason_after_body(&failure("unknown")), "store_unknown");
    assert_eq!(reason_after_body(&failure("full")), "store_full");
    assert_eq!(reason_after(Answer::Refused), "batch_refused");
    assert_eq!(reason_after(Answer::Failed(Undecided::AuthorityUnreachable)), "authority_unreachable");
}

#[test]
fn a_callout_that_cannot_be_made_is_not_waited_for() {
    let mut world = World::quota(1);
    world.authority = Authority::CannotBeCalled;
    assert_eq!(member(reply(&world.send(&checkout())), "reason"), "not_sent");
}

#[test]
fn the_first_of_two_answers_counts() {
    let answer = |id: u32, admitted: u32, wait_ms: u32| {
        format!(
            r#"{{"id":{id},"outcome":{{"verdict":{{"admitted":{admitted},"quotas":[{{"remaining":0,"reset_ms":9,"wait_ms":{wait_ms}}},{{"remaining":0,"reset_ms":9}}]}}}}}}"#
        )
    };
    let body = format!(r#"{{"version":1,"answers":[{},{}]}}"#, answer(0, 0, 900), answer(0, 1, 0));
    let mut world = World::quota(1);
    world.authority = Authority::Says(Answer::Body(body.into()));
    assert_eq!(reply(&world.send(&checkout())).status, 429);
}

#[test]
fn answers_in_another_order_reach_their_own_requests() {
    let mut world = World::quota(1);
    world.authority = Authority::Silent;
    let streams: Vec<u32> =
        (0..3).map(|user| world.begin(0, &Request::on("checkout").by("atlas", &format!("U-{user}"))).0).collect();
    world.turn(0);
    let verdict = |id: u32, admitted: u32| {
        let wait_ms = 700 * u32::from(admitted == 0);
        format!(
            r#"{{"id":{id},"outcome":{{"verdict":{{"admitted":{admitted},"quotas":[{{"remaining":0,"reset_ms":9,"wait_ms":{wait_ms}}},{{"remaining":5,"reset_ms":9}}]}}}}}}"#
        )
    };
    let body = format!(r#"{{"version":1,"answers":[{},{},{}]}}"#, verdict(2, 1), verdict(0, 1), verdict(1, 0));
    world.give_up(&Answer::Body(body.into()));
    let done = world.completed(0);
    let denied: Vec<u32> = done.iter().filter(|(_, step)| matches!(step, Step::Reply(_))).map(|(stream, _)| *stream).collect();
    assert_eq!((done.len(), denied), (3, vec![streams[1]]));
}

#[test]
fn an_answer_to_a_batch_that_was_never_sent_changes_nothing() {
    let mut world = World::quota(1);
    world.authority = Authority::Silent;
    let (stream, _) = world.begin(0, &checkout());
    world.turn(0);
    let World { workers, data, now_ms, .. } = &mut world;
    workers[0].answered(9_999, &Answer::Refused, data, *now_ms);
    assert_eq!(world.completed(0), []);
    world.answer_late();
    assert_eq!(world.completed(0), [(stream, Step::Continue)]);
}
