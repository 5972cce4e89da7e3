//! Settings that a statement sets by `set_config` to what it reads elsewhere, or beside other things.

use super::statement::{Statement, local};
use crate::record::exchange::Protocol;
use crate::record::functions::{self, Call};

/// What reads settings, so that what one was matters to what another is.
const READERS: [&str; 3] = ["current_setting", "show", "pg_settings"];
/// Words of what is carried out in a block that does more than to set settings by `set_config`.
const DOERS: [&str; 15] = [
    "alter", "call", "copy", "create", "delete", "discard", "drop", "execute", "insert", "merge", "reset", "set",
    "temp", "truncate", "update",
];

impl Statement<'_> {
    /// The settings that it sets, by name, each with whether that ends with the transaction. None if it does not tell which, if
    /// it reads one, or if nothing is set so.
    pub(super) fn computed(&self) -> Option<Vec<(String, bool)>> {
        let block = match self.lower.first()?.as_str() {
            "do" => self.block(),
            _ => None,
        };
        let block = block.map(|text| Statement::new(text, b""));
        match &block {
            Some(block) if block.mentions(&DOERS) || block.calls_own() => None,
            Some(block) => block.set_there(),
            None => self.set_there(),
        }
    }

    /// The text that `DO` carries out.
    fn block(&self) -> Option<&str> {
        let text = self.texts().find(|text| text.starts_with('$'))?;
        let tag = &text[..text[1..].find('$')? + 2];
        text.strip_prefix(tag)?.strip_suffix(tag)
    }

    fn calls_own(&self) -> bool {
        let is_own = |name: &str| functions::is_own(Protocol::Postgres, Call { name, is_given: true });
        let pairs = self.lower.windows(2).filter(|pair| pair[1] == "(" && pair[0] != "set_config");
        pairs.into_iter().any(|pair| is_own(&pair[0]))
    }

    fn set_there(&self) -> Option<Vec<(String, bool)>> {
        if self.mentions(&READERS) {
            return None;
        }
        let calls =
            (0..self.lower.len()).filter(|at| self.lower[*at..].starts_with(&["set_config".into(), "(".into()]));
        let found: Option<Vec<_>> = calls.map(|at| self.set_at(at + 2)).collect();
        found.filter(|found| !found.is_empty())
    }

    /// What a call sets whose arguments begin here.
    fn set_at(&self, at: usize) -> Option<(String, bool)> {
        let (name, mut after) = self.argument(at)?;
        let (mut depth, mut last) = (0_usize, None);
        loop {
            match self.lower.get(after)?.as_str() {
                "(" => depth += 1,
                ")" if depth == 0 => break,
                ")" => depth -= 1,
                "," if depth == 0 => last = Some(after + 1),
                _ => {}
            }
            after += 1;
        }
        let (is_local, end) = self.argument(last?)?;
        let name = String::from_utf8(name?).ok()?.to_ascii_lowercase();
        (end == after).then_some((name, local(&is_local?)?))
    }
}
