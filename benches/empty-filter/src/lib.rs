//! A Proxy-Wasm filter that does nothing: what any filter costs, and so the most that one can reach.

#[cfg(target_arch = "wasm32")]
mod wasm;
