//! The story: the decisions of the example policy, seen from outside.

use std::time::{Duration, Instant};

use anyhow::Context;
use reqwest::{Method, RequestBuilder};

use super::{
    caller::{self, Answer, Caller, tally},
    report::Report,
    window,
};
use crate::stack::Stack;

const MINUTE: Duration = Duration::from_secs(60);
const LOGIN_WINDOW: Duration = Duration::from_secs(10);
/// From U-17's first request to the end of the flood, with room for a slow machine.
const ONE_MINUTE_OF_ATLAS: Duration = Duration::from_secs(25);
const RECOVERED_WITHIN: Duration = Duration::from_secs(20);

/// The story's stage: what runs, who calls, what was seen.
pub(super) struct Story {
    stack: Stack,
    caller: Caller,
    report: Report,
}

impl Story {
    pub(super) fn new(stack: Stack, report: Report) -> anyhow::Result<Self> {
        let caller = Caller::new(stack.envoy.url())?;
        Ok(Self { stack, caller, report })
    }

    pub(super) fn report(&self) -> &Report {
        &self.report
    }

    /// Plays all of it.
    pub(super) async fn play(&mut self) -> anyhow::Result<()> {
        self.birch_bursts().await?;
        // The tenant's count of the next three steps is exact only within one of its minutes.
        window::with_room(MINUTE, ONE_MINUTE_OF_ATLAS).await;
        self.a_user_spends_its_bucket().await?;
        self.the_bucket_refills().await?;
        self.atlas_floods().await?;
        self.one_address_logs_in_too_often().await?;
        self.the_store_dies().await?;
        self.the_store_comes_back().await
    }

    async fn birch_bursts(&mut self) -> anyhow::Result<()> {
        let answers = caller::send_all(self.catalog("birch", "U-4", 12), 12).await?;
        self.report.row("Birch: 12 requests at once", "12 × 200", tally(&answers));
        Ok(())
    }

    async fn a_user_spends_its_bucket(&mut self) -> anyhow::Result<()> {
        let answers = caller::send_all(self.catalog("atlas", "U-17", 20), 20).await?;
        self.report.row("U-17 of Atlas: 20 requests at once", "20 × 200", tally(&answers));
        let denied = self.one(Method::GET, "/catalog", "atlas", "U-17").await?;
        let hint = denied.retry_after.as_deref().unwrap_or("-");
        let seen = format!("{}, retry after {hint} s", tally(std::slice::from_ref(&denied)));
        self.report.row("U-17: one more", "1 × 429 P-READ, retry after 1 s", seen);
        Ok(())
    }

    async fn the_bucket_refills(&mut self) -> anyhow::Result<()> {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let answers = caller::send_all(self.catalog("atlas", "U-17", 10), 10).await?;
        self.report.row("U-17: ten more, five seconds later", "10 × 200", tally(&answers));
        Ok(())
    }

    /// A hundred users with 20 requests each: none of them spends its own bucket, together they spend the tenant's minute, of
    /// which U-17 has taken 30.
    async fn atlas_floods(&mut self) -> anyhow::Result<()> {
        let users = (100..200).map(|user| format!("U-{user}"));
        let flood: Vec<_> = users.flat_map(|user| self.catalog("atlas", &user, 20)).collect();
        let birch = self.catalog("birch", "U-4", 12);
        let (flood, birch) = tokio::join!(caller::send_all(flood, 32), caller::send_all(birch, 1));
        self.report.row("Atlas: 100 users, 2,000 requests", "970 × 200, 1030 × 429 P-TENANT", tally(&flood?));
        self.report.row("Birch: 12 requests meanwhile", "12 × 200", tally(&birch?));
        Ok(())
    }

    async fn one_address_logs_in_too_often(&mut self) -> anyhow::Result<()> {
        window::with_room(LOGIN_WINDOW, LOGIN_WINDOW / 2).await;
        let reached = self.stack.upstream.requests();
        let logins = (0..21).map(|_| self.login()).collect();
        let answers = caller::send_all(logins, 1).await?;
        self.report.row("One address: 21 logins", "20 × 200, 1 × 429", tally(&answers));
        let reached = self.stack.upstream.requests() - reached;
        self.report.row("… that reached the login service", "20", reached.to_string());
        Ok(())
    }

    async fn the_store_dies(&mut self) -> anyhow::Result<()> {
        // The address has spent its window: until the next one nothing of it gets past the front door.
        window::with_room(LOGIN_WINDOW, LOGIN_WINDOW).await;
        self.stack.redis.as_mut().context("the demo runs on a Redis of its own")?.kill();
        let checkout = self.one(Method::POST, "/checkout", "birch", "U-5").await?;
        self.report.row("Redis killed: checkout is refused, with the reason", "503 reason", with_reason(&checkout));
        let catalog = caller::send_all(self.catalog("birch", "U-5", 5), 5).await?;
        self.report.row("… the catalog lives on its fallback", "5 × 200", tally(&catalog));
        let health = caller::send(self.caller.anonymous(Method::GET, "/health")).await?;
        self.report.row("… health does not notice", "1 × 200", tally(&[health]));
        Ok(())
    }

    /// A fresh user's bucket has 20 again: on the fallback it has less.
    async fn the_store_comes_back(&mut self) -> anyhow::Result<()> {
        self.stack.redis.as_mut().context("the demo runs on a Redis of its own")?.restart()?;
        let begun = Instant::now();
        let expected = "20 × 200, 1 × 429 P-READ";
        let mut seen = String::new();
        for user in 300.. {
            let mut answers = caller::send_all(self.catalog("birch", &format!("U-{user}"), 20), 20).await?;
            answers.push(self.one(Method::GET, "/catalog", "birch", &format!("U-{user}")).await?);
            seen = tally(&answers);
            if seen == expected || begun.elapsed() > RECOVERED_WITHIN {
                break;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        self.report.row("Redis back: its decisions again, within seconds", expected, seen);
        let checkout = self.one(Method::POST, "/checkout", "birch", "U-5").await?;
        self.report.row("… and checkout is served", "1 × 200", tally(&[checkout]));
        Ok(())
    }

    fn catalog(&self, tenant: &str, user: &str, count: usize) -> Vec<RequestBuilder> {
        let token = self.caller.token(tenant, user);
        (0..count).map(|_| self.caller.verified(Method::GET, "/catalog", &token)).collect()
    }

    fn login(&self) -> RequestBuilder {
        self.caller.anonymous(Method::POST, "/login").body(r#"{"password":"correct"}"#)
    }

    async fn one(&self, method: Method, path: &str, tenant: &str, user: &str) -> anyhow::Result<Answer> {
        caller::send(self.caller.verified(method, path, &self.caller.token(tenant, user))).await
    }
}

fn with_reason(answer: &Answer) -> String {
    format!("{} {}", answer.status, if answer.reason.is_some() { "reason" } else { "no reason" })
}
