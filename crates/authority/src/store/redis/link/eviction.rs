//! Whether Redis may forget counts to save memory.
//!
//! With any `maxmemory-policy` but `noeviction` it does, silently, and a forgotten count is a limit granted
//! twice. It decides all the same, so this is said and exported ([`StoreMetrics::evicts`]), not refused.
//!
//! [`StoreMetrics::evicts`]: crate::metrics::StoreMetrics::evicts

use super::PROBE_TIMEOUT;
use ::redis::aio::MultiplexedConnection;
use prometheus_client::metrics::gauge::Gauge;
use std::collections::HashMap;
use tokio::time::timeout;

const SETTING: &str = "maxmemory-policy";

pub(super) async fn check(redis: &mut MultiplexedConnection, place: &str, evicts: &Gauge) {
    let mut get = ::redis::cmd("CONFIG");
    get.arg("GET").arg(SETTING);
    // Some services do not show their settings; then nothing is known, and nothing said.
    let Ok(Ok(settings)) = timeout(PROBE_TIMEOUT, get.query_async::<HashMap<String, String>>(redis)).await else { return };
    let Some(policy) = settings.get(SETTING) else { return };
    let may_evict = policy != "noeviction";
    evicts.set(i64::from(may_evict));
    if may_evict {
        tracing::warn!(redis = place, policy, "this redis may evict counts, which grants limits twice: set {SETTING} noeviction");
    }
}
