//! SMTP (RFC 5321): command lines, replies of one or more lines, and mails.

use std::ops::Range;

use super::{FrameFormat, FrameLength, OpenCall, line, mail, next_open, place, word};
use crate::call::{Protocol, Side};
use crate::protocol::database::Database;
use crate::protocol::part_list::PartList;

pub(super) static DATABASE: Database =
    Database::in_frames(Protocol::Smtp, "SMTP", 25, parts, &FORMAT);

static FORMAT: FrameFormat = FrameFormat {
    // FTP has the same greeting.
    is_opening: |client, server| {
        server.starts_with(b"220") && (client.is_empty() || is_one_of(client, &HELLOS))
    },
    length: |side, bytes, before| match side {
        Side::Client => request_length(bytes, before),
        Side::Server => reply_length(bytes),
    },
    answered,
    // Their answers look like those of other commands.
    renumber: mail::put_message_id,
    repeats: |command| is_one_of(command, &HELLOS) || is_one_of(command, &REPEATED),
    secret: credentials,
    ..FrameFormat::PLAIN
};

const HELLOS: [&[u8]; 3] = [b"EHLO", b"HELO", b"LHLO"];
/// Commands that change nothing outside the connection.
const REPEATED: [&[u8]; 5] = [b"AUTH", b"NOOP", b"QUIT", b"RSET", b"STARTTLS"];
/// Lines of one word that are no answer to a challenge of AUTH (RFC 4954): commands, and the ends
/// of a mail and of AUTH.
const BARE: [&[u8]; 8] = [
    b"DATA",
    b"HELP",
    b"NOOP",
    b"QUIT",
    b"RSET",
    b"STARTTLS",
    b".",
    b"*",
];
/// Beginnings of commands after a refused DATA.
const AFTER_REFUSAL: [&[u8]; 3] = [b"RSET\r\n", b"QUIT\r\n", b"MAIL FROM:"];

fn is_one_of(frame: &[u8], verbs: &[&[u8]]) -> bool {
    verbs.iter().any(|verb| line::is(frame, verb))
}

/// Returns the length of a command, of a piece of a mail (BDAT, RFC 3030), or of a mail after DATA.
fn request_length(bytes: &[u8], before: &[u8]) -> FrameLength {
    let begins = |begin: &&[u8]| {
        let first = bytes.get(..begin.len());
        first.is_some_and(|first| first.eq_ignore_ascii_case(begin))
    };
    let is_data = before.eq_ignore_ascii_case(b"DATA\r\n");
    if is_data && !AFTER_REFUSAL.iter().any(begins) {
        return Ok(mail::length(bytes));
    }
    let Some(line) = line::first(bytes)? else {
        return Ok(None);
    };
    let size = if line::is(bytes, b"BDAT") {
        line::size(line::words(bytes).nth(1))?
    } else {
        0
    };
    Ok(Some(size.saturating_add(line.len() + 2)))
}

/// Returns the length of all lines of a reply (4.2.1).
fn reply_length(bytes: &[u8]) -> FrameLength {
    let mut end = 0;
    while let Some(line) = line::first(&bytes[end..])? {
        end += line.len() + 2;
        if line.len() < 3 || !line[..3].iter().all(u8::is_ascii_digit) {
            return Err("a line that is no reply of SMTP");
        }
        if line.get(3) != Some(&b'-') {
            return Ok(Some(end));
        }
    }
    Ok(None)
}

/// Replies come in order. LMTP (RFC 2033) has several for one mail.
fn answered(calls: &[OpenCall], _said: &[u8]) -> Option<usize> {
    let last = calls.len().checked_sub(1)?;
    Some(next_open(calls).min(last))
}

/// Returns the place of the credentials in a line of AUTH (RFC 4954, 4).
fn credentials(frame: &[u8]) -> Option<Range<usize>> {
    let line = line::of(frame).filter(|line| line.len() + 2 == frame.len())?;
    let mut words = line::words(frame);
    let secret = if line::is(frame, b"AUTH") {
        words.nth(2)?
    } else {
        words
            .next()
            .filter(|word| word.len() == line.len() && !is_one_of(word, &BARE))?
    };
    Some(place(frame, secret))
}

/// Takes a command apart, without the host name of the client, credentials and the size of a mail.
fn parts(frame: &[u8], taken: &mut PartList) -> Option<()> {
    if mail::length(frame) == Some(frame.len()) {
        mail::parts(frame.strip_suffix(mail::LAST_LINE)?, taken);
        return Some(());
    }
    let line = line::of(frame)?;
    let mut words = line::words(frame);
    if credentials(frame).is_some() && !line::is(frame, b"AUTH") {
        taken.text(b"(credentials)");
        return Some(());
    }
    taken.text(&words.next()?.to_ascii_uppercase());
    let count = if is_one_of(frame, &HELLOS) {
        0
    } else if line::is(frame, b"AUTH") {
        1
    } else {
        usize::MAX
    };
    let has_size = line::is(frame, b"BDAT");
    for (at, argument) in words.take(count).enumerate() {
        let is_size = has_size && at == 0 || argument.to_ascii_uppercase().starts_with(b"SIZE=");
        if !is_size {
            word("word", argument, taken);
        }
    }
    let content = frame.get(line.len() + 2..)?;
    if !content.is_empty() {
        mail::parts(content, taken);
    }
    Some(())
}
