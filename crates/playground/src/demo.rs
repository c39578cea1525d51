//! `make demo`: a short story over real HTTP, on a real Redis, that shows what Weir does and checks that it did.
//!
//! | module | concept |
//! |---|---|
//! | [`story`] | the steps, in order |
//! | [`caller`] | requests, and what came back |
//! | [`window`] | waiting for a stretch of time that no window's end divides |
//! | [`report`] | the table |

mod caller;
mod report;
mod story;
mod window;

use std::process::ExitCode;

use crate::{
    stack::{Plan, Ports, Stack, Store},
    stop::Stop,
};
use report::Report;
use story::Story;

/// Starts everything on free ports and plays the story. Succeeds only when all of it held.
pub(crate) async fn play() -> anyhow::Result<ExitCode> {
    let mut stop = Stop::listen()?;
    eprintln!("weir: starting Envoy, the authority, a Redis and an upstream on free ports");
    let plan = Plan { ports: Ports::free()?, store: Store::OwnRedis, policy: None, workers: 2 };
    let Some(stack) = Stack::start(plan, &mut stop).await? else { return Ok(ExitCode::FAILURE) };

    let mut story = Story::new(stack, Report::default())?;
    let played = tokio::select! {
        biased;
        () = stop.asked_for() => return Ok(ExitCode::FAILURE),
        played = story.play() => played,
    };
    // What was seen up to a failure helps to understand it.
    println!("\n{}", story.report());
    played?;
    Ok(if story.report().all_held() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
