//! Which store, as it is configured: `memory`, or the address of a Redis.

use std::str::FromStr;

/// The store to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// In this process.
    Memory,
    /// The URL of a Redis.
    Redis(String),
}

/// A store that cannot be used as it is configured.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Neither `memory` nor a URL of a known scheme.
    #[error("the store {given:?} is not known; give \"memory\" or redis://host:port")]
    Unknown {
        /// What was given, without a password.
        given: String,
    },
    /// A Redis URL that does not parse. It may hold a password, so it is not repeated.
    #[error("the store's URL is not an address of a Redis ({reason}); give redis://host:port or redis://user:password@host:port")]
    Address {
        /// What the client library says about it.
        reason: String,
    },
}

impl FromStr for Target {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        match text {
            "memory" => Ok(Self::Memory),
            url if url.starts_with("redis://") || url.starts_with("redis+unix://") || url.starts_with("unix://") => {
                Ok(Self::Redis(url.to_owned()))
            }
            other => {
                let given = other.rsplit_once('@').map_or(other, |(_, host)| host).to_owned();
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
        assert_eq!("redis://h:1".parse::<Target>().unwrap(), Target::Redis("redis://h:1".to_owned()));
    }
}
