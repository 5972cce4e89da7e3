//! Passwords in commands of `MongoDB`, and what proves them in a login.

use std::ops::Range;

use super::walk::{Form, Replace, Secret};
use crate::record::mongo::bson::{self, Element, kind};

const HEAD_BYTES: usize = 16;
const OP_MSG: [u8; 4] = 2013_u32.to_le_bytes();
/// Bit 0 of the flags of `OP_MSG`: a checksum of the message follows the sections.
const CHECKSUM: u8 = 1;

/// A message with another password of a user who is made or changed. `payload` of the commands of SASL is emptied.
///
/// What is no whole message of this form keeps its lengths, so documents stay whole.
pub(super) fn message(message: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    const COMMANDS: [&[u8]; 5] =
        [b"saslStart\0", b"saslContinue\0", b"speculativeAuthenticate\0", b"createUser\0", b"updateUser\0"];
    if !COMMANDS.iter().any(|command| memchr::memmem::find(message, command).is_some()) {
        return None;
    }
    match user(message) {
        Some((password, document)) => {
            let other = replace(&Secret::password(password, Form::Text))?;
            with_password(message, document, &other)
        }
        None => emptied(message),
    }
}

/// The password of a command about a user, and the place of the command's document, if it is the message's first section.
fn user(message: &[u8]) -> Option<(&[u8], Range<usize>)> {
    const START: usize = HEAD_BYTES + 5;
    let flags = message.get(HEAD_BYTES).filter(|_| message.get(HEAD_BYTES - 4..HEAD_BYTES) == Some(&OP_MSG))?;
    if flags & CHECKSUM != 0 || message.get(START - 1) != Some(&0) {
        return None;
    }
    let document = &message[START..];
    let document = &document[..bson::length(document).ok()?];
    let elements = bson::elements(document).ok()?;
    let is_about_users = matches!(elements.first()?.name, b"createUser" | b"updateUser");
    let password = elements.iter().find(|element| is_password(element)).filter(|_| is_about_users)?;
    // A text has its length before it and a zero behind it.
    let text = password.value.get(4..)?.strip_suffix(b"\0")?;
    Some((text, START..START + document.len()))
}

fn is_password(element: &Element<'_>) -> bool {
    element.name == b"pwd" && element.kind == kind::STRING
}

fn with_password(message: &[u8], document: Range<usize>, other: &[u8]) -> Option<Vec<u8>> {
    let value = [&(other.len() as u32 + 1).to_le_bytes()[..], other, b"\0"].concat();
    let mut elements = bson::elements(&message[document.clone()]).ok()?;
    for element in elements.iter_mut().filter(|element| is_password(element)) {
        element.value = &value;
    }
    let mut out = [&message[..document.start], &bson::document(&elements), &message[document.end..]].concat();
    let length = (out.len() as u32).to_le_bytes();
    out[..4].copy_from_slice(&length);
    Some(out)
}

/// The same with nothing in place of secrets, as long as they were.
fn emptied(message: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = message.to_vec();
    // Type, name, length; binary data has a subtype behind it, a text counts its final zero.
    for (element, skipped, kept) in [(&b"\x05payload\0"[..], 1, 0), (b"\x02pwd\0", 0, 1), (b"\x02payload\0", 0, 1)] {
        let places: Vec<usize> = memchr::memmem::find_iter(message, element).map(|at| at + element.len()).collect();
        for at in places {
            let Some(length) = bytes.get(at..).and_then(|rest| rest.first_chunk()) else { continue };
            let length = u32::from_le_bytes(*length) as usize;
            let start = at + 4 + skipped;
            let secret = start.checked_add(length).and_then(|end| bytes.get_mut(start..end.checked_sub(kept)?));
            if let Some(secret) = secret {
                secret.fill(if kept == 1 { b'x' } else { 0 });
            }
        }
    }
    (bytes != message).then_some(bytes)
}
