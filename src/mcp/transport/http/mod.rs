//! The server over HTTP: the same sessions as over stdin and stdout, for several clients. Each
//! tenant has its own.

mod activity;
mod admission;
mod auth_failures;
mod blocking;
mod calls;
mod connection;
mod conversation;
mod eviction;
mod feed;
mod headers;
mod in_flight;
mod io;
mod mcp;
mod message;
mod origin;
mod pages;
mod peer;
mod rate_limit;
mod reply;
mod reply_body;
mod request_body;
mod roster;
mod router;
mod server;
mod sessions;
mod tenant;
#[cfg(test)]
mod tests;
mod tls;
mod watching;
mod websocket;

pub use roster::Roster;
pub use server::{Settings, serve};
pub use tenant::{BackgroundWork, NoBackgroundWork, Tenant, TenantBackend, TenantLimits, Usage};
pub use tls::{Encryption, server_config};
