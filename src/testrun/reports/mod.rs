//! What reading a report takes, whoever wrote it. Bytes in, values out: no disk, no process, no clock.

pub mod clean;
pub mod collector;
pub mod findings;
pub mod go_text;
pub mod junit;
pub mod lines;
pub mod reading;
pub mod rust_text;
pub mod stack;
