//! Keys of git's configuration that name programs or further configuration.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use replay_base::text::git_config::{Variable, each_variable};
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
        if counts(variable) {
            let hasher = found.entry(key_name(variable)).or_default();
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

/// Returns true if git executes the value of this variable, or reads more configuration by it.
fn counts(variable: &Variable<'_>) -> bool {
    KEYS.iter().any(|line| {
        let (key, mark) = line.split_once(' ').unwrap_or((line, ""));
        let counts = match mark {
            "!" => variable.value.trim_ascii_start().starts_with(b"!"),
            "-" => !is_boolean(variable.value),
            _ => true,
        };
        counts && variable.has_key(key)
    })
}

/// Formats the key like git config --list, with the usual case of its name.
fn key_name(variable: &Variable<'_>) -> String {
    let known = KEYS
        .iter()
        .filter_map(|line| line.split(' ').next())
        .find(|key| variable.has_key(key));
    let known_name = known
        .and_then(|key| key.rsplit('.').next())
        .filter(|name| *name != "*");
    let lower = |text: &[u8]| String::from_utf8_lossy(text).to_lowercase();
    let mut name = lower(variable.section);
    if let Some(subsection) = variable.subsection {
        name.push('.');
        name.push_str(&String::from_utf8_lossy(subsection));
    }
    name.push('.');
    match known_name {
        Some(known) => name.push_str(known),
        None => name.push_str(&lower(variable.name)),
    }
    name
}

/// Returns true for git's booleans (`git_parse_maybe_bool` in its parse.c).
fn is_boolean(value: &[u8]) -> bool {
    let words: [&[u8]; 7] = [b"", b"true", b"yes", b"on", b"false", b"no", b"off"];
    words.iter().any(|word| value.eq_ignore_ascii_case(word))
        || value.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn read(text: &str) -> Vec<(String, String)> {
        let mut all = Vec::new();
        each_variable(text.as_bytes(), |variable| {
            all.push((
                key_name(variable),
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
}
