//! What a store promises, held against both, and what only Redis can get wrong.

mod behaviour;
mod build;
mod keys;
mod outages;
mod place;
