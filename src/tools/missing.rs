//! Files and programs of the operator's machine that a failed command may have missed.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use replay_base::text::escape::show_path;
use replay_environment::{Hint, MissingKeys};
use replay_sandbox::{HomeWatch, Tier};
use schemars::JsonSchema;
use serde::Serialize;

/// End of an output in which a missing program is looked for, in bytes.
const PROGRAM_BYTES: usize = 4096;
/// End of an output in which a path of HOME is looked for, in bytes.
const PATH_BYTES: usize = 64 * 1024;
/// Parts of a path outside that are told once together.
const MAX_PLACE_PARTS: usize = 4;
/// Most hosts of the operator's configuration in the notes on one command.
const MAX_HOSTS: usize = 3;
/// Exit code of shells for a program that they did not find (sh(1)).
const NOT_FOUND: i32 = 127;
/// Exit code of shells for a program that they could not run (sh(1)).
const NOT_EXECUTABLE: i32 = 126;

/// Something of the operator's machine that commands lack
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Missing {
    /// File or directories
    what: String,
    /// Keys that the file lacks; empty if commands get nothing of it
    #[serde(skip_serializing_if = "Vec::is_empty")]
    without: Vec<String>,
    /// Flag with which the operator can show it
    #[serde(skip_serializing_if = "Option::is_none")]
    flag: Option<String>,
}

impl Missing {
    fn new(what: &str, flag: Option<&str>) -> Self {
        Self {
            what: what.to_owned(),
            without: Vec::new(),
            flag: flag.map(str::to_owned),
        }
    }
}

/// Returns true if a part of a command line may have failed: the code of a pipeline is that of its last
/// program.
pub(crate) fn may_have_failed(line: &str, exit_code: i32) -> bool {
    exit_code != 0 || line.replace("||", "").contains('|')
}

/// Files and programs that commands lack.
#[derive(Debug, Default)]
pub struct MissingThings {
    pub watch: Option<HomeWatch>,
    /// Paths below HOME of the watched files.
    pub files: Vec<(String, MissingKeys)>,
    /// PATH entries that commands do not see, as messages show them.
    pub path: Vec<String>,
    /// Own scripts of PATH that commands do not see, as messages show them.
    pub scripts: Vec<String>,
    /// Paths that commands see; everything else is outside.
    pub visible: Vec<PathBuf>,
    /// Paths in `visible` that commands may write.
    pub writable: Vec<PathBuf>,
    /// Caches of the operator: path below HOME, and name if commands do not see it.
    pub downloads: Vec<(String, Option<String>)>,
    /// Hosts that the operator's configuration names.
    pub hosts: Vec<String>,
    /// First parts below HOME that may hold passwords.
    pub private: Vec<String>,
    /// Notes on outputs.
    pub hints: Vec<Hint>,
}

/// Files and programs that commands lack, and those that the agent was told of.
#[derive(Debug, Default)]
pub struct MissingOfMachine {
    things: MissingThings,
    /// Exit codes of a shell that finds no program, or one that the walls do not show.
    lost_program_codes: &'static [i32],
    told: Mutex<Vec<String>>,
}

impl MissingOfMachine {
    /// Returns the state of a new server, for commands of this tier.
    pub fn new(things: MissingThings, tier: Tier) -> Self {
        let lost_program_codes = if tier == Tier::Landlock {
            &[NOT_FOUND, NOT_EXECUTABLE][..]
        } else {
            &[NOT_FOUND]
        };
        Self {
            things,
            lost_program_codes,
            told: Mutex::default(),
        }
    }

    /// Returns true the first time that it is called with this text.
    fn is_first(&self, what: &str) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = !told.iter().any(|known| known == what);
        if is_first {
            told.push(what.to_owned());
        }
        is_first
    }

    /// Finds what a command line that ended with this code may have missed, each with its note. Each
    /// thing is told once.
    pub(crate) fn of(
        &self,
        line: &str,
        exit_code: i32,
        output: &[&str],
        home: Option<&Path>,
    ) -> Vec<(String, Missing)> {
        // Also after a success, so that the next failure does not get its files.
        let opened = self.things.watch.as_ref().map(HomeWatch::take_opened);
        let mut found = Vec::new();
        let program = self.program(exit_code, output);
        if may_have_failed(line, exit_code) {
            let files = opened.into_iter().flatten();
            for (path, keys) in files.filter_map(|index| self.things.files.get(index)) {
                let what = format!("~/{path}");
                if is_about(keys, output) && self.is_first(&what) {
                    let flag = keys.addresses.first().map(|_| "--credential");
                    let missing = Missing {
                        without: keys.keys.clone(),
                        ..Missing::new(&what, flag)
                    };
                    found.push((keys.describe(path), missing));
                }
            }
            found.extend(self.place_of_home(output, home));
            if program.is_none() {
                found.extend(self.outside(output));
            }
            found.extend(self.hints(output));
            found.extend(self.hosts(output));
        }
        found.extend(program);
        found
    }

    /// Returns the notes of [`Self::of`].
    pub(crate) fn notes(
        &self,
        exit_code: i32,
        output: &[&str],
        home: Option<&Path>,
    ) -> Vec<String> {
        let found = self.of("", exit_code, output, home);
        found.into_iter().map(|(note, _)| note).collect()
    }

    /// Returns the place below HOME that the output names, if HOME lacks it.
    fn place_of_home(&self, output: &[&str], home: Option<&Path>) -> Option<(String, Missing)> {
        let (watch, home) = (self.things.watch.as_ref()?, home?.to_str()?);
        let below = output.iter().find_map(|text| {
            let text = end_of(text, PATH_BYTES);
            text.match_indices(home).find_map(|(at, _)| {
                let below = text[at + home.len()..].strip_prefix('/')?;
                let is_end = |char: char| char.is_whitespace() || "\"'`,:;)]}".contains(char);
                let below = &below[..below.find(is_end).unwrap_or(below.len())];
                let below = below.trim_end_matches(['.', '/']);
                (!below.is_empty() && watch.lacks(Path::new(below))).then_some(below)
            })
        })?;
        let mut downloads = self.things.downloads.iter();
        let download = downloads.find(|(place, _)| Path::new(below).starts_with(place));
        if let Some((_, None)) = download {
            return None;
        }
        let first = below.split('/').next().unwrap_or_default();
        let is_private = self.things.private.iter().any(|known| known == first);
        let what = match download {
            Some((place, _)) => format!("~/{place}"),
            None if is_private => format!("~/{first}"),
            None => {
                let place: Vec<&str> = below.split('/').take(2).collect();
                format!("~/{}", place.join("/"))
            }
        };
        self.is_first(&what).then(|| {
            let shown = show_path(Path::new(&what)).into_owned();
            let (why, flag) = match download {
                Some((_, Some(name))) => (
                    format!("and --downloads {name} can show it"),
                    Some("--downloads"),
                ),
                _ if is_private => ("since it may hold passwords".to_owned(), None),
                _ => (
                    "and --system can show a directory".to_owned(),
                    Some("--system"),
                ),
            };
            let note = format!(
                "{home} is a private HOME: commands do not have the operator's {shown}, {why}"
            );
            (note, Missing::new(&what, flag))
        })
    }

    /// Returns the first path that the output could not open or write since it is outside. Never tells
    /// whether it exists.
    fn outside(&self, output: &[&str]) -> Option<(String, Missing)> {
        let lines = output
            .iter()
            .flat_map(|text| end_of(text, PROGRAM_BYTES).lines());
        let is_below =
            |path: &Path, places: &[PathBuf]| places.iter().any(|place| path.starts_with(place));
        let mut found = lines.filter_map(|line| {
            let (path, fault) = lost_path(line)?;
            let places = match fault {
                PathFault::Unseen => &self.things.visible,
                PathFault::ReadOnly => &self.things.writable,
            };
            // A relative path that leads up and is read-only lies outside, too.
            let is_lost = path.is_absolute() && !is_below(path, places)
                || matches!(fault, PathFault::ReadOnly) && path.starts_with("..");
            is_lost.then_some((path, fault))
        });
        let (path, fault) = found.next().filter(|_| !self.things.visible.is_empty())?;
        let place: PathBuf = path.iter().take(MAX_PLACE_PARTS).collect();
        let what = show_path(&place).into_owned();
        self.is_first(&format!("{fault:?} {what}")).then(|| {
            let shown = show_path(path);
            let is_device = path.starts_with("/dev");
            let (note, flag) = match fault {
                PathFault::Unseen if is_device => (
                    format!("commands have no device {shown}; the operator can give one (--device {shown})"),
                    "--device",
                ),
                PathFault::Unseen => (
                    format!(
                        "{shown} is outside: commands see the allowed directories, installed programs, /etc, HOME and \
                         /tmp; the operator can allow a directory (--allow DIR)"
                    ),
                    "--allow",
                ),
                PathFault::ReadOnly => (
                    format!(
                        "{shown} is read-only for commands: they write to read-write directories, HOME and /tmp; the \
                         operator can allow one (--allow DIR:rw)"
                    ),
                    "--allow",
                ),
            };
            (note, Missing::new(&what, Some(flag)))
        })
    }

    /// Returns the configured hosts that the output names and no rule allows.
    fn hosts(&self, output: &[&str]) -> Vec<(String, Missing)> {
        let is_named = |host: &&String| output.iter().any(|text| text.contains(host.as_str()));
        let hosts = self.things.hosts.iter().filter(is_named);
        let hosts = hosts.filter(|host| self.is_first(host));
        hosts
            .take(MAX_HOSTS)
            .map(|host| {
                let note = format!(
                    "{host} is of the operator's configuration, and commands do not reach it; the operator can allow it \
                     (--allow-host {host})"
                );
                (note, Missing::new(host, Some("--allow-host")))
            })
            .collect()
    }

    /// Returns the hints on an output.
    fn hints(&self, output: &[&str]) -> Vec<(String, Missing)> {
        let is_for = |hint: &&Hint| {
            let mut ends = output.iter().map(|output| end_of(output, PROGRAM_BYTES));
            ends.any(|end| hint.is_for(end))
        };
        let hints = self.things.hints.iter().filter(is_for);
        let first = hints.filter(|hint| self.is_first(&hint.note));
        first
            .map(|hint| {
                let flag = hint.download.as_ref().map(|_| "--downloads");
                (hint.note.clone(), Missing::new(hint.about(), flag))
            })
            .collect()
    }

    /// Returns the own script of the operator's that was not found, or else the places of PATH that
    /// commands do not see.
    fn program(&self, exit_code: i32, output: &[&str]) -> Option<(String, Missing)> {
        let lines = output
            .iter()
            .flat_map(|text| end_of(text, PROGRAM_BYTES).lines());
        let names: Vec<&str> = lines.filter_map(lost_program).collect();
        let is_lost = self.lost_program_codes.contains(&exit_code) || !names.is_empty();
        // Landlock leaves the names and takes the content; a line may name it by its path.
        let denied = |name: &str| {
            let end = format!("/{name}: Permission denied");
            output
                .iter()
                .any(|text| text.lines().any(|line| line.ends_with(&end)))
        };
        let is_named = |script: &&String| {
            let name = script.rsplit('/').next();
            name.is_some_and(|name| names.contains(&name) || denied(name))
        };
        if let Some(script) = self.things.scripts.iter().find(is_named) {
            return self.is_first(script).then(|| {
                let note = format!(
                    "commands do not see {script}, an own script of the operator's, which may hold secrets; the operator \
                     can show it (--system {script})"
                );
                (note, Missing::new(script, Some("--system")))
            });
        }
        let has_name = names.iter().any(|name| !name.is_empty());
        let scripts = self.things.scripts.iter().filter(|_| !has_name);
        let mut places: Vec<&str> = self.things.path.iter().map(String::as_str).collect();
        for (place, _) in scripts.filter_map(|script| script.rsplit_once('/')) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let what = places.join(", ");
        (is_lost && !places.is_empty() && self.is_first("PATH")).then(|| {
            let note = format!(
                "of the operator's PATH commands do not see everything in {what}: own scripts, and directories outside \
                 the home; --system shows a file or directory"
            );
            (note, Missing::new(&what, Some("--system")))
        })
    }
}

/// Returns true if a command may have failed for lack of these keys. Then the output names a host for
/// which they are, or speaks of a login.
fn is_about(keys: &MissingKeys, output: &[&str]) -> bool {
    const LOGIN: [&str; 9] = [
        "401",
        "403",
        "uthori",
        "uthenti",
        "orbidden",
        "ogin",
        "redential",
        "assword",
        "token",
    ];
    let has = |word: &str| output.iter().any(|text| text.contains(word));
    match keys.hosts().collect::<Vec<_>>()[..] {
        [] if keys.keys.is_empty() => true,
        [] => LOGIN.iter().any(|word| has(word)),
        ref hosts => hosts.iter().any(|host| has(host)),
    }
}

/// Returns the program that a line tells was not found, as shells, make and Node.js do; empty if the
/// line does not name it.
fn lost_program(line: &str) -> Option<&str> {
    let line = line.trim_end();
    let ends = [": command not found", ": not found"];
    if let Some(before) = ends.into_iter().find_map(|end| line.strip_suffix(end)) {
        // A path is not looked for in PATH.
        return before
            .rsplit(": ")
            .next()
            .filter(|name| !name.contains('/'));
    }
    if let Some((_, after)) = line.split_once("spawn ") {
        return after.strip_suffix(" ENOENT");
    }
    line.ends_with("Error 127").then_some("")
}

/// Reason for which a path cannot be used.
#[derive(Clone, Copy, Debug)]
enum PathFault {
    Unseen,
    ReadOnly,
}

/// Words for errors of paths, of the C library (strerror(3)) and of Node.js.
const PATH_FAULTS: [(&str, PathFault); 4] = [
    ("o such file or directory", PathFault::Unseen),
    ("ermission denied", PathFault::Unseen),
    ("ot a directory", PathFault::Unseen),
    ("ead-only file system", PathFault::ReadOnly),
];

/// Returns the path beside the words of an error, as in `cat: /x: No such file or directory`, and in
/// `ENOENT: no such file or directory, open '/x'`.
fn lost_path(line: &str) -> Option<(&Path, PathFault)> {
    let mut faults = PATH_FAULTS.into_iter();
    let (before, after, fault) = faults.find_map(|(words, fault)| {
        let (before, after) = line.split_once(words)?;
        Some((before.rsplit_once(": ")?.0, after, fault))
    })?;
    let is_quote = |char: char| "\"'`‘’".contains(char);
    let quoted = |text: &'_ str| -> Option<(usize, usize)> {
        let end = text.rfind(is_quote)?;
        let start = text[..end].rfind(is_quote)?;
        let first = text[start..].chars().next().map_or(0, char::len_utf8);
        Some((start + first, end))
    };
    let path = if let Some((start, end)) = quoted(after) {
        &after[start..end]
    } else if let Some((start, end)) = quoted(before).filter(|_| before.ends_with(is_quote)) {
        &before[start..end]
    } else {
        let last = before.rsplit(": ").next()?;
        last.rsplit(char::is_whitespace).next()?
    };
    (path.len() > 1).then_some((Path::new(path), fault))
}

fn end_of(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use replay_environment::Definitions;

    use super::*;

    #[test]
    fn missing_program_is_told_once() {
        let things = MissingThings {
            scripts: vec!["~/.local/bin/deploy".to_owned()],
            hints: Definitions::embedded().hints().cloned().collect(),
            ..MissingThings::default()
        };
        let machine = MissingOfMachine::new(things, Tier::Namespaces);
        let told = |code, text: &str| machine.notes(code, &[text], None);
        let none: [String; 0] = [];
        assert_eq!(told(0, "ok"), none);
        assert_eq!(told(1, "error: spawn x EACCES"), none);
        assert_eq!(told(0, "bash: other: command not found\n"), none);
        assert_eq!(
            told(0, "bash: deploy: command not found\n"),
            [
                "commands do not see ~/.local/bin/deploy, an own script of the operator's, which may hold secrets; the \
                 operator can show it (--system ~/.local/bin/deploy)"
            ]
        );
        assert_eq!(
            told(127, ""),
            [
                "of the operator's PATH commands do not see everything in ~/.local/bin: own scripts, and directories \
                 outside the home; --system shows a file or directory"
            ]
        );
        assert_eq!(told(127, ""), none);
        let docker = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock.";
        assert_eq!(told(0, docker), none);
        assert_eq!(
            told(1, docker),
            [
                "commands have no Docker, since its socket makes root of the machine: start the service itself in the \
                 command (`pg_ctl`, `mariadbd`, `redis-server`); the operator can allow one that runs (--allow-host \
                 127.0.0.1:5432)"
            ]
        );
        assert_eq!(told(1, docker), none);
    }

    #[test]
    fn lost_program_is_named() {
        for (line, name) in [
            ("bash: line 1: x: command not found", Some("x")),
            ("sh: 1: x: not found", Some("x")),
            ("make: *** [Makefile:2: all] Error 127", Some("")),
            ("Error: spawn nosuch ENOENT", Some("nosuch")),
            ("bash: line 1: bin/x: not found", None),
            ("404: page not found here", None),
            ("Error 1", None),
            ("open x: ENOENT", None),
        ] {
            assert_eq!(lost_program(line), name, "{line}");
        }
    }

    #[test]
    fn path_outside_is_told_once_for_its_place() {
        let things = MissingThings {
            visible: vec!["/usr".into(), "/src".into(), "/tmp".into()],
            writable: vec!["/src".into(), "/tmp".into()],
            ..MissingThings::default()
        };
        let machine = MissingOfMachine::new(things, Tier::Namespaces);
        let told = |text: &str| machine.notes(1, &[text], None);
        let none: [String; 0] = [];
        for inside in [
            "cat: /src/nosuch: No such file or directory",
            "/bin/sh: 1: /src/x: Permission denied",
            "cat: nosuch: No such file or directory",
            "listening on /var/run/x",
            "/bin/bash: line 1: ../x: No such file or directory",
            "ERROR: https://x.example/simple/six/: No such file or directory (404)",
        ] {
            assert_eq!(told(inside), none, "{inside}");
        }
        let outside = "/var/log/syslog is outside: commands see the allowed directories, installed programs, /etc, HOME \
                       and /tmp; the operator can allow a directory (--allow DIR)";
        assert_eq!(
            told("FileNotFoundError: [Errno 2] No such file or directory: '/var/log/syslog'"),
            [outside]
        );
        assert_eq!(
            told("cat: /var/log/syslog: No such file or directory"),
            none
        );
        let up = "../x is read-only for commands: they write to read-write directories, HOME and /tmp; the operator can \
                  allow one (--allow DIR:rw)";
        assert_eq!(told("/bin/bash: line 1: ../x: Read-only file system"), [up]);
        let node = told("Error: EROFS: read-only file system, open '/home/me/f.txt'");
        assert!(
            node[0].starts_with("/home/me/f.txt is read-only"),
            "{node:?}"
        );
        assert_eq!(
            told("/usr/bin/touch: cannot touch '/usr/x': Read-only file system"),
            [
                "/usr/x is read-only for commands: they write to read-write directories, HOME and /tmp; the operator \
                 can allow one (--allow DIR:rw)"
            ]
        );
        assert_eq!(
            told("ls: cannot access '/dev/kvm': No such file or directory"),
            ["commands have no device /dev/kvm; the operator can give one (--device /dev/kvm)"]
        );
        let of_line = |line: &str, place: &str| {
            let text = format!("cat: /{place}/x: No such file or directory");
            machine.of(line, 0, &[&text], None).len()
        };
        assert_eq!(of_line("cat /a/x | tail", "a"), 1);
        assert_eq!(of_line("cat /b/x || true", "b"), 0);
    }
}
