//! The operator's machine for commands: programs, variables and configuration, without secrets. The table is `environment.toml`, with the operator's additions.
//!
//! A file is written anew from the values that were understood. Everything else is left out and
//! reported.
#![forbid(unsafe_code)]

mod address;
mod configuration;
mod definitions;
mod devices;
mod downloads;
mod formats;
mod git;
mod glob;
mod home;
mod programs;
pub mod toolchains;
pub mod variables;
mod withheld;

pub use configuration::{
    HomeFile, Machine, MissingKeys, is_certificates, read as read_configuration,
};
pub use definitions::{Definitions, DefinitionsError, DeviceGroup, Hint};
pub use devices::{DeviceEntry, DeviceError, DeviceTree, Devices, MachineDevices, NodeType};
pub use downloads::{OperatorDownload, find_downloads};
pub use programs::{ProgramSearch, Programs};
pub use toolchains::{Toolchains, Visible};
pub use variables::EnvRules;
pub use withheld::{WithheldVariable, withheld};
