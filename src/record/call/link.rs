//! What is known of one connection, whatever is spoken on it.

use std::time::SystemTime;

use crate::record::call::{Content, End, Exchange, Protocol, Refusal, Side, Target, Wire};

/// One connection of the program, or what is inside its tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub target: Target,
    pub tls: bool,
    /// Its number within a recording, from 1.
    pub connection: u64,
}

impl Link {
    /// A call on it that went its way, from when it was sent to when it was answered.
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

    /// That nothing was said on it before this side ended it, or nobody.
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

    /// That it was not made; it was this one to its target, from 1.
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
            messages: Vec::new(),
            session: true,
        },
    )
}
