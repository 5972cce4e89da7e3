//! Globs as regular expressions over characters, for non-ASCII paths: the glob engine works on
//! bytes.

use std::fmt::Write as _;

/// Part of a glob. `**` is special only beside slashes, so pieces are kept until the next one is
/// known.
enum Piece {
    /// A final part of the expression.
    Text(String),
    /// `**/` at the beginning.
    Leading,
    /// `/**/`
    Between,
    /// `/**` at the end.
    Trailing,
}

/// Returns the expression for a whole path. The glob must have passed `measure`.
pub(super) fn to_regex(glob: &str, case_insensitive: bool) -> String {
    let mut reader = Reader {
        rest: glob,
        read: [None; 2],
        open: vec![vec![Vec::new()]],
    };
    while let Some(next) = reader.bump() {
        match next {
            '*' if reader.rest.starts_with('*') => reader.stars(),
            '*' => reader.text("[^/]*"),
            '?' => reader.text("[^/]"),
            '[' => reader.class(),
            '\\' => {
                let literal = reader.bump().unwrap_or('\\');
                reader.literal(literal);
            }
            '{' => reader.open.push(vec![Vec::new()]),
            ',' if reader.open.len() > 1 => {
                if let Some(branches) = reader.open.last_mut() {
                    branches.push(Vec::new());
                }
            }
            '}' if reader.open.len() > 1 => {
                let branches = reader.open.pop().unwrap_or_default();
                let parts: Vec<String> = branches.iter().map(|branch| joined(branch)).collect();
                reader.text(&format!("(?:{})", parts.join("|")));
            }
            literal => reader.literal(literal),
        }
    }
    let whole = reader
        .open
        .first()
        .and_then(|branches| branches.first())
        .map_or(&[][..], Vec::as_slice);
    let whole = if matches!(whole, [Piece::Leading]) {
        ".*".to_owned()
    } else {
        joined(whole)
    };
    let flags = if case_insensitive { "(?si)" } else { "(?s)" };
    format!("{flags}^(?:{whole})$")
}

fn joined(pieces: &[Piece]) -> String {
    let text = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Leading => "(?:/?|.*/)".to_owned(),
        Piece::Between => "(?:/|/.*/)".to_owned(),
        Piece::Trailing => "/.*".to_owned(),
    };
    pieces.iter().map(text).collect()
}

struct Reader<'a> {
    rest: &'a str,
    /// The last character read, and the one before it.
    read: [Option<char>; 2],
    /// Alternatives of each open brace; the glob itself comes first.
    open: Vec<Vec<Vec<Piece>>>,
}

impl Reader<'_> {
    fn bump(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        self.read = [Some(next), self.read[0]];
        Some(next)
    }

    fn branch(&mut self) -> Option<&mut Vec<Piece>> {
        self.open.last_mut()?.last_mut()
    }

    fn push(&mut self, piece: Piece) {
        if let Some(branch) = self.branch() {
            branch.push(piece);
        }
    }

    fn text(&mut self, text: &str) {
        self.push(Piece::Text(text.to_owned()));
    }

    fn literal(&mut self, literal: char) {
        self.text(&format!("\\x{{{:x}}}", u32::from(literal)));
    }

    /// Reads the second of two stars.
    fn stars(&mut self) {
        let [_, before] = self.read;
        self.bump();
        let in_brace = self.open.len() > 1;
        let next = self.rest.chars().next();
        if self.branch().is_none_or(|branch| branch.is_empty()) {
            if next.is_none_or(|next| next == '/') {
                self.bump();
                self.push(Piece::Leading);
            } else {
                self.text("[^/]*");
            }
            return;
        }
        let ends = next.is_none() || in_brace && matches!(next, Some(',' | '}'));
        if before != Some('/') || !ends && next != Some('/') {
            return self.text("[^/]*");
        }
        if !ends {
            self.bump();
        }
        let piece = match self.branch().and_then(Vec::pop) {
            Some(same @ (Piece::Leading | Piece::Trailing)) => same,
            _ if ends => Piece::Trailing,
            _ => Piece::Between,
        };
        self.push(piece);
    }

    fn class(&mut self) {
        let negated = self.rest.starts_with(['!', '^']);
        let mut class = String::from(if negated { "[^/" } else { "[" });
        if negated {
            self.bump();
        }
        let mut first = true;
        while let Some(low) = self.bump() {
            if low == ']' && !first {
                break;
            }
            first = false;
            let mut ahead = self.rest.chars();
            let mut high = low;
            if let (Some('-'), Some(end)) = (ahead.next(), ahead.next())
                && end != ']'
            {
                self.bump();
                self.bump();
                high = end;
            }
            // Writing to a String cannot fail.
            let _ = write!(
                class,
                "\\x{{{:x}}}-\\x{{{:x}}}",
                u32::from(low),
                u32::from(high)
            );
        }
        class.push(']');
        self.text(&class);
    }
}
