//! Reasons for failed connections (connect(2)).

use std::io;

/// Reason for a failed connection during recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Connection refused, timeout or no route, as a number of errno(3).
    Connect(i32),
    Certificate,
}

/// Refusals with their names in recordings. The first one stands for all unlisted errors.
const REASONS: [(&str, Refusal); 10] = [
    ("ECONNREFUSED", Refusal::Connect(libc::ECONNREFUSED)),
    ("ETIMEDOUT", Refusal::Connect(libc::ETIMEDOUT)),
    ("EHOSTUNREACH", Refusal::Connect(libc::EHOSTUNREACH)),
    ("ENETUNREACH", Refusal::Connect(libc::ENETUNREACH)),
    ("EADDRNOTAVAIL", Refusal::Connect(libc::EADDRNOTAVAIL)),
    ("ECONNRESET", Refusal::Connect(libc::ECONNRESET)),
    ("EACCES", Refusal::Connect(libc::EACCES)),
    ("EPERM", Refusal::Connect(libc::EPERM)),
    ("ENOBUFS", Refusal::Connect(Refusal::NO_ROOM)),
    ("certificate", Refusal::Certificate),
];

impl Refusal {
    /// The errno for a connection without recorded information.
    pub const UNKNOWN: i32 = libc::ECONNREFUSED;
    /// The errno if this process has no free file descriptors. After `EMFILE` or `ECONNREFUSED`,
    /// programs would retry immediately.
    pub const NO_ROOM: i32 = libc::ENOBUFS;

    pub fn of(error: &io::Error) -> Self {
        let errno = error.raw_os_error().unwrap_or(match error.kind() {
            io::ErrorKind::TimedOut => libc::ETIMEDOUT,
            // The name has no address, or there is no network.
            io::ErrorKind::NotFound => libc::EHOSTUNREACH,
            io::ErrorKind::PermissionDenied => libc::ENETUNREACH,
            _ => Self::UNKNOWN,
        });
        REASONS
            .iter()
            .find(|(_, known)| *known == Self::Connect(errno))
            .unwrap_or(&REASONS[0])
            .1
    }

    /// Returns the errno of connect(2), if the refusal has one.
    pub fn errno(self) -> Option<i32> {
        match self {
            Self::Connect(errno) => Some(errno),
            Self::Certificate => None,
        }
    }

    /// Returns true for a timeout, in which case no host refused the connection.
    pub fn is_silence(self) -> bool {
        self == Self::Connect(libc::ETIMEDOUT)
    }

    /// Returns the reason as one word, such as `ECONNREFUSED`.
    pub fn reason(self) -> &'static str {
        REASONS
            .iter()
            .find(|(_, known)| *known == self)
            .unwrap_or(&REASONS[0])
            .0
    }

    pub fn from_reason(reason: &str) -> Option<Self> {
        REASONS
            .iter()
            .find(|(known, _)| *known == reason)
            .map(|(_, refusal)| *refusal)
    }
}
