//! Kinds of directory entries.

use std::fmt;

use rustix::fs::FileType;

/// The kind of a directory entry, as `d_type` and `st_mode` tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileKind {
    File,
    Directory,
    /// A symbolic link, not followed.
    Symlink,
    Fifo,
    /// A Unix socket.
    Socket,
    /// A character or block device.
    Device,
    /// The filesystem does not say (`DT_UNKNOWN`), or it is of no known kind.
    Unknown,
}

impl FileKind {
    /// Returns true for anything but a file, directory or link.
    pub fn is_special(self) -> bool {
        !matches!(self, Self::File | Self::Directory | Self::Symlink)
    }
}

impl From<FileType> for FileKind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Symlink,
            FileType::Fifo => Self::Fifo,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice | FileType::BlockDevice => Self::Device,
            FileType::Unknown => Self::Unknown,
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Symlink => "symlink",
            Self::Fifo => "named pipe",
            Self::Socket => "socket",
            Self::Device => "device",
            Self::Unknown => "special file",
        })
    }
}
