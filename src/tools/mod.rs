//! The tools: one file each, and the ordered list of them.
//!
//! A new tool is one file and two lines here: its `mod`, and its place in [`TOOLS`], which is also its place in
//! tools/list and in the documents.

mod context;
mod line_search;
mod page;
mod parallel;
mod registry;
mod schema;
mod services;
mod tool;

mod execute_command;
mod get_file_info;
mod list_allowed_directories;
mod list_directory;
mod read_file;
mod read_multiple_files;

pub use context::{Context, Progress};
pub use registry::Registry;
pub use services::{Commands, Services};
pub use tool::{Callable, Descriptor, Hints, Reply, Tool, Toolset, Weight};

use tool::declare;

/// Every tool, in the order in which clients see them.
pub const TOOLS: &[fn() -> Box<dyn Callable>] = &[
    declare::<read_file::ReadFile>,
    declare::<read_multiple_files::ReadMultipleFiles>,
    declare::<list_directory::ListDirectory>,
    declare::<get_file_info::GetFileInfo>,
    declare::<list_allowed_directories::ListAllowedDirectories>,
    declare::<execute_command::ExecuteCommand>,
];
