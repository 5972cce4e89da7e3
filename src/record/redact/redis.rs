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
        arguments.len().checked_sub(1).filter(|last| *last > 0).map(whole).into_iter().collect()
    } else if is(0, "HELLO") {
        find("AUTH").map(|at| whole(at + 2)).into_iter().collect()
    } else if is(0, "MIGRATE") {
        let one = find("AUTH").map(|at| whole(at + 1));
        one.into_iter().chain(find("AUTH2").map(|at| whole(at + 2))).collect()
    } else if is(0, "CONFIG") && is(1, "SET") {
        const NAMES: [&str; 5] =
            ["requirepass", "masterauth", "primaryauth", "tls-key-file-pass", "tls-client-key-file-pass"];
        (3..arguments.len()).step_by(2).filter(|at| NAMES.iter().any(|name| is(at - 1, name))).map(whole).collect()
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
