//! Searching contents.

pub mod memory;
