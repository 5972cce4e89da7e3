//! The values of a statement that are secrets, and how often the statement is looked through for them.

use std::collections::HashMap;

use super::lexer::Token;

/// How many looks one part of a statement is given that begin at different words before it: no statement that a server takes has
/// lists of values so deep in each other.
const MAX_LOOKS: usize = 16;

/// Places of values that are secrets, with what they are called.
#[derive(Default)]
pub(super) struct Found {
    secrets: HashMap<usize, &'static str>,
    /// Where looks end that have begun before the place at which the next one does.
    ends: Vec<usize>,
    gave_up: bool,
}

impl Found {
    pub(super) fn get(&self, at: usize) -> Option<&'static str> {
        self.secrets.get(&at).copied()
    }

    pub(super) fn insert(&mut self, at: usize, name: &'static str) {
        self.secrets.insert(at, name);
    }

    pub(super) fn extend(&mut self, places: impl IntoIterator<Item = usize>, name: &'static str) {
        self.secrets.extend(places.into_iter().map(|at| (at, name)));
    }

    pub(super) fn into_secrets(self) -> HashMap<usize, &'static str> {
        self.secrets
    }

    /// The statement is gone through once more.
    pub(super) fn again(&mut self) {
        self.ends.clear();
    }

    /// Looks at what follows a place, with what says where that ends. Where there are too many lists in each other all values that
    /// follow are secrets, so that it takes no longer than the statement is long.
    pub(super) fn look(&mut self, tokens: &[Token], at: usize, look: impl FnOnce(&mut Self) -> usize) {
        self.ends.retain(|end| *end > at);
        if self.gave_up {
            return;
        }
        if self.ends.len() < MAX_LOOKS {
            let end = look(self);
            self.ends.push(end);
            return;
        }
        self.gave_up = true;
        let values = tokens.iter().enumerate().skip(at).filter(|(_, token)| token.is_value());
        for (at, _) in values {
            self.secrets.entry(at).or_insert("secret");
        }
    }
}
