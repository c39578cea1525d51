//! What an error reply says about the charge.

use ::redis::ServerError;
use weir_wire::Failure;

/// Why a check has no verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// Redis does not have the script: not executed, and worth repeating.
    NoScript,
    /// The slot is another node's now: not executed.
    Moved {
        /// Which slot.
        slot: u16,
        /// Whose it is, as [`super::address::Node::told`] reads it.
        to: String,
    },
    /// The slot is on its way to another node, and these keys are there already, or nowhere: not executed.
    Ask {
        /// Where to ask for this once.
        to: String,
    },
    /// The slot is on its way to another node, and some of the keys are here and some there: not executed.
    TryAgain,
    /// It takes no writes, as a replica: not executed.
    Astray,
    /// The cluster has no master for the slot, as far as this node knows: not executed.
    Down,
    /// Final.
    Failed(Failure),
}

/// Replies of a Redis that refused before the first write; all others might have come later.
const NOT_CHARGED: [&str; 9] = ["BUSY", "CROSSSLOT", "LOADING", "MISCONF", "NOAUTH", "NOPERM", "NOREPLICAS", "OOM", "WRONGPASS"];

impl From<&ServerError> for Fault {
    fn from(error: &ServerError) -> Self {
        let detail = error.details().unwrap_or_default();
        match error.code() {
            "NOSCRIPT" => Self::NoScript,
            "TRYAGAIN" => Self::TryAgain,
            "MASTERDOWN" | "READONLY" => Self::Astray,
            "CLUSTERDOWN" => Self::Down,
            // `3999 127.0.0.1:6381`
            "MOVED" => match detail.split_once(' ').and_then(|(slot, to)| Some((slot.parse().ok()?, to))) {
                Some((slot, to)) => Self::Moved { slot, to: to.to_owned() },
                None => Self::Down,
            },
            "ASK" => match detail.split_once(' ') {
                Some((_, to)) => Self::Ask { to: to.to_owned() },
                None => Self::Down,
            },
            code if NOT_CHARGED.contains(&code) => Self::Failed(Failure::Unavailable),
            _ => Self::Failed(Failure::Unknown),
        }
    }
}
