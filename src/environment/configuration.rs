//! Configuration of the operator's tools, written anew without its secrets.
#![expect(
    clippy::disallowed_methods,
    reason = "files of the operator, read when the server starts"
)]

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use serde_json::{Map, Value};

use crate::address::{self, has_token, origin};
use crate::definitions::{Configuration, Definitions, Format, KeyLists};
use crate::glob::{any_matches, matches};
use crate::{formats, variables};

/// Largest configuration file that is read, in bytes.
pub(crate) const MAX_CONFIGURATION_BYTES: u64 = 1024 * 1024;
/// Longest name of a key in messages, in bytes.
const MAX_KEY_BYTES: usize = 80;
/// Most keys of a file that are reported as left out.
const MAX_KEYS: usize = 100;
/// Longest line of base64 in a certificate.
const MAX_BASE64_LINE: usize = 76;
/// Most addresses of a file that are reported.
const MAX_ADDRESSES: usize = 64;

/// The operator's machine, from which [`HomeFile`]s are made. Closures decide what commands see.
pub struct Machine<'a> {
    pub definitions: &'a Definitions,
    pub home: &'a Path,
    /// Variable of the server.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// True if no agent can lead this path elsewhere.
    pub is_own: &'a dyn Fn(&Path) -> bool,
    /// True if commands see this absolute path.
    pub is_visible: &'a dyn Fn(&Path) -> bool,
    /// True if commands find a program of this name.
    pub has_program: &'a dyn Fn(&str) -> bool,
    /// Placeholder that the proxy replaces by the secret for this scheme and host, if any.
    pub stand_in: &'a dyn Fn(&str) -> Option<String>,
}

/// A file of the private HOME that stands for one of the operator's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeFile {
    /// Path below HOME.
    pub path: String,
    /// The operator's file.
    pub source: PathBuf,
    pub text: String,
    /// Number of values that commands get.
    pub passed: usize,
    /// Hosts of addresses in them, with their ports.
    pub hosts: Vec<String>,
    /// Keys that were left out, without secrets.
    pub left_out: Vec<String>,
    /// Secrets of the file that commands lack, if there are any.
    pub missing: Option<MissingKeys>,
}

impl HomeFile {
    /// Describes for the operator what commands get of it.
    pub fn describe(&self) -> String {
        let mut text = match (self.passed, &self.missing) {
            (
                _,
                Some(MissingKeys {
                    fault: Some(fault), ..
                }),
            ) => {
                format!(
                    "empty, since {} was not understood: {fault}",
                    self.source.display()
                )
            }
            (0, Some(missing)) if missing.keys.is_empty() => "empty: no flag shows it".to_owned(),
            (0, _) if self.left_out.is_empty() => format!("a copy of {}", self.source.display()),
            (1, _) => "1 value".to_owned(),
            (passed, _) => format!("{passed} values"),
        };
        let secrets = self.missing.iter().flat_map(|missing| &missing.keys);
        for (heading, keys) in [
            ("secret", secrets.collect::<Vec<_>>()),
            ("left out", self.left_out.iter().collect()),
        ] {
            for (index, key) in keys.iter().enumerate() {
                let before = if index == 0 {
                    format!("; {heading}: ")
                } else {
                    ", ".to_owned()
                };
                text.push_str(&before);
                text.push_str(key);
            }
        }
        text
    }

    /// Returns its path below HOME and its text.
    pub fn content(&self) -> (&str, &str) {
        (&self.path, &self.text)
    }
}

/// Secrets of a file that commands do not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingKeys {
    /// Names of the keys; empty if commands get nothing of the file.
    pub keys: Vec<String>,
    /// Addresses for which a credential would fill them.
    pub addresses: Vec<String>,
    /// Reason why nothing of the file was understood, if so.
    pub fault: Option<String>,
}

impl MissingKeys {
    /// Iterates over the hosts of the addresses, with their ports.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        let origins = self.addresses.iter().map(|address| origin(address));
        origins.filter_map(|origin| Some(origin.split_once("://")?.1))
    }

    /// Describes for an agent what commands lack of the file at `path` below HOME, and the next
    /// step.
    pub fn describe(&self, path: &str) -> String {
        if let Some(fault) = &self.fault {
            return format!(
                "commands have an empty ~/{path}, since the operator's was not understood: {fault}"
            );
        }
        let Some(first) = self.keys.first() else {
            return format!(
                "commands do not have the operator's ~/{path}: no flag shows it, since it may hold passwords"
            );
        };
        let mut text = format!("commands have ~/{path} without {first}");
        if self.keys.len() > 1 {
            let _ = write!(text, " and {} more", self.keys.len() - 1);
        }
        let _ = match self.addresses.first() {
            Some(address) => write!(
                text,
                ": the operator can give it with --credential NAME=env:NAME --for '{}/**'",
                origin(address)
            ),
            None => write!(
                text,
                ": if its tool reads it from a variable, the operator can give that with --credential"
            ),
        };
        text
    }
}

impl Machine<'_> {
    /// Returns what commands get of a file; `None` if the operator does not have it.
    pub(crate) fn home_file(&self, configuration: &Configuration) -> Option<HomeFile> {
        let named = configuration.variable.as_deref().and_then(self.variable);
        let named = named.map(PathBuf::from).filter(|path| path.is_absolute());
        let below_home = || configuration.files.iter().map(|file| self.home.join(file));
        let candidates: Vec<PathBuf> = match named {
            None => below_home().collect(),
            Some(file) if configuration.below.is_empty() => vec![file],
            Some(dir) => configuration
                .below
                .iter()
                .map(|name| dir.join(name))
                .collect(),
        };
        let source = candidates
            .into_iter()
            .find(|path| std::fs::symlink_metadata(path).is_ok() && (self.is_own)(path))?;
        let mut file = HomeFile {
            path: configuration.place().to_owned(),
            source,
            text: configuration.empty.clone().unwrap_or_else(|| {
                let empty = if configuration.format == Format::Json {
                    "{}\n"
                } else {
                    ""
                };
                empty.to_owned()
            }),
            passed: 0,
            hosts: Vec::new(),
            left_out: Vec::new(),
            missing: None,
        };
        let nothing = |fault| {
            Some(MissingKeys {
                keys: Vec::new(),
                addresses: Vec::new(),
                fault,
            })
        };
        if configuration.is_secret() {
            file.missing = nothing(None);
            return Some(file);
        }
        let read = read(&file.source).and_then(|text| formats::read(configuration.format, &text));
        let value = match read {
            Ok(value) => value,
            Err(fault) => {
                file.missing = nothing(Some(fault));
                return Some(file);
            }
        };
        let mut filter = KeyFilter::new(self, configuration.lists(), configuration.expands);
        if let Passed::Value(value) = filter.pass("", value) {
            file.text = formats::write(configuration.format, &value);
        }
        file.passed = filter.passed;
        file.hosts = filter.hosts();
        for address in &mut filter.addresses {
            // Npm's key has no scheme; that of a registry at the same host counts.
            let plain = address.replacen("https://", "http://", 1);
            if filter.origins.iter().any(|known| known == origin(&plain)) {
                *address = plain;
            }
        }
        file.left_out = filter.left_out;
        file.missing = (!filter.keys.is_empty()).then_some(MissingKeys {
            keys: filter.keys,
            addresses: filter.addresses,
            fault: None,
        });
        Some(file)
    }
}

/// Reads a small regular file. Fails with the reason in a few words.
pub fn read(path: &Path) -> Result<String, String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(CWD, path, flags, Mode::empty())
        .map_err(|errno| std::io::Error::from(errno).to_string())?;
    let stat = fstat(&file).map_err(|errno| errno.to_string())?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err("it is no regular file".to_owned());
    }
    let mut bytes = Vec::new();
    let read = File::from(file)
        .take(MAX_CONFIGURATION_BYTES + 1)
        .read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_CONFIGURATION_BYTES {
        return Err("it is larger than 1 MiB".to_owned());
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

/// Filter of the keys of one file.
pub(crate) struct KeyFilter<'a> {
    machine: &'a Machine<'a>,
    lists: KeyLists,
    expands: bool,
    pub(crate) passed: usize,
    /// Scheme and host of each address in them.
    pub(crate) origins: Vec<String>,
    pub(crate) left_out: Vec<String>,
    /// Keys with secrets.
    pub(crate) keys: Vec<String>,
    pub(crate) addresses: Vec<String>,
}

/// Result of the filter for a value.
pub(crate) enum Passed {
    Value(Value),
    Nothing,
    /// It may hold a secret, and what stands beside it means nothing without it.
    Refused,
}

impl<'a> KeyFilter<'a> {
    pub(crate) fn new(machine: &'a Machine<'a>, lists: KeyLists, expands: bool) -> Self {
        Self {
            machine,
            lists,
            expands,
            passed: 0,
            origins: Vec::new(),
            left_out: Vec::new(),
            keys: Vec::new(),
            addresses: Vec::new(),
        }
    }

    /// Returns the hosts of all addresses, with their ports.
    fn hosts(&self) -> Vec<String> {
        let hosts = self.origins.iter().filter_map(|origin| {
            let host = origin.split_once("://")?.1;
            (!host.is_empty()).then(|| host.to_owned())
        });
        hosts.collect()
    }

    /// Returns what commands get of the value at a path of keys, joined by `.`.
    fn pass(&mut self, path: &str, value: Value) -> Passed {
        match value {
            Value::Object(members) => self.pass_members(path, members),
            Value::Array(list) => self.pass_list(path, list),
            Value::String(text) => self.pass_text(path, &text),
            other => match self.pass_text(path, &other.to_string()) {
                Passed::Value(_) => Passed::Value(other),
                left_out => left_out,
            },
        }
    }

    fn pass_members(&mut self, path: &str, members: Map<String, Value>) -> Passed {
        let (mut kept, mut is_refused) = (Map::new(), false);
        for (key, value) in members {
            let below = if path.is_empty() {
                key.clone()
            } else {
                format!("{path}.{key}")
            };
            match self.pass(&below, value) {
                Passed::Value(value) => drop(kept.insert(key, value)),
                Passed::Nothing => {}
                Passed::Refused => is_refused = true,
            }
        }
        match (kept.is_empty(), is_refused) {
            (_, true) if !path.is_empty() => Passed::Refused,
            (true, _) => Passed::Nothing,
            (false, _) => Passed::Value(Value::Object(kept)),
        }
    }

    /// Elements are told apart by nothing but their place, so a refused one leaves the list whole.
    fn pass_list(&mut self, path: &str, list: Vec<Value>) -> Passed {
        let (mut kept, mut is_refused) = (Vec::new(), false);
        let is_of_tables = list.iter().any(Value::is_object);
        for value in list {
            match self.pass(path, value) {
                Passed::Value(value) => kept.push(value),
                Passed::Nothing => {}
                Passed::Refused => is_refused = true,
            }
        }
        match (kept.is_empty(), is_refused) {
            (true, true) if !is_of_tables => Passed::Refused,
            (true, _) => Passed::Nothing,
            (false, _) => Passed::Value(Value::Array(kept)),
        }
    }

    fn pass_text(&mut self, path: &str, text: &str) -> Passed {
        let is_in = |globs: &[String]| any_matches(globs, path.as_bytes());
        let lists = [&self.lists.keys, &self.lists.paths, &self.lists.programs];
        let [is_key, is_path, is_program] = lists.map(|globs| is_in(globs));
        let is_secret = |glob: &String| glob != "*" && matches(glob, path.as_bytes());
        if self.lists.secrets.iter().any(is_secret) || self.is_named_secret(path) {
            return self.pass_secret(path);
        }
        if !is_key && !is_path && !is_program {
            self.leave_out(path);
            return Passed::Nothing;
        }
        if address::clean(path, &|_| None).is_none_or(|clean| clean.text != path) {
            return self.refuse(path);
        }
        let Some(text) = self.expanded(text) else {
            return self.refuse(path);
        };
        let is_seen = || Path::new(&text).is_absolute() && (self.machine.is_visible)(text.as_ref());
        if is_key {
            return match self.clean(path, &text) {
                Some(text) => self.take(text),
                None => self.refuse(path),
            };
        }
        let is_there = (is_path && is_seen()) || (is_program && self.has_program(&text));
        if is_there && address::clean(&text, &|_| None).is_some() {
            return self.take(text);
        }
        self.leave_out(path);
        Passed::Nothing
    }

    /// Returns true if the name of a key is that of a secret, and no definition has the whole name.
    pub(crate) fn is_named_secret(&self, path: &str) -> bool {
        let name = path.rsplit('.').next().unwrap_or(path).replace('-', "_");
        let is_whole = self.lists.keys.iter().any(|key| key == path);
        !is_whole && variables::is_sensitive(self.machine.definitions, name.as_ref())
    }

    fn take(&mut self, text: String) -> Passed {
        self.passed += 1;
        Passed::Value(Value::String(text))
    }

    /// Takes logins out of a text; `None` if it may hold a secret.
    pub(crate) fn clean(&mut self, path: &str, text: &str) -> Option<String> {
        if is_certificates(text) {
            return Some(text.to_owned());
        }
        let clean = address::clean(text, self.machine.stand_in)?;
        // A name of XML is no host.
        let origins = clean
            .origins
            .into_iter()
            .filter(|_| !path.contains("@xmlns"));
        for origin in origins {
            if self.origins.len() < MAX_ADDRESSES && !self.origins.contains(&origin) {
                self.origins.push(origin);
            }
        }
        for address in clean.stripped {
            let has_room = self.addresses.len() < MAX_ADDRESSES;
            if has_room && (self.machine.stand_in)(origin(&address)).is_none() {
                self.report(format!("the login in {}", shortened(path)));
                self.addresses.push(address);
            }
        }
        Some(clean.text)
    }

    /// Puts a placeholder into a key that begins with the address that it is for, as npm has them.
    fn pass_secret(&mut self, path: &str) -> Passed {
        let place = path
            .strip_prefix("//")
            .and_then(|rest| rest.rsplit_once(":_authToken"))
            .map(|(place, _)| place);
        if let Some(place) = place {
            let addresses = ["https", "http"].map(|scheme| format!("{scheme}://{place}"));
            let found = addresses
                .iter()
                .find_map(|address| (self.machine.stand_in)(origin(address)));
            if let Some(stand_in) = found {
                return self.take(stand_in);
            }
            self.addresses.extend(addresses.into_iter().next());
        }
        self.report(shortened(path));
        Passed::Nothing
    }

    fn refuse(&mut self, path: &str) -> Passed {
        self.report(shortened(path));
        Passed::Refused
    }

    /// Adds a key to those that are reported as secret.
    fn report(&mut self, name: String) {
        if !self.keys.contains(&name) && self.keys.len() < MAX_KEYS {
            self.keys.push(name);
        }
    }

    pub(crate) fn leave_out(&mut self, path: &str) {
        let names = if any_matches(&self.lists.secrets, path.as_bytes()) {
            &mut self.keys
        } else {
            &mut self.left_out
        };
        let name = shortened(path);
        if !names.contains(&name) && names.len() < MAX_KEYS {
            names.push(name);
        }
    }

    /// Returns true if commands see the program that a command line starts.
    pub(crate) fn has_program(&self, line: &str) -> bool {
        let word = line.split_whitespace().next().unwrap_or_default();
        if word.contains('/') {
            Path::new(word).is_absolute() && (self.machine.is_visible)(Path::new(word))
        } else {
            !word.is_empty() && (self.machine.has_program)(word)
        }
    }

    /// Replaces `${NAME}` by the server's variable; `None` if commands must not get it.
    fn expanded(&self, text: &str) -> Option<String> {
        if !self.expands {
            return Some(text.to_owned());
        }
        let (mut all, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("${") {
            let (name, behind) = after.split_once('}')?;
            let name = name.split([':', '-', '?']).next().unwrap_or_default();
            if variables::is_sensitive(self.machine.definitions, name.as_ref()) {
                return None;
            }
            let value = (self.machine.variable)(name)?.into_string().ok()?;
            all.push_str(before);
            all.push_str(&value);
            rest = behind;
        }
        all.push_str(rest);
        Some(all)
    }
}

/// Returns true for a text of nothing but certificates (PEM, RFC 7468), without keys and words.
pub fn is_certificates(text: &str) -> bool {
    let is_base64 = |line: &str| {
        let is_of_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
        line.len() <= MAX_BASE64_LINE && line.bytes().all(is_of_base64)
    };
    let mut is_inside = false;
    let mut is_any = false;
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_plain = lines.all(|line| match line {
        "-----BEGIN CERTIFICATE-----" if !is_inside => {
            is_inside = true;
            true
        }
        "-----END CERTIFICATE-----" if is_inside => {
            (is_inside, is_any) = (false, true);
            true
        }
        line => is_inside && is_base64(line),
    });
    is_plain && is_any && !is_inside
}

/// Name of a key for messages, unless it may hold a secret itself.
pub(crate) fn shortened(path: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "@/:._-*".contains(char);
    let is_login = path.contains('@') && !path.starts_with('@');
    if path.chars().all(is_plain) && !has_token(path) && !is_login && path.len() <= MAX_KEY_BYTES {
        path.to_owned()
    } else {
        "another key".to_owned()
    }
}

#[cfg(test)]
mod tests;
