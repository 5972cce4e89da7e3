//! Violations by a program on a connection that was permitted for one host.

use std::fmt;

use crate::call::Target;

/// Mismatch between a connection and its permitted host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// The request names a different server.
    Name(String),
    /// The request names no server.
    NoName,
    /// The request asks for a tunnel, or for HTTP/2 without TLS, which can reach several servers at
    /// once.
    Tunnel,
    /// Neither TLS nor HTTP on a web port.
    Unknown,
    /// Invalid HTTP.
    Malformed,
    /// The certificate of the real server is invalid, with the reason.
    Certificate(String),
    /// Too many simultaneous connections for the descriptors of this process, with the approximate
    /// limit.
    Many(usize),
    /// The program rejects the certificate of the proxy.
    Distrust,
}

impl fmt::Display for Misfit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(out, "the program asked for {name}"),
            Self::NoName => out.write_str("neither TLS nor HTTP named the server"),
            Self::Tunnel => out.write_str("CONNECT and HTTP/2 without TLS can reach other servers"),
            Self::Unknown => out.write_str("the program spoke neither TLS nor HTTP"),
            Self::Malformed => out.write_str("the request is not valid HTTP"),
            Self::Certificate(reason) => {
                write!(out, "the certificate of the server is invalid: {reason}")
            }
            Self::Many(most) => write!(out, "more than {most} connections at once"),
            Self::Distrust => {
                out.write_str("the program does not trust the certificate authority of the proxy")
            }
        }
    }
}

impl std::error::Error for Misfit {}

/// Checks that a name is the permitted host of the connection.
pub(super) fn fits(target: &Target, name: &str) -> Result<(), Misfit> {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    if name == target.host {
        Ok(())
    } else {
        Err(Misfit::Name(name))
    }
}
