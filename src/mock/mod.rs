//! An MCP server that exists only in a manifest, served by the same session and the same door as
//! the real one.
//!
//! `manifest` declares what may be written; `load` reads it, and `problems` say where something is
//! wrong; `catalog` makes it ready; `service` answers, with `lists` for what is there as it stands
//! and `performance` for what takes time or goes wrong. `player` serves a `cassette` instead.
//! `observer` lets others look on: `journal`, `expectations`, and the cassette's recorder.

mod behaviour;
mod cassette;
mod catalog;
mod client;
mod client_requests;
mod corrupt;
mod derived;
mod distill;
mod entry;
mod expectations;
mod faker;
mod fault;
mod journal;
mod lint;
mod load;
mod manifest;
mod observer;
mod pagination;
mod player;
mod presets;
mod problems;
mod redact;
mod resources;
mod respond;
mod schema;
mod sequence;
mod server_and_mock;
mod service;
mod sink;
mod subscriptions;
mod sync;
mod template;
mod yaml;

pub use cassette::{Cassette, CassetteEntry, CassetteRecorder};
pub use catalog::Catalog;
pub use derived::{expectations_schema, manifest_schema};
pub use distill::distill;
pub use expectations::ExpectationVerifier;
pub use fault::MockFault;
pub use journal::Journal;
pub use load::{load, load_expectations};
pub use observer::{Observed, SessionObserver};
pub use player::{CassetteMiss, CassettePlayer, Upstream};
pub use presets::{PRESETS, STARTER, preset};
pub use problems::{FileProblem, LoadError};
pub use redact::{Redactor, is_secret};
pub use schema::MANIFEST_SCHEMA;
pub use server_and_mock::ServerAndMock;
pub use service::Mock;
