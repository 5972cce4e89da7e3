//! Errors of paths that were refused, and of a policy that could not be made.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use replay_base::limits::{MAX_LINKS, MAX_PATH_BYTES};

use super::kind::FileKind;
use super::rules::Cause;

/// Flag that gives an agent directories.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GrantFlag {
    /// `--allow` of the server.
    #[default]
    Allow,
    /// `--own` of one token, which replaces the server's directories.
    Own,
}

/// Allowed directories for hints, and the flag that gives more of them.
#[derive(Debug)]
pub struct AllowedList {
    /// Paths with their access.
    pub text: String,
    pub flag: GrantFlag,
}

/// Reason why a path was not opened. The message of `Denied` depends only on the requested path.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The path, or something it leads through, is not inside an allowed directory.
    #[error("{} is outside the allowed directories", Quoted(.path))]
    Denied {
        /// The path as requested.
        path: PathBuf,
        allowed: Arc<AllowedList>,
    },
    /// A change below a directory that is allowed for reading only.
    #[error("{} is in a read-only directory", Quoted(.path))]
    ReadOnly {
        /// The path as requested.
        path: PathBuf,
        /// The allowed directory that it lies in.
        root: PathBuf,
        allowed: Arc<AllowedList>,
    },
    /// A change to a protected path, or one that would bring it about or remove it.
    #[error("{} is protected: `{}` may not be changed by file tools", Quoted(.path), .protected.display())]
    Protected {
        /// The path as requested.
        path: PathBuf,
        /// The protected path that stands in the way.
        protected: PathBuf,
        why: Cause,
    },
    /// Hidden file of the operator in an allowed directory, or its place.
    #[error("{} is hidden by the operator", Quoted(.path))]
    Hidden {
        /// The path as requested.
        path: PathBuf,
    },
    /// The path lies on a filesystem of the kernel that is mounted below an allowed directory.
    #[error("{} is on a kernel filesystem (such as proc, sysfs or devpts), which no tool can open", Quoted(.path))]
    Kernel {
        /// The path as requested.
        path: PathBuf,
    },
    /// Removing or moving what contains something hidden.
    #[error("{} contains a path hidden by the operator, so it cannot be deleted or moved", Quoted(.path))]
    HoldsHidden {
        /// The path as requested.
        path: PathBuf,
    },
    /// Removing or moving an allowed directory, or what contains one.
    #[error("{} is an allowed directory or contains one: it cannot be deleted, moved or replaced", Quoted(.path))]
    AllowedDirectory {
        /// The path as requested.
        path: PathBuf,
    },
    /// The allowed directory over the path is not what the server opened at its start, which was
    /// deleted.
    #[error("the allowed directory {} was removed or replaced after the server started", Quoted(.directory))]
    Gone { directory: PathBuf },
    /// The path does not exist, and every directory on the way is inside.
    #[error("{} does not exist", Quoted(.path))]
    NotFound {
        /// The absolute path.
        path: PathBuf,
    },
    /// The path does not exist, and one that looks the same does.
    #[error("{} does not exist", Quoted(.path))]
    LooksAlike {
        /// The absolute path.
        path: PathBuf,
        /// The path that exists, as it is shown.
        other: String,
        /// The first character that differs.
        difference: String,
    },
    /// The path does not exist, and one with a similar name does.
    #[error("{} does not exist", Quoted(.path))]
    SimilarName {
        /// The absolute path.
        path: PathBuf,
        /// The path that exists, as it is shown.
        other: String,
    },
    /// The path does not exist, nor does a directory above it.
    #[error("{} does not exist", Quoted(.path))]
    ParentNotFound {
        /// The absolute path.
        path: PathBuf,
        /// The first missing directory.
        missing: PathBuf,
        /// Directory at which relative paths begin.
        project: PathBuf,
    },
    /// Something on the way, or before a slash at the end, is no directory.
    #[error("{} goes through a file, not only directories", Quoted(.path))]
    NotADirectory {
        /// The absolute path.
        path: PathBuf,
    },
    /// The path is a directory, not a file.
    #[error("{} names a directory, not a file", Quoted(.path))]
    IsDirectory {
        /// The absolute path.
        path: PathBuf,
    },
    /// Neither a regular file nor a directory.
    #[error("{} is a {kind}, and only regular files and directories can be opened", Quoted(.path))]
    Special {
        /// The absolute path.
        path: PathBuf,
        kind: FileKind,
    },
    /// Symbolic links that lead in a circle, or a very long chain.
    #[error("{} goes through more than {MAX_LINKS} symbolic links", Quoted(.path))]
    TooManyLinks {
        /// The absolute path.
        path: PathBuf,
    },
    /// The permissions of the operating system.
    #[error("the operating system refused access to {}: permission denied", Quoted(.path))]
    AccessDenied {
        /// The absolute path.
        path: PathBuf,
    },
    /// One name longer than the filesystem takes (255 bytes on most).
    #[error("a name in {} is longer than the filesystem allows (255 bytes on most)", Quoted(.path))]
    NameTooLong {
        /// The absolute path.
        path: PathBuf,
    },
    /// The whole path is too long.
    #[error("the path has {bytes} bytes, and at most {MAX_PATH_BYTES} are allowed")]
    PathTooLong { bytes: usize },
    /// An empty path.
    #[error("the path is empty")]
    Empty,
    /// A URI instead of a path.
    #[error("{} is a URI (`{scheme}`); a path is expected", Quoted(.path))]
    Uri {
        /// The path as requested.
        path: PathBuf,
        /// Scheme of the URI, such as `file:`.
        scheme: String,
    },
    #[error("{} contains a NUL byte, which a path cannot", Quoted(.path))]
    Nul {
        /// The path as requested.
        path: PathBuf,
    },
    /// A relative path, and no allowed directory that it could be relative to.
    #[error("the path is relative, and there is no allowed directory to resolve it against")]
    NoProject,
    /// Another process keeps renaming parts of the path.
    #[error("{} was changed by another process while it was opened", Quoted(.path))]
    Busy {
        /// The absolute path.
        path: PathBuf,
    },
    #[error("cannot open {}: {source}", Quoted(.path))]
    Io {
        /// The absolute path.
        path: PathBuf,
        /// System error.
        source: io::Error,
    },
}

/// Returns the operator's option that lifts the protection of a path.
pub fn way_past(protected: &Path, why: Cause) -> String {
    let why = match why {
        Cause::Default(_) => {
            let shown = Quoted(protected);
            return format!(
                "leave it unchanged; protected by default: the operator can allow changes with \
                 --unprotect {shown}"
            );
        }
        Cause::Asked => "the operator protects it (--protect)",
        Cause::Configures => "it configures this server, and no flag allows changes",
        Cause::Hidden => "it belongs to the operator, and no flag allows changes",
    };
    format!("leave it unchanged: {why}")
}

/// Remedy if no directory is allowed.
const NO_DIRECTORY: &str = "no directory is allowed; the operator can allow one with --allow DIR";

impl PolicyError {
    /// Returns the next step, if there is more to say than the message.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::NoProject => NO_DIRECTORY.into(),
            Self::Denied { allowed, .. } if allowed.text.is_empty() => NO_DIRECTORY.into(),
            Self::Denied { path, allowed } => {
                let AllowedList { text, flag } = &**allowed;
                let is_of_commands = path.starts_with("/tmp") && !text.contains("/tmp/");
                let private = if is_of_commands { "; commands have a private /tmp, which file \
                    tools do not see" } else { "" };
                let remedy = match flag {
                    GrantFlag::Allow => "allow more with --allow DIR",
                    GrantFlag::Own => "give this token more (--own DIR)",
                };
                format!("allowed directories: {text}{private}; the operator can {remedy}").into()
            }
            Self::ReadOnly { allowed, root, .. } => format!(
                "write in a read-write directory; allowed: {}; the operator can allow it with {} \
                 {}:rw, or with a smaller directory in it",
                allowed.text,
                match allowed.flag {
                    GrantFlag::Allow => "--allow",
                    GrantFlag::Own => "--own",
                },
                root.display()
            )
            .into(),
            Self::Kernel { .. } => "go on without it; commands see an empty file or directory \
                there".into(),
            Self::HoldsHidden { .. } => "change or delete single entries of the directory instead".into(),
            Self::Hidden { .. } => "no tool and no command can read it; go on without it, or ask \
                the operator".into(),
            // Syntax that a shell or a browser would have replaced is an ordinary name here.
            Self::Protected { protected, why, .. } => way_past(protected, *why).into(),
            Self::NotFound { path } | Self::ParentNotFound { path, .. }
                if path.iter().any(|part| part == "~") =>
            {
                "`~` is not expanded; give an absolute path, or one below the first allowed directory".into()
            }
            Self::Uri { scheme, .. } => {
                format!("give a path; if its first directory is called `{scheme}`, begin it with \
                    `./`").into()
            }
            // Its domain (landlock(7)) names directories by inode and cannot be widened.
            Self::Gone { .. } => "ask the operator to restart the server, which opens the \
                directory anew".into(),
            Self::LooksAlike { other, difference, .. } => {
                format!("`{other}` exists and looks the same: its name has {difference}; copy it as it is").into()
            }
            Self::SimilarName { other, .. } => {
                format!("`{other}` exists and has a similar name; else list the parent directory").into()
            }
            Self::ParentNotFound { missing, project, .. } => format!(
                "{} does not exist either; relative paths begin at {}",
                Quoted(missing),
                Quoted(project)
            )
            .into(),
            Self::NotFound { .. } => "list the parent directory to see what is there".into(),
            Self::NotADirectory { .. } => {
                "check each part of the path; remove a slash at the end to name a file or a link".into()
            }
            Self::IsDirectory { .. } => "give the path of a file, or use a tool for directories".into(),
            Self::Busy { .. } => "try again".into(),
            _ => return None,
        })
    }

    /// The error for `errno`, met inside the allowed directories at `path`.
    pub(super) fn inside(path: PathBuf, errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::NotFound { path },
            Errno::NOTDIR => Self::NotADirectory { path },
            Errno::ISDIR => Self::IsDirectory { path },
            Errno::LOOP => Self::TooManyLinks { path },
            Errno::ACCESS | Errno::PERM => Self::AccessDenied { path },
            Errno::NAMETOOLONG => Self::NameTooLong { path },
            Errno::NXIO | Errno::NODEV => Self::Special {
                path,
                kind: FileKind::Socket,
            },
            errno => Self::Io {
                path,
                source: errno.into(),
            },
        }
    }
}

/// Reason why the allowed directories could not be opened at start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The empty path.
    #[error("an allowed directory is given as the empty path")]
    Empty,
    /// `/` would allow everything.
    #[error("`/` cannot be an allowed directory: it would allow everything")]
    WholeDisk,
    /// The kernel's own trees.
    #[error("{} cannot be an allowed directory: it belongs to the kernel, not to a project", Quoted(.path))]
    Kernel {
        /// The directory as given.
        path: PathBuf,
    },
    /// A link on the way that an agent may have made.
    #[error(
        "the allowed directory {} goes through the link {}, which an agent could change, since it \
         is in the allowed directory {}: give the path without links (`realpath` prints it)",
        Quoted(.path), Quoted(.link), Quoted(.inside)
    )]
    ThroughLink {
        /// The directory as given.
        path: PathBuf,
        /// Path of the link.
        link: PathBuf,
        /// The read-write directory that the link lies in, as given.
        inside: PathBuf,
    },
    /// The directory was replaced while it was opened.
    #[error("the allowed directory {} was replaced while it was opened: try again", Quoted(.path))]
    Moved {
        /// The directory as given.
        path: PathBuf,
    },
    /// The directory was removed after this process had opened it.
    #[error("the allowed directory {} was removed after the server had opened it: restart the server", Quoted(.path))]
    Gone {
        /// The directory as given.
        path: PathBuf,
    },
    /// A pattern of what is to be hidden, or what it would hide.
    #[error("--hide: {reason}")]
    Pattern { reason: String },
    /// The path is hidden too late.
    #[error("{} can no longer be hidden, since the server already serves its directories; restart \
        the server", Quoted(.path))]
    InUse {
        /// The path that would have been hidden.
        path: PathBuf,
    },
    /// The path is relative; the caller has to make it absolute.
    #[error("{} is not absolute", Quoted(.path))]
    NotAbsolute {
        /// The path as given.
        path: PathBuf,
    },
    /// The directory does not exist.
    #[error("the allowed directory {} does not exist; create it first, or allow another one", Quoted(.path))]
    Missing {
        /// The directory as given.
        path: PathBuf,
    },
    /// The path is not a directory.
    #[error("{} is not a directory", Quoted(.path))]
    NotADirectory {
        /// The path as given.
        path: PathBuf,
    },
    /// The path to protect lies in no allowed directory.
    #[error(
        "--protect {}: the path is not below an allowed directory; relative paths start at the \
         current directory", Quoted(.path)
    )]
    ProtectsNothing {
        /// The path, absolute.
        path: PathBuf,
    },
    /// The path to unprotect is not protected by default.
    #[error(
        "--unprotect {}: the path is not protected by default{}; `replay sandbox explain` lists \
         the protected paths; relative paths start at the current directory", Quoted(.path), within(.whole.as_deref())
    )]
    FreesNothing {
        /// The path, absolute.
        path: PathBuf,
        /// The default that it lies in, which is kept whole or not at all.
        whole: Option<PathBuf>,
    },
    #[error("cannot open the allowed directory {}: {source}", Quoted(.path))]
    Io {
        /// The directory as given.
        path: PathBuf,
        /// System error.
        source: io::Error,
    },
}

fn within(whole: Option<&Path>) -> String {
    whole
        .map(|whole| format!(" by itself: it is in {}, which can be given", Quoted(whole)))
        .unwrap_or_default()
}

/// A path for a message: in backticks, and every character that could rewrite a terminal or the
/// sense of the line escaped.
pub struct Quoted<'a>(pub &'a Path);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`")?;
        for c in self.0.to_string_lossy().chars() {
            // Explicit direction marks change the order in which a reader sees the rest (Unicode
            // UAX #9).
            let steers = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            if c == '`' {
                f.write_str(r"\u{60}")?;
            } else if c.is_control() || steers {
                write!(f, "{}", c.escape_default())?;
            } else {
                write!(f, "{c}")?;
            }
        }
        f.write_str("`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_message_escapes_file_name() {
        let path = PathBuf::from("/a/x\n\u{1b}[2J\u{202e}`é");
        assert_eq!(
            PolicyError::NotFound { path }.to_string(),
            r"`/a/x\n\u{1b}[2J\u{202e}\u{60}é` does not exist"
        );
    }
}
