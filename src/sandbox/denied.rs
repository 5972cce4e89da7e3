//! What the walls refused to a command, and how that is told.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::raw_string::RawString;
use crate::limits::MAX_DENIED_PATH_BYTES;

/// Something that the walls are known to have refused to a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Denied {
    /// It wanted to reach a network that it does not have.
    Network,
    /// It wanted to reach what no rule of the operator allows.
    Blocked(Blocked),
    /// The same so many times more, at other places than those.
    MoreBlocked(u64),
    /// It wanted to open, link or move what is hidden by a pattern, or to move what holds that.
    Hidden(RawString),
    /// It wanted to make a symlink there, or to move one there, and that is in a git directory.
    GitLink(RawString),
    /// It wanted to move this directory, and a protected path lies below it.
    Move(RawString),
    /// It removed this protected path, but not the repository that it is of, so it was kept.
    Kept(RawString),
    /// It wanted to connect to this unix socket, with which no command of this server listens.
    Socket(RawString),
    /// It wanted to change this, and its mount there is read-only.
    ReadOnly(RawString),
    /// It wanted to change mode, owner, times or attributes of something that it may not change
    /// (path as the command gave it).
    Metadata(RawString),
    /// Together its processes held more memory than they may, and were ended.
    Memory,
    /// The kernel ended a process of it, or of others meanwhile, since the machine or the container
    /// had no more memory.
    MachineMemory,
    /// A process used more processor time than it may, and was ended.
    ProcessorTime,
    /// It wrote beyond the size that a file may have, and was ended.
    FileSize,
    /// There were as many processes as there may be.
    Processes,
    /// While it ran, something was made at this protected path, or put in the place of what was
    /// there.
    Protected(RawString),
    /// That was done again and again, by it or by another command, and all commands that ran were
    /// ended.
    Repeated,
    /// Protected paths could not be watched any more, for this reason, and it was ended.
    Unwatched(RawString),
}

/// A path as it is told.
pub fn shown(path: PathBuf) -> RawString {
    let mut path = path.into_os_string().into_vec();
    path.truncate(MAX_DENIED_PATH_BYTES);
    RawString::from(OsStr::from_bytes(&path))
}

impl Denied {
    /// What is told of something that no rule allows.
    pub fn blocked_in_words(&self) -> Option<String> {
        match self {
            Self::Blocked(blocked) => Some(blocked.to_string()),
            Self::MoreBlocked(count) => Some(format!("blocked: {count} more, at other places")),
            _ => None,
        }
    }
}

/// Connections of a command that no rule allows, all to one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    /// Host and port, of UDP with `udp://` before them, or a method and a URL.
    pub target: String,
    pub times: u64,
    /// The programs that tried, as they call themselves, if that is known.
    pub by: BTreeSet<String>,
    /// What it is about the place that is not allowed, if it is not the place itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The rule that would allow it, where one is proposed to the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

impl Blocked {
    /// Those of all that was refused.
    pub fn among(denied: &[Denied]) -> Vec<Self> {
        let blocked = |denied: &Denied| {
            if let Denied::Blocked(blocked) = denied {
                Some(blocked.clone())
            } else {
                None
            }
        };
        denied.iter().filter_map(blocked).collect()
    }

    /// How many more there were, at other places.
    pub fn more(denied: &[Denied]) -> Option<u64> {
        denied.iter().find_map(|denied| {
            if let Denied::MoreBlocked(count) = denied {
                Some(*count)
            } else {
                None
            }
        })
    }

    /// The place, as it stands among the paths that a call touched.
    pub fn url(&self) -> PathBuf {
        let place = self
            .target
            .split_once(' ')
            .map_or(&*self.target, |(_, url)| url);
        if place.contains("://") {
            place.into()
        } else {
            format!("tcp://{place}").into()
        }
    }
}

/// `blocked: example.com:443, 3 times (npm); the operator can allow it with --allow-net
/// example.com`
impl fmt::Display for Blocked {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "blocked: {}", self.target)?;
        if let Some(why) = &self.why {
            write!(out, ", {why}")?;
        }
        if self.times > 1 {
            write!(out, ", {} times", self.times)?;
        }
        if self.by.is_empty() {
            // A recording does not have it, and no rule is asked.
            return Ok(());
        }
        let by: Vec<&str> = self.by.iter().map(String::as_str).collect();
        write!(out, " ({}); ", by.join(", "))?;
        match &self.rule {
            Some(rule) if rule.contains([' ', '*']) => {
                write!(out, "the operator can allow it with --allow-net '{rule}'")
            }
            Some(rule) => write!(out, "the operator can allow it with --allow-net {rule}"),
            None => out.write_str("no rule is proposed for that"),
        }
    }
}
