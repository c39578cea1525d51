//! Where the Redis of a link is.

use crate::store::redis::sentinel::Sentinels;
use ::redis::Client;

/// A fixed place, or what Sentinels say at the moment.
pub(in crate::store::redis) enum Source {
    /// Always the same.
    Fixed {
        /// Of that place.
        client: Client,
        /// For people.
        place: String,
    },
    /// The master that Sentinels tell.
    Sentinels(Sentinels),
}

impl Source {
    /// What it is called, for people and as a label.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Fixed { place, .. } => place,
            Self::Sentinels(sentinels) => sentinels.master(),
        }
    }

    /// A client of the Redis, and its place.
    pub(super) async fn find(&mut self) -> Result<(Client, String), String> {
        match self {
            Self::Fixed { client, place } => Ok((client.clone(), place.clone())),
            Self::Sentinels(sentinels) => sentinels.find().await,
        }
    }

    /// Whether the Redis is still the one at `place`. A source that cannot tell takes nothing back.
    pub(super) async fn confirm(&mut self, place: &str) -> Result<(), String> {
        match self {
            Self::Sentinels(sentinels) => match sentinels.find().await {
                Ok((_, found)) if found != place => Err(format!("the sentinels name another master, {found}, no longer the one")),
                _ => Ok(()),
            },
            Self::Fixed { .. } => Ok(()),
        }
    }
}
