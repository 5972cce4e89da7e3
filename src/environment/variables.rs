//! Environment of commands: the part of the server's environment that they get. Pure functions of
//! text, without lookups.
//!
//! A name outside the list is dropped, so that a secret with a new name is dropped too. HOME and
//! TMPDIR are absent: they depend on the walls, and the launcher sets them. A command of the
//! operator, not of an agent, gets the environment that it would get without walls.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use crate::definitions::Definitions;
use crate::{address, glob};

/// PATH of commands if they can see no entry of the server's PATH.
pub const FALLBACK_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Environment rules of the operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvRules {
    /// Names, or globs with `*`, of variables to pass in addition to the list. A secret is passed
    /// only by its exact name.
    pub pass: Vec<String>,
    /// Names, or globs with `*`, of variables to drop, despite `pass` and the list.
    pub drop: Vec<String>,
    /// Variables with values, despite `pass` and `drop`. The last of several values for a name
    /// wins.
    pub set: Vec<(OsString, OsString)>,
    /// Directories and files that commands can see; `None` without walls. Other entries of PATH and
    /// of path variables are dropped.
    pub visible: Option<Vec<PathBuf>>,
    /// The shell of commands; `None`: [`FALLBACK_SHELL`].
    pub shell: Option<OsString>,
    /// `true` if all variables are passed, secrets among them, except `LD_*` and variables about
    /// the server's own directories.
    pub whole: bool,
}

impl EnvRules {
    /// Returns true if a rule drops this variable.
    pub fn drops(&self, name: &OsStr) -> bool {
        self.drop.iter().any(|glob| matches(glob, name))
    }
}

/// Variable that names the shell of commands.
pub const SHELL: &str = "SHELL";
/// Shell that exists on every system.
pub const FALLBACK_SHELL: &str = "/bin/sh";

/// Condition for passing a variable of the lists.
#[derive(Clone, Copy)]
enum PassCondition {
    /// Always: its values are words.
    Always,
    /// Only the colon-separated paths that commands can see.
    Visible,
    /// Unless it contains a password.
    Address,
}

/// Variables that describe the server's own directories and are wrong for a command.
pub(crate) const OWN: [&str; 8] = [
    "HOME", "TMPDIR", "TMP", "TEMP", "PWD", "OLDPWD", "SHLVL", "_",
];

/// Builds the environment of commands, without HOME and TMPDIR. First come the variables of `vars`
/// (the server's own) that pass `rules`, in their order, then SHELL and PATH, then `rules.set`.
/// Names are unique; PATH is always present and not empty.
pub fn scrub(
    vars: impl Iterator<Item = (OsString, OsString)>,
    rules: &EnvRules,
    definitions: &Definitions,
) -> Vec<(OsString, OsString)> {
    let mut kept: Vec<(OsString, OsString)> = Vec::new();
    let mut path = None;
    let is_set = |name: &OsStr| rules.set.iter().any(|(set, _)| set == name);
    for (name, value) in vars {
        if rules.drops(&name)
            || is_set(&name)
            || !is_name(&name)
            || kept.iter().any(|(known, _)| *known == name)
        {
            continue;
        }
        if name == "PATH" {
            path.get_or_insert(value);
        } else if let Some(value) = filtered_value(&name, value, rules, definitions) {
            kept.push((name, value));
        }
    }
    let [shell, search] = [SHELL, "PATH"].map(OsStr::new);
    // SHELL is never dropped, since commands run in it. The operator's choice need not be visible
    // to them.
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

/// Variables that commands get by default.
fn listed(definitions: &Definitions) -> impl Iterator<Item = (&str, PassCondition)> {
    let lists = &definitions.document().variables;
    [
        (&lists.words, PassCondition::Always),
        (&lists.paths, PassCondition::Visible),
        (&lists.addresses, PassCondition::Address),
    ]
    .into_iter()
    .flat_map(|(names, condition)| names.iter().map(move |name| (name.as_str(), condition)))
}

/// Returns the value that commands get for a variable, if any.
fn filtered_value(
    name: &OsStr,
    value: OsString,
    rules: &EnvRules,
    definitions: &Definitions,
) -> Option<OsString> {
    if rules
        .pass
        .iter()
        .any(|exact| !exact.contains('*') && name == exact.as_str())
    {
        return Some(value);
    }
    let own = OWN.iter().any(|own| name == *own);
    let listed = listed(definitions).find(|(glob, _)| matches(glob, name));
    let holds_paths = matches!(listed, Some((_, PassCondition::Visible)));
    if rules.whole && !holds_paths {
        return (!own && !matches("LD_*", name)).then_some(value);
    }
    if let Some((_, kept)) =
        listed.filter(|(listed, _)| name == OsStr::new(listed) || !is_sensitive(definitions, name))
    {
        return match kept {
            PassCondition::Always | PassCondition::Address => without_secrets(value),
            PassCondition::Visible => {
                Some(visible_path(&value, rules)).filter(|paths| !paths.is_empty())
            }
        };
    }
    let asked = rules.pass.iter().any(|glob| matches(glob, name));
    (asked && !own && !is_sensitive(definitions, name) && !has_password(&value)).then_some(value)
}

/// Takes logins out of addresses; `None` if the value may hold a secret in another form.
fn without_secrets(value: OsString) -> Option<OsString> {
    let Some(text) = value.to_str() else {
        return (!has_password(&value)).then_some(value);
    };
    let clean = address::clean(text, &|_| None)?;
    Some(clean.text.into())
}

/// Returns true if a variable is passed only by its exact name.
pub fn is_sensitive(definitions: &Definitions, name: &OsStr) -> bool {
    let upper = name.as_bytes().to_ascii_uppercase();
    glob::any_matches(&definitions.document().variables.sensitive, &upper)
}

/// Returns true if a value may be shown to a person: its name is in the list, and it contains no
/// password.
pub fn is_harmless(definitions: &Definitions, name: &OsStr, value: &OsStr) -> bool {
    let listed = listed(definitions).any(|(listed, _)| {
        name == OsStr::new(listed) || (matches(listed, name) && !is_sensitive(definitions, name))
    });
    (listed || name == "PATH" || name == "SHELL" || name == "HOME") && !has_password(value)
}

/// Returns true if a value contains `scheme://user:password@host`. A user without a password
/// (`ssh://git@host`) does not count.
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

/// Filters the entries of a path variable: absolute, plain, visible to commands, and unique.
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
    // A directory with single visible files is worth searching too.
    visible
        .iter()
        .any(|seen| path.starts_with(seen) || seen.parent() == Some(path))
}

/// Returns true for a valid variable name (environ(7)): not empty, without `=` and NUL.
pub fn is_name(name: &OsStr) -> bool {
    !name.is_empty() && !name.as_bytes().iter().any(|byte| matches!(byte, b'=' | 0))
}

/// Returns true if the glob matches the name; `*` stands for any text.
fn matches(glob: &str, name: &OsStr) -> bool {
    glob::matches(glob, name.as_bytes())
}

#[cfg(test)]
mod tests;
