//! Passwords in commands of Redis, and secrets in what is stored: values whose name says so (`user:1:token`, a field of a hash),
//! JSON in any value, and what follows such a word in a name and nobody chose (`session:9f86d081884c7d65`).

use std::collections::{BTreeMap, BTreeSet};

use super::names::{is_random, is_secret_key, is_secret_value, is_uuid, word_of};
use super::placeholder::known;
use super::walk::{Form, Replace, Secret, within};

/// Commands with other passwords: `AUTH [user] password`, `HELLO 3 AUTH user password`, and those that set or pass on one; and
/// with other secrets in what they store. `None` if nothing changes.
pub(super) fn message(bytes: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    changed(bytes, |arguments| {
        let mut others = BTreeMap::new();
        let found = secrets(arguments);
        let known: BTreeSet<usize> = found.iter().map(|(index, _)| *index).collect();
        for (index, kept) in found {
            let Some(secret) = arguments.get(index).and_then(|argument| argument.get(kept..)) else { continue };
            if let Some(other) = replace(&Secret::password(secret, Form::Text)) {
                others.insert(index, [&arguments[index][..kept], &other].concat());
            }
        }
        for (index, argument) in arguments.iter().enumerate().skip(1).filter(|(index, _)| !known.contains(index)) {
            let other = match in_name(argument) {
                Some(kept) => {
                    replace(&Secret { guessable: false, ..Secret::password(&argument[kept..], Form::Address) })
                        .map(|other| [&argument[..kept], &other].concat())
                }
                None => within(argument, replace),
            };
            others.extend(other.map(|other| (index, other)));
        }
        others
    })
}

/// Commands with other arguments; `None` if none changes.
pub(super) fn with_arguments(bytes: &[u8], change: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    changed(bytes, |arguments| {
        arguments.iter().enumerate().filter_map(|(index, argument)| Some((index, change(argument)?))).collect()
    })
}

/// Commands with others of their arguments, by their places.
fn changed(bytes: &[u8], mut others: impl FnMut(&[&[u8]]) -> BTreeMap<usize, Vec<u8>>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = bytes;
    let mut changed = false;
    while let Some((arguments, after)) = command(rest) {
        let before = &rest[..rest.len() - after.len()];
        rest = after;
        let others = others(&arguments);
        if others.is_empty() {
            out.extend_from_slice(before);
            continue;
        }
        changed = true;
        out.extend(format!("*{}\r\n", arguments.len()).into_bytes());
        for (index, argument) in arguments.iter().enumerate() {
            let argument = others.get(&index).map_or(*argument, Vec::as_slice);
            out.extend(format!("${}\r\n", argument.len()).into_bytes());
            out.extend_from_slice(argument);
            out.extend_from_slice(b"\r\n");
        }
    }
    out.extend_from_slice(rest);
    changed.then_some(out)
}

/// Most words of names of secrets that the members below one command's keys are compared with.
const MAX_WORDS: usize = 64;
/// Settings that are passwords.
const SETTINGS: [&str; 5] =
    ["requirepass", "masterauth", "primaryauth", "tls-key-file-pass", "tls-client-key-file-pass"];

/// Whether a program asks for settings.
pub(super) fn asks(bytes: &[u8]) -> bool {
    command(bytes).is_some_and(|(words, _)| match words.as_slice() {
        [first, second, ..] => first.eq_ignore_ascii_case(b"CONFIG") && second.eq_ignore_ascii_case(b"GET"),
        _ => false,
    })
}

/// An answer with settings: names, each with its value behind it, in a list or a mapping.
pub(super) fn answer(bytes: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (mut kept, mut at) = (0, 0);
    while let Some((name, end)) = bulk(bytes, at) {
        at = end;
        let is_secret = SETTINGS.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
        let Some((value, after)) = bulk(bytes, end).filter(|(value, _)| is_secret && !value.is_empty()) else {
            continue;
        };
        if let Some(other) = replace(&Secret::password(value, Form::Address)) {
            out.extend_from_slice(&bytes[kept..end]);
            out.extend_from_slice(format!("${}\r\n", other.len()).as_bytes());
            out.extend_from_slice(&other);
            out.extend_from_slice(b"\r\n");
            kept = after;
        }
        at = after;
    }
    out.extend_from_slice(if kept == 0 { &[] } else { &bytes[kept..] });
    (kept > 0).then_some(out)
}

/// The next text of a reply from here on, behind heads of lists and mappings; and where it ends.
fn bulk(bytes: &[u8], mut at: usize) -> Option<(&[u8], usize)> {
    loop {
        let rest = bytes.get(at..)?;
        let end = memchr::memmem::find(rest, b"\r\n")?;
        let after = at + end + 2;
        if rest[0] != b'$' {
            at = after;
            continue;
        }
        let length: usize = std::str::from_utf8(&rest[1..end]).ok()?.parse().ok()?;
        let text = bytes.get(after..after.checked_add(length)?)?;
        return Some((text, after + length + 2));
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

/// Which arguments are passwords, and how many bytes of each are not.
fn secrets(arguments: &[&[u8]]) -> Vec<(usize, usize)> {
    let is = |index: usize, word: &str| arguments.get(index).is_some_and(|it| it.eq_ignore_ascii_case(word.as_bytes()));
    let find = |word: &str| (1..arguments.len()).find(|index| is(*index, word));
    let whole = |index: usize| (index, 0);
    if is(0, "AUTH") {
        // More than a user and a password are words of one in quotes.
        let opens =
            arguments.get(1).is_some_and(|word| word.starts_with(b"\"") && !(word.len() > 1 && word.ends_with(b"\"")));
        let first = if opens || arguments.len() > 3 { 1 } else { arguments.len().saturating_sub(1).max(1) };
        (first..arguments.len()).map(whole).collect()
    } else if is(0, "HELLO") {
        find("AUTH").map(|at| whole(at + 2)).into_iter().collect()
    } else if is(0, "MIGRATE") {
        let one = find("AUTH").map(|at| whole(at + 1));
        one.into_iter().chain(find("AUTH2").map(|at| whole(at + 2))).collect()
    } else if is(0, "CONFIG") && is(1, "SET") {
        (3..arguments.len()).step_by(2).filter(|at| SETTINGS.iter().any(|name| is(at - 1, name))).map(whole).collect()
    } else if is(0, "SENTINEL") && is(1, "SET") {
        const NAMES: [&str; 2] = ["auth-pass", "sentinel-pass"];
        (4..arguments.len()).step_by(2).filter(|at| NAMES.iter().any(|name| is(at - 1, name))).map(whole).collect()
    } else if is(0, "SENTINEL") && is(1, "CONFIG") && is(2, "SET") {
        (4..arguments.len()).step_by(2).filter(|at| is(at - 1, "sentinel-pass")).map(whole).collect()
    } else if is(0, "ACL") && is(1, "SETUSER") {
        // The mark says what is done with the password.
        let marked = |at: &usize| arguments[*at].first().is_some_and(|mark| b"><#!".contains(mark));
        (3..arguments.len()).filter(marked).map(|at| (at, 1)).collect()
    } else {
        stored(arguments).into_iter().map(whole).collect()
    }
}

/// Which arguments are stored, or looked for, under a name that says that they are secrets.
fn stored(arguments: &[&[u8]]) -> Vec<usize> {
    let command = arguments.first().map(|word| word.to_ascii_uppercase()).unwrap_or_default();
    // The first name, and how far its value is from it; whether more pairs follow.
    let (first, step, are_many) = match command.as_slice() {
        b"SET" | b"SETNX" | b"GETSET" | b"APPEND" => (1, 1, false),
        b"SETEX" | b"PSETEX" | b"SETRANGE" => (1, 2, false),
        b"MSET" | b"MSETNX" => (1, 1, true),
        b"HSET" | b"HMSET" | b"HSETNX" => (2, 1, true),
        b"XADD" => (of_entry(arguments), 1, true),
        _ => return members(&command, arguments),
    };
    let names = (first..arguments.len()).step_by(2).take(if are_many { arguments.len() } else { 1 });
    let is_secret =
        |at: &usize| arguments.get(at + step).is_some_and(|value| !value.is_empty() && names_secret(arguments[*at]));
    names.filter(is_secret).map(|at| at + step).collect()
}

/// The place of the first field of `XADD key [NOMKSTREAM] [MAXLEN|MINID [=|~] count [LIMIT count]] id field value ...`.
fn of_entry(arguments: &[&[u8]]) -> usize {
    let is = |at: usize, words: &[&str]| {
        arguments.get(at).is_some_and(|it| words.iter().any(|word| it.eq_ignore_ascii_case(word.as_bytes())))
    };
    let mut at = 2;
    loop {
        at += match () {
            () if is(at, &["NOMKSTREAM", "KEEPREF", "DELREF", "ACKED"]) => 1,
            () if is(at, &["MAXLEN", "MINID"]) && is(at + 1, &["=", "~"]) => 3,
            () if is(at, &["MAXLEN", "MINID", "LIMIT"]) => 2,
            () => return at + 1,
        };
    }
}

/// Which arguments are members of lists and sets, or are given to scripts, with a name that says that they are secrets.
fn members(command: &[u8], arguments: &[&[u8]]) -> Vec<usize> {
    // The first member, and how far the next one is from it; the name.
    let (first, step, names) = match command {
        b"LPUSH" | b"RPUSH" | b"LPUSHX" | b"RPUSHX" | b"SADD" | b"SREM" | b"SISMEMBER" | b"SMISMEMBER" | b"ZREM"
        | b"ZSCORE" | b"ZMSCORE" | b"ZRANK" | b"ZREVRANK" | b"LPOS" | b"PFADD" => (2, 1, 1..2),
        b"LSET" | b"LREM" | b"ZINCRBY" | b"LINSERT" => (3, 1, 1..2),
        b"SMOVE" => (3, 1, 1..3),
        b"ZADD" => {
            let is_option =
                |word: &&&[u8]| !word.first().is_some_and(|byte| byte.is_ascii_digit() || b"+-.".contains(byte));
            (3 + arguments.iter().skip(2).take_while(is_option).count(), 2, 1..2)
        }
        b"EVAL" | b"EVALSHA" | b"FCALL" => {
            let count = arguments.get(2).and_then(|count| std::str::from_utf8(count).ok()?.parse::<usize>().ok());
            let end = count.map_or(3, |count| count.saturating_add(3)).min(arguments.len());
            (end, 1, 3..end)
        }
        _ => return Vec::new(),
    };
    let is_script = matches!(command, b"EVAL" | b"EVALSHA" | b"FCALL");
    let names = arguments.get(names).unwrap_or_default().iter();
    let words: BTreeSet<String> = names.flat_map(|name| secret_words(name)).take(MAX_WORDS).collect();
    let is_secret = |at: &usize| {
        let value = arguments[*at];
        // Beside what it keeps a script is told for how long.
        let is_number = is_script && value.iter().all(u8::is_ascii_digit);
        !value.is_empty() && !is_number && words.iter().any(|word| names_member(word, value))
    };
    (first..arguments.len()).step_by(step).filter(is_secret).collect()
}

/// The words of a name that may say that there are secrets in what is kept under it: `refresh_tokens`.
fn secret_words(name: &[u8]) -> Vec<String> {
    let is_one = |word: &&str| is_secret_key(word) || word.strip_suffix('s').is_some_and(is_secret_key);
    let text = String::from_utf8_lossy(name);
    let words = text.split([':', '/', '|']).filter(is_one).map(str::to_owned);
    if in_name(name).is_none() { words.collect() } else { Vec::new() }
}

/// Whether such a word says that this value is a secret. There are tokens that are words.
fn names_member(word: &str, value: &[u8]) -> bool {
    if is_secret_key(word) {
        return is_secret_value(word, value);
    }
    !word_of("secrets", value) && !value.iter().all(u8::is_ascii_digit)
}

/// Whether a word of a name says that what is stored under it is a secret, and not that a part of the name is.
fn names_secret(name: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name);
    name.split([':', '/', '|']).any(is_secret_key) && in_name(name.as_bytes()).is_none()
}

/// Where the last part of a name begins, if it is a secret: nobody chose it, and the word before says what it is.
fn in_name(name: &[u8]) -> Option<usize> {
    let at = name.iter().rposition(|byte| *byte == b':')?;
    let word = String::from_utf8_lossy(name[..at].rsplit(|byte| *byte == b':').next()?);
    let last = &name[at + 1..];
    let is_told =
        is_secret_key(&word) || ["session", "sessions", "sess", "sid"].iter().any(|it| word.eq_ignore_ascii_case(it));
    (is_told && (is_random(last) || is_uuid(last) || known(last).is_some())).then_some(at + 1)
}
