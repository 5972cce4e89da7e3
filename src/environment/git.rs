//! Git's global configuration for commands: the operator's settings without logins and without the
//! programs that git would start.
//!
//! It becomes a file, since variables (`GIT_CONFIG_COUNT`) would win over a repository's own
//! configuration (git-config(1), "Environment").
#![expect(
    clippy::disallowed_methods,
    reason = "files of the operator, read when the server starts"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use replay_base::text::git_config::each_variable;

use crate::address;
use crate::configuration::{HomeFile, KeyFilter, Machine, MissingKeys, read, shortened};
use crate::definitions::KeyLists;

/// Deepest `include` that is followed, as in git (`MAX_INCLUDE_DEPTH` in its config.c).
const MAX_INCLUDE_DEPTH: usize = 10;
/// Most files that are read.
const MAX_READ_FILES: usize = 64;
/// Most files that included and ignore files become.
const MAX_FILES: usize = 64;
/// Thing that commands lack, for the sentence of an alias that runs a shell.
const ALIAS: &str =
    "this alias of the operator, since it runs a shell; give its commands themselves";
const GLOBAL: &str = ".gitconfig";
/// Default places of ignore and attributes files, below the configuration directory and below HOME.
const DEFAULT_FILES: [&str; 2] = ["git/ignore", "git/attributes"];

/// A variable of the operator's configuration; section and name in lower case.
struct Setting {
    section: String,
    subsection: Option<String>,
    name: String,
    value: String,
}

/// Returns git's global configuration, its ignore and attributes files, and the files that it
/// includes on conditions.
pub(crate) fn home_files(machine: &Machine<'_>) -> Vec<HomeFile> {
    let directory = (machine.variable)("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .unwrap_or_else(|| machine.home.join(".config"));
    let named = (machine.variable)("GIT_CONFIG_GLOBAL").map(PathBuf::from);
    let sources = named.map_or_else(
        || vec![directory.join("git/config"), machine.home.join(GLOBAL)],
        |named| vec![named],
    );
    let mut writer = Writer {
        machine,
        filter: KeyFilter::new(machine, machine.definitions.document().git.clone(), false),
        files: Vec::new(),
        open: Vec::new(),
        read: 0,
        fault: None,
    };
    let (mut text, mut found) = (Text::default(), None);
    for source in sources {
        if writer.is_there(&source) {
            writer.add_file(&source, &mut text);
            found = Some(source);
        }
    }
    for file in DEFAULT_FILES {
        let source = directory.join(file);
        if let Some(text) = writer.read_list(&source) {
            writer.put(format!(".config/{file}"), &source, text);
        }
    }
    let Writer {
        filter,
        mut files,
        fault,
        ..
    } = writer;
    files.extend(found.map(|source| HomeFile {
        path: GLOBAL.to_owned(),
        source,
        text: text.text,
        passed: filter.passed,
        hosts: Vec::new(),
        left_out: filter.left_out,
        missing: (!filter.keys.is_empty() || fault.is_some()).then_some(MissingKeys {
            keys: filter.keys,
            addresses: filter.addresses,
            fault,
        }),
    }));
    files
}

struct Writer<'a> {
    machine: &'a Machine<'a>,
    filter: KeyFilter<'a>,
    files: Vec<HomeFile>,
    /// Files that are being read, of which none includes itself.
    open: Vec<PathBuf>,
    /// Number of files that were read.
    read: usize,
    fault: Option<String>,
}

impl Writer<'_> {
    fn is_there(&self, path: &Path) -> bool {
        std::fs::symlink_metadata(path).is_ok() && (self.machine.is_own)(path)
    }

    /// Adds what commands get of a file.
    fn add_file(&mut self, source: &Path, to: &mut Text) {
        self.read += 1;
        if self.read > MAX_READ_FILES {
            self.fault = Some("it includes too many files".to_owned());
            return;
        }
        let text = match read(source) {
            Ok(text) => text,
            Err(fault) => {
                self.fault = Some(fault);
                return;
            }
        };
        self.open.push(source.to_owned());
        let settings = settings(&text);
        let lacking = self.lacking_filters(&settings);
        let mut refused = BTreeSet::new();
        for setting in &settings {
            let is_clean = |text: &String| {
                address::clean(text, &|_| None).is_some_and(|clean| clean.text == *text)
            };
            if setting.section != "url" && !setting.subsection.iter().all(is_clean) {
                self.filter.left_out.push(setting.key());
                continue;
            }
            match (setting.section.as_str(), &setting.subsection) {
                ("include" | "includeif", _) if setting.name == "path" => {
                    self.include(setting, source, to);
                }
                ("core", None)
                    if ["excludesfile", "attributesfile"].contains(&setting.name.as_str()) =>
                {
                    self.add_list(setting, source, to);
                }
                ("filter", Some(driver)) if lacking.contains(driver) => {
                    if refused.insert(driver.clone()) {
                        refuse_filter(driver, &settings, to);
                    }
                }
                _ => self.add(setting, to),
            }
        }
        self.open.pop();
    }

    /// Returns the filters of which commands lack a program.
    fn lacking_filters(&self, settings: &[Setting]) -> BTreeSet<String> {
        let globs = &self.machine.definitions.document().git.filters;
        let lacks = |setting: &&Setting| {
            globs.iter().any(|glob| setting.has_key(glob))
                && !setting.value.is_empty()
                && !self.filter.has_program(&setting.value)
        };
        let drivers = settings.iter().filter(lacks);
        drivers
            .filter_map(|setting| setting.subsection.clone())
            .collect()
    }

    /// Adds an included file in place, or, if it has a condition, as a file of its own.
    fn include(&mut self, setting: &Setting, from: &Path, to: &mut Text) {
        let source = self.absolute(&setting.value, from);
        let is_open = self.open.len() >= MAX_INCLUDE_DEPTH || self.open.contains(&source);
        if is_open || !self.is_there(&source) {
            return;
        }
        let Some(condition) = &setting.subsection else {
            return self.add_file(&source, to);
        };
        let mut text = Text::default();
        self.add_file(&source, &mut text);
        if text.text.is_empty() {
            return;
        }
        let condition = match condition.split_once(':') {
            Some((kind @ ("gitdir" | "gitdir/i"), glob))
                if glob.starts_with("~/") || glob.starts_with("./") =>
            {
                format!("{kind}:{}", self.absolute(glob, from).display())
            }
            _ => condition.clone(),
        };
        if let Some(place) = self.put_numbered(&source, text.text) {
            to.add("includeIf", Some(&condition), "path", &place);
        }
    }

    /// Reads an ignore or attributes file without its comments; `None` if it may hold secrets.
    fn read_list(&self, source: &Path) -> Option<String> {
        let private = self.machine.definitions.private();
        let is_private =
            |name: &String| name != ".config" && source.starts_with(self.machine.home.join(name));
        if private.iter().any(is_private) || !self.is_there(source) {
            return None;
        }
        let text = read(source).ok()?;
        let mut kept = String::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if address::clean(line, &|_| None).is_some() {
                kept.push_str(line);
                kept.push('\n');
            }
        }
        Some(kept)
    }

    /// Copies an ignore or attributes file.
    fn add_list(&mut self, setting: &Setting, from: &Path, to: &mut Text) {
        let source = self.absolute(&setting.value, from);
        if let Some(text) = self.read_list(&source)
            && let Some(place) = self.put_numbered(&source, text)
        {
            self.filter.passed += 1;
            to.add("core", None, &setting.name, &place);
        }
    }

    /// Adds a file with the next number and returns its place for git.
    fn put_numbered(&mut self, source: &Path, text: String) -> Option<String> {
        if self.files.len() >= MAX_FILES {
            return None;
        }
        let place = format!(".config/git/replay-{}", self.files.len() + 1);
        let shown = format!("~/{place}");
        self.put(place, source, text);
        Some(shown)
    }

    fn put(&mut self, path: String, source: &Path, text: String) {
        self.files.push(HomeFile {
            path,
            source: source.to_owned(),
            text,
            passed: 0,
            hosts: Vec::new(),
            left_out: Vec::new(),
            missing: None,
        });
    }

    /// Adds a setting that the lists pass.
    fn add(&mut self, setting: &Setting, to: &mut Text) {
        let lists = &self.machine.definitions.document().git;
        let key = setting.key();
        let is_in = |globs: &[String]| globs.iter().any(|glob| setting.has_key(glob));
        if setting.section == "alias" && setting.value.trim_start().starts_with('!') {
            self.filter.left_out.push(key);
            let fails = format!("!echo 'replay: commands do not have {ALIAS}' >&2; false");
            return to.add(
                "alias",
                setting.subsection.as_deref(),
                &setting.name,
                &fails,
            );
        }
        let is_passed = if self.filter.is_named_secret(&setting.name) {
            false
        } else if is_in(&lists.keys) {
            true
        } else if is_in(&lists.addresses) {
            return self.add_address(setting, to);
        } else {
            (is_in(&lists.programs) || is_in(&lists.filters))
                && (setting.value.is_empty() || self.filter.has_program(&setting.value))
        };
        if !is_passed {
            return self.leave_out(setting, lists, &key);
        }
        match self.filter.clean(&key, &setting.value) {
            Some(value) => self.write(setting, setting.subsection.as_deref(), &value, to),
            None => self.filter.keys.push(key),
        }
    }

    /// Adds a replacement of addresses. Commands have no key for ssh, so none leads there.
    fn add_address(&mut self, setting: &Setting, to: &mut Text) {
        let key = setting.key();
        let base = setting.subsection.clone().unwrap_or_default();
        let by_ssh = base.starts_with("ssh://") || (base.contains('@') && !base.contains("://"));
        if by_ssh {
            return self.filter.leave_out(&key);
        }
        let (base, value) = (
            address::clean(&base, self.machine.stand_in),
            self.filter.clean(&setting.name, &setting.value),
        );
        match (base, value) {
            (Some(base), Some(value)) => {
                if !base.stripped.is_empty() && base.text == base.stripped.concat() {
                    self.filter.keys.push("the login in url.*".to_owned());
                    self.filter.addresses.extend(base.stripped);
                }
                self.write(setting, Some(&base.text), &value, to);
            }
            _ => self.filter.keys.push("url.*".to_owned()),
        }
    }

    fn write(&mut self, setting: &Setting, subsection: Option<&str>, value: &str, to: &mut Text) {
        self.filter.passed += 1;
        to.add(&setting.section, subsection, &setting.name, value);
    }

    fn leave_out(&mut self, setting: &Setting, lists: &KeyLists, key: &str) {
        let is_secret = lists.secrets.iter().any(|glob| setting.has_key(glob));
        let key = key.to_owned();
        if is_secret {
            self.filter.keys.push(key);
        } else {
            self.filter.left_out.push(key);
        }
    }

    /// Resolves a path as git does (git-config(1), "pathname").
    fn absolute(&self, path: &str, from: &Path) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(below) => self.machine.home.join(below),
            None => from
                .parent()
                .unwrap_or(from)
                .join(path.strip_prefix("./").unwrap_or(path)),
        }
    }
}

/// Writes a filter that fails with a sentence: without it git would store the unfiltered bytes.
fn refuse_filter(driver: &str, settings: &[Setting], to: &mut Text) {
    let own = settings.iter().filter(|setting| {
        setting.section == "filter" && setting.subsection.as_deref() == Some(driver)
    });
    let line = own
        .filter(|setting| ["clean", "process", "smudge"].contains(&setting.name.as_str()))
        .find(|setting| !setting.value.is_empty());
    let word = line.and_then(|setting| setting.value.split_whitespace().next());
    let program = word
        .and_then(|word| word.rsplit('/').next())
        .unwrap_or_default();
    let is_plain = |text: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
        !text.is_empty() && text.bytes().all(is_plain)
    };
    let program = if is_plain(program) {
        program
    } else {
        "the program of this filter"
    };
    let fails = format!(
        "echo 'replay: commands do not have {program}, which .gitattributes asks for here; the operator can show it \
         with --system' >&2; false"
    );
    for (name, value) in [
        ("clean", fails.as_str()),
        ("smudge", "cat"),
        ("required", "true"),
    ] {
        to.add("filter", Some(driver), name, value);
    }
}

impl Setting {
    /// Key for messages, without its subsection.
    fn key(&self) -> String {
        // A secret may stand in the subsection.
        let middle = if self.subsection.is_some() { ".*" } else { "" };
        shortened(&format!("{}{middle}.{}", self.section, self.name))
    }

    /// Returns true if a pattern `section.name` or `section.*.name` matches. A `*` in the name stands
    /// for any text. `section.*` stands for all keys of a section.
    fn has_key(&self, glob: &str) -> bool {
        let (section, name) = glob.split_once('.').unwrap_or((glob, "*"));
        let (has_subsection, name) = match name.rsplit_once('.') {
            Some((_, name)) => (Some(true), name),
            None if name.contains('*') => (None, name),
            None => (Some(false), name),
        };
        section == self.section
            && has_subsection.is_none_or(|has| has == self.subsection.is_some())
            && crate::glob::matches(&name.to_ascii_lowercase(), self.name.as_bytes())
    }
}

fn settings(text: &str) -> Vec<Setting> {
    let mut all = Vec::new();
    each_variable(text.as_bytes(), |variable| {
        let utf8 = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let subsection = variable.subsection.map(utf8);
        if let (Some(section), Some(name), Some(value)) = (
            utf8(variable.section),
            utf8(variable.name),
            utf8(variable.value),
        ) && subsection != Some(None)
        {
            all.push(Setting {
                section: section.to_ascii_lowercase(),
                subsection: subsection.flatten(),
                name: name.to_ascii_lowercase(),
                value,
            });
        }
    });
    all
}

/// Text of a configuration.
#[derive(Default)]
struct Text {
    text: String,
    heading: String,
}

impl Text {
    fn add(&mut self, section: &str, subsection: Option<&str>, name: &str, value: &str) {
        let heading = match subsection {
            Some(subsection) => format!("[{section} \"{}\"]\n", escaped(subsection, false)),
            None => format!("[{section}]\n"),
        };
        if heading != self.heading {
            self.text.push_str(&heading);
            self.heading = heading;
        }
        let _ = writeln!(self.text, "\t{name} = \"{}\"", escaped(value, true));
    }
}

/// Escapes a text between quotes; in a subsection only `\` and `"` have an escape.
fn escaped(text: &str, is_value: bool) -> String {
    let mut all = String::new();
    for char in text.chars() {
        match char {
            '\\' => all.push_str("\\\\"),
            '"' => all.push_str("\\\""),
            '\n' if is_value => all.push_str("\\n"),
            '\t' if is_value => all.push_str("\\t"),
            '\n' | '\0' => {}
            other => all.push(other),
        }
    }
    all
}

#[cfg(test)]
mod tests;
