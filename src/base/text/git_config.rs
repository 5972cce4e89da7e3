//! Syntax of git's configuration (git-config(1), "Syntax").
//!
//! Git rejects a file with a syntax error. Here the rest after an error is read nevertheless, to
//! find too much rather than too little.

/// A variable, without its quotes. A variable without `=` is true.
pub struct Variable<'a> {
    pub section: &'a [u8],
    /// Subsection; may be empty.
    pub subsection: Option<&'a [u8]>,
    pub name: &'a [u8],
    pub value: &'a [u8],
}

impl Variable<'_> {
    pub fn is(&self, section: &[u8], subsection: Option<&[u8]>, name: &[u8]) -> bool {
        self.section.eq_ignore_ascii_case(section)
            && self.subsection == subsection
            && self.name.eq_ignore_ascii_case(name)
    }

    /// Returns true if a pattern matches the key: `section.name` or `section.*.name`, and `*` for any
    /// name.
    pub fn has_key(&self, key: &str) -> bool {
        let (Some((section, rest)), Some((_, name))) = (key.split_once('.'), key.rsplit_once('.'))
        else {
            return false;
        };
        self.section.eq_ignore_ascii_case(section.as_bytes())
            && (name == "*" || self.name.eq_ignore_ascii_case(name.as_bytes()))
            && self.subsection.is_some() == rest.contains('.')
    }
}

/// Reads all variables, in one pass.
pub fn each_variable(text: &[u8], mut take: impl FnMut(&Variable<'_>)) {
    let mut rest = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let (mut section, mut subsection): (&[u8], Option<Vec<u8>>) = (b"", None);
    while let Some((first, after)) = rest.split_first() {
        match first {
            b'#' | b';' => rest = behind_line(rest),
            b'[' => {
                let length = after
                    .iter()
                    .position(|byte| !is_of_key(*byte) && *byte != b'.')
                    .unwrap_or(after.len());
                let (name, behind) = after.split_at(length);
                // Deprecated syntax of a subsection.
                let dot = name.iter().position(|byte| *byte == b'.');
                (section, subsection) = match dot {
                    Some(dot) => (&name[..dot], Some(name[dot + 1..].to_ascii_lowercase())),
                    None => (name, None),
                };
                rest = behind_blanks(behind);
                if let Some(quoted) = rest.strip_prefix(b"\"") {
                    let (value, behind) = subsection_of(quoted);
                    (subsection, rest) = (Some(value), behind);
                }
                rest = rest.strip_prefix(b"]").unwrap_or(rest);
            }
            byte if byte.is_ascii_alphabetic() => {
                let length = rest
                    .iter()
                    .position(|byte| !is_of_key(*byte))
                    .unwrap_or(rest.len());
                let (name, behind) = rest.split_at(length);
                let behind = behind_blanks(behind);
                let (value, behind) = match behind.strip_prefix(b"=") {
                    Some(written) => value_of(written),
                    None => (b"true".to_vec(), behind),
                };
                rest = behind;
                take(&Variable {
                    section,
                    subsection: subsection.as_deref(),
                    name,
                    value: &value,
                });
            }
            _ => rest = after,
        }
    }
}

const fn is_of_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

fn behind_blanks(text: &[u8]) -> &[u8] {
    let blanks = text
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    &text[blanks..]
}

fn behind_line(text: &[u8]) -> &[u8] {
    memchr::memchr(b'\n', text).map_or(&[], |end| &text[end + 1..])
}

/// Returns a subsection after its opening quote, and the text after its closing quote.
fn subsection_of(text: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut value = Vec::new();
    let mut at = 0;
    while at < text.len() && text[at] != b'\n' {
        match text[at] {
            b'"' => return (value, &text[at + 1..]),
            b'\\' if at + 1 < text.len() => {
                value.push(text[at + 1]);
                at += 2;
            }
            byte => {
                value.push(byte);
                at += 1;
            }
        }
    }
    (value, &text[at.min(text.len())..])
}

/// Returns the value after `=`, and the text after its line.
fn value_of(text: &[u8]) -> (Vec<u8>, &[u8]) {
    let (mut value, mut kept, mut is_quoted) = (Vec::new(), 0, false);
    let mut bytes = text.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\n' => {
                value.truncate(kept);
                return (value, &text[at + 1..]);
            }
            b'#' | b';' if !is_quoted => {
                value.truncate(kept);
                return (value, behind_line(&text[at..]));
            }
            b'"' => {
                is_quoted = !is_quoted;
                kept = value.len();
            }
            b'\\' => {
                match bytes.next().map(|(_, escaped)| *escaped) {
                    Some(b'\n') | None => {}
                    Some(b'\r') if text.get(at + 2) == Some(&b'\n') => drop(bytes.next()),
                    Some(b'n') => value.push(b'\n'),
                    Some(b't') => value.push(b'\t'),
                    Some(b'b') => value.push(8),
                    Some(other) => value.push(other),
                }
                kept = value.len();
            }
            // Blanks count between words, and in quotes.
            b' ' | b'\t' | b'\r' if !is_quoted => {
                if kept > 0 {
                    value.push(*byte);
                }
            }
            byte => {
                value.push(*byte);
                kept = value.len();
            }
        }
    }
    value.truncate(kept);
    (value, &[])
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn parsed_config_matches_git_config_list() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config");
        for text in [
            "[a] b = c\n[a \"X.y\"]\nb\n[s.T]\nv = \"q\" r\n",
            "[a]\nb = \\\"x\\\\y\\n\nc = one \\\ntwo\nd =  \"  e \"  f   \ng=\n",
            "\u{feff}[a]\r\nb = c\r\n; d\r\n# e\r\n[f]\tg = h#i\n",
        ] {
            #[expect(clippy::disallowed_methods, reason = "a test lays out a file")]
            std::fs::write(&path, text).unwrap();
            #[expect(clippy::disallowed_methods, reason = "a test asks git itself")]
            let git = std::process::Command::new("git")
                .args(["config", "--list", "--null", "--file"])
                .arg(&path)
                .output()
                .unwrap();
            let mut listed = String::new();
            each_variable(text.as_bytes(), |variable| {
                let lower = |text: &[u8]| String::from_utf8_lossy(text).to_lowercase();
                listed.push_str(&lower(variable.section));
                if let Some(subsection) = variable.subsection {
                    listed.push('.');
                    listed.push_str(&String::from_utf8_lossy(subsection));
                }
                listed.push('.');
                listed.push_str(&lower(variable.name));
                // For a variable without `=`, git prints no value.
                listed.push('\n');
                listed.push_str(&String::from_utf8_lossy(variable.value));
                listed.push('\0');
            });
            let said = String::from_utf8(git.stdout)
                .unwrap()
                .replace("b\0", "b\ntrue\0");
            assert_eq!(
                listed,
                said,
                "{text:?}: {}",
                String::from_utf8_lossy(&git.stderr)
            );
        }
    }
}
