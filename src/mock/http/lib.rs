//! HTTP in front of an MCP server: simulated authorization, faults, and the server card.
//!
//! `front` receives a request. `authorization` answers its own endpoints, and checks tokens.
//! `faults` decides whether a request gets a fault. `upstream` forwards the rest to the server, and
//! `events` changes its answers. `watched` shows them to observers.
#![forbid(unsafe_code)]

mod authorization;
mod card;
mod events;
mod faults;
mod form;
mod front;
mod message;
mod note;
mod reply;
mod upstream;
mod watched;

pub use front::{Front, FrontSettings};
pub use note::Note;
pub use upstream::Upstream;
