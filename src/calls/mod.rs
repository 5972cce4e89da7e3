//! Records a program's outgoing calls into mock sets, and answers calls from them. Connects the
//! walls, the proxy and the disk.

mod error;
mod isolation;
mod keeping;
mod page;
mod pytest_plugin;
mod run;
pub(crate) mod sets;
mod summary;

pub(crate) use error::CallsError;
pub(crate) use isolation::Isolation;
pub(crate) use keeping::{Loaded, NewSet, NotKept, WrittenSet, add_noise, declared, keep, load};
pub(crate) use page::page;
pub(crate) use run::{Play, Ran, Reach, Run, RunHost, run};
pub(crate) use summary::{secret_warnings, table};
