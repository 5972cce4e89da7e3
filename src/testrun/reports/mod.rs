//! Shared parts of the report parsers. Bytes in, values out: no disk, no process, no clock.

pub(crate) mod class_sources;
pub(crate) mod collector;
pub(crate) mod documents;
pub(crate) mod event_reader;
pub(crate) mod events;
pub(crate) mod findings;
pub(crate) mod go_text;
pub(crate) mod junit;
pub(crate) mod jvm_text;
pub(crate) mod kept_output;
pub(crate) mod lines;
pub(crate) mod python_text;
pub(crate) mod results;
pub(crate) mod rust_text;
pub(crate) mod stack;
mod tap;
mod trx;
pub(crate) mod visible_text;
mod xml;
