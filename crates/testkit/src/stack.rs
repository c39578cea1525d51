//! A store, an authority, an upstream and Envoy, started together for a test and gone with it.
//!
//! Tests of one process run in parallel, Envoys with their compilers beside them are heavy, and machines have few cores: so
//! at most [`MOST_AT_ONCE`] stacks of a process run at a time, and the others wait for their turn.

mod turn;

use serde_json::{Value, json};

use crate::{Authority, Envoy, Redis, Result, Upstream, authority::Started, envoy, port};
use turn::Turn;

/// How many stacks of one process run at a time.
pub const MOST_AT_ONCE: usize = 2;

/// Where a stack counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// In the authority itself.
    Memory,
    /// In a Redis of its own.
    Redis,
}

/// All that runs. The fields are in the order in which they are ended: who asks before who answers.
#[derive(Debug)]
pub struct Stack {
    /// Where requests go.
    pub envoy: Envoy,
    /// Who decides.
    pub authority: Authority,
    /// Where it is counted; absent with [`Store::Memory`].
    pub redis: Option<Redis>,
    /// Where allowed requests end.
    pub upstream: Upstream,
    _turn: Turn,
}

/// A stack in the making.
#[derive(Debug)]
pub struct Plan {
    store: Store,
    config: envoy::Config,
    patience_ms: Option<u64>,
    turn: Turn,
}

/// A second gateway in front of the same store, with an authority of its own. Its fields end in this order.
#[derive(Debug)]
pub struct Gateway {
    /// Where requests go.
    pub envoy: Envoy,
    /// Who decides.
    pub authority: Authority,
}

impl Stack {
    /// The shipped configuration over `store`, once it is this stack's turn.
    ///
    /// # Errors
    /// As [`envoy::Config::standalone`].
    pub fn plan(store: Store) -> Result<Plan> {
        let turn = Turn::take();
        Ok(Plan { store, config: envoy::Config::standalone()?, patience_ms: None, turn })
    }

    /// Redis, where there is one.
    ///
    /// # Panics
    /// When the stack counts in memory.
    #[must_use]
    #[allow(clippy::expect_used, reason = "a test helper: which store there is was the test's own choice")]
    pub fn redis(&mut self) -> &mut Redis {
        self.redis.as_mut().expect("the stack was planned on Redis")
    }
}

impl Plan {
    /// Gives each decision this long, from the filter to the store: for tests of what is decided, on machines that are busy.
    #[must_use]
    pub fn patience_ms(mut self, ms: u64) -> Self {
        self.patience_ms = Some(ms);
        self.policy(|policy| policy["defaults"]["deadline"] = json!(format!("{ms}ms")))
            .envoy(|config| config.authority_connects_within_ms(ms))
    }

    /// Changes the policy.
    #[must_use]
    pub fn policy(self, change: impl Fn(&mut Value)) -> Self {
        self.envoy(|config| config.edit_policy(change))
    }

    /// Changes Envoy's configuration.
    #[must_use]
    pub fn envoy(mut self, change: impl FnOnce(envoy::Config) -> envoy::Config) -> Self {
        self.config = change(self.config);
        self
    }

    /// Starts it and waits until it can decide.
    ///
    /// # Errors
    /// Why one of its parts did not start.
    pub fn start(self) -> Result<Stack> {
        self.launch(Started::Ready).map(|(stack, _)| stack)
    }

    /// Starts it while its Redis is not there; [`Redis::restart`] brings it.
    ///
    /// # Errors
    /// As [`Plan::start`].
    pub fn start_without_redis(self) -> Result<Stack> {
        self.launch(Started::Alive).map(|(stack, _)| stack)
    }

    /// Starts it with a second gateway, which has an authority of its own in front of the same store.
    ///
    /// # Errors
    /// As [`Plan::start`].
    pub fn start_two_gateways(self) -> Result<(Stack, Gateway)> {
        let patience_ms = self.patience_ms;
        let (stack, config) = self.launch(Started::Ready)?;
        let store = stack.redis.as_ref().map_or_else(|| "memory".to_owned(), Redis::url);
        let authority = authority(&store, patience_ms, Started::Ready)?;
        let config = config.http_port(port::free()?).admin_port(port::free()?).node_id("gateway-2");
        let envoy = config.authority(authority.addr()).start()?;
        Ok((stack, Gateway { envoy, authority }))
    }

    fn launch(self, until: Started) -> Result<(Stack, envoy::Config)> {
        let upstream = Upstream::start()?;
        let mut redis = (self.store == Store::Redis).then(Redis::start).transpose()?;
        if let Some(redis) = redis.as_mut().filter(|_| until == Started::Alive) {
            redis.kill();
        }
        let store = redis.as_ref().map_or_else(|| "memory".to_owned(), Redis::url);
        let authority = authority(&store, self.patience_ms, until)?;
        let config = self.config.upstream(upstream.addr()).authority(authority.addr());
        let envoy = config.clone().start()?;
        Ok((Stack { envoy, authority, redis, upstream, _turn: self.turn }, config))
    }
}

fn authority(store: &str, patience_ms: Option<u64>, until: Started) -> Result<Authority> {
    let patience = patience_ms.map(|ms| ms.to_string());
    let arguments: Vec<_> = patience.iter().flat_map(|ms| ["--store-timeout-ms", ms]).collect();
    Authority::start_with(store, port::free()?, &arguments, until)
}
