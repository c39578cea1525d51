//! A free loopback port.
//!
//! Taken from below the kernel's ephemeral range, so that no outgoing connection of a busy test can sit on it while its
//! server is being restarted. Processes start looking at different places, and one process never hands out a port twice.

use std::{
    net::{Ipv4Addr, TcpListener},
    ops::Range,
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use crate::{Error, Result};

/// Where ports are looked for: below 32768, where Linux begins to give ports to outgoing connections.
pub const RANGE: Range<u16> = 20_000..32_000;

static HANDED_OUT: AtomicU32 = AtomicU32::new(0);

/// A loopback port on which nothing listens.
///
/// # Errors
/// [`Error::NoPort`] when the whole range is taken.
pub fn free() -> Result<u16> {
    let size = u32::from(RANGE.end - RANGE.start);
    // A prime step, so that processes with neighbouring ids begin far apart.
    let first = process::id().wrapping_mul(7_919);
    (0..size)
        .map(|_| first.wrapping_add(HANDED_OUT.fetch_add(1, Ordering::Relaxed)) % size)
        .filter_map(|offset| u16::try_from(offset).ok())
        .map(|offset| RANGE.start + offset)
        .find(|&port| is_free(port))
        .ok_or(Error::NoPort)
}

/// Whether a server could listen on this loopback port now.
#[must_use]
pub fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_calls_give_two_ports() {
        assert_ne!(free().unwrap(), free().unwrap());
    }

    #[test]
    fn a_port_in_use_is_not_free() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(!is_free(listener.local_addr().unwrap().port()));
    }
}
