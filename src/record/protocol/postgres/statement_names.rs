//! Names of statements and portals, replaced by their contents, since drivers number them
//! differently.

use std::collections::HashMap;

use replay_base::limits::MAX_WIRE_STATEMENTS;
use replay_base::text::escape::hex;
use sha2::{Digest, Sha256};

use super::message::{self, BindFields, bytes, count, message, text};
use crate::protocol::dialogue::Fault;

/// A message of a client in normal form for lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// `Query`, or `FunctionCall`, answered up to `ReadyForQuery`.
    Query(Vec<u8>),
    /// `Parse`, or `Describe` of a statement; they can be answered any number of times.
    Prepare(Vec<u8>),
    /// `Bind`, which begins a run.
    Bind(Vec<u8>),
    /// `Describe` of a portal; `true` if the portal is that of the run.
    DescribePortal(Vec<u8>, bool),
    /// `Execute`; `true` if it belongs to the `Bind` before it.
    Execute(Vec<u8>, bool),
    Close,
    Sync,
    Flush,
    /// Bytes of a `CopyData`; message boundaries do not matter.
    CopyData(Vec<u8>),
    /// `CopyDone` or `CopyFail`.
    CopyEnd(Vec<u8>),
    Terminate,
}

struct Portal {
    /// Name made of the statement and its parameters.
    name: Vec<u8>,
    /// Name made of the statement and its result formats, which determine the answer to `Describe`.
    described: Vec<u8>,
    /// Number of rows requested so far.
    asked: u64,
}

#[derive(Default)]
pub(super) struct StatementNames {
    statements: HashMap<Vec<u8>, Vec<u8>>,
    portals: HashMap<Vec<u8>, Portal>,
    /// The portal that was bound last and not executed since.
    run: Option<Vec<u8>>,
}

impl StatementNames {
    pub(super) fn buffered_bytes(&self) -> usize {
        let statements = self
            .statements
            .iter()
            .map(|(name, meaning)| name.len() + meaning.len());
        let size = |(name, portal): (&Vec<u8>, &Portal)| {
            name.len() + portal.name.len() + portal.described.len()
        };
        statements.chain(self.portals.iter().map(size)).sum()
    }

    /// Parses a message and replaces names by their contents.
    pub(super) fn read(&mut self, whole: &[u8]) -> Result<Input, Fault> {
        let (kind, mut rest) = (whole[0], whole.get(5..).unwrap_or_default());
        if !matches!(kind, b'D' | b'E') {
            self.run = None;
        }
        Ok(match kind {
            b'Q' | b'F' => Input::Query(whole.to_vec()),
            b'P' => {
                let name = text(&mut rest)?.to_vec();
                // A statement is identified by its text, and by the types of its parameters if
                // given.
                let mut types = rest;
                let mut meaning = text(&mut types)?.to_vec();
                if count(&mut types)? > 0 {
                    meaning.extend(format!(" -- types {}", hex(types)).into_bytes());
                }
                self.has_room()?;
                // Registered before the server's answer: a client does not use the name of a failed
                // statement.
                self.statements.insert(name, meaning);
                Input::Prepare(message(b'P', &[b"\0", rest]))
            }
            b'B' => self.bind(rest)?,
            b'D' => {
                let is_statement = bytes(&mut rest, 1)? == b"S";
                let name = text(&mut rest)?;
                if is_statement {
                    self.run = None;
                    Input::Prepare(message(b'D', &[b"S", self.statement(name), b"\0"]))
                } else {
                    let described = self
                        .portals
                        .get(name)
                        .map_or(name, |portal| &portal.described);
                    let joined = self.run.as_deref() == Some(name);
                    Input::DescribePortal(message(b'D', &[b"P", described, b"\0"]), joined)
                }
            }
            b'E' => {
                let name = text(&mut rest)?;
                let joined = self.run.take().as_deref() == Some(name);
                let rows = rest
                    .first_chunk()
                    .map_or(0, |rows| u32::from_be_bytes(*rows));
                let named = self
                    .portals
                    .get_mut(name)
                    .map_or_else(|| name.to_vec(), |portal| portal.execute(rows));
                Input::Execute(
                    message(b'E', &[if joined { b"" } else { &named }, b"\0", rest]),
                    joined,
                )
            }
            b'C' => {
                let is_statement = bytes(&mut rest, 1)? == b"S";
                let name = text(&mut rest)?;
                if is_statement {
                    drop(self.statements.remove(name));
                } else {
                    drop(self.portals.remove(name));
                }
                Input::Close
            }
            b'S' => Input::Sync,
            b'H' => Input::Flush,
            b'd' => Input::CopyData(rest.to_vec()),
            b'c' | b'f' => Input::CopyEnd(whole.to_vec()),
            b'X' => Input::Terminate,
            _ => return Err("a message of the PostgreSQL client has an unknown type"),
        })
    }

    fn statement<'a>(&'a self, name: &'a [u8]) -> &'a [u8] {
        self.statements.get(name).map_or(name, |meaning| meaning)
    }

    fn bind(&mut self, mut rest: &[u8]) -> Result<Input, Fault> {
        let name = text(&mut rest)?.to_vec();
        let statement = text(&mut rest)?;
        let statement = self.statement(statement).to_vec();
        let bound = message(b'B', &[b"\0", &statement, b"\0", rest]);
        let described = format!(" -- results {}", hex(BindFields::read(rest)?.results));
        let described = [&statement, described.as_bytes()].concat();
        let portal = Portal {
            name: portal_name(&statement, &bound),
            described,
            asked: 0,
        };
        self.has_room()?;
        self.portals.insert(name.clone(), portal);
        self.run = Some(name);
        Ok(Input::Bind(bound))
    }

    /// Renames the portal of a `Bind` to the name in the recording that answered it.
    pub(super) fn rename_portal(&mut self, asked: &[u8], recorded: &[u8]) {
        let name = |bind: &[u8]| {
            let at = message::statement(bind).filter(|_| bind.first() == Some(&b'B'))?;
            Some(portal_name(&bind[at], bind))
        };
        if asked != recorded
            && let (Some(asked), Some(recorded)) = (name(asked), name(recorded))
        {
            let same = self
                .portals
                .values_mut()
                .filter(|portal| portal.name == asked);
            same.for_each(|portal| portal.name.clone_from(&recorded));
        }
    }

    fn has_room(&self) -> Result<(), Fault> {
        if self.statements.len() + self.portals.len() < MAX_WIRE_STATEMENTS {
            Ok(())
        } else {
            Err("the connection has more than 65,536 prepared statements and portals")
        }
    }
}

/// Returns the name of a portal: its statement, and a hash of everything bound to it.
fn portal_name(statement: &[u8], bound: &[u8]) -> Vec<u8> {
    [
        statement,
        format!(" -- bound {}", hex(&Sha256::digest(bound)[..16])).as_bytes(),
    ]
    .concat()
}

impl Portal {
    /// Returns the name for a request of this many rows, 0 for all. It includes the number of
    /// earlier rows.
    fn execute(&mut self, rows: u32) -> Vec<u8> {
        let before = self.asked;
        self.asked = before.saturating_add(u64::from(rows));
        let after = if before == 0 {
            String::new()
        } else {
            format!(" -- after {before}")
        };
        [self.name.as_slice(), after.as_bytes()].concat()
    }
}
