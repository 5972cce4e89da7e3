//! The tools: one file each, and the ordered list of them.
//!
//! A new tool needs one file and two lines here: its `mod`, and its place in `in_order!`. The
//! latter is also its position in tools/list and in the documents.

mod alike_names;
mod alike_paths;
mod background_calls;
mod context;
mod derived;
mod edits;
mod fit;
mod fitted_tree;
mod grep_reply;
mod hash;
mod lean_search;
mod missing;
mod name_list;
pub(crate) mod notes;
mod odd_files;
mod one_or_many;
mod open_object;
mod page;
mod parallel;
mod python;
mod python_places;
pub(crate) mod recorded_calls;
mod registry;
mod reply_size;
mod schema;
mod schemas;
mod selection;
mod services;
mod status_line;
mod testing;
mod text_limit;
mod told_ports;
mod tool;

mod check_kernel_responsiveness;
mod code_completion;
mod create_directory;
mod create_session;
mod delete_file;
mod delete_session;
mod directory_tree;
mod documents;
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

pub(crate) use background_calls::{Attended, BackgroundCalls, LongCall};
pub(crate) use context::{Aside, Context, Progress};
pub(crate) use derived::SchemaFile;
pub(crate) use missing::{MissingOfMachine, MissingThings, UnsetVariable};
pub(crate) use notes::changes::{Counts as ChangeCounts, outside_lines};
pub(crate) use notes::command::{DATAGRAM_NOTE, socket_note};
pub(crate) use notes::ports::listening_now;
pub(crate) use notes::remakeable::forget_earlier;
pub(crate) use open_object::Open;
pub(crate) use python::expect_use as expect_python_use;
pub(crate) use registry::Registry;
pub(crate) use services::{Calls, Commands, Services};
pub(crate) use tool::HandOver;
pub(crate) use tool::{BadResult, Reply, Tool};
pub use tool::{Callable, Descriptor, Hints, Toolset};

use tool::declare;

macro_rules! in_order {
    ($($module:ident::$tool:ident),* $(,)?) => {
        /// Every tool, in the order in which clients see them.
        pub const TOOLS: &[fn() -> Box<dyn Callable>] =
            &[$(|| declare::<$module::$tool>(schemas::embedded!($module))),*];

        /// Derives the content of `schemas/`, for tests only: the program does not derive schemas.
        pub const DERIVED: &[fn() -> SchemaFile] = &[$(derived::schema_file::<$module::$tool>),*];
    };
}

in_order![
    read_file::ReadFile,
    read_multiple_files::ReadMultipleFiles,
    write_file::WriteFile,
    create_directory::CreateDirectory,
    list_directory::ListDirectory,
    directory_tree::DirectoryTree,
    move_file::MoveFile,
    delete_file::DeleteFile,
    get_file_info::GetFileInfo,
    list_allowed_directories::ListAllowedDirectories,
    edit_file::EditFile,
    edit_files::EditFiles,
    search_files::SearchFiles,
    grep_files::GrepFiles,
    glob_search::GlobSearch,
    list_changes::ListChanges,
    undo_changes::UndoChanges,
    execute_command::ExecuteCommand,
    follow_command::FollowCommand,
    keploy_list_mocks::KeployListMocks,
    keploy_mock_record::KeployMockRecord,
    keploy_mock_test::KeployMockTest,
    run_python_code::RunPythonCode,
    code_completion::CodeCompletion,
    inspect_object::InspectObject,
    list_files::ListFiles,
    create_session::CreateSession,
    switch_session::SwitchSession,
    list_sessions::ListSessions,
    delete_session::DeleteSession,
    restart_session::RestartSession,
    interrupt_session::InterruptSession,
    list_variables::ListVariables,
    run_script::RunScript,
    install_packages::InstallPackages,
    get_kernel_health::GetKernelHealth,
    check_kernel_responsiveness::CheckKernelResponsiveness,
    run_tests::RunTests,
    type_check::TypeCheck,
];
