//! What a set of recordings is called, and what it holds in words.

mod service;
pub mod set_name;
pub mod summary;
