//! The only user of the Proxy-Wasm SDK: the host's events in, host calls out, and no decision in between.
//!
//! | module | concept |
//! |---|---|
//! | [`root`] | one plugin in one worker: configuration, batches, completions, ticks |
//! | [`stream`] | one request: a thin handle on the plugin's engine |
//! | [`host`] | the host's data and facts as the pure modules see them |
//! | [`metrics`] | counters in the host |
//! | [`abi`] | host calls for which the SDK would panic on what can happen |

mod abi;
mod host;
mod metrics;
mod root;
mod stream;

use proxy_wasm::types::LogLevel;

proxy_wasm::main! {{
    proxy_wasm::set_log_level(LogLevel::Info);
    proxy_wasm::set_root_context(|context_id| Box::new(root::Root::new(context_id)));
}}
