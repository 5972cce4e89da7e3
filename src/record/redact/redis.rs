//! Passwords in commands of Redis.

use std::borrow::Cow;

use super::walk::{Form, Replace, Secret};

/// Commands with other passwords: `AUTH [user] password`, `HELLO 3 AUTH user password`, and those that set or pass on one.
/// `None` if nothing changes.
pub(super) fn message(bytes: &[u8], replace: Replace<'_>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = bytes;
    let mut changed = false;
    while let Some((arguments, after)) = command(rest) {
        let before = &rest[..rest.len() - after.len()];
        rest = after;
        let mut others: Vec<Cow<'_, [u8]>> = arguments.iter().map(|argument| Cow::Borrowed(*argument)).collect();
        let mut is_other = false;
        for (index, kept) in secrets(&arguments) {
            let Some(secret) = arguments.get(index).and_then(|argument| argument.get(kept..)) else { continue };
            if let Some(other) = replace(&Secret::password(secret, Form::Text)) {
                others[index] = Cow::Owned([&arguments[index][..kept], &other].concat());
                is_other = true;
            }
        }
        if !is_other {
            out.extend_from_slice(before);
            continue;
        }
        changed = true;
        out.extend(format!("*{}\r\n", others.len()).into_bytes());
        for argument in others {
            out.extend(format!("${}\r\n", argument.len()).into_bytes());
            out.extend_from_slice(&argument);
            out.extend_from_slice(b"\r\n");
        }
    }
    out.extend_from_slice(rest);
    changed.then_some(out)
}

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
        Vec::new()
    }
}
