//! An MCP server that exists only in a manifest, served by the same session and the same door as the real one.
//!
//! `manifest` declares what may be written; `load` reads it and says where something is wrong; `catalog` makes it ready;
//! `service` answers, with `lists` for what is there as it stands and `perform` for what takes time or goes wrong.

mod asks;
mod beside;
mod behaviour;
mod catalog;
mod faker;
mod fault;
mod lists;
mod load;
mod manifest;
mod perform;
mod presets;
mod resources;
mod schema;
mod service;
mod spans;
mod subscriptions;
mod template;
mod wire;

pub use beside::Beside;
pub use catalog::Catalog;
pub use fault::Fault;
pub use load::{LoadError, Problem, Source, load};
pub use manifest::Manifest;
pub use presets::{PRESETS, Preset, STARTER, preset};
pub use schema::of_manifest;
pub use service::Mock;
