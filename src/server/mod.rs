//! The server of tools: a [`Service`](replay_mcp::sessions::Service), alone or beside a mock.

mod call;
mod client_roots;
mod client_selection;
mod deferred_service;
mod dispatch;
mod instructions;
mod listing;
mod logs;
mod server_and_mock;
mod status;
#[cfg(test)]
mod tests;
mod tool_server;

pub(crate) use client_selection::{ClientChoice, ClientSelection};
pub(crate) use deferred_service::{Front, StartingService};
pub(crate) use instructions::instructions;
pub(crate) use server_and_mock::ServerAndMock;
pub use tool_server::Server;
