//! Messages of `MongoDB`, and commands in the form in which they are looked up.

use super::bson::{self, Element, kind};
use crate::record::protocol::dialogue::Fault;

/// Operations.
pub(super) const REPLY: u32 = 1;
pub(super) const QUERY: u32 = 2004;
const GET_MORE: u32 = 2005;
const COMPRESSED: u32 = 2012;
pub(super) const MSG: u32 = 2013;

/// Flags of `OP_MSG`.
const CHECKSUM: u32 = 1;
pub(super) const MORE_TO_COME: u32 = 1 << 1;

/// Where the operation stands in the head of a message, and the head's length.
pub(super) const OPERATION: usize = 12;
const HEAD: usize = 16;

pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}

pub(super) fn length(bytes: &[u8]) -> Result<Option<usize>, Fault> {
    if bytes.len() < 4 {
        return Ok(None);
    }
    let length = word(bytes, 0) as usize;
    if length < HEAD + 4 { Err("a message of MongoDB is shorter than its head") } else { Ok(Some(length)) }
}

pub(super) fn operation(message: &[u8]) -> u32 {
    word(message, OPERATION)
}

pub(super) fn number(message: &[u8]) -> u32 {
    word(message, 4)
}

/// The flags of `OP_MSG`; none for every other operation.
pub(super) fn flags(message: &[u8]) -> u32 {
    if operation(message) == MSG { word(message, HEAD) } else { 0 }
}

/// Whether a client waits for a reply to this message.
pub(super) fn is_answered(message: &[u8]) -> bool {
    match operation(message) {
        MSG => flags(message) & MORE_TO_COME == 0,
        operation => matches!(operation, QUERY | GET_MORE),
    }
}

/// The head and what follows it.
fn with_head(operation: u32, number: u32, responds_to: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD + body.len());
    for word in [(HEAD + body.len()) as u32, number, responds_to, operation] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend_from_slice(body);
    bytes
}

/// The same message with other numbers.
pub(in crate::record) fn renumbered(message: &[u8], number: u32, responds_to: u32) -> Vec<u8> {
    let mut bytes = message.to_vec();
    if let Some(head) = bytes.get_mut(4..12) {
        head[..4].copy_from_slice(&number.to_le_bytes());
        head[4..].copy_from_slice(&responds_to.to_le_bytes());
    }
    bytes
}

/// What a command is to the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// A call of the program.
    Plain,
    /// The question of a driver who the server is, or another that belongs to the connection.
    Session,
    /// Such a question to which what the server offers is taken out of the answer.
    Hello,
    /// A step of authentication: it is not recorded, and cannot be played.
    Proof,
}

/// A message as it is looked up, and what it is.
pub(super) fn question(message: &[u8]) -> Result<(Vec<u8>, Manner), Fault> {
    match operation(message) {
        MSG => of_msg(message),
        QUERY => of_query(message),
        COMPRESSED => Err("a message of MongoDB is compressed"),
        operation => Ok((with_head(operation, 0, 0, &message[HEAD..]), Manner::Plain)),
    }
}

/// A part of the body of a message.
pub(in crate::record) enum Section<'a> {
    /// A command, or what answers one.
    Document(&'a [u8]),
    /// Documents beside it, with their name.
    Sequence(&'a [u8], Vec<&'a [u8]>),
}

/// The documents of a message.
pub(in crate::record) fn sections(message: &[u8]) -> Result<Vec<Section<'_>>, Fault> {
    let mut found = Vec::new();
    match operation(message) {
        MSG => {
            // A checksum depends on the numbers.
            let end = message.len() - if flags(message) & CHECKSUM == 0 { 0 } else { 4 };
            let mut rest = message.get(HEAD + 4..end).ok_or(SHORT)?;
            while let Some((&section, after)) = rest.split_first() {
                if section == 0 {
                    let (document, after) = after.split_at(bson::length(after)?);
                    found.push(Section::Document(document));
                    rest = after;
                } else if section == 1 {
                    let length = word(after, 0) as usize;
                    let (sequence, after) = after.split_at_checked(length).filter(|_| length >= 5).ok_or(SHORT)?;
                    let name = memchr::memchr(0, &sequence[4..]).ok_or(SHORT)?;
                    found.push(Section::Sequence(&sequence[4..4 + name], documents(&sequence[4 + name + 1..])?));
                    rest = after;
                } else {
                    return Err("a section of MongoDB is of no known kind");
                }
            }
        }
        // Flags, a cursor, where it begins, how many documents.
        REPLY => found.extend(documents(message.get(HEAD + 20..).ok_or(SHORT)?)?.into_iter().map(Section::Document)),
        QUERY => {
            let rest = message.get(command_of_query(message)?..).ok_or(SHORT)?;
            found.extend(documents(rest)?.into_iter().map(Section::Document));
        }
        _ => return Err(SHORT),
    }
    Ok(found)
}

/// Where the sections or the command of a question begin.
pub(super) fn begin(message: &[u8]) -> Result<usize, Fault> {
    if operation(message) == QUERY { command_of_query(message) } else { Ok(HEAD + 4) }
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

/// `OP_MSG` without its checksum.
fn of_msg(message: &[u8]) -> Result<(Vec<u8>, Manner), Fault> {
    let mut body = (flags(message) & !CHECKSUM).to_le_bytes().to_vec();
    let mut manner = Manner::Plain;
    let mut inserts = false;
    for section in sections(message)? {
        match section {
            Section::Document(document) => {
                let (document, of) = command(document)?;
                (manner, inserts) =
                    (of, inserts || bson::elements(&document)?.first().is_some_and(|first| first.name == b"insert"));
                body.push(0);
                body.extend(document);
            }
            Section::Sequence(name, documents) => {
                let of = |one: &&[u8]| if inserts { inserted(one) } else { Ok(one.to_vec()) };
                let documents = documents.iter().map(of).collect::<Result<Vec<_>, Fault>>()?.concat();
                let length = (4 + name.len() + 1 + documents.len()) as u32;
                body.push(1);
                body.extend([&length.to_le_bytes()[..], name, b"\0", &documents].concat());
            }
        }
    }
    Ok((with_head(MSG, 0, 0, &body), manner))
}

const SHORT: Fault = "a message of MongoDB is shorter than what it holds";

/// Where the command begins in an `OP_QUERY`, which is spoken to say hello to old servers: behind flags, name, two numbers.
fn command_of_query(message: &[u8]) -> Result<usize, Fault> {
    let rest = message.get(HEAD + 4..).ok_or(SHORT)?;
    Ok(HEAD + 4 + memchr::memchr(0, rest).ok_or(SHORT)? + 1 + 8)
}

fn of_query(message: &[u8]) -> Result<(Vec<u8>, Manner), Fault> {
    let at = command_of_query(message)?;
    let rest = message.get(at..).ok_or(SHORT)?;
    let (document, fields) = rest.split_at(bson::length(rest)?);
    let (document, manner) =
        if rest_is_command(&message[HEAD + 4..at]) { command(document)? } else { (document.to_vec(), Manner::Plain) };
    Ok((with_head(QUERY, 0, 0, &[&message[HEAD..at], &document, fields].concat()), manner))
}

fn rest_is_command(name: &[u8]) -> bool {
    memchr::memmem::find(name, b".$cmd\0").is_some()
}

/// A command without what a driver makes up for each run.
fn command(document: &[u8]) -> Result<(Vec<u8>, Manner), Fault> {
    let elements = bson::elements(document)?;
    let name = elements.first().map_or(&b""[..], |first| first.name);
    let manner = match name {
        b"hello" | b"isMaster" | b"ismaster" => Manner::Hello,
        b"ping" | b"buildInfo" | b"buildinfo" | b"endSessions" | b"logout" | b"getParameter" => Manner::Session,
        b"saslStart" | b"saslContinue" | b"authenticate" => Manner::Proof,
        _ => Manner::Plain,
    };
    let kept: Vec<_> = elements
        .iter()
        .enumerate()
        .filter(|(index, element)| match manner {
            // Who the driver is, what it could do, and how long it would wait.
            Manner::Hello => *index == 0 || matches!(element.name, b"$db" | b"saslSupportedMechs"),
            Manner::Proof => *index == 0 || matches!(element.name, b"$db" | b"mechanism"),
            Manner::Session | Manner::Plain => !matches!(element.name, b"lsid" | b"$clusterTime" | b"txnNumber"),
        })
        .map(|(_, element)| element)
        .collect();
    let values = kept
        .iter()
        .map(|element| match (name, element.name, element.kind) {
            (b"endSessions", b"endSessions", kind::ARRAY) => Ok(bson::document(&[])),
            (b"insert", b"documents", kind::ARRAY) => each_inserted(element.value),
            _ => Ok(element.value.to_vec()),
        })
        .collect::<Result<Vec<_>, Fault>>()?;
    let elements: Vec<_> = kept.iter().zip(&values).map(|(element, value)| Element { value, ..**element }).collect();
    Ok((bson::document(&elements), manner))
}

/// An array of documents to be inserted.
fn each_inserted(array: &[u8]) -> Result<Vec<u8>, Fault> {
    let elements = bson::elements(array)?;
    let documents = elements
        .iter()
        .map(
            |element| if element.kind == kind::DOCUMENT { inserted(element.value) } else { Ok(element.value.to_vec()) },
        )
        .collect::<Result<Vec<_>, Fault>>()?;
    let elements: Vec<_> =
        elements.iter().zip(&documents).map(|(element, value)| Element { value, ..*element }).collect();
    Ok(bson::document(&elements))
}

/// A document to be inserted, without the identifier that the driver gave it: it is made of the time and of chance.
fn inserted(document: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut elements = bson::elements(document)?;
    for element in &mut elements {
        if element.name == b"_id" && element.kind == kind::OBJECT_ID {
            element.value = &[0; 12];
        }
    }
    Ok(bson::document(&elements))
}

/// The answer to a hello, without compression and the watching of the server, and, if it is played, without proofs.
pub(super) fn without_offers(message: &[u8], played: bool) -> Result<Vec<u8>, Fault> {
    let keeps = |element: &Element<'_>| match element.name {
        b"compression" | b"topologyVersion" => false,
        b"speculativeAuthenticate" => !played,
        _ => true,
    };
    let strip = |document: &[u8]| -> Result<Vec<u8>, Fault> {
        let elements = bson::elements(document)?;
        Ok(bson::document(&elements.into_iter().filter(keeps).collect::<Vec<_>>()))
    };
    let (at, flags) = match operation(message) {
        MSG if message.get(HEAD + 4) == Some(&0) => (HEAD + 5, flags(message) & !CHECKSUM),
        // Flags, cursor, where it begins, how many documents.
        REPLY => (HEAD + 20, word(message, HEAD)),
        _ => return Ok(message.to_vec()),
    };
    let rest = message.get(at..).ok_or(SHORT)?;
    let document = strip(&rest[..bson::length(rest)?])?;
    let body = [&flags.to_le_bytes()[..], &message[HEAD + 4..at], &document].concat();
    Ok(with_head(operation(message), number(message), word(message, 8), &body))
}

/// A message of a server as it is played: without a checksum, which would depend on the numbers.
pub(super) fn without_checksum(message: &[u8]) -> Vec<u8> {
    let flags = flags(message);
    if flags & CHECKSUM == 0 || message.len() < HEAD + 8 {
        return message.to_vec();
    }
    let body = [&(flags & !CHECKSUM).to_le_bytes()[..], &message[HEAD + 4..message.len() - 4]].concat();
    with_head(MSG, number(message), word(message, 8), &body)
}

/// A reply to `asked` of one document.
pub(super) fn reply(asked: &[u8], document: &[u8]) -> Vec<u8> {
    if operation(asked) == MSG {
        return with_head(MSG, 0, number(asked), &[&[0; 5], document].concat());
    }
    // No flags, no cursor, from the beginning, one document.
    with_head(REPLY, 0, number(asked), &[&[0; 16][..], &1_u32.to_le_bytes(), document].concat())
}

/// `{ok: 0}` with a text; code 1 is `InternalError`, 18 `AuthenticationFailed`.
pub(super) fn error(text: &str, code: i32) -> Vec<u8> {
    let name = if code == 18 { "AuthenticationFailed" } else { "InternalError" };
    bson::document(&[
        Element { kind: kind::DOUBLE, name: b"ok", value: &0_f64.to_le_bytes() },
        Element { kind: kind::STRING, name: b"errmsg", value: &bson::string(text) },
        Element { kind: kind::INT32, name: b"code", value: &code.to_le_bytes() },
        Element { kind: kind::STRING, name: b"codeName", value: &bson::string(name) },
    ])
}
