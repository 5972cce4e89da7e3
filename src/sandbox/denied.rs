//! Refusals of the walls, and their descriptions.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use replay_base::limits::MAX_DENIED_PATH_BYTES;
use serde::{Deserialize, Serialize};

use super::raw_string::RawString;

/// A known refusal of the walls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Denied {
    /// The command tried to reach a network that it does not have.
    Network,
    /// This command or another one that ran at the same time tried that.
    NetworkOfSome,
    /// The command tried to reach a host that no rule of the operator allows.
    Blocked(Blocked),
    /// Number of further blocked connections, to other targets.
    MoreBlocked(u64),
    /// The command tried to open, link or move a path hidden by a pattern, or to move a directory
    /// that contains one.
    Hidden(RawString),
    /// The command tried to make a symlink at this path in a git directory, or to move one there.
    GitLink(RawString),
    /// The command tried to move this directory, and a protected path lies below it.
    Move(RawString),
    /// The command removed this protected path, but not its repository, so the path was kept.
    Kept(RawString),
    /// The command tried to connect to this unix socket, on which no command of this server
    /// listens.
    Socket(RawString),
    /// The command asked for a unix socket for datagrams.
    DatagramSocket,
    /// The command tried to change this path, and its mount is read-only.
    ReadOnly(RawString),
    /// The command tried to change mode, owner, times or attributes of this path (as the command
    /// wrote it) without permission.
    Metadata(RawString),
    /// The processes of the command together exceeded their memory limit, and were ended.
    Memory,
    /// The kernel killed a process of this or another command, because the machine or the container
    /// was out of memory.
    MachineMemory,
    /// A process exceeded its processor time limit, and was ended.
    ProcessorTime,
    /// The command exceeded the file size limit, and was ended.
    FileSize,
    /// The limit of processes was reached.
    Processes,
    /// A file was created or replaced at this protected path while the command ran.
    Protected(RawString),
    /// Protected paths were changed repeatedly, by this or another command, and all running
    /// commands were ended.
    Repeated,
    /// Protected paths could no longer be watched, for this reason, and the command was ended.
    Unwatched(RawString),
}

/// Converts a path for display, with a length limit.
pub(crate) fn display_path(path: PathBuf) -> RawString {
    let mut path = path.into_os_string().into_vec();
    path.truncate(MAX_DENIED_PATH_BYTES);
    RawString::from(OsStr::from_bytes(&path))
}

impl Denied {
    /// Changes a refusal that may be another command's, for a command that did not run alone.
    pub fn blame_others_too(&mut self) {
        if *self == Self::Network {
            *self = Self::NetworkOfSome;
        }
    }

    /// Describes a blocked connection, if it is one.
    pub fn blocked_in_words(&self) -> Option<String> {
        match self {
            Self::Blocked(blocked) => Some(blocked.to_string()),
            Self::MoreBlocked(count) => Some(format!("blocked: {count} more, at other hosts")),
            _ => None,
        }
    }
}

/// Blocked connections of a command to one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    /// Host and port, for UDP with the prefix `udp://`, or a method and a URL.
    pub target: String,
    pub times: u64,
    /// Names of the programs that tried, as they call themselves, if known.
    pub by: BTreeSet<String>,
    /// Reason for the block, if not the target itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Rule that would allow the target, if one is proposed to the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Refusal of the operator's proxy, if the rules allow the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<ProxyRefusal>,
}

/// Refusal of the operator's proxy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProxyRefusal {
    /// Host and port of the proxy.
    pub address: String,
    /// Answer of the proxy, such as `says 407`.
    pub answer: String,
    /// Next step of the operator.
    pub advice: String,
}

impl Blocked {
    /// Selects the blocked connections among all refusals.
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

    /// Number of further blocked connections, to other targets.
    pub fn more(denied: &[Denied]) -> Option<u64> {
        denied.iter().find_map(|denied| {
            if let Denied::MoreBlocked(count) = denied {
                Some(*count)
            } else {
                None
            }
        })
    }

    /// The target in the form that the touched paths of a call use.
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

/// Formats as `blocked: example.com:443, 3 times (npm); the operator can allow it with --allow-host
/// example.com`, or as `the proxy 10.1.2.3:3128 says 403 to example.com:443; ...`.
impl fmt::Display for Blocked {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(proxy) = &self.proxy {
            let ProxyRefusal {
                address,
                answer,
                advice,
            } = proxy;
            write!(out, "the proxy {address} {answer} to {}", self.target)?;
            if self.times > 1 {
                write!(out, ", {} times", self.times)?;
            }
            return write!(out, "; {advice}");
        }
        write!(out, "blocked: {}", self.target)?;
        if let Some(why) = &self.why {
            write!(out, ", {why}")?;
        }
        if self.times > 1 {
            write!(out, ", {} times", self.times)?;
        }
        if self.by.is_empty() {
            // A recording lacks the programs, and has no rules.
            return out.write_str("; record the program again");
        }
        let by: Vec<&str> = self.by.iter().map(String::as_str).collect();
        write!(out, " ({}); ", by.join(", "))?;
        match &self.rule {
            Some(rule) if rule.contains([' ', '*']) => {
                write!(out, "the operator can allow it with --allow-host '{rule}'")
            }
            Some(rule) => write!(out, "the operator can allow it with --allow-host {rule}"),
            None => out.write_str("no rule is proposed for this target"),
        }
    }
}
