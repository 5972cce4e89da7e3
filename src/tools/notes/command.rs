//! Notes on a command, besides its output: its exit, processes ended with it, and denials of the
//! sandbox.

use std::fmt::{self, Display, Write as _};
use std::path::Path;

use replay_base::text::escape::show_path;
use replay_network::rules::SETS;
use replay_sandbox::Network;
use replay_sandbox::exec::{Denied, Exit};

use crate::error::Error;
use crate::tools::missing::{FinishedCommand, Missing, MissingOfMachine};
use crate::tools::services::Commands;

/// Error of a tool if commands are refused.
pub(crate) fn refused(what: &'static str, reason: &str) -> Error {
    let hint =
        "use the file tools; the operator can allow commands without a wall with --sandbox off";
    Error::Refused {
        what,
        reason: reason.to_owned(),
        hint,
    }
}

/// Exit code as in shells: 128 plus the signal's number if a signal ended the program.
pub(crate) fn exit_code(exit: Exit) -> i32 {
    match exit {
        Exit::Code(code) => code,
        Exit::Signal(signal) => 128 + signal,
    }
}

/// Number of the signal that ended a program, if any.
pub(crate) fn signal(exit: Exit) -> Option<i32> {
    match exit {
        Exit::Code(_) => None,
        Exit::Signal(signal) => Some(signal),
    }
}

/// Note on processes that a program left running, which were ended; `None` if there were none.
pub(crate) fn left_note(left: u32) -> Option<String> {
    let processes = match left {
        0 => return None,
        1 => "1 process that was still running was ended".to_owned(),
        _ => format!("{left} processes that were still running were ended"),
    };
    Some(format!(
        "{processes}; to keep a server, start it with `background: true`, without `&` or a daemon \
         option"
    ))
}

/// Denials of the sandbox, one line each.
pub(crate) fn denied_lines(denied: &[Denied], commands: &Commands) -> Vec<String> {
    let mut notes = Notes::below("", "");
    notes.add_denied(denied, commands);
    notes.take()
}

/// Note on a path hidden by a pattern.
pub(crate) fn hidden_note(place: &Path) -> String {
    format!(
        "hidden by the operator: `{}` (--hide); no tool or command can read it, so go on without \
         it",
        show_path(place)
    )
}

/// Note on a refused connection to a unix socket.
pub(crate) fn socket_note(place: &Path) -> String {
    format!(
        "not connected to the unix socket `{}`: no command of this server listens there; the \
         operator can allow a socket of another program (--allow-socket, then restart the server)",
        show_path(place)
    )
}

/// Note on a refused unix socket for datagrams.
pub(crate) const DATAGRAM_NOTE: &str = "a unix datagram socket (SOCK_DGRAM) was refused: commands cannot \
    have one, so messages to syslog and systemd are lost; use SOCK_STREAM or SOCK_SEQPACKET";

/// Notes below an output, each in brackets on a line of its own.
#[derive(Debug)]
pub(crate) struct Notes {
    text: String,
    all: Vec<String>,
}

impl Notes {
    /// Creates notes below `output`, or below `nothing` if it is empty.
    pub(crate) fn below(output: &str, nothing: &str) -> Self {
        let mut text = if output.is_empty() {
            nothing.to_owned()
        } else {
            output.to_owned()
        };
        if !text.ends_with('\n') {
            text.push('\n');
        }
        Self {
            text,
            all: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, note: impl Display) {
        let note = note.to_string();
        // A write to a `String` cannot fail.
        let _ = writeln!(self.text, "[{note}]");
        self.all.push(note);
    }

    pub(crate) fn add_all(&mut self, notes: impl IntoIterator<Item = String>) {
        notes.into_iter().for_each(|note| self.add(note));
    }

    /// Takes the notes, which stay in the text.
    pub(crate) fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.all)
    }

    /// Adds the signal that ended the program, if any.
    pub(crate) fn add_signal(&mut self, exit: Exit) {
        if let Exit::Signal(signal) = exit {
            self.add(format_args!("ended by signal {signal}"));
        }
    }

    /// Adds a note on processes that were ended with a background command.
    pub(crate) fn add_left(&mut self, left: u32) {
        if let Some(note) = left_note(left) {
            self.add(note);
        }
    }

    /// Adds the denials of a command. Those that may be another command's are added only if this one
    /// failed.
    pub(crate) fn add_own_denied(
        &mut self,
        has_failed: bool,
        denied: &[Denied],
        commands: &Commands,
    ) {
        let is_told = |denied: &&Denied| has_failed || **denied != Denied::NetworkOfSome;
        let told: Vec<Denied> = denied.iter().filter(is_told).cloned().collect();
        self.add_denied(&told, commands);
    }

    /// Adds the denials of the sandbox, and the operator's flags against them. They are reported by
    /// the sandbox, not parsed from the output.
    pub(crate) fn add_denied(&mut self, denied: &[Denied], commands: &Commands) {
        for denied in denied {
            match denied {
                Denied::Network => self.add(format_args!("the command {}", no_network(commands))),
                Denied::NetworkOfSome => self.add(format_args!(
                    "this command or another one that ran at the same time {}",
                    no_network(commands)
                )),
                Denied::Blocked(_) | Denied::MoreBlocked(_) => self.add_all(denied.blocked_in_words()),
                Denied::Metadata(path) => self.add(format_args!(
                    "commands cannot change mode, owner, times or attributes of `{}`",
                    show_path(path.as_path())
                )),
                Denied::ReadOnly(path) => self.add(format_args!(
                    "commands cannot change `{}`: the path is protected or read-only; the \
                     operator can allow it (--unprotect for a protected path, --allow DIR:rw for \
                     a read-only one)",
                    show_path(path.as_path())
                )),
                Denied::GitLink(path) => self.add(format_args!(
                    "commands cannot create the symlink `{}` or move one there: git would write \
                     through it, so symlinks below `.git` are refused",
                    show_path(path.as_path())
                )),
                Denied::Move(path) => self.add(format_args!(
                    "commands cannot move `{}`: it contains a protected path, so nothing was \
                     moved; the operator can allow changes to that path (--unprotect)",
                    show_path(path.as_path())
                )),
                Denied::Kept(path) => self.add(format_args!(
                    "`{}` is protected and was not deleted: commands can delete it only together \
                     with its whole repository",
                    show_path(path.as_path())
                )),
                Denied::Hidden(path) => self.add(hidden_note(path.as_path())),
                Denied::Socket(path) => self.add(socket_note(path.as_path())),
                Denied::DatagramSocket => self.add(DATAGRAM_NOTE),
                Denied::Memory => self.add(format_args!(
                    "the command was ended: its processes together used more memory than allowed; \
                     only the operator can raise the limit (--limit-memory-bytes)"
                )),
                Denied::MachineMemory => self.add(format_args!(
                    "the kernel ended a process: the machine, or the container of the server, is \
                     out of memory; run less at the same time"
                )),
                Denied::ProcessorTime => self.add(format_args!(
                    "the command was ended: a process used more CPU time than allowed; only the \
                     operator can raise the limit (--limit-cpu-secs)"
                )),
                Denied::FileSize => self.add(format_args!(
                    "the command was ended: it wrote a larger file than allowed; only the \
                     operator can raise the limit (--limit-file-bytes)"
                )),
                Denied::Processes => self.add(format_args!(
                    "a process could not be started: commands already run as many processes as \
                     allowed; only the operator can raise the limit (--limit-processes)"
                )),
                Denied::Protected(path) => self.add(format_args!(
                    "`{}` is protected: the file or directory that the command created there was renamed \
                     (.set-aside); only the operator can allow it (--unprotect)",
                    show_path(path.as_path())
                )),
                Denied::Repeated => self.add(format_args!(
                    "all running commands were ended: one of them created files at protected \
                     paths again and again"
                )),
                Denied::Unwatched(reason) => self.add(format_args!(
                    "the command was ended: protected paths could not be watched any more: {}",
                    show_path(reason.as_path())
                )),
            }
        }
    }

    /// Adds files and programs of the operator's machine that a command may have missed, and returns
    /// them.
    pub(crate) fn add_missing(
        &mut self,
        machine: &MissingOfMachine,
        command: FinishedCommand<'_>,
    ) -> Vec<Missing> {
        let found = machine.of(command);
        let (notes, missing): (Vec<String>, Vec<Missing>) = found.into_iter().unzip();
        self.add_all(notes);
        missing
    }

    /// Adds a hint on the commit identity if git reported that it has none. No denial is involved,
    /// so only git's output tells it (`ident_env_hint` and `fmt_ident` in git's ident.c); a
    /// pipeline may have cut it, and ended with 0.
    pub(crate) fn add_identity(&mut self, output: &[&str]) {
        const SIGNS: [&str; 2] = [
            "*** Please tell me who you are.",
            "fatal: unable to auto-detect email address",
        ];
        let lacks = |text: &&str| SIGNS.iter().any(|sign| text.contains(sign));
        if output.iter().any(lacks) {
            self.add(format_args!(
                "commands have no git identity: give one with `git -c user.name=NAME -c user.email=MAIL commit ...`; the \
                 operator can give one to all commands (--git-identity 'NAME <MAIL>')"
            ));
        }
    }

    /// Adds a note if the command line sets nothing but state of its shell, which ends with it.
    pub(crate) fn add_lost_state(&mut self, line: &str) {
        if sets_only_shell_state(line) {
            self.add(
                "each command begins anew, without the directory and variables of this one: put both into one command \
                 (`cd DIR && ...`), or give workingDirectory",
            );
        }
    }

    /// Returns the text without a state line.
    pub(crate) fn text(self) -> String {
        self.text.trim_end().to_owned()
    }

    /// Returns the text with a last line about the state.
    pub(crate) fn end(mut self, state: fmt::Arguments<'_>) -> String {
        let _ = write!(self.text, "[{state}]");
        self.text
    }
}

/// Returns true if each simple command of a line is one that sets the shell's own state (POSIX,
/// Shell Command Language, 2.14 and 1.6).
fn sets_only_shell_state(line: &str) -> bool {
    const SETS_STATE: [&str; 8] = [
        ".", "alias", "cd", "export", "popd", "pushd", "source", "unset",
    ];
    let commands = line.split(['\n', ';', '&']).map(str::trim);
    let mut commands = commands.filter(|command| !command.is_empty()).peekable();
    let is_any = commands.peek().is_some();
    is_any
        && commands.all(|command| {
            let word = command.split_whitespace().next();
            word.is_some_and(|word| SETS_STATE.contains(&word))
        })
}

fn no_network(commands: &Commands) -> String {
    let sets: Vec<&str> = SETS
        .iter()
        .filter_map(|set| set.names.first())
        .copied()
        .collect();
    let sets = sets.join(", ");
    let flags = format!("--allow-hosts with {sets}; --allow-host HOST for others");
    match commands.standing.effective_network() {
        Network::Loopback => format!(
            "tried to use the network, but commands have only a private loopback \
             (127.0.0.1); only the operator can allow hosts ({flags})"
        ),
        Network::None => format!(
            "tried to use the network, but commands have none; only the operator can \
             allow hosts ({flags})"
        ),
        Network::Host => "tried to open a kind of network socket that commands cannot \
            have (raw or packet sockets, rare protocols)"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use replay_sandbox::{Tier, WallStatus};

    use super::*;

    fn notes_text(walls: Tier, network: Network, denied: &[Denied]) -> String {
        let standing = WallStatus {
            tier: Some(walls),
            network,
            ..WallStatus::off()
        };
        let commands = Commands {
            standing,
            ..Commands::refused("a test")
        };
        let mut notes = Notes::below("", "(no output)");
        notes.add_denied(denied, &commands);
        notes.end(format_args!("exit code: {}", exit_code(Exit::Signal(9))))
    }

    #[test]
    fn missing_git_identity_gets_hint() {
        let notes_text = |output: &[&str]| {
            let mut notes = Notes::below("", "(no output)");
            notes.add_identity(output);
            notes.text()
        };
        let asks = "Author identity unknown\n\n*** Please tell me who you are.\n\nRun\n";
        assert_eq!(
            notes_text(&["", asks]),
            "(no output)\n[commands have no git identity: give one with `git -c user.name=NAME -c user.email=MAIL commit \
             ...`; the operator can give one to all commands (--git-identity 'NAME <MAIL>')]"
        );
        assert_eq!(notes_text(&["fatal: not a git repository"]), "(no output)");
        let last = "fatal: unable to auto-detect email address (got 'root@host.(none)')\n";
        assert_eq!(notes_text(&[last]), notes_text(&["", asks]));
    }

    #[test]
    fn line_of_shell_state_is_recognized() {
        for line in ["cd src", "cd a && export B=1", " . ./env; unset C\n"] {
            assert!(sets_only_shell_state(line), "{line}");
        }
        for line in [
            "",
            "cd src && make",
            "cdx",
            "export A=1; env",
            "make & cd b",
        ] {
            assert!(!sets_only_shell_state(line), "{line}");
        }
    }

    #[test]
    fn denial_note_names_operator_flag() {
        assert_eq!(
            notes_text(
                Tier::Landlock,
                Network::Loopback,
                &[Denied::Network, Denied::Metadata("/etc/x".into())]
            ),
            "(no output)\n[the command tried to use the network, but commands have none; only the \
             operator can allow hosts (--allow-hosts with npm, pypi, crates, go, debian, github, \
             docker; --allow-host HOST for others)]\n[commands cannot change mode, owner, times \
             or attributes of `/etc/x`]\n[exit code: 137]"
        );
        assert_eq!(
            notes_text(Tier::Namespaces, Network::Loopback, &[Denied::Network]),
            "(no output)\n[the command tried to use the network, but commands have only a private \
             loopback (127.0.0.1); only the operator can allow hosts (--allow-hosts with npm, pypi, \
             crates, go, debian, github, docker; --allow-host HOST for others)]\n[exit code: \
             137]"
        );
        assert_eq!(
            notes_text(
                Tier::Off,
                Network::None,
                &[
                    Denied::MachineMemory,
                    Denied::ProcessorTime,
                    Denied::FileSize,
                    Denied::Processes
                ]
            ),
            "(no output)\n[the kernel ended a process: the machine, or the container of the \
             server, is out of memory; run less at the same time]\n[the command was ended: a \
             process used more CPU time than allowed; only the operator can raise the limit \
             (--limit-cpu-secs)]\n[the command was ended: it wrote a larger file than allowed; \
             only the operator can raise the limit (--limit-file-bytes)]\n[a process could not be \
             started: commands already run as many processes as allowed; only the operator can \
             raise the limit (--limit-processes)]\n[exit code: 137]"
        );
        assert_eq!(
            notes_text(
                Tier::Off,
                Network::None,
                &[Denied::Memory, Denied::Protected("/w/.git/hooks".into())]
            ),
            "(no output)\n[the command was ended: its processes together used more memory than \
             allowed; only the operator can raise the limit \
             (--limit-memory-bytes)]\n[`/w/.git/hooks` is protected: the file or directory that the command \
             created there was renamed (.set-aside); only the operator can allow it \
             (--unprotect)]\n[exit code: 137]"
        );
        assert_eq!(
            notes_text(
                Tier::Namespaces,
                Network::None,
                &[Denied::Hidden("/w/.env".into())]
            ),
            "(no output)\n[hidden by the operator: `/w/.env` (--hide); no tool or command can \
             read it, so go on without it]\n[exit code: 137]"
        );
        assert_eq!(
            notes_text(
                Tier::Namespaces,
                Network::None,
                &[Denied::Repeated, Denied::Unwatched("inotify: full".into())]
            ),
            "(no output)\n[all running commands were ended: one of them created files at \
             protected paths again and again]\n[the command was ended: protected paths could not \
             be watched any more: inotify: full]\n[exit code: 137]"
        );
    }
}
