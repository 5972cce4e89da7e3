//! Text protocol of memcached (doc/protocol.txt of its sources): commands, some with data.

use std::ops::RangeInclusive;

use super::{FrameFormat, FrameLength, OpenCall, line, next_open, payload, word};
use crate::call::{Protocol, Side};
use crate::protocol::database::Database;
use crate::protocol::dialogue::Fault;
use crate::protocol::part_list::{PartList, Role};

pub(super) static DATABASE: Database =
    Database::in_frames(Protocol::Memcached, "Memcached", 11211, parts, &FORMAT);

static FORMAT: FrameFormat = FrameFormat {
    is_opening: |client, server| {
        line::of(client).is_some() && command_length(client).is_ok() && reply_length(server).is_ok()
    },
    length: |side, bytes, _| match side {
        Side::Client => command_length(bytes),
        Side::Server => reply_length(bytes),
    },
    answered,
    repeats: reads,
    writes: |command| !reads(command),
    ..FrameFormat::PLAIN
};

/// A command: its name, the number of words after it, and the index of the length of its data among
/// all words. It is `true` for a command that leaves values as they are.
type Command = (&'static [u8], RangeInclusive<usize>, Option<usize>, bool);

const MANY: usize = usize::MAX;
const COMMANDS: [Command; 24] = [
    (b"get", 1..=MANY, None, true),
    (b"gets", 1..=MANY, None, true),
    (b"gat", 2..=MANY, None, true),
    (b"gats", 2..=MANY, None, true),
    (b"set", 4..=5, Some(4), false),
    (b"add", 4..=5, Some(4), false),
    (b"replace", 4..=5, Some(4), false),
    (b"append", 4..=5, Some(4), false),
    (b"prepend", 4..=5, Some(4), false),
    (b"cas", 5..=6, Some(4), false),
    (b"delete", 1..=3, None, false),
    (b"incr", 2..=3, None, false),
    (b"decr", 2..=3, None, false),
    (b"touch", 2..=3, None, true),
    (b"flush_all", 0..=2, None, false),
    (b"version", 0..=0, None, true),
    (b"verbosity", 1..=2, None, false),
    (b"stats", 0..=2, None, true),
    (b"quit", 0..=0, None, false),
    (b"mg", 1..=MANY, None, true),
    (b"ms", 2..=MANY, Some(2), false),
    (b"md", 1..=MANY, None, false),
    (b"ma", 1..=MANY, None, false),
    (b"mn", 0..=0, None, true),
];
/// Replies of one word.
const WORDS: &str = "END STORED NOT_STORED EXISTS NOT_FOUND DELETED TOUCHED OK ERROR RESET MN";
/// First words of other replies: texts, and results of meta commands.
const WITH_WORDS: &str = "VERSION CLIENT_ERROR SERVER_ERROR HD EN NF NS EX";

fn verb(frame: &[u8]) -> &[u8] {
    line::words(frame).next().unwrap_or_default()
}

/// Returns the command with these words.
fn command(words: &[&[u8]]) -> Result<&'static Command, Fault> {
    let is_one = |(name, count, ..): &&Command| {
        words.first() == Some(name) && count.contains(&(words.len() - 1))
    };
    let found = COMMANDS.iter().find(is_one);
    found.ok_or("a line that is no command of memcached")
}

fn reads(frame: &[u8]) -> bool {
    command(&line::words(frame).collect::<Vec<_>>()).is_ok_and(|(.., reads)| *reads)
}

fn command_length(bytes: &[u8]) -> FrameLength {
    let Some(line) = line::first(bytes)? else {
        return Ok(None);
    };
    let words: Vec<_> = line::words(bytes).collect();
    let length = line.len() + 2;
    let (_, _, size_at, _) = command(&words)?;
    Ok(Some(match size_at {
        Some(at) => data_end(length, words.get(*at).copied())?,
        None => length,
    }))
}

/// Returns the end of data of this size, which begins here.
fn data_end(from: usize, size: Option<&[u8]>) -> Result<usize, Fault> {
    Ok(line::size(size)?.saturating_add(from + 2))
}

/// Returns the length of a reply: values up to `END`, statistics up to `END`, or one line.
fn reply_length(bytes: &[u8]) -> FrameLength {
    let mut end = 0;
    while let Some(rest) = bytes.get(end..)
        && let Some(line) = line::first(rest)?
    {
        let words: Vec<_> = line::words(rest).collect();
        let first = words.first().copied().unwrap_or_default();
        end += line.len() + 2;
        match first {
            b"VALUE" => end = data_end(end, words.get(3).copied())?,
            b"STAT" => {}
            b"VA" => return Ok(Some(data_end(end, words.get(1).copied())?)),
            _ if is_reply(first, words.len()) => return Ok(Some(end)),
            _ => return Err("a line that is no reply of memcached"),
        }
    }
    Ok(None)
}

fn is_reply(first: &[u8], words: usize) -> bool {
    let is_in = |list: &str| list.split(' ').any(|word| word.as_bytes() == first);
    let is_number = !first.is_empty() && first.iter().all(u8::is_ascii_digit);
    words == 1 && (is_number || is_in(WORDS)) || is_in(WITH_WORDS)
}

/// Returns true if this may be the reply to a command.
fn may_answer(command: &[u8], reply: &[u8]) -> bool {
    let (name, told) = (verb(command), verb(reply));
    match name {
        b"quit" => false,
        b"mn" => told == b"MN",
        b"mg" | b"ms" | b"md" | b"ma" => told != b"MN" && may_answer_meta(command, reply),
        b"get" | b"gets" | b"gat" | b"gats" => true,
        _ => line::words(command).last() != Some(b"noreply"),
    }
}

/// Returns true if this may be the reply to a meta command. A quiet one hides its usual reply, and
/// keys and opaques come back.
fn may_answer_meta(command: &[u8], reply: &[u8]) -> bool {
    let words: Vec<_> = line::words(command).collect();
    let usual: &[&[u8]] = match words[0] {
        b"mg" => &[b"EN"],
        _ => &[b"HD", b"NF"],
    };
    let is_hidden = words[2..].contains(&&b"q"[..]) && usual.contains(&verb(reply));
    let is_own = |told: &[u8]| match told.split_first() {
        Some((b'k', key)) => words[1] == key,
        Some((b'O', _)) => words.contains(&told),
        _ => true,
    };
    let mut told = line::words(reply).skip(1);
    !is_hidden && (verb(reply).ends_with(b"ERROR") || told.all(is_own))
}

/// Replies come in the order of the commands.
fn answered(calls: &[OpenCall], said: &[u8]) -> Option<usize> {
    let from = next_open(calls);
    let next = calls[from..]
        .iter()
        .position(|call| may_answer(&call.bytes, said))?;
    Some(from + next)
}

/// Takes a command apart, without the length of its data.
fn parts(frame: &[u8], taken: &mut PartList) -> Option<()> {
    let line = line::of(frame)?;
    let words: Vec<_> = line::words(frame).collect();
    let (name, _, size, _) = command(&words).ok()?;
    let keys = match *name {
        b"get" | b"gets" => 1..=MANY,
        b"gat" | b"gats" => 2..=MANY,
        _ => 1..=1,
    };
    taken.text(name);
    for (at, argument) in words.iter().enumerate().skip(1) {
        if *size == Some(at) {
            continue;
        }
        if keys.contains(&at) {
            taken.text(b" ");
            taken.value_in_text(Role::Key, "key", argument);
        } else {
            word("word", argument, taken);
        }
    }
    if size.is_some() {
        let data = frame.get(line.len() + 2..)?.strip_suffix(b"\r\n")?;
        payload(data, taken);
    }
    Some(())
}
