//! Why connections are not made (connect(2)).

use std::io;

/// Why a connection was not made while recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Nobody listens there, nothing answered in time, or there is no way: with the number of
    /// errno(3).
    Connect(i32),
    Certificate,
}

/// Each with its word. The first one stands for all others.
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
    /// What a connection fails with of which nothing is known.
    pub const UNKNOWN: i32 = libc::ECONNREFUSED;
    /// The same if this process has no descriptors for it: programs try again at once after
    /// `EMFILE` or `ECONNREFUSED`.
    pub const NO_ROOM: i32 = libc::ENOBUFS;

    pub fn of(error: &io::Error) -> Self {
        let errno = error.raw_os_error().unwrap_or(match error.kind() {
            io::ErrorKind::TimedOut => libc::ETIMEDOUT,
            // The name has no address, or there is no network at all.
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

    /// What connect(2) fails with, as a number of errno(3), if it does.
    pub fn errno(self) -> Option<i32> {
        match self {
            Self::Connect(errno) => Some(errno),
            Self::Certificate => None,
        }
    }

    /// Whether nothing answered in time, so that nobody refused anything.
    pub fn is_silence(self) -> bool {
        self == Self::Connect(libc::ETIMEDOUT)
    }

    /// Why, in a word: `ECONNREFUSED`.
    pub fn reason(self) -> &'static str {
        REASONS
            .iter()
            .find(|(_, known)| *known == self)
            .unwrap_or(&REASONS[0])
            .0
    }

    pub fn named(reason: &str) -> Option<Self> {
        REASONS
            .iter()
            .find(|(known, _)| *known == reason)
            .map(|(_, refusal)| *refusal)
    }
}
