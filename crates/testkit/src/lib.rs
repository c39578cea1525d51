//! Real servers for tests, the playground and benchmarks: started, waited for, and gone when dropped.
//!
//! | module | what it gives |
//! |---|---|
//! | [`process`] | a child process that is ended and reaped on drop, with its log |
//! | [`port`] | a free loopback port that stays free across a restart |
//! | [`redis`] | a `redis-server` of one's own |
//!
//! Everything here is blocking: it starts things before a test and ends them after it. Readiness is polled, never slept for.

pub mod error;
pub mod port;
pub mod process;
pub mod redis;

pub use error::Error;
pub use process::Process;
pub use redis::Redis;

/// What the functions of this crate answer.
pub type Result<T> = std::result::Result<T, Error>;
