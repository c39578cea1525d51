//! What an error reply says about the charge.

use ::redis::ServerError;
use weir_wire::Failure;

/// Why a check has no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Redis does not have the script: not executed, and worth repeating.
    NoScript,
    /// Final.
    Failed(Failure),
}

/// Replies of a Redis that refused before the first write; all others might have come later.
const NOT_CHARGED: [&str; 15] = [
    "ASK",
    "BUSY",
    "CLUSTERDOWN",
    "CROSSSLOT",
    "LOADING",
    "MASTERDOWN",
    "MISCONF",
    "MOVED",
    "NOAUTH",
    "NOPERM",
    "NOREPLICAS",
    "OOM",
    "READONLY",
    "TRYAGAIN",
    "WRONGPASS",
];

impl From<&ServerError> for Fault {
    fn from(error: &ServerError) -> Self {
        match error.code() {
            "NOSCRIPT" => Self::NoScript,
            code if NOT_CHARGED.contains(&code) => Self::Failed(Failure::Unavailable),
            _ => Self::Failed(Failure::Unknown),
        }
    }
}
