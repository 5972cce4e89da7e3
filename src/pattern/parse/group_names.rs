//! Names of groups (ECMA-262, 22.2.1, `GroupName`).

use super::halves;
use regex_automata::meta::Regex;
use std::collections::HashSet;
use std::sync::OnceLock;

/// `RegExpIdentifierName`.
const IDENTIFIER: &str = r"^[$_\p{ID_Start}][$\x{200C}\x{200D}\p{ID_Continue}]*$";

/// Reads the name that begins at byte `at`, just behind the `<`. Returns it and the byte behind the
/// `>`; nothing if it is not well formed.
pub(super) fn read(source: &str, at: usize) -> Option<(Box<str>, usize)> {
    let mut name = String::new();
    let mut at = at;
    loop {
        let c = source[at..].chars().next()?;
        at += c.len_utf8();
        match c {
            '>' => break,
            '\\' => {
                let (escaped, behind) = escaped(source, at)?;
                name.push(escaped);
                at = behind;
            }
            _ => name.push(c),
        }
    }
    is_identifier(&name).then(|| (name.into_boxed_str(), at))
}

/// `u` and what follows it: `u0041`, `ud83d\ude00` or `u{41}`.
fn escaped(source: &str, at: usize) -> Option<(char, usize)> {
    let rest = source[at..].strip_prefix('u')?;
    if let Some(digits) = rest.strip_prefix('{') {
        let digits = &digits[..digits.find('}')?];
        let code = digits.bytes().try_fold(0u32, |code, digit| {
            let digit = char::from(digit).to_digit(16)?;
            Some(code.saturating_mul(16).saturating_add(digit))
        })?;
        let c = char::from_u32(code).filter(|_| !digits.is_empty())?;
        return Some((c, at + "u{}".len() + digits.len()));
    }
    let (code, bytes) = halves::unit_or_pair(rest)?;
    Some((char::from_u32(code)?, at + 1 + bytes))
}

fn is_identifier(name: &str) -> bool {
    static RULE: OnceLock<Option<Regex>> = OnceLock::new();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'$' | b'_');
    if name.bytes().all(plain) {
        return name
            .bytes()
            .next()
            .is_some_and(|first| !first.is_ascii_digit());
    }
    RULE.get_or_init(|| Regex::new(IDENTIFIER).ok())
        .as_ref()
        .is_some_and(|rule| rule.is_match(name))
}

/// Names that the next group cannot have. Two groups may share a name only in different
/// alternatives, so that no match passes both (ECMA-262, 22.2.1.1).
#[derive(Default)]
pub(super) struct Scope {
    taken: HashSet<Box<str>>,
    /// Used names, in order.
    log: Vec<Box<str>>,
}

impl Scope {
    /// Takes a name, unless it is taken.
    pub(super) fn take(&mut self, name: &str) -> bool {
        let free = self.taken.insert(name.into());
        if free {
            self.log.push(name.into());
        }
        free
    }

    /// An alternative begins. Returns what [`Scope::end`] wants.
    pub(super) fn begin(&self) -> usize {
        self.log.len()
    }

    /// The alternative is over: the next one may use its names, which are returned.
    pub(super) fn end(&mut self, mark: usize) -> Vec<Box<str>> {
        let names = self.log.split_off(mark);
        for name in &names {
            self.taken.remove(name);
        }
        names
    }

    /// All alternatives are over: nothing behind them may use their names.
    pub(super) fn add(&mut self, names: Vec<Box<str>>) {
        for name in names {
            self.take(&name);
        }
    }
}
