//! The tools: one file each, and the ordered list of them.
//!
//! A new tool is one file and two lines here: its `mod`, and its place in [`TOOLS`], which is also its place in
//! tools/list and in the documents.

pub mod calling;
mod command_notes;
mod context;
mod edits;
mod grep_reply;
mod hash;
mod name_list;
mod one_or_many;
mod page;
mod parallel;
mod registry;
mod schema;
mod selection;
mod services;
mod testing;
mod tool;

mod create_directory;
mod delete_file;
mod directory_tree;
mod edit_file;
mod edit_files;
mod execute_command;
mod follow_command;
mod get_file_info;
mod glob_search;
mod grep_files;
mod keploy_list_mocks;
mod keploy_mock_record;
mod keploy_mock_test;
mod list_allowed_directories;
mod list_directory;
mod move_file;
mod read_file;
mod read_multiple_files;
mod run_tests;
mod search_files;
mod type_check;
mod write_file;

pub use context::{Context, Progress};
pub use registry::Registry;
pub use services::{Calls, Commands, Services};
pub use tool::{Callable, Descriptor, Hints, Reply, Tool, Toolset, Weight};

use tool::declare;

/// Every tool, in the order in which clients see them.
pub const TOOLS: &[fn() -> Box<dyn Callable>] = &[
    declare::<read_file::ReadFile>,
    declare::<read_multiple_files::ReadMultipleFiles>,
    declare::<write_file::WriteFile>,
    declare::<create_directory::CreateDirectory>,
    declare::<list_directory::ListDirectory>,
    declare::<directory_tree::DirectoryTree>,
    declare::<move_file::MoveFile>,
    declare::<delete_file::DeleteFile>,
    declare::<get_file_info::GetFileInfo>,
    declare::<list_allowed_directories::ListAllowedDirectories>,
    declare::<edit_file::EditFile>,
    declare::<edit_files::EditFiles>,
    declare::<search_files::SearchFiles>,
    declare::<grep_files::GrepFiles>,
    declare::<glob_search::GlobSearch>,
    declare::<execute_command::ExecuteCommand>,
    declare::<follow_command::FollowCommand>,
    declare::<keploy_list_mocks::KeployListMocks>,
    declare::<keploy_mock_record::KeployMockRecord>,
    declare::<keploy_mock_test::KeployMockTest>,
    declare::<run_tests::RunTests>,
    declare::<type_check::TypeCheck>,
];
