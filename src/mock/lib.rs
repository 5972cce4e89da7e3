//! A mock MCP server that a manifest defines, with the same session and transport as the real
//! server.
//!
//! Modules:
//! - `manifest` declares the format, `load` reads it, and `problems` reports errors in it.
//! - `catalog` compiles a manifest.
//! - `service` answers requests: `lists` from the catalog alone, `performance` with delays and
//!   faults.
//! - `player` serves a `cassette` instead.
//! - `observer` passes messages to observers: `journal`, `expectations`, and the cassette recorder.
#![forbid(unsafe_code)]

mod authorization;
mod behaviour;
mod cassette;
mod catalog;
mod client;
mod client_requests;
mod derived;
mod difference;
mod distill;
mod entry;
mod exchange;
mod expectations;
mod faker;
mod fault;
mod fault_rules;
mod faulted;
mod http_event;
mod http_fault;
mod in_flight;
mod journal;
mod lint;
mod load;
mod manifest;
mod observer;
mod pagination;
mod player;
mod presets;
mod problems;
mod proxy;
mod redact;
mod resources;
mod respond;
mod schema;
mod sequence;
mod service;
mod sink;
mod subscriptions;
mod sync;
mod template;
mod yaml;

pub use authorization::{
    Authorization, Consent, Discovery, Grant, Refresh, RegisteredClient, Registration, TokenForm,
};
pub use cassette::{Cassette, CassetteEntry, CassetteMatch, CassetteRecorder};
pub use catalog::Catalog;
pub use derived::{expectations_schema, manifest_schema};
pub use distill::distill;
pub use exchange::{Exchange, Exchanges};
pub use expectations::ExpectationVerifier;
pub use fault::MockFault;
pub use fault_rules::{AskedFault, FaultRules, ToolFault};
pub use http_event::HttpEvent;
pub use http_fault::{FaultPlace, FaultRule, HttpFault, HttpFaultKind};
pub use journal::Journal;
pub use load::{load, load_expectations};
pub use manifest::Manifest;
pub use observer::{Observed, Observers, SessionObserver};
pub use player::{CassetteMiss, CassettePlayer, Upstream};
pub use presets::{PRESETS, STARTER, preset};
pub use problems::{FileProblem, LoadError};
pub use proxy::{Proxy, ServerInput};
pub use redact::{Redactor, is_secret};
pub use schema::MANIFEST_SCHEMA;
pub use sequence::called_tool;
pub use service::Mock;
