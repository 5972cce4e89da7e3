//! What a set of recordings is called, and what it holds in words.

pub mod names;
mod service;
pub mod summary;
