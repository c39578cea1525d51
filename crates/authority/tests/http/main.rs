//! The authority over real sockets, and the program as it is started.

mod client;
mod endpoints;
mod program;
mod protocols;
mod shutdown;
