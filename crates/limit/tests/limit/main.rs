//! The counting algorithms, through their public interface.
//!
//! Most tests are timelines that can be checked by hand; see [`timeline`]. They run natively and, by
//! `wasm-bindgen-test`, on wasm32, where the filter counts with this same code.

mod errors;
mod fixed_window;
mod hostile;
#[cfg(not(target_arch = "wasm32"))]
mod properties;
mod timeline;
mod together;
mod token_bucket;
