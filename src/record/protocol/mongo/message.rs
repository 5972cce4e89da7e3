//! Messages of `MongoDB`, and the normal form of commands for lookup.

use std::borrow::Cow;

use super::bson::{self, Element, kind};
use crate::protocol::dialogue::Fault;

const REPLY: u32 = 1;
const QUERY: u32 = 2004;
const COMPRESSED: u32 = 2012;
const MSG: u32 = 2013;

/// Flags of `OP_MSG`.
const CHECKSUM: u32 = 1;
pub(super) const MORE_TO_COME: u32 = 1 << 1;

/// Offset of the operation in a message header, and the length of the header.
pub(super) const OPERATION: usize = 12;
const HEAD: usize = 16;

const SHORT: Fault = "a MongoDB message is shorter than its content";

pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |word| {
        u32::from_le_bytes([word[0], word[1], word[2], word[3]])
    })
}

pub(super) fn length(bytes: &[u8]) -> Result<Option<usize>, Fault> {
    if bytes.len() < 4 {
        return Ok(None);
    }
    let length = word(bytes, 0) as usize;
    if length < HEAD + 4 {
        Err("a MongoDB message is shorter than its header")
    } else {
        Ok(Some(length))
    }
}

fn operation(message: &[u8]) -> u32 {
    word(message, OPERATION)
}

pub(super) fn number(message: &[u8]) -> u32 {
    word(message, 4)
}

/// Returns the flags of `OP_MSG`; 0 for every other operation.
pub(super) fn flags(message: &[u8]) -> u32 {
    if operation(message) == MSG {
        word(message, HEAD)
    } else {
        0
    }
}

/// Returns true if no reply is expected, or if another reply to the same request follows.
pub(super) fn has_more_to_come(message: &[u8]) -> bool {
    flags(message) & MORE_TO_COME != 0
}

fn with_head(operation: u32, number: u32, responds_to: u32, body: &[u8]) -> Vec<u8> {
    let head = [(HEAD + body.len()) as u32, number, responds_to, operation].map(u32::to_le_bytes);
    [head.as_flattened(), body].concat()
}

pub(crate) fn renumbered(message: &[u8], number: u32, responds_to: u32) -> Vec<u8> {
    with_head(
        operation(message),
        number,
        responds_to,
        message.get(HEAD..).unwrap_or_default(),
    )
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    Plain,
    /// A handshake of a driver, or another request that belongs to the connection.
    Session,
    /// A handshake whose answer is recorded without some offers of the server.
    Hello,
    /// A step of authentication, which is neither recorded nor replayed.
    Proof,
}

pub(crate) enum Section<'a> {
    /// A command, or the reply to one.
    Document(&'a [u8]),
    /// A sequence of documents, with its name.
    Sequence(&'a [u8], Vec<&'a [u8]>),
}

pub(crate) fn sections(message: &[u8]) -> Result<Vec<Section<'_>>, Fault> {
    let mut rest = message.get(body(message)?..).ok_or(SHORT)?;
    if operation(message) != MSG {
        return Ok(documents(rest)?
            .into_iter()
            .map(Section::Document)
            .collect());
    }
    let mut found = Vec::new();
    while let Some((&section, after)) = rest.split_first() {
        rest = if section == 0 {
            let (document, after) = after.split_at(bson::length(after)?);
            found.push(Section::Document(document));
            after
        } else if section == 1 {
            let length = word(after, 0) as usize;
            let (sequence, after) = after
                .split_at_checked(length)
                .filter(|_| length >= 5)
                .ok_or(SHORT)?;
            let name = memchr::memchr(0, &sequence[4..]).ok_or(SHORT)?;
            found.push(Section::Sequence(
                &sequence[4..4 + name],
                documents(&sequence[4 + name + 1..])?,
            ));
            after
        } else {
            return Err("a MongoDB section has an unknown kind");
        };
    }
    Ok(found)
}

/// Returns the offset of the documents in a message.
pub(super) fn body(message: &[u8]) -> Result<usize, Fault> {
    match operation(message) {
        // The checksum covers the message numbers, which change. Drivers send none.
        MSG if flags(message) & CHECKSUM != 0 => Err("a MongoDB message has a checksum, which is \
            not supported"),
        MSG => Ok(HEAD + 4),
        // Flags, cursor, start, number of documents.
        REPLY => Ok(HEAD + 20),
        // Drivers still greet old servers with it: flags, name, two numbers.
        QUERY => {
            let name = message.get(HEAD + 4..).ok_or(SHORT)?;
            Ok(HEAD + 4 + memchr::memchr(0, name).ok_or(SHORT)? + 1 + 8)
        }
        COMPRESSED => Err("a MongoDB message is compressed, which is not supported"),
        _ => Err(
            "a MongoDB message has an operation from before version 3.6, which is not \
            supported",
        ),
    }
}

fn documents(mut rest: &[u8]) -> Result<Vec<&[u8]>, Fault> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (document, after) = rest.split_at(bson::length(rest)?);
        found.push(document);
        rest = after;
    }
    Ok(found)
}

/// Rebuilds a message with new documents from `each`, which gets the name of a sequence.
fn rewrite(
    message: &[u8],
    mut each: impl FnMut(Option<&[u8]>, &[u8]) -> Result<Vec<u8>, Fault>,
) -> Result<Vec<u8>, Fault> {
    let sections = sections(message)?;
    let mut body = message[HEAD..body(message)?].to_vec();
    let is_msg = operation(message) == MSG;
    for section in sections {
        match section {
            Section::Document(document) => {
                body.extend(is_msg.then_some(0));
                body.extend(each(None, document)?);
            }
            Section::Sequence(name, documents) => {
                let documents = documents
                    .into_iter()
                    .map(|document| each(Some(name), document));
                let documents = documents.collect::<Result<Vec<_>, Fault>>()?.concat();
                let length = (4 + name.len() + 1 + documents.len()) as u32;
                body.extend([b"\x01", &length.to_le_bytes()[..], name, b"\0", &documents].concat());
            }
        }
    }
    Ok(with_head(
        operation(message),
        number(message),
        word(message, 8),
        &body,
    ))
}

/// Returns a client's message in normal form, and its kind.
pub(super) fn question(message: &[u8]) -> Result<(Vec<u8>, RequestKind), Fault> {
    let (mut request_kind, mut inserts) = (None, false);
    let question = rewrite(message, |sequence, document| match sequence {
        Some(_) if inserts => inserted(document),
        Some(_) => Ok(document.to_vec()),
        None => {
            let name = bson::elements(document)?
                .first()
                .map_or(&b""[..], |first| first.name);
            inserts |= name == b"insert";
            command(
                document,
                name,
                *request_kind.get_or_insert(request_kind_of(name)),
            )
        }
    })?;
    Ok((
        renumbered(&question, 0, 0),
        request_kind.unwrap_or(RequestKind::Plain),
    ))
}

fn request_kind_of(command: &[u8]) -> RequestKind {
    match command {
        b"hello" | b"isMaster" | b"ismaster" => RequestKind::Hello,
        b"ping" | b"buildInfo" | b"buildinfo" | b"endSessions" | b"logout" | b"getParameter" => {
            RequestKind::Session
        }
        b"saslStart" | b"saslContinue" | b"authenticate" => RequestKind::Proof,
        _ => RequestKind::Plain,
    }
}

/// Removes the fields of a command that a driver generates for each run.
fn command(document: &[u8], command: &[u8], request_kind: RequestKind) -> Result<Vec<u8>, Fault> {
    bson::rewrite(document, |index, element| {
        let is_kept = match request_kind {
            // Driver metadata, its features and its timeouts are left out.
            RequestKind::Hello => {
                index == 0 || matches!(element.name, b"$db" | b"saslSupportedMechs")
            }
            RequestKind::Proof => index == 0 || matches!(element.name, b"$db" | b"mechanism"),
            RequestKind::Session | RequestKind::Plain => {
                !matches!(element.name, b"lsid" | b"$clusterTime" | b"txnNumber")
            }
        };
        let value = match (command, element.name, element.kind) {
            (b"endSessions", b"endSessions", kind::ARRAY) => bson::document(&[]).into(),
            (b"insert", b"documents", kind::ARRAY) => each_inserted(element.value)?.into(),
            _ => element.value.into(),
        };
        Ok(is_kept.then_some(value))
    })
}

fn each_inserted(array: &[u8]) -> Result<Vec<u8>, Fault> {
    bson::rewrite(array, |_, element| {
        let is_document = element.kind == kind::DOCUMENT;
        Ok(Some(if is_document {
            inserted(element.value)?.into()
        } else {
            element.value.into()
        }))
    })
}

/// Replaces the generated identifier of an inserted document, which consists of time and random
/// bytes.
fn inserted(document: &[u8]) -> Result<Vec<u8>, Fault> {
    bson::rewrite(document, |_, element| {
        let is_made = element.name == b"_id" && element.kind == kind::OBJECT_ID;
        Ok(Some(Cow::Borrowed(if is_made {
            &[0; 12]
        } else {
            element.value
        })))
    })
}

/// Removes compression and server monitoring from the reply to a handshake. If `is_kept`, also
/// removes proofs of the password.
pub(super) fn without_offers(message: &[u8], is_kept: bool) -> Result<Vec<u8>, Fault> {
    let keeps = |element: &Element<'_>| match element.name {
        b"compression" | b"topologyVersion" => false,
        b"speculativeAuthenticate" => !is_kept,
        _ => true,
    };
    let offers = |document: &[u8]| {
        bson::rewrite(
            document,
            |_, one| Ok(keeps(one).then_some(one.value.into())),
        )
    };
    rewrite(message, |_, document| offers(document))
}

/// Builds a reply of one document to this message.
pub(super) fn reply(asked: &[u8], document: &[u8]) -> Vec<u8> {
    if operation(asked) == MSG {
        return with_head(MSG, 0, number(asked), &[&[0; 5], document].concat());
    }
    // No flags, no cursor, from the start, one document.
    with_head(
        REPLY,
        0,
        number(asked),
        &[&[0; 16][..], &1_u32.to_le_bytes(), document].concat(),
    )
}

/// Builds `{ok: 0}` with a text; code 1 is `InternalError`, 18 `AuthenticationFailed`.
pub(super) fn error(text: &str, code: i32) -> Vec<u8> {
    let name = if code == 18 {
        "AuthenticationFailed"
    } else {
        "InternalError"
    };
    bson::document(&[
        Element {
            kind: kind::DOUBLE,
            name: b"ok",
            value: &0_f64.to_le_bytes(),
        },
        Element {
            kind: kind::STRING,
            name: b"errmsg",
            value: &bson::string(text),
        },
        Element {
            kind: kind::INT32,
            name: b"code",
            value: &code.to_le_bytes(),
        },
        Element {
            kind: kind::STRING,
            name: b"codeName",
            value: &bson::string(name),
        },
    ])
}
