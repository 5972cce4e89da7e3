//! The tools: one file each, and the ordered list of them.
//!
//! A new tool is one file and two lines here: its `mod`, and its place in [`TOOLS`], which is also its place in
//! tools/list and in the documents.

mod context;
mod registry;
mod schema;
mod services;
mod tool;

pub use context::{Context, Progress};
pub use registry::Registry;
pub use services::{Commands, Services};
pub use tool::{Callable, Descriptor, Hints, Reply, Tool, Toolset, Weight};

use tool::declare;

/// Every tool, in the order in which clients see them.
pub const TOOLS: &[fn() -> Box<dyn Callable>] = &[];
