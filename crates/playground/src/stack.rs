//! Store, authority, upstream and Envoy, started together and ended together.

use std::path::PathBuf;

use anyhow::bail;
use weir_testkit::{Authority, Envoy, Redis, Upstream, authority::Started, envoy, port, process};

use crate::stop::Stop;

/// Where decisions are counted.
#[derive(Debug, Clone)]
pub(crate) enum Store {
    /// In the authority itself.
    Memory,
    /// In a Redis that is started for the occasion.
    OwnRedis,
    /// In a Redis that runs already.
    Redis(String),
}

/// The ports to use, all on 127.0.0.1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ports {
    pub(crate) http: u16,
    pub(crate) admin: u16,
    pub(crate) authority: u16,
    pub(crate) upstream: u16,
}

impl Ports {
    /// Ports that nobody uses.
    pub(crate) fn free() -> anyhow::Result<Self> {
        Ok(Self { http: port::free()?, admin: port::free()?, authority: port::free()?, upstream: port::free()? })
    }

    /// Says which port is taken, and how to choose another, before a server says it in more words.
    fn check(self) -> anyhow::Result<()> {
        let named = [
            (self.http, "HTTP_PORT"),
            (self.admin, "ADMIN_PORT"),
            (self.authority, "AUTHORITY_PORT"),
            (self.upstream, "UPSTREAM_PORT"),
        ];
        for (port, variable) in named {
            if !port::is_free(port) {
                bail!("port {port} is taken: choose another with {variable}=<port>");
            }
        }
        Ok(())
    }
}

/// What to start.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) ports: Ports,
    pub(crate) store: Store,
    /// A policy to use instead of the one in `envoy/standalone/envoy.yaml`.
    pub(crate) policy: Option<PathBuf>,
    pub(crate) workers: u32,
}

/// All that runs. The fields are in the order in which they are ended: who asks before who answers.
pub(crate) struct Stack {
    pub(crate) envoy: Envoy,
    pub(crate) authority: Authority,
    pub(crate) redis: Option<Redis>,
    pub(crate) upstream: Upstream,
}

impl Stack {
    /// Starts all of it; `None` when asked to stop meanwhile.
    pub(crate) async fn start(plan: Plan, stop: &mut Stop) -> anyhow::Result<Option<Self>> {
        let mut starting = tokio::task::spawn_blocking(move || Self::start_blocking(&plan));
        tokio::select! {
            biased;
            () = stop.asked_for() => {
                process::give_up();
                // What is started by then ends here.
                drop(starting.await);
                Ok(None)
            }
            started = &mut starting => started?.map(Some),
        }
    }

    fn start_blocking(plan: &Plan) -> anyhow::Result<Self> {
        plan.ports.check()?;
        let config = envoy::Config::standalone()?;
        let config = match &plan.policy {
            Some(path) => config.policy(&envoy::to_value(path)?),
            None => config,
        };
        let upstream = Upstream::start_on(plan.ports.upstream)?;
        let redis = matches!(plan.store, Store::OwnRedis).then(Redis::start).transpose()?;
        let store = match (&plan.store, &redis) {
            (Store::Redis(url), _) => url.clone(),
            (_, Some(redis)) => redis.url(),
            (_, None) => "memory".to_owned(),
        };
        let authority = Authority::start_with(&store, plan.ports.authority, &[], Started::Ready)?;
        let envoy = config
            .http_port(plan.ports.http)
            .admin_port(plan.ports.admin)
            .upstream(upstream.addr())
            .authority(authority.addr())
            .concurrency(plan.workers)
            .start()?;
        Ok(Self { envoy, authority, redis, upstream })
    }

    /// Fails, with the end of its log, when one of the processes has ended.
    pub(crate) fn check_alive(&mut self) -> anyhow::Result<()> {
        self.envoy.process().check_alive()?;
        self.authority.process().check_alive()?;
        if let Some(redis) = &mut self.redis {
            redis.process().check_alive()?;
        }
        Ok(())
    }
}
