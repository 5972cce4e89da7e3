//! Files and programs of the operator's machine that a failed command may have missed.

use std::path::Path;
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

/// Files and programs that commands lack.
#[derive(Debug, Default)]
pub struct MissingThings {
    pub watch: Option<HomeWatch>,
    /// Paths below HOME of the watched files.
    pub files: Vec<(String, MissingKeys)>,
    /// PATH entries of which commands do not see everything, as messages show them.
    pub path: Vec<String>,
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
        // Landlock leaves the names and takes the content.
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

    /// Finds what a command that ended with this code may have missed, each with its note. Each
    /// thing is told once.
    pub(crate) fn of(
        &self,
        exit_code: i32,
        output: &[&str],
        home: Option<&Path>,
    ) -> Vec<(String, Missing)> {
        // Also after a success, so that the next failure does not get its files.
        let opened = self.things.watch.as_ref().map(HomeWatch::take_opened);
        let mut found = Vec::new();
        if exit_code != 0 {
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
            found.extend(self.hints(output));
            found.extend(self.hosts(output));
        }
        found.extend(self.programs(exit_code, output));
        found
    }

    /// Returns the notes of [`Self::of`].
    pub(crate) fn notes(
        &self,
        exit_code: i32,
        output: &[&str],
        home: Option<&Path>,
    ) -> Vec<String> {
        let found = self.of(exit_code, output, home);
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
        let first = below.split('/').next().unwrap_or_default();
        let is_private = self.things.private.iter().any(|known| known == first);
        let what = if is_private {
            format!("~/{first}")
        } else {
            let place: Vec<&str> = below.split('/').take(2).collect();
            format!("~/{}", place.join("/"))
        };
        self.is_first(&what).then(|| {
            let shown = show_path(Path::new(&what)).into_owned();
            let (why, flag) = if is_private {
                ("since it may hold passwords", None)
            } else {
                ("and --system can show a directory", Some("--system"))
            };
            let note = format!(
                "{home} is a private HOME: commands do not have the operator's {shown}, {why}"
            );
            (note, Missing::new(&what, flag))
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

    /// Returns the PATH entries that commands do not see, if a program was not found.
    fn programs(&self, exit_code: i32, output: &[&str]) -> Option<(String, Missing)> {
        let lacks = self.lost_program_codes.contains(&exit_code)
            || output.iter().any(|text| {
                let mut lines = end_of(text, PROGRAM_BYTES).lines();
                lines.any(is_about_missing_program)
            });
        let what = self.things.path.join(", ");
        (lacks && !self.things.path.is_empty() && self.is_first(&what)).then(|| {
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

/// Returns true if a line says that a program was not found, as shells, make and Node.js do.
fn is_about_missing_program(line: &str) -> bool {
    let line = line.trim_end();
    line.ends_with(": command not found")
        || line.ends_with(": not found")
        || line.ends_with("Error 127")
        || (line.contains("spawn ") && line.ends_with("ENOENT"))
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
            path: vec!["~/.local/bin".to_owned()],
            hints: Definitions::embedded().hints().cloned().collect(),
            ..MissingThings::default()
        };
        let machine = MissingOfMachine::new(things, Tier::Namespaces);
        let told = |code, text: &str| machine.notes(code, &[text], None);
        let none: [String; 0] = [];
        assert_eq!(told(0, "ok"), none);
        assert_eq!(told(1, "error: spawn x EACCES"), none);
        assert_eq!(
            told(0, "bash: deploy: command not found\n"),
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
    fn lines_about_missing_programs_are_recognized() {
        for line in [
            "bash: line 1: x: command not found",
            "sh: 1: x: not found",
            "make: *** [Makefile:2: all] Error 127",
            "Error: spawn nosuch ENOENT",
        ] {
            assert!(is_about_missing_program(line), "{line}");
        }
        for line in ["404: page not found here", "Error 1", "open x: ENOENT"] {
            assert!(!is_about_missing_program(line), "{line}");
        }
    }
}
