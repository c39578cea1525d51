//! The host's data and facts as the pure modules see them.

use super::abi;
use crate::facts::Facts;
use crate::shared::{Outdated, SharedData};
use proxy_wasm::hostcalls;
use proxy_wasm::types::MapType;
use std::time::UNIX_EPOCH;

/// The data that all workers of this Envoy share.
pub(super) struct HostData;

impl SharedData for HostData {
    fn get(&self, key: &str) -> Option<(Vec<u8>, u32)> {
        // A value that is empty comes without bytes, but with its version.
        let (value, version) = hostcalls::get_shared_data(key).ok()?;
        Some((value.unwrap_or_default(), version?))
    }

    fn set(&self, key: &str, value: &[u8], version: Option<u32>) -> Result<(), Outdated> {
        hostcalls::set_shared_data(key, Some(value), version).map_err(|_| Outdated)
    }
}

/// The facts of the request that the current callback is about.
pub(super) struct RequestFacts;

impl Facts for RequestFacts {
    fn header(&self, name: &str) -> Option<Vec<u8>> {
        abi::header(MapType::HttpRequestHeaders, name)
    }

    fn property(&self, path: &[&str]) -> Option<Vec<u8>> {
        abi::property(path)
    }
}

/// Milliseconds since the Unix epoch, as the host sees it.
pub(super) fn now_ms() -> u64 {
    let since_epoch = hostcalls::get_current_time().ok().and_then(|now| now.duration_since(UNIX_EPOCH).ok());
    since_epoch.and_then(|since_epoch| u64::try_from(since_epoch.as_millis()).ok()).unwrap_or(0)
}
