//! Files, programs and variables of the operator's machine that a failed command may have missed.

mod paths;
mod variables;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use replay_base::text::escape::show_path;
use replay_environment::{Hint, MissingKeys};
use replay_sandbox::{HomeWatch, Tier};
use schemars::JsonSchema;
use serde::Serialize;

use paths::{CommandWords, PathFault, PathOutside, lost_path};
pub(crate) use variables::UnsetVariable;
use variables::expanded_variables;

/// End of an output in which a missing program is looked for, in bytes.
const PROGRAM_BYTES: usize = 4096;
/// End of an output in which a path of HOME is looked for, in bytes.
const PATH_BYTES: usize = 64 * 1024;
/// Most hosts of the operator's configuration in the notes on one command.
const MAX_HOSTS: usize = 3;
/// Most variables in the notes on one command.
const MAX_VARIABLES: usize = 3;
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

/// Function that reads a file by its name.
pub(crate) type ReadFile<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A finished command, for what it may have missed.
#[derive(Clone, Copy, Default)]
pub(crate) struct FinishedCommand<'a> {
    pub(crate) line: &'a str,
    pub(crate) exit_code: i32,
    /// Standard output and errors, or both as one text.
    pub(crate) output: &'a [&'a str],
    pub(crate) home: Option<&'a Path>,
    /// Directory in which it ran, if it is known.
    pub(crate) directory: Option<&'a Path>,
    /// Reads a file of the project by its name, if there is one.
    pub(crate) project_file: Option<ReadFile<'a>>,
}

impl FinishedCommand<'_> {
    /// Returns true if a part of it may have failed: the code of a pipeline is that of its last program.
    fn may_have_failed(&self) -> bool {
        may_have_failed(self.line, self.exit_code)
    }

    /// Returns true if its line goes on after a failure, or throws its errors away.
    fn hides_failure(&self) -> bool {
        self.line.contains("||") || self.line.contains("/dev/null")
    }

    fn is_silent(&self) -> bool {
        self.output.iter().all(|text| text.trim().is_empty())
    }

    /// Lines at the end of its output.
    fn last_lines(&self) -> impl Iterator<Item = &str> {
        let ends = self.output.iter().map(|text| end_of(text, PROGRAM_BYTES));
        ends.flat_map(str::lines)
    }
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
    /// Variables of the operator that commands do not get.
    pub variables: Vec<UnsetVariable>,
    /// Variables that commands get.
    pub given: Vec<String>,
    /// Names of files of projects in which `${NAME}` is a variable.
    pub expanding: Vec<String>,
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

    /// Finds what a command may have missed, each with its note. Each thing is told once.
    pub(crate) fn of(&self, command: FinishedCommand<'_>) -> Vec<(String, Missing)> {
        // Also after a success, so that the next failure does not get its files.
        let opened = self.things.watch.as_ref().map(HomeWatch::take_opened);
        let FinishedCommand { output, home, .. } = command;
        let mut found = Vec::new();
        let program = self.program(command);
        if command.may_have_failed() {
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
        }
        let variables = self.variables(command);
        if variables.is_empty() {
            // A variable says more of the same loss.
            if command.may_have_failed() {
                found.extend(self.place_of_home(output, home));
            }
            if program.is_none() {
                found.extend(self.outside(command));
            }
        }
        found.extend(variables);
        found.extend(self.variable_of_project(command));
        found.extend(self.hints(command));
        if command.may_have_failed() {
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
        let command = FinishedCommand {
            exit_code,
            output,
            home,
            ..FinishedCommand::default()
        };
        self.of(command).into_iter().map(|(note, _)| note).collect()
    }

    /// Returns the variables of the operator that the line expands, or that a failed command names or
    /// has files for.
    fn variables(&self, command: FinishedCommand<'_>) -> Vec<(String, Missing)> {
        let FinishedCommand { line, output, .. } = command;
        let has_failed = command.may_have_failed();
        let ends: Vec<&str> = [line]
            .into_iter()
            .chain(output.iter().map(|text| end_of(text, PROGRAM_BYTES)))
            .collect();
        let lacks = |variable: &UnsetVariable| {
            let mut ends = ends[1..].iter();
            has_failed && ends.any(|text| variable.tells_absence(text))
        };
        let is_missed = |variable: &&UnsetVariable| {
            let is_named = || {
                let mut texts = output.iter().map(|text| end_of(text, PATH_BYTES));
                texts.any(|text| variable.is_named_in(text))
            };
            let is_asked = || command.is_silent() && variable.is_named_in(line);
            variable.is_read_by(line)
                || command.exit_code != 0 && is_asked()
                || has_failed && is_named()
                || lacks(variable) && variable.is_for_program_in(&ends)
        };
        let missed = self.things.variables.iter().filter(is_missed);
        let first = missed.filter(|variable| self.is_first(&format!("${}", variable.name)));
        first
            .take(MAX_VARIABLES)
            .map(|variable| {
                (
                    variable.note(),
                    Missing::new(&variable.name, variable.flag()),
                )
            })
            .collect()
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

    /// Returns the variable that a file of the project reads and commands do not have, if the output
    /// speaks of a login or of the variable.
    fn variable_of_project(&self, command: FinishedCommand<'_>) -> Option<(String, Missing)> {
        const REPLACE: &str = "replace env";
        let speaks = |text: &&str| speaks_of_login(text) || text.contains(REPLACE);
        let read = command.project_file?;
        if !command.may_have_failed() || !command.output.iter().any(speaks) {
            return None;
        }
        let is_given = |name: &str| self.things.given.iter().any(|given| given == name);
        let (file, name) = self.things.expanding.iter().find_map(|file| {
            let text = read(file)?;
            let mut names = expanded_variables(&text);
            let name = names.find(|name| !is_given(name))?.to_owned();
            Some((file, name))
        })?;
        self.is_first(&format!("{file} ${name}")).then(|| {
            let note = format!(
                "{file} of the project reads {name}, which commands do not have; the operator can give a stand-in \
                 (--credential {name}=env:{name} --for 'https://HOST/**'), or pass it (--env {name})"
            );
            (note, Missing::new(&name, Some("--credential")))
        })
    }

    /// Returns the first path outside that the output could not open or write, or that the line names.
    /// Never tells whether it exists.
    fn outside(&self, command: FinishedCommand<'_>) -> Option<(String, Missing)> {
        if self.things.visible.is_empty() {
            return None;
        }
        let PathOutside {
            shown,
            path,
            parts,
            fault,
        } = self
            .outside_of_output(command)
            .or_else(|| self.outside_of_line(command))?;
        let place: PathBuf = path.iter().take(parts).collect();
        let what = show_path(&place).into_owned();
        self.is_first(&format!("{fault:?} {what}")).then(|| {
            let (note, flag) = match fault {
                PathFault::Unseen if path.starts_with("/dev") => (
                    format!("commands have no device {shown}; the operator can give one (--device {shown})"),
                    "--device",
                ),
                PathFault::Unseen if !self.is_first("outside") => {
                    (format!("{shown} is outside, too (--allow DIR)"), "--allow")
                }
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
                PathFault::Socket => (
                    format!(
                        "{shown} is outside: commands reach no socket of the machine; start the server in the command, \
                         or the operator can allow it (--allow-socket {shown})"
                    ),
                    "--allow-socket",
                ),
            };
            (note, Missing::new(&what, Some(flag)))
        })
    }

    /// Returns the first path outside beside an error in the output: as the output has it, and whole.
    fn outside_of_output(&self, command: FinishedCommand<'_>) -> Option<PathOutside> {
        if !command.may_have_failed() && !command.hides_failure() {
            return None;
        }
        let directory = command
            .directory
            .and_then(|directory| CommandWords::of(command.line, directory).directory);
        command.last_lines().find_map(|line| {
            let (path, fault) = lost_path(line)?;
            if path.is_absolute() {
                let is_lost = !self.is_seen(path, fault);
                return is_lost.then(|| PathOutside::whole(path, fault));
            }
            if !path.starts_with("..") {
                return None;
            }
            // A module is looked for from the file that requires it.
            let base = if line.contains("annot find module") {
                command.requiring_directory()
            } else {
                directory.clone()
            };
            let is_read_only = fault == PathFault::ReadOnly;
            match base {
                Some(base) => {
                    let found = PathOutside::from(&base, path, fault);
                    (!self.is_seen(&found.path, fault)).then_some(found)
                }
                None => is_read_only.then(|| PathOutside::whole(path, fault)),
            }
        })
    }

    /// Returns the first path outside that the line names, if the command failed or hides a failure.
    /// Directories above an allowed one count always: commands see nothing else in them.
    fn outside_of_line(&self, command: FinishedCommand<'_>) -> Option<PathOutside> {
        let directory = command.directory?;
        let words = CommandWords::of(command.line, directory);
        let is_quiet = command.may_have_failed() || command.hides_failure();
        let (word, path) = words.paths().find(|(word, path)| {
            let is_above = word.split('/').all(|part| part == ".." || part.is_empty());
            // The first part tells a path from a pattern or an address, such as /api.
            let first: PathBuf = path.iter().take(2).collect();
            let is_path = word.starts_with("..")
                || self
                    .things
                    .visible
                    .iter()
                    .any(|seen| seen.starts_with(&first));
            let is_told = is_quiet || is_above && word.starts_with("..");
            is_told && is_path && !self.is_seen(path, PathFault::Unseen)
        })?;
        let base = words.directory.as_deref().unwrap_or(directory);
        Some(if word.starts_with("..") {
            PathOutside::from(base, Path::new(word), PathFault::Unseen)
        } else {
            PathOutside::whole(&path, PathFault::Unseen)
        })
    }

    /// Returns true if commands can use an absolute path.
    fn is_seen(&self, path: &Path, fault: PathFault) -> bool {
        let places = match fault {
            PathFault::Unseen | PathFault::Socket => &self.things.visible,
            PathFault::ReadOnly => &self.things.writable,
        };
        places.iter().any(|place| path.starts_with(place))
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
    fn hints(&self, command: FinishedCommand<'_>) -> Vec<(String, Missing)> {
        let FinishedCommand { line, output, .. } = command;
        let has_failed = command.may_have_failed();
        let is_silent = command.exit_code != 0 && command.is_silent();
        let is_for = |hint: &&Hint| {
            let mut ends = output.iter().map(|output| end_of(output, PROGRAM_BYTES));
            let in_output = (has_failed || hint.always) && ends.any(|end| hint.is_for(end));
            in_output || is_silent && hint.is_for_line(line)
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

    /// Returns the own script of the operator's that was not found. Otherwise returns the places of PATH
    /// that commands do not see, or the program that is nowhere.
    fn program(&self, command: FinishedCommand<'_>) -> Option<(String, Missing)> {
        let names: Vec<&str> = command.last_lines().filter_map(lost_program).collect();
        let is_code = self.lost_program_codes.contains(&command.exit_code);
        let is_lost = is_code || !names.is_empty();
        // Landlock leaves the names and takes the content; a line may name it by its path.
        let denied = |name: &str| {
            let end = format!("/{name}: Permission denied");
            let mut lines = command.output.iter().flat_map(|text| text.lines());
            lines.any(|line| line.ends_with(&end))
        };
        // `which` and `command -v` say nothing of what they do not find.
        let is_silent = command.exit_code != 0 && command.is_silent();
        let words = is_silent.then(|| CommandWords::of(command.line, Path::new("/")));
        let is_named = |script: &&String| {
            let name = script.rsplit('/').next();
            name.is_some_and(|name| {
                let in_line = words.as_ref().is_some_and(|words| words.has(name));
                names.contains(&name) || in_line || denied(name)
            })
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
        if is_lost && !places.is_empty() && self.is_first("PATH") {
            let note = format!(
                "of the operator's PATH commands do not see everything in {what}: own scripts, and directories outside \
                 the home; --system shows a file or directory"
            );
            return Some((note, Missing::new(&what, Some("--system"))));
        }
        let name = names.into_iter().find(|name| !name.is_empty())?;
        let is_behind_walls = !self.things.visible.is_empty();
        (is_behind_walls && is_code && self.is_first("program")).then(|| {
            let note = format!(
                "commands do not find {name}, and have the operator's PATH: install it in the project or HOME, or the \
                 operator can install it, or show one elsewhere (--system FILE)"
            );
            (note, Missing::new(name, Some("--system")))
        })
    }
}

impl FinishedCommand<'_> {
    /// Returns the directory of the file of Node.js that required a module.
    fn requiring_directory(&self) -> Option<PathBuf> {
        let files = self.output.iter().filter_map(|text| {
            let (_, stack) = text.split_once("Require stack:\n- ")?;
            Path::new(stack.lines().next()?).parent()
        });
        files.map(Path::to_owned).next()
    }
}

/// Returns true if a text speaks of a login.
fn speaks_of_login(text: &str) -> bool {
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
    LOGIN.iter().any(|word| text.contains(word))
}

/// Returns true if a command may have failed for lack of these keys. Then the output names a host for
/// which they are, or speaks of a login.
fn is_about(keys: &MissingKeys, output: &[&str]) -> bool {
    let has = |word: &str| output.iter().any(|text| text.contains(word));
    match keys.hosts().collect::<Vec<_>>()[..] {
        [] if keys.keys.is_empty() => true,
        [] => output.iter().any(|text| speaks_of_login(text)),
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

fn end_of(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

#[cfg(test)]
mod tests;
