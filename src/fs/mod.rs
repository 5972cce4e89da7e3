//! stub
pub mod dir;
pub mod error;
pub mod info;
pub mod read;
pub use dir::{DirEntry, entries, entry_info};
pub use error::FsError;
pub use info::{Info, info};
pub use read::{OpenFile, Reader, read_all};
/// x
#[derive(Debug, Default)]
pub struct Locks;
