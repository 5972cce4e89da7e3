//! Git configuration (git-config(1), "Syntax"): keys that name programs or further configuration.
//!
//! Git rejects a file with a syntax error. Here the rest after an error is read nevertheless, to
//! find too much rather than too little.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::facets::Facets;

/// Keys whose value git executes, or which name further configuration or hooks. `*` matches any
/// name; between two dots, a name is required. A mark restricts the values that count: `!` means
/// shell commands, `-` excludes booleans.
const KEYS: [&str; 61] = [
    "alias.*",
    "alias.*.command",
    "browser.*.cmd",
    "browser.*.path",
    "core.alternateRefsCommand",
    "core.askPass",
    "core.editor",
    "core.fsmonitor -",
    "core.gitProxy",
    "core.hooksPath",
    "core.pager",
    "core.sshCommand",
    "credential.helper",
    "credential.*.helper",
    "diff.external",
    "diff.*.command",
    "diff.*.textconv",
    "difftool.*.cmd",
    "difftool.*.path",
    "filter.*.clean",
    "filter.*.process",
    "filter.*.smudge",
    "gpg.program",
    "gpg.*.defaultKeyCommand",
    "gpg.*.program",
    "guitool.*.cmd",
    "hook.*.command",
    "imap.tunnel",
    "include.path",
    "includeIf.*.path",
    "init.templateDir",
    "instaweb.browser",
    "instaweb.httpd",
    "interactive.diffFilter",
    "man.*.cmd",
    "man.*.path",
    "merge.*.driver",
    "mergetool.*.cmd",
    "mergetool.*.path",
    "pager.* -",
    "protocol.allow",
    "protocol.*.allow",
    "remote.*.receivepack",
    "remote.*.uploadpack",
    "remote.*.vcs",
    "sendemail.ccCmd",
    "sendemail.headerCmd",
    "sendemail.sendmailCmd",
    "sendemail.smtpServer",
    "sendemail.toCmd",
    "sendemail.*.ccCmd",
    "sendemail.*.headerCmd",
    "sendemail.*.sendmailCmd",
    "sendemail.*.smtpServer",
    "sendemail.*.toCmd",
    "sequence.editor",
    "submodule.*.update !",
    "tar.*.command",
    "trailer.*.cmd",
    "trailer.*.command",
    "web.browser",
];

/// Returns the relevant keys, each with the hash of all its values.
pub(super) fn facets(text: &[u8]) -> Facets {
    let mut found: BTreeMap<String, Sha256> = BTreeMap::new();
    each_variable(text, |variable| {
        if variable.counts() {
            let hasher = found.entry(variable.to_string()).or_default();
            hasher.update((variable.value.len() as u64).to_le_bytes());
            hasher.update(variable.value);
        }
    });
    found
        .into_iter()
        .map(|(name, hasher)| (name, Some(hasher.finalize().into())))
        .collect()
}

/// Returns the value of `core.hooksPath`, if set.
pub fn hooks_path(text: &[u8]) -> Option<Vec<u8>> {
    let mut found = None;
    each_variable(text, |variable| {
        if variable.is(b"core", None, b"hookspath") {
            found = Some(variable.value.to_vec());
        }
    });
    found
}

/// Returns the hooks directory for a work tree or a bare repository, from the text of the setting;
/// `None` if it lies below a home directory.
pub fn hooks_directory(from: &Path, said: &[u8]) -> Option<PathBuf> {
    let mut path = from.to_path_buf();
    if said.is_empty() || said.starts_with(b"~") {
        return None;
    }
    for part in Path::new(OsStr::from_bytes(said)).components() {
        match part {
            Component::RootDir => path = "/".into(),
            Component::ParentDir => drop(path.pop()),
            Component::Normal(name) => path.push(name),
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Some(path)
}

/// A variable, without its quotes. A variable without `=` is true.
struct Variable<'a> {
    section: &'a [u8],
    /// Subsection; may be empty.
    subsection: Option<&'a [u8]>,
    name: &'a [u8],
    value: &'a [u8],
}

impl Variable<'_> {
    fn is(&self, section: &[u8], subsection: Option<&[u8]>, name: &[u8]) -> bool {
        self.section.eq_ignore_ascii_case(section)
            && self.subsection == subsection
            && self.name.eq_ignore_ascii_case(name)
    }

    fn counts(&self) -> bool {
        KEYS.iter().any(|line| {
            let (key, mark) = line.split_once(' ').unwrap_or((line, ""));
            let counts = match mark {
                "!" => self.value.trim_ascii_start().starts_with(b"!"),
                "-" => !is_boolean(self.value),
                _ => true,
            };
            counts && self.has_key(key)
        })
    }

    fn has_key(&self, key: &str) -> bool {
        let (Some((section, rest)), Some((_, name))) = (key.split_once('.'), key.rsplit_once('.'))
        else {
            return false;
        };
        self.section.eq_ignore_ascii_case(section.as_bytes())
            && (name == "*" || self.name.eq_ignore_ascii_case(name.as_bytes()))
            && self.subsection.is_some() == rest.contains('.')
    }
}

/// Formats the key like git config --list, but shortened.
impl std::fmt::Display for Variable<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known = KEYS
            .iter()
            .filter_map(|line| line.split(' ').next())
            .find(|key| self.has_key(key));
        let known_name = known
            .and_then(|key| key.rsplit('.').next())
            .filter(|name| *name != "*");
        let name = known_name.map_or_else(
            || String::from_utf8_lossy(self.name).to_lowercase().into(),
            Into::into,
        );
        let name: std::borrow::Cow<'_, str> = name;
        write!(
            out,
            "{}.",
            String::from_utf8_lossy(self.section).to_lowercase()
        )?;
        if let Some(subsection) = self.subsection {
            write!(out, "{}.", String::from_utf8_lossy(subsection))?;
        }
        out.write_str(&name)
    }
}

/// Returns true for git's booleans (`git_parse_maybe_bool` in its parse.c).
fn is_boolean(value: &[u8]) -> bool {
    let words: [&[u8]; 7] = [b"", b"true", b"yes", b"on", b"false", b"no", b"off"];
    words.iter().any(|word| value.eq_ignore_ascii_case(word))
        || value.iter().all(u8::is_ascii_digit)
}

/// Reads all variables, in one pass.
fn each_variable(text: &[u8], mut take: impl FnMut(&Variable<'_>)) {
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
    use super::*;
    use pretty_assertions::assert_eq;

    fn read(text: &str) -> Vec<(String, String)> {
        let mut all = Vec::new();
        each_variable(text.as_bytes(), |variable| {
            all.push((
                variable.to_string(),
                String::from_utf8_lossy(variable.value).into_owned(),
            ));
        });
        all
    }

    fn keys(text: &str) -> Vec<String> {
        facets(text.as_bytes()).into_keys().collect()
    }

    #[test]
    fn config_syntax_is_parsed_like_git() {
        let text = "[core] hookspath = a b  # c\n\tPager\n[diff \"a \\\"b\"]\ncommand=\"x ; y\" z \\\n  w\\t\n[Filter.LFS]\nclean = ;\n\
                    [alias]\r\nx = \"!a\"\r\n";
        let said = [
            ("core.hooksPath", "a b"),
            ("core.pager", "true"),
            ("diff.a \"b.command", "x ; y z   w\t"),
            ("filter.lfs.clean", ""),
            ("alias.x", "!a"),
        ];
        assert_eq!(
            read(text),
            said.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
        assert_eq!(hooks_path(text.as_bytes()), Some(b"a b".to_vec()));
        assert_eq!(hooks_path(b"[core \"x\"]\nhooksPath = y"), None);
    }

    #[test]
    fn facets_contain_only_keys_of_programs() {
        let harmless = "[core]\nbare = false\nfsmonitor = true\n[pager]\nlog = false\n[user]\nname = a\n\
                        [remote \"origin\"]\nurl = x\n[diff]\ntool = x\n[submodule \"a\"]\nupdate = merge\n";
        assert_eq!(keys(harmless), [""; 0]);
        let text = "[core]\nfsmonitor = ./x\nsshCommand=y\n[alias]\nco = !x\nst = ls-remote --upload-pack=x .\n[sendemail \"a\"]\ntoCmd = x\n[diff]\nexternal = x\n[diff \"w\"]\ntextconv = x\n\
                    [credential]\nhelper = x\n[credential \"https://a\"]\nhelper=y\n[pager]\nlog = x\n[includeIf \"gitdir:a\"]\npath = b\n\
                    [submodule \"a\"]\nupdate = !x\n";
        let all = [
            "alias.co",
            "alias.st",
            "core.fsmonitor",
            "core.sshCommand",
            "credential.helper",
            "credential.https://a.helper",
            "diff.external",
            "diff.w.textconv",
            "includeif.gitdir:a.path",
            "pager.log",
            "sendemail.a.toCmd",
            "submodule.a.update",
        ];
        assert_eq!(keys(text), all);
        let order = |text: &str| facets(text.as_bytes());
        assert_ne!(
            order("[credential]\nhelper=a\nhelper=b"),
            order("[credential]\nhelper=b\nhelper=a")
        );
        assert_eq!(
            order("[core]\neditor = a"),
            order("# said otherwise\n[CORE]\n\tEditor=\"a\" ; b")
        );
    }

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
                listed.push_str(&variable.to_string());
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
