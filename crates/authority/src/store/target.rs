//! Which store, as it is configured: `memory`, or the address of a Redis.

use super::redis::Address;
use std::path::PathBuf;
use std::str::FromStr;

/// The store to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// In this process.
    Memory,
    /// In a Redis.
    Redis(Address),
}

/// A store that cannot be used as it is configured.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Neither `memory` nor a URL of a known scheme.
    #[error(
        "the store {given:?} is not known; give memory, redis://host:port, redis+cluster://host,host or redis+sentinel://host,host/master"
    )]
    Unknown {
        /// What was given, without a password.
        given: String,
    },
    /// A URL of a Redis that does not parse. It may hold a password, so it is not repeated.
    #[error("the store's URL is not an address of a Redis: {reason}; the form is redis://user:password@host:port/database")]
    Address {
        /// What is wrong with it.
        reason: String,
    },
    /// Settings that do not fit together.
    #[error("{reason}")]
    Settings {
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A file of TLS that cannot be used.
    #[error("{}: {reason}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl FromStr for Target {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        if text == "memory" {
            return Ok(Self::Memory);
        }
        match Address::parse(text) {
            Some(Ok(address)) => Ok(Self::Redis(address)),
            Some(Err(reason)) => Err(StoreError::Address { reason }),
            None => {
                let given = text.rsplit_once('@').map_or(text, |(_, host)| host).to_owned();
                Err(StoreError::Unknown { given })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_store_is_named_without_its_password() {
        let error = "mysql://root:secret@db:3306".parse::<Target>().unwrap_err().to_string();
        assert!(error.contains("db:3306") && !error.contains("secret"), "{error}");
    }

    #[test]
    fn memory_and_redis_are_known() {
        assert_eq!("memory".parse::<Target>().unwrap(), Target::Memory);
        assert!(matches!("redis://h:1".parse::<Target>().unwrap(), Target::Redis(_)));
    }
}
