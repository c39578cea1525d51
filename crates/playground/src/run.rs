//! `make run`: everything started, lines to paste, and a stay until Ctrl-C.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use weir_testkit::tokens::Keys;

use crate::{
    stack::{Plan, Ports, Stack, Store},
    stop::Stop,
};

const LOOK_AFTER_EVERY: Duration = Duration::from_millis(200);

/// Which store to count in.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum StoreKind {
    /// The authority's own memory.
    Memory,
    /// Redis: the one of --redis-url, else one that is started for the occasion.
    Redis,
}

/// How to run it.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Where decisions are counted.
    #[arg(long, value_enum, default_value = "memory")]
    store: StoreKind,
    /// A Redis that runs already.
    #[arg(long)]
    redis_url: Option<String>,
    /// Where Envoy listens for requests.
    #[arg(long, default_value_t = 10000)]
    http_port: u16,
    /// Where Envoy's admin interface listens.
    #[arg(long, default_value_t = 9901)]
    admin_port: u16,
    /// Where the authority listens.
    #[arg(long, default_value_t = 8180)]
    authority_port: u16,
    /// Where the sample upstream listens.
    #[arg(long, default_value_t = 8181)]
    upstream_port: u16,
    /// A policy to use instead of the example.
    #[arg(long)]
    policy: Option<PathBuf>,
    /// Envoy's workers.
    #[arg(long, default_value_t = 2)]
    workers: u32,
}

impl Options {
    fn plan(self) -> Plan {
        let ports =
            Ports { http: self.http_port, admin: self.admin_port, authority: self.authority_port, upstream: self.upstream_port };
        let store = match (self.store, self.redis_url) {
            (StoreKind::Memory, _) => Store::Memory,
            (StoreKind::Redis, Some(url)) => Store::Redis(url),
            (StoreKind::Redis, None) => Store::OwnRedis,
        };
        Plan { ports, store, policy: self.policy, workers: self.workers }
    }
}

/// Starts everything and stays until asked to stop, or until one of the processes ends by itself.
pub(crate) async fn run(options: Options) -> anyhow::Result<()> {
    let mut stop = Stop::listen()?;
    let plan = options.plan();
    let store = plan.store.clone();
    let Some(mut stack) = Stack::start(plan, &mut stop).await? else { return Ok(()) };
    println!("{}", greeting(&mut stack, &store)?);
    loop {
        tokio::select! {
            // A Ctrl-C reaches the children too: it has to be seen before their end is.
            biased;
            () = stop.asked_for() => break,
            () = tokio::time::sleep(LOOK_AFTER_EVERY) => stack.check_alive()?,
        }
    }
    println!("\nweir: ending");
    Ok(())
}

fn greeting(stack: &mut Stack, store: &Store) -> anyhow::Result<String> {
    let keys = Keys::development()?;
    let (atlas, birch) = (keys.token("atlas", "U-17"), keys.token("birch", "U-4"));
    let (url, admin, authority) = (stack.envoy.url(), stack.envoy.admin_url(), stack.authority.url());
    let upstream = stack.upstream.addr();
    let store = match (store, &stack.redis) {
        (Store::Memory, _) => "memory".to_owned(),
        (Store::Redis(url), _) => url.clone(),
        (Store::OwnRedis, redis) => redis.as_ref().map_or_else(String::new, weir_testkit::Redis::url),
    };
    let log = stack.envoy.process().log_path().display().to_string();
    let authority_log = stack.authority.process().log_path().display().to_string();
    Ok(format!(
        r#"
Ready: Envoy {url} (admin {admin}), authority {authority}, store {store}, upstream http://{upstream}
Logs:  {log}
       {authority_log}

Paste these first: U-17 of the tenant Atlas, and Birch. The tokens are valid for a day.

ATLAS='{atlas}'
BIRCH='{birch}'

# 20 pass, the 21st is 429; five seconds later ten more pass.
curl -s -o /dev/null -w '%{{http_code}} ' "{url}/catalog?[1-21]" -H "authorization: Bearer $ATLAS"; echo
# Why: the rule that denied it, and when to come back.
curl -si {url}/catalog -H "authorization: Bearer $ATLAS"; echo
# Meanwhile Birch's burst of 12 passes.
curl -s -o /dev/null -w '%{{http_code}} ' "{url}/catalog?[1-12]" -H "authorization: Bearer $BIRCH"; echo

# The other routes, each with its own limits: an export costs ten times a read.
sleep 5
curl -si -X POST {url}/checkout -H "authorization: Bearer $ATLAS"; echo
curl -si -X POST {url}/search -H "authorization: Bearer $ATLAS"; echo
curl -si -X POST {url}/reports/export -H "authorization: Bearer $BIRCH"; echo
# No token, so counted by address: 20 in ten seconds.
curl -si -X POST {url}/login -d '{{"password":"correct"}}'; echo
curl -si {url}/health; echo

# What Weir has counted.
curl -s {admin}/stats/prometheus | grep ^weir_

Ctrl-C ends everything."#
    ))
}
