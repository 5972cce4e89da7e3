//! Identity of one connection, independent of its protocol.

use std::time::SystemTime;

use crate::call::{Content, End, Exchange, Protocol, Refusal, Side, Target, Wire};

/// One connection of the program, or the connection inside a tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub target: Target,
    pub tls: bool,
    /// Number of the connection within a recording, from 1.
    pub connection: u64,
}

impl Link {
    /// Returns an answered call on this connection.
    pub fn exchange(
        &self,
        content: Content,
        sent_at: SystemTime,
        answered_at: SystemTime,
    ) -> Exchange {
        Exchange {
            target: self.target.clone(),
            tls: self.tls,
            connection: self.connection,
            sent_at,
            answered_at,
            end: End::Answered,
            content,
        }
    }

    /// Returns the record of a connection without traffic. `by` is the side that closed it, if any.
    pub fn silent(&self, opened: SystemTime, ended: SystemTime, by: Option<Side>) -> Exchange {
        let end = if by == Some(Side::Server) {
            End::Closed
        } else {
            End::Silent
        };
        Exchange {
            end,
            ..self.exchange(nothing(), opened, ended)
        }
    }

    /// Returns the record of a refused connection, the `nth` to its target, from 1.
    pub fn refused(&self, refusal: Refusal, nth: u64, at: SystemTime) -> Exchange {
        Exchange {
            end: End::Refused(refusal, nth),
            ..self.exchange(nothing(), at, at)
        }
    }
}

fn nothing() -> Content {
    Content::Wire(
        Protocol::Generic,
        Wire {
            session: true,
            ..Wire::default()
        },
    )
}
