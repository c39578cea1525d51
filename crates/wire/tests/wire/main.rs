//! The wire's messages and the store's keys, through the public interface.

mod keys;
mod messages;
mod names;
mod numbers;
