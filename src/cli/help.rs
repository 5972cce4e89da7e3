//! Help texts. Each subcommand shows only the flags that it reads, and short help only the common
//! ones. Most subcommands refuse a flag that their help does not show.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{
    Arg, ArgAction, ArgMatches, Args as _, Command, CommandFactory as _, Error, FromArgMatches as _,
};

use super::{Cli, ServerArgs};
use crate::text::nearest::nearest;

/// Heading of flags about accessible paths.
pub const DIRECTORIES: &str = "Directories";
/// Heading of flags about the isolation of commands.
pub const WALLS: &str = "Walls around commands";
/// Heading of flags about resource limits of commands.
pub const LIMITS: &str = "Limits of commands";
/// Heading of flags about the execution of agents' commands.
pub const COMMANDS: &str = "Commands";
/// Heading of flags about the journal of changes.
pub const UNDO: &str = "Undo";
/// Heading of flags about the server itself.
pub const SERVER: &str = "Server";

/// Text for `replay` without arguments.
const OVERVIEW: &str = "\
replay gives AI agents files, search, edits and a shell, held inside the directories that you allow.
It is a server of the Model Context Protocol (MCP). The kernel holds the commands that agents run.

  replay --mcp-server --allow .:rw                                serve the tools to an MCP client, on stdin and stdout
  replay call grep_files directory=. regex='fn main' --allow .    run one tool and print its answer
  replay sandbox run --allow .:rw -- ls -la /                     run a program inside the walls

  replay tools        every tool
  replay --help       more: --http for a team, calls to record a program's calls, mock for a fake server
  replay help         every flag; for a subcommand: replay SUBCOMMAND --help
";

/// Global flags that a subcommand reads: headings, and IDs of single flags. An entry also holds for
/// nested subcommands without their own entry. A subcommand without an entry reads all of them.
const READ: [(&[&str], &[&str]); 21] = [
    (&["changes"], &[]),
    (&["audit"], &[]),
    (&["health"], &[]),
    (&["token"], &[]),
    (&["bench"], &[]),
    (&["setup"], &["allow"]),
    (&["doctor"], &[DIRECTORIES, "log_level", WALLS, LIMITS]),
    (&["tools"], &[DIRECTORIES, WALLS, LIMITS, "tools"]),
    (
        &["mock"],
        &[
            "errors",
            "max_line_bytes",
            "stall_timeout_secs",
            "log_level",
        ],
    ),
    (&["mock", "check"], &[]),
    (&["mock", "init"], &[]),
    (&["mock", "presets"], &[]),
    (&["mock", "schema"], &[]),
    (&["mock", "record"], &["log_level"]),
    (&["mock", "distill"], &[]),
    (
        &["calls", "record"],
        &[DIRECTORIES, "log_level", WALLS, LIMITS, "no_fsync"],
    ),
    (
        &["calls", "test"],
        &[
            DIRECTORIES,
            "log_level",
            WALLS,
            LIMITS,
            "no_fsync",
            "memory_mib",
        ],
    ),
    (
        &["calls", "list"],
        &[DIRECTORIES, "log_level", "memory_mib"],
    ),
    (
        &["calls", "noise"],
        &[
            DIRECTORIES,
            "log_level",
            "protect",
            "unprotect",
            "no_fsync",
            "memory_mib",
        ],
    ),
    (
        &["calls", "show"],
        &[DIRECTORIES, "log_level", "memory_mib"],
    ),
    (&["sandbox"], &[DIRECTORIES, "log_level", WALLS, LIMITS]),
];

/// Global flags that a subcommand reads; `None` means all.
fn read_by(words: &[&str]) -> Option<&'static [&'static str]> {
    let of_words = READ
        .into_iter()
        .filter(|(known, _)| words.starts_with(known));
    of_words
        .max_by_key(|(known, _)| known.len())
        .map(|(_, read)| read)
}

/// Returns true if the list contains the heading or the ID of this flag.
fn is_among(arg: &Arg, read: &[&str]) -> bool {
    read.contains(&arg.get_id().as_str())
        || arg
            .get_help_heading()
            .is_some_and(|heading| read.contains(&heading))
}

/// Subcommands that refuse flags missing in their help. The others accept every flag of the server.
const REFUSES: [&str; 8] = [
    "audit", "changes", "health", "token", "bench", "setup", "mock", "calls",
];

/// Counterparts of server flags in `replay token new`, by the IDs of the server flags.
const TOKEN_COUNTERPARTS: [(&str, &str); 4] = [
    ("allow", "--own /src/alice:rw"),
    ("allow_read", "--own /src/alice:ro"),
    ("allow_write", "--own /src/alice:rw"),
    ("tools", "--own-tools files"),
];

/// Parses the command line.
///
/// # Errors
///
/// The message to print instead: an error, or the requested help.
pub fn parse() -> Result<Cli, Error> {
    let typed: Vec<OsString> = std::env::args_os().collect();
    if let Some(server) = server(&typed) {
        return Ok(Cli {
            server,
            command: None,
        });
    }
    let mut command = with_relevant_flags(Cli::command(), &|name| {
        typed.iter().any(|word| word == name)
    });
    if typed.len() == 1 {
        command = command.override_help(OVERVIEW);
    }
    let parsed = command
        .try_get_matches_from_mut(typed)
        .and_then(|mut matches| {
            refuse_unread(&mut command, &matches)?;
            Cli::from_arg_matches_mut(&mut matches)
        });
    parsed.map_err(|mut error| {
        let typed = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg]
            .into_iter()
            .find_map(|kind| error.get(kind));
        if let Some(ContextValue::String(file)) = typed
            && [".yaml", ".yml", ".json"]
                .iter()
                .any(|end| file.ends_with(end))
        {
            let tip = format!("a manifest is served with '--tools-from {file}'");
            error.insert(
                ContextKind::Suggested,
                ContextValue::StyledStrs(vec![tip.into()]),
            );
        } else if error.kind() == ErrorKind::InvalidSubcommand
            && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        {
            let tip = subcommand_tip(&command, word, &error);
            error.remove(ContextKind::SuggestedSubcommand);
            error.insert(
                ContextKind::Suggested,
                ContextValue::StyledStrs(vec![tip.into()]),
            );
        }
        error
    })
}

/// Parses the flags of a server quickly, without building subcommands. `None` means that the full
/// parser must decide.
fn server(typed: &[OsString]) -> Option<ServerArgs> {
    typed.iter().find(|word| *word == "--mcp-server")?;
    let command = ServerArgs::augment_args(Command::new("replay"));
    ServerArgs::from_arg_matches_mut(&mut command.try_get_matches_from(typed).ok()?).ok()
}

/// Suggests a similar subcommand at any level, or the place where subcommands are listed.
fn subcommand_tip(command: &Command, word: &str, error: &Error) -> String {
    // The usage line begins with the subcommands that were recognized.
    let usage = error
        .get(ContextKind::Usage)
        .map(ToString::to_string)
        .unwrap_or_default();
    let understood = usage
        .split_whitespace()
        .skip(1)
        .take_while(|word| word.starts_with(char::is_alphabetic));
    let understood = understood.collect::<Vec<_>>().join(" ");
    let mut known = Vec::new();
    subcommands(command, command.get_name(), &mut known);
    let near = nearest(word, known.iter().map(|(_, name)| name.as_str()));
    let mut near: Vec<&str> = known
        .iter()
        .filter(|(_, name)| near == Some(name))
        .map(|(words, _)| words.as_str())
        .collect();
    if let Some(here) = near.iter().copied().find(|words| {
        words
            .rsplit_once(' ')
            .is_some_and(|(above, _)| above == understood)
    }) {
        near = vec![here];
    }
    if near.is_empty() {
        return format!("'{understood} --help' lists the subcommands");
    }
    format!("the nearest is '{}'", near.join("' or '"))
}

/// Collects all nested subcommands, with their names, as help lists them.
fn subcommands(command: &Command, words: &str, known: &mut Vec<(String, String)>) {
    for inner in command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set())
    {
        let words = format!("{words} {}", inner.get_name());
        subcommands(inner, &words, known);
        known.push((words, inner.get_name().to_owned()));
    }
}

/// Hides global flags in the help of each subcommand that does not read them, and adds a pointer to
/// the rest. Skips subcommands that the command line cannot mean, since building their flags takes
/// most of the parsing time.
fn with_relevant_flags(command: Command, may_be_asked: &dyn Fn(&str) -> bool) -> Command {
    let everywhere: Vec<Arg> = command
        .get_arguments()
        .filter(|arg| arg.is_global_set())
        .cloned()
        .collect();
    // Each subcommand would get a copy of each flag.
    let is_asked = command
        .get_subcommands()
        .any(|inner| may_be_asked(inner.get_name()));
    let command = if is_asked {
        command
    } else {
        command.mut_args(|arg| arg.global(false))
    };
    let help = Arg::new("help")
        .short('h')
        .long("help")
        .action(ArgAction::HelpShort)
        .global(true)
        .help("Print help");
    narrow_flags(command, &[], &everywhere, may_be_asked)
        .disable_help_flag(true)
        .arg(help.help_heading(None::<&str>))
}

/// Replaces the inherited global flags of a subcommand. A pure group of subcommands reads none
/// itself.
fn narrow_flags(
    command: Command,
    words: &[&str],
    everywhere: &[Arg],
    may_be_asked: &dyn Fn(&str) -> bool,
) -> Command {
    let read = if command.is_subcommand_required_set() {
        Some::<&[&str]>(&[])
    } else {
        read_by(words)
    };
    let is_read = |arg: &Arg| read.is_none_or(|read| is_among(arg, read));
    let own = everywhere
        .iter()
        .filter(|_| read.is_some())
        .map(|arg| arg.clone().hide(!is_read(arg)));
    let mut command = own.fold(command, Command::arg);
    if everywhere
        .iter()
        .any(|arg| arg.is_hide_short_help_set() && is_read(arg))
    {
        let example = command
            .get_after_help()
            .map(|said| format!("{said}\n\n"))
            .unwrap_or_default();
        let full = [&["replay", "help"][..], words].concat().join(" ");
        let one = [&["replay"][..], words, &["SUBCOMMAND", "--help"]]
            .concat()
            .join(" ");
        let below = if command.has_subcommands() {
            format!("For a subcommand: `{one}`.")
        } else {
            String::new()
        };
        command = command.after_long_help(format!("{example}{below}"));
        command = command.after_help(format!("{example}Every flag, in full: `{full}`."));
    }
    command.mut_subcommands(|inner| {
        let name = inner.get_name().to_owned();
        if may_be_asked(&name) {
            narrow_flags(
                inner,
                &[words, &[&*name]].concat(),
                everywhere,
                may_be_asked,
            )
        } else {
            inner
        }
    })
}

/// Rejects a server flag given to a subcommand that does not read it, since the user relies on it.
/// `command` has parsed `matches`.
fn refuse_unread(command: &mut Command, matches: &ArgMatches) -> Result<(), Error> {
    let (mut words, mut last) = (Vec::new(), matches);
    while let Some((word, below)) = last.subcommand() {
        words.push(word);
        last = below;
    }
    let Some(&first) = words.first() else {
        return Ok(());
    };
    let read = read_by(&words).filter(|_| REFUSES.contains(&first));
    let is_unread = |arg: &&Arg| {
        let id = arg.get_id().as_str();
        let (is_read, given) = match read {
            _ if !arg.is_global_set() => (false, matches),
            Some(read) => (is_among(arg, read), last),
            None => (true, last),
        };
        !is_read
            && given.ids().any(|known| known == id)
            && given.value_source(id) == Some(ValueSource::CommandLine)
    };
    let Some((id, flag)) = command
        .get_arguments()
        .find(is_unread)
        .and_then(|arg| Some((arg.get_id().clone(), arg.get_long()?)))
    else {
        return Ok(());
    };
    let instead = TOKEN_COUNTERPARTS
        .iter()
        .find(|(known, _)| words == ["token", "new"] && id == *known);
    let tip = match instead {
        Some((_, own)) => format!("what a token has of its own is given by '{own}'"),
        None => "it is a flag of 'replay --mcp-server'".to_owned(),
    };
    let message = format!(
        "'replay {}' does not read '--{flag}'\n\n  tip: {tip}",
        words.join(" ")
    );
    command.build();
    let named = words.iter().try_fold(&mut *command, |command, word| {
        command.find_subcommand_mut(word)
    });
    Err(named.map_or_else(
        || Error::raw(ErrorKind::UnknownArgument, &message),
        |named| named.error(ErrorKind::UnknownArgument, &message),
    ))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    /// Flags in the help of a subcommand.
    fn flags(words: &[&str]) -> Vec<String> {
        let mut command = with_relevant_flags(Cli::command(), &|_| true);
        command.build();
        let found = words.iter().fold(&mut command, |command, word| {
            command.find_subcommand_mut(word).unwrap()
        });
        let visible = found.get_arguments().filter(|arg| !arg.is_hide_set());
        visible
            .filter_map(|arg| Some(format!("--{}", arg.get_long()?)))
            .collect()
    }

    #[test]
    fn read_table_names_existing_flags() {
        let command = Cli::command();
        let everywhere: Vec<&Arg> = command
            .get_arguments()
            .filter(|arg| arg.is_global_set())
            .collect();
        for name in READ.iter().flat_map(|(_, read)| *read) {
            assert!(
                everywhere.iter().any(|arg| is_among(arg, &[name])),
                "{name}"
            );
        }
    }

    /// Error message for a command line; empty if it is accepted.
    fn refusal(line: &str) -> String {
        let mut command = with_relevant_flags(Cli::command(), &|_| true);
        let typed = std::iter::once("replay").chain(line.split(' '));
        let matches = command.try_get_matches_from_mut(typed).unwrap();
        refuse_unread(&mut command, &matches)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn subcommand_refuses_unread_flags() {
        let whole = "error: 'replay token new' does not read '--allow'\n\n  tip: what a token has of its own is given by \
            '--own /src/alice:rw'\n\nUsage: replay token new [OPTIONS] <NAME>\n\nFor more information, try '--help'.\n";
        assert_eq!(refusal("token new alice --allow /src/alice:rw"), whole);
        for (line, words, flag) in [
            ("--allow /src token new alice", "token new", "--allow"),
            ("token new alice --tools files", "token new", "--tools"),
            (
                "token new alice --limit-processes 8",
                "token new",
                "--limit-processes",
            ),
            (
                "token new alice --max-line-bytes 8",
                "token new",
                "--max-line-bytes",
            ),
            (
                "token list --file f --network none",
                "token list",
                "--network",
            ),
            (
                "token revoke alice --file f --env A",
                "token revoke",
                "--env",
            ),
            (
                "token rotate alice --file f --allow-network",
                "token rotate",
                "--allow-network",
            ),
            ("audit verify f --allow /src", "audit verify", "--allow"),
            (
                "audit show f --log-level debug",
                "audit show",
                "--log-level",
            ),
            (
                "health http://127.0.0.1:1 --sandbox off",
                "health",
                "--sandbox",
            ),
            (
                "mock check m.yaml --errors results",
                "mock check",
                "--errors",
            ),
            ("mock --tools-from m.yaml --allow /src", "mock", "--allow"),
            ("bench --tools all", "bench", "--tools"),
            ("setup claude --tools all", "setup", "--tools"),
            ("calls list --network host", "calls list", "--network"),
            ("calls show --isolation strict", "calls show", "--isolation"),
            ("calls noise a b --sandbox off", "calls noise", "--sandbox"),
            ("calls --no-fsync list", "calls list", "--no-fsync"),
            (
                "calls record --tools all -- true",
                "calls record",
                "--tools",
            ),
            (
                "calls test --max-commands 2 -- true",
                "calls test",
                "--max-commands",
            ),
            ("--audit f call read_file path=a", "call", "--audit"),
            (
                "--mcp-server token list --file f",
                "token list",
                "--mcp-server",
            ),
        ] {
            let said = refusal(line);
            assert!(
                said.starts_with(&format!("error: 'replay {words}' does not read '{flag}'\n")),
                "{line}: {said}"
            );
        }
        for line in [
            "token new alice --own /src:rw --own-tools files --rate-limit 5 --max-calls 2",
            "audit verify f --audit-key k",
            "mock --tools-from m.yaml --errors results --log-level off",
            "mock record --target t -o f --log-level off",
            "call read_file path=a --allow . --max-commands 2",
            "sandbox explain --allow . --tools python --max-commands 2",
            "calls list --allow . --log-level off",
            "setup claude --allow .:rw -- --tools all",
            "doctor --json --network host --tools python",
            "calls noise a b --protect c --no-fsync",
            "calls record --isolation strict --network host --env A --limit-processes 9 -- true",
            "calls test --sandbox landlock --home private --no-fsync -- true",
            "--mcp-server --http 127.0.0.1:0 --audit f --allow .",
        ] {
            assert_eq!(refusal(line), "", "{line}");
        }
    }

    #[test]
    fn help_shows_only_flags_read() {
        let sets = ["--path", "--memory-mib"];
        let directories = [
            "--allow",
            "--allow-read",
            "--allow-write",
            "--sandbox-profile",
            "--log-level",
            "--help",
        ];
        let sorted = |words: Vec<&str>| {
            let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            words.sort();
            words
        };
        for (words, expected) in [
            (
                vec!["bench"],
                vec!["--tree", "--pattern", "--rounds", "--help"],
            ),
            (vec!["calls", "list"], [&sets[..], &directories].concat()),
            (
                vec!["calls", "show"],
                [&sets[..], &["--html"], &directories].concat(),
            ),
            (
                vec!["calls", "noise"],
                [
                    &sets[..],
                    &["--write", "--protect", "--unprotect", "--no-fsync"],
                    &directories,
                ]
                .concat(),
            ),
            (vec!["mock", "distill"], vec!["--help"]),
            (
                vec!["mock", "record"],
                vec![
                    "--target",
                    "--output",
                    "--redact-env",
                    "--redact",
                    "--log-level",
                    "--help",
                ],
            ),
        ] {
            assert_eq!(
                sorted(flags(&words).iter().map(String::as_str).collect()),
                sorted(expected),
                "{words:?}"
            );
        }
        for (words, there, not) in [
            (["calls", "record"], "--isolation", "--max-line-bytes"),
            (["sandbox", "run"], "--limit-processes", "--tools"),
        ] {
            let flags = flags(&words);
            assert!(
                flags.iter().any(|flag| flag == there) && !flags.iter().any(|flag| flag == not),
                "{flags:?}"
            );
        }
        assert!(flags(&["call"]).contains(&"--max-commands".to_owned()));
    }
}
