//! What a store promises, held against each, and what only Redis can get wrong.

mod access;
mod behaviour;
mod build;
mod cluster;
mod failover;
mod forward;
mod keys;
mod load;
mod outages;
mod place;
mod tls;
