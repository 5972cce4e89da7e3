//! The tools: one file each, and the ordered list of them.
//!
//! A new tool is one file and two lines here: its `mod`, and its place in [`TOOLS`], which is also its place in
//! tools/list and in the documents.

mod cell_notes;
pub mod change_diff;
pub mod change_notes;
mod command_notes;
mod context;
mod edits;
mod fitted_tree;
mod grep_reply;
mod hash;
mod name_list;
mod not_searched;
mod one_or_many;
mod page;
mod parallel;
mod python;
mod python_places;
pub mod recorded_calls;
mod registry;
mod reply_size;
mod schema;
mod selection;
mod services;
mod shown_output;
mod testing;
mod tool;

mod check_kernel_responsiveness;
mod code_completion;
mod create_directory;
mod create_session;
mod delete_file;
mod delete_session;
mod directory_tree;
mod documents;
mod dry_run_notes;
mod edit_file;
mod edit_files;
mod execute_command;
mod follow_command;
mod get_file_info;
mod get_kernel_health;
mod glob_search;
mod grep_files;
mod inspect_object;
mod install_packages;
mod interrupt_session;
mod keploy_list_mocks;
mod keploy_mock_record;
mod keploy_mock_test;
mod list_allowed_directories;
mod list_changes;
mod list_directory;
mod list_files;
mod list_sessions;
mod list_variables;
mod move_file;
mod read_file;
mod read_multiple_files;
mod restart_session;
mod run_python_code;
mod run_script;
mod run_tests;
mod search_files;
mod switch_session;
mod type_check;
mod undo_changes;
mod write_file;

pub use change_notes::{Counts as ChangeCounts, outside_lines};
pub use context::{Context, Progress};
pub use python::expect_use as expect_python_use;
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
    declare::<list_changes::ListChanges>,
    declare::<undo_changes::UndoChanges>,
    declare::<execute_command::ExecuteCommand>,
    declare::<follow_command::FollowCommand>,
    declare::<keploy_list_mocks::KeployListMocks>,
    declare::<keploy_mock_record::KeployMockRecord>,
    declare::<keploy_mock_test::KeployMockTest>,
    declare::<run_python_code::RunPythonCode>,
    declare::<code_completion::CodeCompletion>,
    declare::<inspect_object::InspectObject>,
    declare::<list_files::ListFiles>,
    declare::<create_session::CreateSession>,
    declare::<switch_session::SwitchSession>,
    declare::<list_sessions::ListSessions>,
    declare::<delete_session::DeleteSession>,
    declare::<restart_session::RestartSession>,
    declare::<interrupt_session::InterruptSession>,
    declare::<list_variables::ListVariables>,
    declare::<run_script::RunScript>,
    declare::<install_packages::InstallPackages>,
    declare::<get_kernel_health::GetKernelHealth>,
    declare::<check_kernel_responsiveness::CheckKernelResponsiveness>,
    declare::<run_tests::RunTests>,
    declare::<type_check::TypeCheck>,
];
