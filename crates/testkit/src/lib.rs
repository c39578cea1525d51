//! Real servers for tests, the playground and benchmarks: started, waited for, and gone when dropped.
//!
//! | module | what it gives |
//! |---|---|
//! | [`process`] | a child process that is ended and reaped on drop, with its log |
//! | [`port`] | a free loopback port that stays free across a restart |
//! | [`probe`] | one blocking GET, for readiness and for what an admin page says |
//! | [`redis`] | a `redis-server` of one's own, with replicas, as a cluster of six, behind three Sentinels |
//! | [`authority`] | the built `weir-authority` |
//! | [`envoy`] | a real Envoy with `envoy/standalone/envoy.yaml`, edited |
//! | [`stack`] | all of it together, for a test |
//! | [`window`] | a stretch of time that no window's end divides |
//! | [`upstream`] | a small Northstar API to stand behind it |
//! | [`tokens`] | keys and tokens of a development identity provider |
//! | [`repository`] | where this repository and what it builds are |
//!
//! Everything here is blocking: it starts things before a test and ends them after it. Readiness is polled, never slept for.
//!
//! ```no_run
//! # fn main() -> weir_testkit::Result<()> {
//! use weir_testkit::{Authority, Envoy, Upstream, envoy::Config, tokens::Keys};
//!
//! let upstream = Upstream::start()?;
//! let authority = Authority::start("memory")?;
//! let envoy = Config::standalone()?.upstream(upstream.addr()).authority(authority.addr()).start()?;
//! let token = Keys::development()?.token("atlas", "U-17");
//! // GET {envoy.url()}/catalog with `authorization: Bearer {token}` …
//! # Ok(())
//! # }
//! ```

pub mod authority;
pub mod envoy;
pub mod error;
pub mod port;
pub mod probe;
pub mod process;
pub mod redis;
pub mod repository;
pub mod stack;
pub mod tokens;
pub mod upstream;
pub mod window;

pub use authority::Authority;
pub use envoy::Envoy;
pub use error::Error;
pub use process::Process;
pub use redis::{Redis, RedisCluster, Sentinels};
pub use stack::Stack;
pub use upstream::Upstream;

/// What the functions of this crate answer.
pub type Result<T> = std::result::Result<T, Error>;
