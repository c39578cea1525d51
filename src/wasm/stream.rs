//! One request: a thin handle on the plugin's engine.

use super::abi;
use super::host::{HostData, RequestFacts, now_ms};
use super::root::{Plugin, send};
use crate::flow::Step;
use crate::reply::http_status;
use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::{Action, MapType};

/// One request.
pub(super) struct Stream {
    id: u32,
    plugin: Plugin,
}

impl Stream {
    pub(super) fn new(id: u32, plugin: Plugin) -> Self {
        Self { id, plugin }
    }
}

impl Context for Stream {}

impl HttpContext for Stream {
    fn on_http_request_headers(&mut self, _num_headers: usize, _end_of_stream: bool) -> Action {
        let step = self.plugin.engine.borrow_mut().request(self.id, &RequestFacts, &HostData, now_ms);
        match step {
            Step::Continue => Action::Continue,
            Step::Reply(reply) => {
                send(&reply);
                Action::Pause
            }
            Step::Wait => {
                self.plugin.wake_if_wanted();
                Action::Pause
            }
        }
    }

    fn on_http_response_headers(&mut self, _num_headers: usize, _end_of_stream: bool) -> Action {
        let number = |name| std::str::from_utf8(&abi::header(MapType::HttpResponseHeaders, name)?).ok()?.parse().ok();
        let status = || http_status(number(":status")?, || number("grpc-status"));
        let quota_headers = self.plugin.engine.borrow_mut().response(self.id, status, &RequestFacts, &HostData, now_ms);
        for (name, value) in quota_headers.into_iter().flat_map(crate::quota_headers::QuotaHeaders::into_pairs) {
            abi::add_response_header(name, &value);
        }
        self.plugin.wake_if_wanted();
        Action::Continue
    }
}

impl Drop for Stream {
    /// The host deletes the context at the stream's end, whatever ended it.
    fn drop(&mut self) {
        // Not borrowed: the host deletes contexts between callbacks. If it ever were, the flow would only stay a little longer.
        if let Ok(mut engine) = self.plugin.engine.try_borrow_mut() {
            engine.gone(self.id);
        }
    }
}
