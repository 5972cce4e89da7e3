//! Cleanup of program output: removes terminal escapes and control characters, and limits the
//! length.

/// Removes ANSI escape sequences (ECMA-48), control characters other than line feed and tab, and
/// carriage returns before a line feed. Cuts after `max` bytes, with `…` at the cut. Also returns
/// the number of bytes cut.
pub(crate) fn head(text: &str, max: usize) -> (String, u64) {
    let mut out = String::new();
    let mut rest = VisibleChars(text);
    while let Some(next) = rest.next() {
        if out.len() + next.len_utf8() > max {
            let cut = (rest.0.len() + next.len_utf8()) as u64;
            out.truncate(out.trim_end().len());
            out.push('…');
            return (out, cut);
        }
        out.push(next);
    }
    out.truncate(out.trim_end().len());
    (out, 0)
}

/// Like [`head`], but keeps the end.
pub(crate) fn tail(text: &str, max: usize) -> (String, u64) {
    // Escapes are searched in the end alone: the kept length bounds the work.
    let mut from = text.len().saturating_sub(max.saturating_mul(2));
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let clean: String = VisibleChars(&text[from..]).collect();
    let clean = clean.trim_matches('\n').trim_end();
    let mut start = clean.len().saturating_sub(max);
    while !clean.is_char_boundary(start) {
        start += 1;
    }
    let cut = (from + start) as u64;
    if cut == 0 {
        (clean.to_owned(), 0)
    } else {
        (format!("…{}", &clean[start..]), cut)
    }
}

/// Cleans a name or an id into one line.
pub(crate) fn name(text: &str, max: usize) -> (String, u64) {
    let (name, cut) = head(text, max);
    if name.contains(['\n', '\t']) {
        (name.replace(['\n', '\t'], " "), cut)
    } else {
        (name, cut)
    }
}

/// Iterator over the visible characters of a text.
struct VisibleChars<'a>(&'a str);

impl Iterator for VisibleChars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        loop {
            let mut chars = self.0.chars();
            let next = chars.next()?;
            self.0 = chars.as_str();
            match next {
                '\u{1b}' => self.skip_escape(),
                '\n' | '\t' => return Some(next),
                next if next.is_control() => {}
                next => return Some(next),
            }
        }
    }
}

impl VisibleChars<'_> {
    fn skip_escape(&mut self) {
        let mut chars = self.0.chars();
        match chars.next() {
            // CSI: parameters and intermediates, then one final byte.
            Some('[') => {
                let end = chars.as_str().find(|next: char| !matches!(next, ' '..='?'));
                let rest = end.map_or("", |end| &chars.as_str()[end..]);
                self.0 = rest
                    .strip_prefix(|next: char| matches!(next, '@'..='~'))
                    .unwrap_or(rest);
            }
            // OSC and similar strings: up to BEL or ST.
            Some(']' | 'P' | '_' | '^' | 'X') => {
                let rest = chars.as_str();
                self.0 = match rest.find(['\u{7}', '\u{1b}']) {
                    Some(end) if rest[end..].starts_with("\u{1b}\\") => &rest[end + 2..],
                    Some(end) if rest[end..].starts_with('\u{7}') => &rest[end + 1..],
                    Some(end) => &rest[end..],
                    None => "",
                };
            }
            Some(next) if !next.is_control() => self.0 = chars.as_str(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_controls_are_removed() {
        let text = "\u{1b}[31m[ERR] \u{1b}[0mUn\u{8}expected\r\n\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\ \u{1b}[38;5;246m╭\u{1b}[0m\tx\u{1b}";
        assert_eq!(
            head(text, 100),
            ("[ERR] Unexpected\nlink ╭\tx".to_owned(), 0)
        );
        assert_eq!(head("\u{1b}[", 10), (String::new(), 0));
        assert_eq!(head("\u{1b}]never ended", 10), (String::new(), 0));
    }

    #[test]
    fn cut_text_has_ellipsis() {
        assert_eq!(head("äöü", 4), ("äö…".to_owned(), 2));
        assert_eq!(tail("äöü", 3), ("…ü".to_owned(), 4));
        assert_eq!(tail("\nab\n", 5), ("ab".to_owned(), 0));
        assert_eq!(name("a\nb", 5), ("a b".to_owned(), 0));
    }
}
