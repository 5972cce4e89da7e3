//! Names and summaries of recording sets.

mod service;
pub mod set_name;
pub mod summary;
