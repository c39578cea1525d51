//! The counting algorithms, through their public interface.
//!
//! Most tests are timelines that can be checked by hand; see [`timeline`]. They run natively and, by
//! `wasm-bindgen-test`, on wasm32, where the filter counts with this same code.

mod calendar;
mod errors;
mod fixed_window;
mod gcra;
mod hostile;
mod known_faults;
mod leaky_queue;
mod peek;
#[cfg(not(target_arch = "wasm32"))]
mod properties;
mod shadow;
mod sliding_log;
mod sliding_window;
mod timeline;
mod together;
mod token_bucket;
