//! Host calls for which the SDK would panic on what can happen: a stream that is gone, a phase that is over.
//!
//! A panic costs the worker all its streams, so these report instead. They also take what the SDK leaves out:
//! the details of a local response, which tell the access log why.
#![expect(unsafe_code, reason = "the host's interface is a C one")]

use proxy_wasm::types::{BufferType, MapType, Status};
use std::ptr::{null, null_mut};

#[link(wasm_import_module = "env")]
unsafe extern "C" {
    fn proxy_get_property(path: *const u8, path_size: usize, value: *mut *mut u8, value_size: *mut usize) -> Status;
    fn proxy_get_header_map_value(
        map: MapType,
        name: *const u8,
        name_size: usize,
        value: *mut *mut u8,
        value_size: *mut usize,
    ) -> Status;
    fn proxy_add_header_map_value(map: MapType, name: *const u8, name_size: usize, value: *const u8, value_size: usize)
    -> Status;
    fn proxy_get_buffer_bytes(
        buffer: BufferType,
        start: usize,
        most: usize,
        value: *mut *mut u8,
        value_size: *mut usize,
    ) -> Status;
    fn proxy_continue_stream(stream: u32) -> Status;
    fn proxy_send_local_response(
        status: u32,
        details: *const u8,
        details_size: usize,
        body: *const u8,
        body_size: usize,
        headers: *const u8,
        headers_size: usize,
        grpc_status: i32,
    ) -> Status;
}

/// The host's name for the request's side of a stream.
const HTTP_REQUEST: u32 = 0;

/// What the host answers to an HTTP caller, who has no gRPC status.
pub(super) const NO_GRPC_STATUS: i32 = -1;

/// An attribute; `None` when the host has none, or none in a form that can be read.
pub(super) fn property(path: &[&str]) -> Option<Vec<u8>> {
    let path = path.join("\0");
    let (mut value, mut size) = (null_mut(), 0);
    // SAFETY: the pointers are valid for the call; on `Ok` the host has allocated `value` through this
    // module's own allocator, and gives it away.
    unsafe {
        let status = proxy_get_property(path.as_ptr(), path.len(), &raw mut value, &raw mut size);
        owned(status, value, size)
    }
}

/// The first value of a header.
pub(super) fn header(map: MapType, name: &str) -> Option<Vec<u8>> {
    let (mut value, mut size) = (null_mut(), 0);
    // SAFETY: as in `property`.
    unsafe {
        let status = proxy_get_header_map_value(map, name.as_ptr(), name.len(), &raw mut value, &raw mut size);
        owned(status, value, size)
    }
}

/// Adds a header to the response; not done when the response has gone already.
pub(super) fn add_response_header(name: &str, value: &str) {
    // SAFETY: the pointers are valid for the call, and the host copies what they point at.
    let _gone = unsafe {
        proxy_add_header_map_value(MapType::HttpResponseHeaders, name.as_ptr(), name.len(), value.as_ptr(), value.len())
    };
}

/// The body of a callout's answer.
pub(super) fn callout_body(size: usize) -> Option<Vec<u8>> {
    let (mut value, mut value_size) = (null_mut(), 0);
    // SAFETY: as in `property`.
    unsafe {
        let status = proxy_get_buffer_bytes(BufferType::HttpCallResponseBody, 0, size, &raw mut value, &raw mut value_size);
        owned(status, value, value_size)
    }
}

/// Lets the request of the effective context pass; not done when it is gone.
pub(super) fn resume_request() {
    // SAFETY: takes no pointers.
    let _gone = unsafe { proxy_continue_stream(HTTP_REQUEST) };
}

/// Answers the request of the effective context; not done when it is gone.
pub(super) fn local_response(status: u32, details: &str, body: &str, headers: &[(&str, String)], grpc_status: i32) {
    let headers = serialize_map(headers);
    let (body_data, body_size) = if body.is_empty() { (null(), 0) } else { (body.as_ptr(), body.len()) };
    // SAFETY: the pointers are valid for the call, and the host copies what they point at.
    let _gone = unsafe {
        proxy_send_local_response(
            status,
            details.as_ptr(),
            details.len(),
            body_data,
            body_size,
            headers.as_ptr(),
            headers.len(),
            grpc_status,
        )
    };
}

unsafe fn owned(status: Status, value: *mut u8, size: usize) -> Option<Vec<u8>> {
    match status {
        Status::Ok if value.is_null() => Some(Vec::new()),
        // SAFETY: the caller says that the host gave this memory away, allocated with exactly this size.
        Status::Ok => Some(unsafe { Vec::from_raw_parts(value, size, size) }),
        _ => None,
    }
}

/// The host's form of a header map: the number of pairs, their sizes, then the texts, each ended by NUL.
fn serialize_map(pairs: &[(&str, String)]) -> Vec<u8> {
    let size = |text: &str| u32::try_from(text.len()).unwrap_or(0).to_le_bytes();
    let mut bytes = Vec::with_capacity(256);
    bytes.extend_from_slice(&u32::try_from(pairs.len()).unwrap_or(0).to_le_bytes());
    for (name, value) in pairs {
        bytes.extend_from_slice(&size(name));
        bytes.extend_from_slice(&size(value));
    }
    for text in pairs.iter().flat_map(|(name, value)| [*name, value.as_str()]) {
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(0);
    }
    bytes
}
