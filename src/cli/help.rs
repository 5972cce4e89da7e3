//! Parsing of the command line, and help. Short help shows only the common flags.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Args as _, Command, CommandFactory as _, Error, FromArgMatches as _};
use replay_base::text::nearest::nearest;

use super::renamed::with_new_names;
use super::{Cli, ServerArgs};

/// Heading of flags about accessible paths.
pub(super) const DIRECTORIES: &str = "Directories";
/// Heading of flags about the isolation of commands.
pub(super) const WALLS: &str = "Walls around commands";
/// Heading of flags about resource limits of commands.
pub(super) const LIMITS: &str = "Limits of commands";
/// Heading of flags about the execution of agents' commands.
pub(super) const COMMANDS: &str = "Commands";
/// Heading of flags about the journal of changes.
pub(super) const UNDO: &str = "Undo";
/// Heading of flags about the server itself.
pub(super) const SERVER: &str = "Server";

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

/// Parses the command line.
///
/// # Errors
///
/// The message to print instead: an error, or the requested help.
pub fn parse() -> Result<Cli, Error> {
    parse_words(with_new_names(std::env::args_os()))
}

fn parse_words(typed: Vec<OsString>) -> Result<Cli, Error> {
    if let Some(server) = server(&typed) {
        return Ok(Cli {
            server,
            command: None,
        });
    }
    let mut command = with_short_help(Cli::command());
    if typed.len() == 1 {
        command = command.override_help(OVERVIEW);
    }
    let parsed = command
        .try_get_matches_from_mut(typed)
        .and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches));
    parsed.map_err(|mut error| {
        if let Some(tip) = tip(&command, &error) {
            error.remove(ContextKind::SuggestedSubcommand);
            error.remove(ContextKind::SuggestedArg);
            error.insert(
                ContextKind::Suggested,
                ContextValue::StyledStrs(vec![tip.into()]),
            );
        }
        error
    })
}

/// Next step after an error, where it is better known here than to clap.
fn tip(command: &Command, error: &Error) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let word = text(ContextKind::InvalidSubcommand);
    let flag = text(ContextKind::InvalidArg);
    let is_manifest = |typed: &&str| {
        [".yaml", ".yml", ".json"]
            .iter()
            .any(|end| typed.ends_with(end))
    };
    if let Some(file) = word.or(flag).filter(is_manifest) {
        return Some(format!("to serve a manifest use '--tools-from {file}'"));
    }
    match error.kind() {
        ErrorKind::ArgumentConflict => word.map(|word| {
            format!(
                "give flags of '{word}' after \
            '{word}'"
            )
        }),
        ErrorKind::InvalidSubcommand => word.map(|word| subcommand_tip(command, word, error)),
        ErrorKind::UnknownArgument => {
            flag.and_then(|flag| program_tip(flag, error).or_else(|| server_flag_tip(flag)))
        }
        _ => None,
    }
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

/// Help of every subcommand: `-h` and `--help` show the common flags, `replay help` all of them.
fn with_short_help(command: Command) -> Command {
    let help = Arg::new("help")
        .short('h')
        .long("help")
        .action(ArgAction::HelpShort)
        .global(true)
        .help("Print help");
    with_pointers(command, "")
        .disable_help_flag(true)
        .arg(help.help_heading(None::<&str>))
}

/// Hides the flags about directories, walls and network from the help of a subcommand that takes
/// them as the server does.
pub(super) fn without_server_flags(arg: Arg) -> Arg {
    match arg.get_help_heading() {
        Some(DIRECTORIES | WALLS) => arg.hide_short_help(true).hide_long_help(true),
        _ => arg,
    }
}

/// Adds a pointer to the full help where the short help leaves flags out.
fn with_pointers(command: Command, path: &str) -> Command {
    let example = command
        .get_after_help()
        .map(|example| format!("{example}\n\n"))
        .unwrap_or_default();
    let mut command = command;
    let is_only_in_full = |arg: &Arg| arg.is_hide_short_help_set() && !arg.is_hide_long_help_set();
    if command.get_arguments().any(is_only_in_full) {
        let below = if command.has_subcommands() {
            format!("For a subcommand: `replay{path} SUBCOMMAND --help`.")
        } else {
            String::new()
        };
        command = command
            .after_long_help(format!("{example}{below}"))
            .after_help(format!(
                "{example}Every flag, in full: `replay help{path}`."
            ));
    }
    command.mut_subcommands(|inner| {
        let path = format!("{path} {}", inner.get_name());
        with_pointers(inner, &path)
    })
}

/// Tip for a program without `--` before it.
fn program_tip(word: &str, error: &Error) -> Option<String> {
    let usage = error.get(ContextKind::Usage)?.to_string();
    (usage.contains(" -- <") && !word.starts_with('-'))
        .then(|| format!("a program comes after '--': '-- {word}'"))
}

/// Tip for a flag that only the server takes.
fn server_flag_tip(flag: &str) -> Option<String> {
    let name = flag.strip_prefix("--")?;
    let server = ServerArgs::augment_args(Command::new("replay"));
    let is_known = server
        .get_arguments()
        .any(|arg| arg.get_long() == Some(name));
    is_known.then(|| format!("'{flag}' is a flag of 'replay --mcp-server'"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn refusal(line: &str) -> String {
        let typed = line.split(' ').map(OsString::from).collect();
        parse_words(typed).unwrap_err().to_string()
    }

    #[test]
    fn unused_flag_is_refused_with_tip() {
        let whole = "error: unexpected argument '--allow' found\n\n  tip: '--allow' is a flag of 'replay \
                     --mcp-server'\n\nUsage: replay token new <NAME>\n\nFor more information, try '--help'.\n";
        assert_eq!(refusal("replay token new alice --allow /src"), whole);
    }

    #[test]
    fn program_without_dashes_is_refused_with_tip() {
        let tip = "\n\n  tip: a program comes after '--': '-- sh'\n\n";
        let refused = refusal("replay calls record sh -c true");
        assert!(refused.contains(tip), "{refused}");
    }

    #[test]
    fn subcommand_refuses_flags_that_it_does_not_use() {
        for (line, flag) in [
            ("token list --file f --network none", "--network"),
            ("audit verify f --allow /src", "--allow"),
            ("audit show f --log-level debug", "--log-level"),
            ("health http://127.0.0.1:1 --sandbox off", "--sandbox"),
            ("mock check m.yaml --errors results", "--errors"),
            ("mock --tools-from m.yaml --allow /src", "--allow"),
            ("bench --tools all", "--tools"),
            ("setup claude --tools all", "--tools"),
            ("calls list --network host", "--network"),
            ("calls show --isolation strict", "--isolation"),
            ("calls noise a b --sandbox off", "--sandbox"),
            ("calls record --tools all -- true", "--tools"),
            ("calls test --max-commands 2 -- true", "--max-commands"),
            ("sandbox explain --undo off", "--undo"),
            ("why read a --undo off", "--undo"),
            ("why read a --limit-processes 9", "--limit-processes"),
            ("tools --limit-processes 9", "--limit-processes"),
            ("why read a --no-python-spare", "--no-python-spare"),
            ("call read_file path=a --audit f", "--audit"),
        ] {
            let refusal = refusal(&format!("replay {line}"));
            assert!(
                refusal.starts_with(&format!("error: unexpected argument '{flag}' found\n")),
                "{line}: {refusal}"
            );
        }
    }

    #[test]
    fn subcommand_accepts_flags_that_it_uses() {
        for line in [
            "token new alice --own /src:rw --own-tools files --rate-limit 5 --max-calls 2",
            "audit verify f --audit-key k",
            "mock --tools-from m.yaml --errors results --log-level off",
            "mock record --target t -o f --log-level off",
            "call read_file path=a --allow . --max-commands 2",
            "sandbox explain --allow . --limit-processes 9",
            "calls list --allow . --log-level off",
            "setup claude --allow .:rw -- --tools all",
            "doctor --json --network host",
            "calls noise a b --protect c --no-fsync",
            "calls record --isolation strict --network host --env A --limit-processes 9 -- true",
            "calls test --sandbox landlock --home private --no-fsync --memory-mib 64 -- true",
            "--mcp-server --http 127.0.0.1:0 --audit f --allow .",
        ] {
            let typed = format!("replay {line}");
            let typed = typed.split(' ').map(OsString::from).collect();
            assert!(parse_words(typed).is_ok(), "{line}");
        }
    }

    #[test]
    fn server_flags_before_subcommand_are_refused() {
        let refusal = refusal("replay --allow . call read_file path=a");
        let whole = "error: the subcommand 'call' cannot be used with '--allow <DIR[:ro|:rw]>'\n\n  tip: give flags of \
                     'call' after 'call'\n\nUsage: replay [OPTIONS] --mcp-server\n       replay <COMMAND>\n\nFor more \
                     information, try '--help'.\n";
        assert_eq!(refusal, whole);
    }
}
