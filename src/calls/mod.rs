//! Records a program's outgoing calls into mock sets, and answers calls from them. Connects the
//! walls, the proxy and the disk.

mod error;
mod isolation;
mod keeping;
mod page;
mod run;
pub mod sets;
mod summary;

pub use error::CallsError;
pub use isolation::Isolation;
pub use keeping::{Loaded, NewSet, NotKept, WrittenSet, add_noise, declared, keep, load};
pub use page::page;
pub use run::{Play, Ran, Reach, Run, RunHost, run};
pub use summary::{secret_warnings, table};
