//! What a program says on a connection that does not fit the host that it was let through for.

use std::fmt;

use crate::record::call::Target;

/// What does not fit the name of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// The server is asked for under this other name.
    Name(String),
    /// It is not said which server is asked for.
    NoName,
    /// The server is asked to lead on to somebody else, or to speak HTTP/2 without TLS, which asks
    /// for several servers at once.
    Tunnel,
    /// Neither TLS nor HTTP, at a port of those.
    Unknown,
    /// What began like HTTP is none.
    Malformed,
    /// The certificate of the real server is not good, with the reason.
    Certificate(String),
    /// There are as many connections at once as this process has descriptors for, about so many.
    Many(usize),
    /// The program does not accept the certificate that opens its connection.
    Distrust,
}

impl fmt::Display for Misfit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(out, "it was asked for as {name}"),
            Self::NoName => out.write_str("TLS or HTTP did not say which server is asked for"),
            Self::Tunnel => {
                out.write_str("CONNECT and HTTP/2 without TLS lead on to other servers")
            }
            Self::Unknown => out.write_str("neither TLS nor HTTP was spoken"),
            Self::Malformed => out.write_str("what was said is no valid HTTP"),
            Self::Certificate(reason) => {
                write!(out, "the certificate of the server is not good: {reason}")
            }
            Self::Many(most) => write!(out, "more than {most} connections at once"),
            Self::Distrust => {
                out.write_str("the program does not trust the authority that opens its connection")
            }
        }
    }
}

impl std::error::Error for Misfit {}

/// Whether this is the name of the connection.
pub fn fits(target: &Target, name: &str) -> Result<(), Misfit> {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    if name == target.host {
        Ok(())
    } else {
        Err(Misfit::Name(name))
    }
}
