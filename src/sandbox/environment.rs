//! The environment of commands: what of the server's own they get. A function of text; nothing is
//! looked up here.
//!
//! A name that is not on the list is left out, so that a secret with a new name is left out too.
//! HOME and TMPDIR are nowhere here: they depend on the walls, and the launcher sets them. A
//! command that is the operator's own, not an agent's, gets all that it would get without walls.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// PATH of commands when nothing of the server's own can be seen by them.
pub const FALLBACK_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What the operator wants of the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvRules {
    /// Names, or globs with `*`, of what is passed beside the list. A secret is passed only by its
    /// exact name.
    pub pass: Vec<String>,
    /// Names, or globs with `*`, of what is left out whatever `pass` and the list say.
    pub drop: Vec<String>,
    /// Variables with their values, whatever `pass` and `drop` say; of a name given twice the last
    /// counts.
    pub set: Vec<(OsString, OsString)>,
    /// Directories and files that commands can see; `None` without walls. Other entries of PATH and
    /// of variables that hold paths are left out.
    pub visible: Option<Vec<PathBuf>>,
    /// The shell of commands; `None`: [`FALLBACK_SHELL`].
    pub shell: Option<OsString>,
    /// Whether variables that are not on the list are passed too, secrets among them: all but
    /// `LD_*` and what describes the server's own place.
    pub whole: bool,
}

/// The variable that names the shell which commands run in.
pub const SHELL: &str = "SHELL";
/// There always is this one.
pub const FALLBACK_SHELL: &str = "/bin/sh";

/// When a variable of the list is passed.
#[derive(Clone, Copy)]
enum Kept {
    /// Always: its values are words.
    Always,
    /// Those of its paths (between colons) that commands can see.
    Visible,
    /// Unless there is a password in it.
    Address,
}

/// What commands get without being asked for: words about language, terminal and tools that are no
/// secret.
const LIST: [(&str, Kept); 59] = [
    ("LANG", Kept::Always),
    ("LANGUAGE", Kept::Always),
    ("LC_*", Kept::Always),
    ("TZ", Kept::Always),
    ("TERM", Kept::Always),
    ("COLORTERM", Kept::Always),
    ("NO_COLOR", Kept::Always),
    ("FORCE_COLOR", Kept::Always),
    ("CLICOLOR", Kept::Always),
    ("CLICOLOR_FORCE", Kept::Always),
    ("CI", Kept::Always),
    ("USER", Kept::Always),
    ("LOGNAME", Kept::Always),
    ("SOURCE_DATE_EPOCH", Kept::Always),
    ("DEBIAN_FRONTEND", Kept::Always),
    ("CC", Kept::Always),
    ("CXX", Kept::Always),
    ("CFLAGS", Kept::Always),
    ("CXXFLAGS", Kept::Always),
    ("CPPFLAGS", Kept::Always),
    ("LDFLAGS", Kept::Always),
    ("MAKEFLAGS", Kept::Always),
    ("RUSTFLAGS", Kept::Always),
    ("RUST_BACKTRACE", Kept::Always),
    ("RUST_LOG", Kept::Always),
    ("RUSTUP_TOOLCHAIN", Kept::Always),
    ("CARGO_BUILD_JOBS", Kept::Always),
    ("CARGO_INCREMENTAL", Kept::Always),
    ("CARGO_TERM_COLOR", Kept::Always),
    ("GOFLAGS", Kept::Always),
    ("GOTOOLCHAIN", Kept::Always),
    ("NODE_ENV", Kept::Always),
    ("PYENV_VERSION", Kept::Always),
    ("PYTHONDONTWRITEBYTECODE", Kept::Always),
    ("PYTHONHASHSEED", Kept::Always),
    ("PYTHONUNBUFFERED", Kept::Always),
    ("RBENV_VERSION", Kept::Always),
    ("CMAKE_PREFIX_PATH", Kept::Visible),
    ("GOROOT", Kept::Visible),
    ("JAVA_HOME", Kept::Visible),
    ("PKG_CONFIG_PATH", Kept::Visible),
    ("CURL_CA_BUNDLE", Kept::Visible),
    ("GIT_SSL_CAINFO", Kept::Visible),
    ("NIX_SSL_CERT_FILE", Kept::Visible),
    ("NODE_EXTRA_CA_CERTS", Kept::Visible),
    ("PIP_CERT", Kept::Visible),
    ("REQUESTS_CA_BUNDLE", Kept::Visible),
    ("SSL_CERT_DIR", Kept::Visible),
    ("SSL_CERT_FILE", Kept::Visible),
    ("ALL_PROXY", Kept::Address),
    ("HTTP_PROXY", Kept::Address),
    ("HTTPS_PROXY", Kept::Address),
    ("NO_PROXY", Kept::Address),
    ("all_proxy", Kept::Address),
    ("http_proxy", Kept::Address),
    ("https_proxy", Kept::Address),
    ("no_proxy", Kept::Address),
    ("GOPROXY", Kept::Address),
    ("NPM_CONFIG_REGISTRY", Kept::Address),
];

/// Names that no glob passes: secrets, ways to agents that hold secrets, and variables that make
/// other programs run.
const SENSITIVE: [&str; 36] = [
    "*TOKEN*",
    "*SECRET*",
    "*PASSWORD*",
    "*PASSWD*",
    "*PASSPHRASE*",
    "*CREDENTIAL*",
    "*APIKEY*",
    "*COOKIE*",
    "*_KEY",
    "*_KEY_*",
    "*_PAT",
    "*_DSN",
    "SSH_*",
    "GPG_*",
    "DBUS_*",
    "XDG_RUNTIME_DIR",
    "SESSION_MANAGER",
    "DISPLAY",
    "WAYLAND_*",
    "XAUTHORITY",
    "KRB5*",
    "DOCKER_*",
    "KUBECONFIG",
    "AWS_*",
    "GIT_*",
    "LD_*",
    "BASH_*",
    "SHELLOPTS",
    "BASHOPTS",
    "ENV",
    "IFS",
    "PS4",
    "PROMPT_COMMAND",
    "NODE_OPTIONS",
    "PERL5*",
    "PYTHONSTARTUP",
];

/// What describes the server's own place and is wrong for a command's.
const OWN: [&str; 8] = [
    "HOME", "TMPDIR", "TMP", "TEMP", "PWD", "OLDPWD", "SHLVL", "_",
];

/// The environment of commands, without HOME and TMPDIR: `vars` (the server's own) as far as
/// `rules` let them through, in their order, then SHELL and PATH, then what is set. Each name once;
/// PATH always and never empty.
pub fn scrub(
    vars: impl Iterator<Item = (OsString, OsString)>,
    rules: &EnvRules,
) -> Vec<(OsString, OsString)> {
    let mut kept: Vec<(OsString, OsString)> = Vec::new();
    let mut path = None;
    let is_set = |name: &OsStr| rules.set.iter().any(|(set, _)| set == name);
    for (name, value) in vars {
        let dropped = rules.drop.iter().any(|glob| matches(glob, &name));
        if dropped
            || is_set(&name)
            || !is_name(&name)
            || kept.iter().any(|(known, _)| *known == name)
        {
            continue;
        }
        if name == "PATH" {
            path.get_or_insert(value);
        } else if let Some(value) = passed(&name, value, rules) {
            kept.push((name, value));
        }
    }
    let [shell, search] = [SHELL, "PATH"].map(OsStr::new);
    // Never dropped, since commands run in it; the operator's own need not be visible to them.
    if !is_set(shell) {
        kept.retain(|(name, _)| name != shell);
        kept.push((
            shell.into(),
            rules.shell.clone().unwrap_or_else(|| FALLBACK_SHELL.into()),
        ));
    }
    if !is_set(search) {
        let path = visible_path(&path.unwrap_or_default(), rules);
        kept.push((
            search.into(),
            if path.is_empty() {
                FALLBACK_PATH.into()
            } else {
                path
            },
        ));
    }
    for (index, (name, value)) in rules.set.iter().enumerate() {
        if is_name(name)
            && !rules.set[index + 1..]
                .iter()
                .any(|(later, _)| later == name)
        {
            kept.push((name.clone(), value.clone()));
        }
    }
    kept
}

/// The value that commands get of a variable, if they get any.
fn passed(name: &OsStr, value: OsString, rules: &EnvRules) -> Option<OsString> {
    if rules
        .pass
        .iter()
        .any(|exact| !exact.contains('*') && name == exact.as_str())
    {
        return Some(value);
    }
    let own = OWN.iter().any(|own| name == *own);
    let listed = LIST.iter().find(|(glob, _)| matches(glob, name));
    let holds_paths = matches!(listed, Some((_, Kept::Visible)));
    if rules.whole && !holds_paths {
        return (!own && !matches("LD_*", name)).then_some(value);
    }
    if let Some((_, kept)) = listed.filter(|(listed, _)| name == *listed || !is_sensitive(name)) {
        return match kept {
            Kept::Always | Kept::Address => (!has_password(&value)).then_some(value),
            Kept::Visible => Some(visible_path(&value, rules)).filter(|paths| !paths.is_empty()),
        };
    }
    let asked = rules.pass.iter().any(|glob| matches(glob, name));
    (asked && !own && !is_sensitive(name) && !has_password(&value)).then_some(value)
}

/// Whether only its exact name passes a variable.
pub fn is_sensitive(name: &OsStr) -> bool {
    let upper = OsString::from_vec(name.as_bytes().to_ascii_uppercase());
    SENSITIVE.iter().any(|glob| matches(glob, &upper))
}

/// Whether a value can be shown to a person: its name is of the list, and no password is in it.
pub fn is_harmless(name: &OsStr, value: &OsStr) -> bool {
    let listed = LIST
        .iter()
        .any(|(listed, _)| name == *listed || (matches(listed, name) && !is_sensitive(name)));
    (listed || name == "PATH" || name == "SHELL" || name == "HOME") && !has_password(value)
}

/// `scheme://user:password@host`, anywhere in a value; a name without a password (`ssh://git@host`)
/// is none.
fn has_password(value: &OsStr) -> bool {
    let bytes = value.as_bytes();
    memchr::memmem::find_iter(bytes, b"://").any(|at| {
        let rest = &bytes[at + 3..];
        let authority = &rest[..rest
            .iter()
            .position(|byte| matches!(byte, b'/' | b'?' | b'#'))
            .unwrap_or(rest.len())];
        memchr::memrchr(b'@', authority).is_some_and(|end| authority[..end].contains(&b':'))
    })
}

/// Its entries that are absolute, plain and visible to commands, each once.
fn visible_path(value: &OsStr, rules: &EnvRules) -> OsString {
    let mut entries: Vec<&[u8]> = Vec::new();
    for entry in value.as_bytes().split(|byte| *byte == b':') {
        if is_visible(Path::new(OsStr::from_bytes(entry)), rules) && !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    OsString::from_vec(entries.join(&b':'))
}

fn is_visible(path: &Path, rules: &EnvRules) -> bool {
    if !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
        return false;
    }
    let Some(visible) = &rules.visible else {
        return true;
    };
    // A directory of which commands see single files is worth searching too.
    visible
        .iter()
        .any(|seen| path.starts_with(seen) || seen.parent() == Some(path))
}

/// What a variable can be called (environ(7)): not empty, without `=` and NUL.
pub fn is_name(name: &OsStr) -> bool {
    !name.is_empty() && !name.as_bytes().iter().any(|byte| matches!(byte, b'=' | 0))
}

/// Whether `*` of the glob can stand for something that makes it the name.
fn matches(glob: &str, name: &OsStr) -> bool {
    // Most names are told apart so, at each start a hundred globs for each variable.
    if glob
        .as_bytes()
        .first()
        .is_some_and(|first| *first != b'*' && name.as_bytes().first() != Some(first))
    {
        return false;
    }
    let mut parts = glob.split('*').map(str::as_bytes);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.as_bytes().strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match memchr::memmem::find(rest, part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
