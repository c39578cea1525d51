//! A scenario's processes, each on its core.

use std::{fs, path::PathBuf};

use tempfile::TempDir;
use weir_testkit::{Authority, Envoy, Redis, authority::Started, port, tokens::Keys};

use crate::{
    Options, chain,
    cores::{Cores, process_cpu_us},
    scenario::{Scenario, Store},
};

/// What runs for one measurement. The fields are in the order in which they are ended: who asks before who answers.
pub(crate) struct Stack {
    pub(crate) envoy: Envoy,
    authority: Option<Authority>,
    redis: Option<Redis>,
    /// One token a line.
    pub(crate) tokens: PathBuf,
    _dir: TempDir,
}

/// CPU time used, in microseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cpu {
    pub(crate) envoy_us: u64,
    pub(crate) authority_us: u64,
    pub(crate) redis_us: u64,
}

impl Stack {
    pub(crate) fn start(scenario: &Scenario, options: &Options, cores: Cores) -> anyhow::Result<Self> {
        let dir = tempfile::tempdir()?;
        let tokens = dir.path().join("tokens.txt");
        fs::write(&tokens, tokens_of(scenario.users)?)?;

        let redis = (scenario.store == Some(Store::Redis)).then(Redis::start).transpose()?;
        let url = redis.as_ref().map_or_else(|| "memory".to_owned(), Redis::url);
        let start = || Authority::start_with(&url, port::free()?, &["--store-timeout-ms", "500"], Started::Ready);
        let authority = scenario.store.map(|_| start()).transpose()?;
        let mut envoy = chain::config(scenario.chain, authority.as_ref().map(Authority::addr), options)?.start()?;
        cores.give_envoy(envoy.process().id())?;
        Ok(Self { envoy, authority, redis, tokens, _dir: dir })
    }

    pub(crate) fn cpu(&mut self) -> Cpu {
        let of = |process: &mut weir_testkit::Process| process_cpu_us(process.id());
        Cpu {
            envoy_us: of(self.envoy.process()),
            authority_us: self.authority.as_mut().map_or(0, |authority| of(authority.process())),
            redis_us: self.redis.as_mut().map_or(0, |redis| of(redis.process())),
        }
    }
}

fn tokens_of(users: u32) -> anyhow::Result<String> {
    let keys = Keys::development()?;
    Ok((0..users).map(|user| keys.token("atlas", &format!("U-{user}")) + "\n").collect())
}
