//! An MCP server that exists only in a manifest, served by the same session and the same door as the real one.
//!
//! `manifest` declares what may be written; `load` reads it and says where something is wrong; `catalog` makes it ready;
//! `service` answers, with `lists` for what is there as it stands and `perform` for what takes time or goes wrong.
//! `player` serves a `cassette` instead. `observe` lets others look on: `journal`, `expect`, and the cassette's recorder.

mod asks;
mod behaviour;
mod beside;
mod cassette;
mod catalog;
mod distill;
mod expect;
mod faker;
mod fault;
mod journal;
mod lint;
mod lists;
mod load;
mod manifest;
mod observe;
mod perform;
mod player;
mod presets;
mod redact;
mod resources;
mod schema;
mod service;
mod sink;
mod spans;
mod subscriptions;
mod template;
mod turns;
mod wire;

pub use beside::Beside;
pub use cassette::{Cassette, Entry, Recorder};
pub use catalog::Catalog;
pub use distill::distill;
pub use expect::Verifier;
pub use fault::Fault;
pub use journal::Journal;
pub use load::{LoadError, Problem, load, load_expectations};
pub use observe::{Observed, Observer};
pub use player::{OnMiss, Player, Upstream};
pub use presets::{PRESETS, STARTER, preset};
pub use redact::{Redactor, is_secret};
pub use schema::of_manifest;
pub use service::Mock;
