//! Authentication of databases, and passwords in their statements.

use std::borrow::Cow;

use super::{REDACTED, sql};
use crate::record::exchange::{Message, Protocol, Side, Wire};

/// Takes the secrets out of what a program says to a database. Lengths stay where a message's form depends on them.
pub fn wire(protocol: Protocol, wire: &mut Wire) {
    let is_session = wire.session;
    let client = wire.messages.iter_mut().filter(|message| message.from == Side::Client);
    match protocol {
        Protocol::Redis => client.for_each(redis),
        Protocol::Postgres => client.for_each(postgres),
        Protocol::MySql => mysql(client, is_session),
        Protocol::Mongo => client.for_each(mongo),
        Protocol::Http | Protocol::Grpc | Protocol::Dns | Protocol::Generic => {}
    }
}

/// `AUTH [user] password`, `HELLO 3 AUTH user password`, and commands that set or pass on one.
fn redis(message: &mut Message) {
    let mut out = Vec::new();
    let mut rest = message.bytes.as_slice();
    let mut changed = false;
    while !rest.is_empty() {
        let Some((mut arguments, after)) = command(rest) else {
            out.extend_from_slice(rest);
            break;
        };
        let before = &rest[..rest.len() - after.len()];
        rest = after;
        let secrets = secret_arguments(&arguments);
        if secrets.is_empty() {
            out.extend_from_slice(before);
            continue;
        }
        changed = true;
        for index in secrets {
            arguments[index] = REDACTED.as_bytes();
        }
        out.extend(format!("*{}\r\n", arguments.len()).into_bytes());
        for argument in arguments {
            out.extend(format!("${}\r\n", argument.len()).into_bytes());
            out.extend_from_slice(argument);
            out.extend_from_slice(b"\r\n");
        }
    }
    if changed {
        message.bytes = out;
    }
}

/// The arguments of the command at the beginning, in either of its forms, and what follows it.
pub(in crate::record) fn command(bytes: &[u8]) -> Option<(Vec<&[u8]>, &[u8])> {
    fn line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
        let end = memchr::memmem::find(bytes, b"\r\n")?;
        Some((&bytes[..end], &bytes[end + 2..]))
    }
    let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse::<usize>().ok();
    let (head, mut rest) = line(bytes)?;
    let Some(count) = head.strip_prefix(b"*") else {
        let words = head.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        return Some((words, rest));
    };
    // A count costs its sender nothing; what it counts does.
    let mut arguments = Vec::new();
    for _ in 0..number(count)? {
        let (head, after) = line(rest)?;
        let (argument, after) = after.split_at_checked(number(head.strip_prefix(b"$")?)?)?;
        rest = after.strip_prefix(b"\r\n")?;
        arguments.push(argument);
    }
    Some((arguments, rest))
}

fn secret_arguments(arguments: &[&[u8]]) -> Vec<usize> {
    let is = |index: usize, word: &str| arguments.get(index).is_some_and(|it| it.eq_ignore_ascii_case(word.as_bytes()));
    let find = |word: &str| (1..arguments.len()).find(|index| is(*index, word));
    let secrets: Vec<usize> = if is(0, "AUTH") {
        arguments.len().checked_sub(1).filter(|last| *last > 0).into_iter().collect()
    } else if is(0, "HELLO") {
        find("AUTH").map(|at| at + 2).into_iter().collect()
    } else if is(0, "MIGRATE") {
        let one = find("AUTH").map(|at| at + 1);
        one.into_iter().chain(find("AUTH2").map(|at| at + 2)).collect()
    } else if is(0, "CONFIG") && is(1, "SET") {
        const NAMES: [&str; 5] =
            ["requirepass", "masterauth", "primaryauth", "tls-key-file-pass", "tls-client-key-file-pass"];
        (3..arguments.len()).step_by(2).filter(|at| NAMES.iter().any(|name| is(at - 1, name))).collect()
    } else if is(0, "SENTINEL") && is(1, "SET") {
        (4..arguments.len()).step_by(2).filter(|at| is(at - 1, "auth-pass")).collect()
    } else if is(0, "ACL") && is(1, "SETUSER") {
        (3..arguments.len()).filter(|at| arguments[*at].first().is_some_and(|mark| b"><#!".contains(mark))).collect()
    } else {
        Vec::new()
    };
    secrets.into_iter().filter(|at| arguments.get(*at).is_some_and(|it| *it != REDACTED.as_bytes())).collect()
}

/// `PasswordMessage`, `SASLInitialResponse`, `SASLResponse`, `GSSResponse`: all of type `p`.
/// And `Query`, `Parse`, and what names a statement by its text (`Bind`, `Describe`).
fn postgres(message: &mut Message) {
    const HEAD_BYTES: usize = 5;
    let Some((head, body)) = message.bytes.split_at_checked(HEAD_BYTES) else { return };
    let body = match head[0] {
        b'p' => Some([REDACTED.as_bytes(), &[0]].concat()),
        b'Q' | b'P' | b'B' | b'D' => {
            // A name, a text; the rest of a Bind is values.
            let mut parts = body.splitn(3, |byte| *byte == 0);
            let mut changed = false;
            let texts = parts.by_ref().take(2).map(|part| match sql::statement(part, Protocol::Postgres) {
                Some(redacted) => {
                    changed = true;
                    Cow::Owned(redacted)
                }
                None => Cow::Borrowed(part),
            });
            let mut all: Vec<Cow<'_, [u8]>> = texts.collect();
            all.extend(parts.map(Cow::Borrowed));
            changed.then(|| all.join(&0))
        }
        _ => None,
    };
    if let Some(body) = body {
        let length = (body.len() as u32 + 4).to_be_bytes();
        message.bytes = [&head[..1], &length, &body].concat();
    }
}

const MYSQL_HEAD_BYTES: usize = 4;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_CHANGE_USER: u8 = 0x11;
/// Payload of a packet that another one follows.
const MYSQL_FULL_BYTES: usize = 0xff_ffff;
const CLIENT_SECURE_CONNECTION: u32 = 0x8000;
const CLIENT_PLUGIN_AUTH_LENENC: u32 = 0x0020_0000;
/// Capabilities, largest packet, character set and 23 bytes without meaning.
const MYSQL_RESPONSE_HEAD_BYTES: usize = 32;

/// Answers to the greeting and to what it is followed by, `COM_CHANGE_USER`, and statements.
fn mysql<'a>(messages: impl Iterator<Item = &'a mut Message>, is_session: bool) {
    let mut answered = false;
    for message in messages {
        let Some(number) = message.bytes.get(MYSQL_HEAD_BYTES - 1).copied() else { continue };
        let body = message.bytes.get_mut(MYSQL_HEAD_BYTES..).unwrap_or_default();
        if body.first() == Some(&COM_CHANGE_USER) && number == 0 {
            if let Some(secret) = after_name(body, 1, true) {
                secret.fill(0);
            }
        } else if matches!(body.first(), Some(&(COM_QUERY | COM_STMT_PREPARE))) && number == 0 {
            let redacted =
                sql::statement(body, Protocol::MySql).filter(|it| it.len().max(body.len()) < MYSQL_FULL_BYTES);
            if let Some(body) = redacted {
                message.bytes = [&(body.len() as u32).to_le_bytes()[..MYSQL_HEAD_BYTES - 1], &[0], &body].concat();
            }
        } else if is_session && number > 0 {
            // A request for encryption is the head alone; a single byte is a question, such as for a key.
            if body.len() <= 1 || body.len() == MYSQL_RESPONSE_HEAD_BYTES && !answered {
                continue;
            }
            if answered {
                body.fill(0);
            } else if let Some(secret) = mysql_response(body) {
                secret.fill(0);
            }
            answered = true;
        }
    }
}

/// The authentication data of `HandshakeResponse41`.
fn mysql_response(body: &mut [u8]) -> Option<&mut [u8]> {
    let capabilities = u32::from_le_bytes(*body.first_chunk()?);
    // Both forms have their length in one byte as long as it is less than 251.
    let counted = capabilities & (CLIENT_SECURE_CONNECTION | CLIENT_PLUGIN_AUTH_LENENC) != 0;
    after_name(body, MYSQL_RESPONSE_HEAD_BYTES, counted)
}

/// What follows the name that begins at this byte: with its length before it, or up to a zero.
fn after_name(body: &mut [u8], from: usize, counted: bool) -> Option<&mut [u8]> {
    let start = from + memchr::memchr(0, body.get(from..)?)? + 1;
    if counted {
        let length = usize::from(*body.get(start)?);
        return body.get_mut(start + 1..start + 1 + length);
    }
    let length = memchr::memchr(0, body.get(start..)?)?;
    body.get_mut(start..start + length)
}

/// `payload` of the commands of SASL, and passwords of commands about users. Lengths stay, so documents stay whole.
fn mongo(message: &mut Message) {
    const COMMANDS: [&[u8]; 5] =
        [b"saslStart\0", b"saslContinue\0", b"speculativeAuthenticate\0", b"createUser\0", b"updateUser\0"];
    let bytes = &mut message.bytes;
    if !COMMANDS.iter().any(|command| memchr::memmem::find(bytes, command).is_some()) {
        return;
    }
    // Type, name, length; binary data has a subtype behind it, a text counts its final zero.
    for (element, skipped, kept) in [(&b"\x05payload\0"[..], 1, 0), (b"\x02pwd\0", 0, 1), (b"\x02payload\0", 0, 1)] {
        let places: Vec<usize> = memchr::memmem::find_iter(bytes, element).map(|at| at + element.len()).collect();
        for at in places {
            let Some(length) = bytes.get(at..).and_then(|rest| rest.first_chunk()) else { continue };
            let length = u32::from_le_bytes(*length) as usize;
            let start = at + 4 + skipped;
            if let Some(secret) = start.checked_add(length).and_then(|end| bytes.get_mut(start..end.checked_sub(kept)?))
            {
                secret.fill(if kept == 1 { b'x' } else { 0 });
            }
        }
    }
}
