//! Names of statements and portals, replaced by their contents, since drivers number them
//! differently.

use std::collections::HashMap;

use replay_base::limits::MAX_WIRE_STATEMENTS;
use replay_base::text::escape::hex;
use sha2::{Digest, Sha256};

use super::message::{self, BindFields, bytes, count, message, text};
use crate::call::{StatementMeta, Wire};
use crate::protocol::dialogue::Fault;

/// A message of a client in normal form for lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// `Query`, or `FunctionCall`, answered up to `ReadyForQuery`.
    Query(Wire),
    /// `Parse`, or `Describe` of a statement; they can be answered any number of times.
    Prepare(Wire),
    /// `Bind`, which begins a run.
    Bind(Wire),
    /// `Describe` of a portal; `true` if the portal is that of the run.
    DescribePortal(Wire, bool),
    /// `Execute`; `true` if it belongs to the `Bind` before it.
    Execute(Wire, bool),
    Close,
    Sync,
    Flush,
    /// Bytes of a `CopyData`; message boundaries do not matter.
    CopyData(Vec<u8>),
    /// `CopyDone` or `CopyFail`.
    CopyEnd(Vec<u8>),
    Terminate,
}

/// A prepared statement, identified by its text and the declared types of its parameters.
#[derive(Clone, Default)]
struct Statement {
    text: Vec<u8>,
    types: Vec<u32>,
}

struct Portal {
    statement: Statement,
    /// Result formats, which determine the answer to `Describe`.
    results: Vec<u16>,
    /// Digest of its `Bind`.
    bound: String,
    /// Number of rows requested so far.
    asked: u64,
}

#[derive(Default)]
pub(super) struct StatementNames {
    statements: HashMap<Vec<u8>, Statement>,
    portals: HashMap<Vec<u8>, Portal>,
    /// The portal that was bound last and not executed since.
    run: Option<Vec<u8>>,
}

impl StatementNames {
    pub(super) fn buffered_bytes(&self) -> usize {
        let statements = self
            .statements
            .iter()
            .map(|(name, statement)| name.len() + statement.size());
        let size = |(name, portal): (&Vec<u8>, &Portal)| {
            let formats = size_of_val(portal.results.as_slice());
            name.len() + portal.statement.size() + formats + portal.bound.len()
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
            b'Q' | b'F' => Input::Query(Wire::asking([whole.to_vec()])),
            b'P' => {
                let name = text(&mut rest)?.to_vec();
                let statement = Statement::read(rest)?;
                self.has_room()?;
                // Registered before the server's answer: a client does not use the name of a failed
                // statement.
                self.statements.insert(name, statement);
                Input::Prepare(Wire::asking([message(b'P', &[b"\0", rest])]))
            }
            b'B' => self.bind(rest)?,
            b'D' => {
                let is_statement = bytes(&mut rest, 1)? == b"S";
                let name = text(&mut rest)?;
                if is_statement {
                    self.run = None;
                    let statement = self.statement(name);
                    let asked = message(b'D', &[b"S", &statement.text, b"\0"]);
                    Input::Prepare(statement.question(asked))
                } else {
                    let joined = self.run.as_deref() == Some(name);
                    Input::DescribePortal(self.describe_portal(name), joined)
                }
            }
            b'E' => {
                let name = text(&mut rest)?;
                let joined = self.run.take().as_deref() == Some(name);
                let rows = rest
                    .first_chunk()
                    .map_or(0, |rows| u32::from_be_bytes(*rows));
                let asked = |name: &[u8]| message(b'E', &[name, b"\0", rest]);
                let question = match self.portals.get_mut(name).map(|it| it.execute(rows, asked)) {
                    Some(question) if !joined => question,
                    _ => Wire::asking([asked(if joined { b"" } else { name })]),
                };
                Input::Execute(question, joined)
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

    fn statement(&self, name: &[u8]) -> Statement {
        let unknown = || Statement {
            text: name.to_vec(),
            ..Statement::default()
        };
        self.statements.get(name).cloned().unwrap_or_else(unknown)
    }

    fn describe_portal(&self, name: &[u8]) -> Wire {
        let asked = |name: &[u8]| message(b'D', &[b"P", name, b"\0"]);
        let Some(portal) = self.portals.get(name) else {
            return Wire::asking([asked(name)]);
        };
        let mut question = portal.statement.question(asked(&portal.statement.text));
        question.meta.results.clone_from(&portal.results);
        question
    }

    fn bind(&mut self, mut rest: &[u8]) -> Result<Input, Fault> {
        let name = text(&mut rest)?.to_vec();
        let statement = self.statement(text(&mut rest)?);
        let asked = message(b'B', &[b"\0", &statement.text, b"\0", rest]);
        let portal = Portal {
            results: BindFields::read(rest)?.result_formats(),
            bound: portal_digest(&asked),
            statement: statement.clone(),
            asked: 0,
        };
        self.has_room()?;
        self.portals.insert(name.clone(), portal);
        self.run = Some(name);
        Ok(Input::Bind(statement.question(asked)))
    }

    /// Identifies the portal of a `Bind` like the recording that answered it.
    pub(super) fn rename_portal(&mut self, asked: &[u8], recorded: &[u8]) {
        let are_binds = [asked, recorded].map(|it| it.first()) == [Some(&b'B'); 2];
        if are_binds
            && asked != recorded
            && let Some(at) = message::statement(recorded)
        {
            let [before, after] = [asked, recorded].map(portal_digest);
            for portal in self.portals.values_mut().filter(|it| it.bound == before) {
                portal.statement.text = recorded[at.clone()].to_vec();
                portal.bound.clone_from(&after);
            }
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

/// Returns the digest of a statement and everything bound to it.
pub(super) fn portal_digest(bind: &[u8]) -> String {
    hex(&Sha256::digest(bind)[..16])
}

impl Statement {
    /// Reads the fields of a `Parse` after the name.
    fn read(mut rest: &[u8]) -> Result<Self, Fault> {
        let statement = text(&mut rest)?;
        let declared = count(&mut rest)?;
        let types = rest.as_chunks().0.iter().take(declared);
        Ok(Self {
            text: statement.to_vec(),
            types: types.map(|kind| u32::from_be_bytes(*kind)).collect(),
        })
    }

    /// Returns a call of this statement with this message.
    fn question(&self, asked: Vec<u8>) -> Wire {
        let types = self.types.clone();
        Wire {
            meta: StatementMeta {
                types,
                ..StatementMeta::default()
            },
            ..Wire::asking([asked])
        }
    }

    fn size(&self) -> usize {
        self.text.len() + size_of_val(self.types.as_slice())
    }
}

impl Portal {
    /// Returns the call that requests this many rows, 0 for all. `asked` builds its message from
    /// the statement.
    fn execute(&mut self, rows: u32, asked: impl FnOnce(&[u8]) -> Vec<u8>) -> Wire {
        let mut question = self.statement.question(asked(&self.statement.text));
        question.meta.bound.clone_from(&self.bound);
        question.meta.rows_before = self.asked;
        self.asked = self.asked.saturating_add(u64::from(rows));
        question
    }
}
