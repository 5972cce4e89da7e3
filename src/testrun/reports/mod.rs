//! Shared parts of the report parsers. Bytes in, values out: no disk, no process, no clock.

pub mod collector;
pub mod event_reader;
pub mod events;
pub mod findings;
pub mod go_text;
pub mod junit;
pub mod kept_output;
pub mod lines;
pub mod python_text;
pub mod results;
pub mod rust_text;
pub mod stack;
pub mod visible_text;
