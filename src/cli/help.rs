//! Which of the flags that every mode accepts mean something to a mode: its help shows no others, and most refuse them.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, Error};

/// What may be reached on the disk.
const DIRECTORIES: &[&str] = &["allow", "allow_read", "allow_write", "sandbox_profile", "log_level"];
/// What a program is held in, and what it sees.
const WALLS: &[&str] = &[
    "protect",
    "unprotect",
    "sandbox",
    "network",
    "allow_network",
    "env",
    "home",
    "git_identity",
    "system",
    "no_toolchains",
    "limit_processes",
    "limit_file_bytes",
    "limit_cpu_secs",
    "limit_memory_bytes",
    "limit_open_files",
];
/// What sets of recordings are read with.
const MEMORY: &[&str] = &["memory_mib"];
/// What recordings are made and answered with.
const CALLS: &[&str] = &["isolation", "no_fsync"];
/// What a mock is.
const MOCKS: &[&str] = &["errors", "max_line_bytes", "stall_timeout_secs", "log_level"];

/// The flags of every mode that mean something to a subcommand, by its words; those of `Options` by their ids. What stands
/// for a subcommand stands for those below it too, unless they are named themselves.
const SHOWN: [(&[&str], &[&[&str]]); 17] = [
    (&["audit"], &[]),
    (&["health"], &[]),
    (&["token"], &[]),
    (&["bench"], &[]),
    (&["mock"], &[MOCKS]),
    (&["mock", "check"], &[]),
    (&["mock", "init"], &[]),
    (&["mock", "presets"], &[]),
    (&["mock", "schema"], &[]),
    (&["mock", "record"], &[&["log_level"]]),
    (&["mock", "distill"], &[]),
    (&["calls", "record"], &[DIRECTORIES, WALLS, CALLS]),
    (&["calls", "test"], &[DIRECTORIES, WALLS, CALLS, MEMORY]),
    (&["calls", "list"], &[DIRECTORIES, MEMORY]),
    (&["calls", "noise"], &[DIRECTORIES, &["protect", "unprotect", "no_fsync"], MEMORY]),
    (&["calls", "show"], &[DIRECTORIES, MEMORY]),
    (&["sandbox"], &[DIRECTORIES, WALLS]),
];

/// The subcommands that refuse what their help does not show. All others look at whatever a server may be told.
const REFUSES: [&str; 6] = ["audit", "health", "token", "bench", "mock", "calls"];

/// What `replay token new` has in the place of flags of the server, by the ids of those.
const OF_A_TOKEN: [(&str, &str); 4] = [
    ("allow", "--own /src/alice:rw"),
    ("allow_read", "--own /src/alice:ro"),
    ("allow_write", "--own /src/alice:rw"),
    ("tools", "--own-tools files"),
];

/// The same command line, of which each help shows no flag that means nothing there.
#[must_use]
pub fn with_what_matters(command: Command) -> Command {
    let everywhere: Vec<Arg> = command.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    SHOWN.into_iter().fold(command, |command, (words, shown)| {
        let others = everywhere.iter().filter(|arg| !shown.concat().contains(&arg.get_id().as_str()));
        below(command, words, others.map(|arg| arg.clone().hide(true)).collect())
    })
}

/// Fails if a flag of the server was given to a subcommand that does not read it: whoever typed it relies on it. `command` is
/// what has parsed `matches`.
///
/// # Errors
///
/// An error of the command line that names the flag, and what to type instead.
pub fn refuse_unread(command: &mut Command, matches: &ArgMatches) -> Result<(), Error> {
    let (mut words, mut last) = (Vec::new(), matches);
    while let Some((word, below)) = last.subcommand() {
        words.push(word);
        last = below;
    }
    let Some(&first) = words.first() else { return Ok(()) };
    let of_words = SHOWN.iter().filter(|(known, _)| words.starts_with(known)).max_by_key(|(known, _)| known.len());
    let read = of_words.filter(|_| REFUSES.contains(&first)).map(|(_, shown)| shown.concat());
    let is_unread = |arg: &&Arg| {
        let id = arg.get_id().as_str();
        let (is_read, given) = match &read {
            _ if !arg.is_global_set() => (false, matches),
            Some(read) => (read.contains(&id), last),
            None => (true, last),
        };
        !is_read && given.ids().any(|known| known == id) && given.value_source(id) == Some(ValueSource::CommandLine)
    };
    let Some((id, flag)) =
        command.get_arguments().find(is_unread).and_then(|arg| Some((arg.get_id().clone(), arg.get_long()?)))
    else {
        return Ok(());
    };
    let instead = OF_A_TOKEN.iter().find(|(known, _)| words == ["token", "new"] && id == *known);
    let tip = match instead {
        Some((_, own)) => format!("what a token has of its own is given by '{own}'"),
        None => "it is a flag of 'replay --mcp-server'".to_owned(),
    };
    let message = format!("'replay {}' does not read '--{flag}'\n\n  tip: {tip}", words.join(" "));
    command.build();
    let named = words.iter().try_fold(&mut *command, |command, word| command.find_subcommand_mut(word));
    Err(named.map_or_else(
        || Error::raw(ErrorKind::UnknownArgument, &message),
        |named| named.error(ErrorKind::UnknownArgument, &message),
    ))
}

/// With these flags in the place of those that would come from above.
fn below(command: Command, words: &[&str], args: Vec<Arg>) -> Command {
    match words {
        [] => command.args(args),
        [first, rest @ ..] => command.mut_subcommand(*first, |inner| below(inner, rest, args)),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::cli::Cli;

    /// The flags that the help of a subcommand shows.
    fn flags(words: &[&str]) -> Vec<String> {
        let mut command = with_what_matters(Cli::command());
        command.build();
        let found = words.iter().fold(&mut command, |command, word| command.find_subcommand_mut(word).unwrap());
        let visible = found.get_arguments().filter(|arg| !arg.is_hide_set());
        visible.filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect()
    }

    #[test]
    fn every_flag_that_is_named_is_one_of_every_mode() {
        let command = Cli::command();
        let known: Vec<&str> =
            command.get_arguments().filter(|arg| arg.is_global_set()).map(|arg| arg.get_id().as_str()).collect();
        for id in SHOWN.iter().flat_map(|(_, shown)| shown.concat()) {
            assert!(known.contains(&id), "{id}");
        }
    }

    /// What is said to a command line; empty if it is accepted.
    fn refusal(line: &str) -> String {
        let mut command = with_what_matters(Cli::command());
        let typed = std::iter::once("replay").chain(line.split(' '));
        let matches = command.try_get_matches_from_mut(typed).unwrap();
        refuse_unread(&mut command, &matches).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_a_command_does_not_read_it_refuses() {
        let whole = "error: 'replay token new' does not read '--allow'\n\n  tip: what a token has of its own is given by \
            '--own /src/alice:rw'\n\nUsage: replay token new [OPTIONS] <NAME>\n\nFor more information, try '--help'.\n";
        assert_eq!(refusal("token new alice --allow /src/alice:rw"), whole);
        for (line, words, flag) in [
            ("--allow /src token new alice", "token new", "--allow"),
            ("token new alice --tools files", "token new", "--tools"),
            ("token new alice --limit-processes 8", "token new", "--limit-processes"),
            ("token new alice --max-line-bytes 8", "token new", "--max-line-bytes"),
            ("token list --file f --network none", "token list", "--network"),
            ("token revoke alice --file f --env A", "token revoke", "--env"),
            ("token rotate alice --file f --allow-network", "token rotate", "--allow-network"),
            ("audit verify f --allow /src", "audit verify", "--allow"),
            ("audit show f --log-level debug", "audit show", "--log-level"),
            ("health http://127.0.0.1:1 --sandbox off", "health", "--sandbox"),
            ("mock check m.yaml --errors results", "mock check", "--errors"),
            ("mock --tools-from m.yaml --allow /src", "mock", "--allow"),
            ("bench --tools all", "bench", "--tools"),
            ("calls list --network host", "calls list", "--network"),
            ("calls show --isolation strict", "calls show", "--isolation"),
            ("calls noise a b --sandbox off", "calls noise", "--sandbox"),
            ("calls --no-fsync list", "calls list", "--no-fsync"),
            ("calls record --tools all -- true", "calls record", "--tools"),
            ("calls test --max-commands 2 -- true", "calls test", "--max-commands"),
            ("--audit f call read_file path=a", "call", "--audit"),
            ("--mcp-server token list --file f", "token list", "--mcp-server"),
        ] {
            let said = refusal(line);
            assert!(said.starts_with(&format!("error: 'replay {words}' does not read '{flag}'\n")), "{line}: {said}");
        }
        for line in [
            "token new alice --own /src:rw --own-tools files --rate-limit 5 --max-calls 2",
            "audit verify f --audit-key k",
            "mock --tools-from m.yaml --errors results --log-level off",
            "mock record --target t -o f --log-level off",
            "call read_file path=a --allow . --max-commands 2",
            "sandbox explain --allow . --tools python --max-commands 2",
            "calls list --allow . --log-level off",
            "calls noise a b --protect c --no-fsync",
            "calls record --isolation strict --network host --env A --limit-processes 9 -- true",
            "calls test --sandbox landlock --home private --no-fsync -- true",
            "--mcp-server --http 127.0.0.1:0 --audit f --allow .",
        ] {
            assert_eq!(refusal(line), "", "{line}");
        }
    }

    #[test]
    fn help_shows_what_means_something() {
        let sets = ["--path", "--memory-mib"];
        let directories = ["--allow", "--allow-read", "--allow-write", "--sandbox-profile", "--log-level", "--help"];
        let sorted = |words: Vec<&str>| {
            let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            words.sort();
            words
        };
        for (words, expected) in [
            (vec!["bench"], vec!["--tree", "--pattern", "--rounds", "--help"]),
            (vec!["calls", "list"], [&sets[..], &directories].concat()),
            (vec!["calls", "show"], [&sets[..], &["--html"], &directories].concat()),
            (
                vec!["calls", "noise"],
                [&sets[..], &["--write", "--protect", "--unprotect", "--no-fsync"], &directories].concat(),
            ),
            (vec!["mock", "distill"], vec!["--help"]),
            (vec!["mock", "record"], vec!["--target", "--output", "--redact-env", "--redact", "--log-level", "--help"]),
        ] {
            assert_eq!(sorted(flags(&words).iter().map(String::as_str).collect()), sorted(expected), "{words:?}");
        }
        for (words, there, not) in [
            (["calls", "record"], "--isolation", "--max-line-bytes"),
            (["sandbox", "run"], "--limit-processes", "--tools"),
        ] {
            let flags = flags(&words);
            assert!(flags.iter().any(|flag| flag == there) && !flags.iter().any(|flag| flag == not), "{flags:?}");
        }
        assert!(flags(&["call"]).contains(&"--max-commands".to_owned()));
    }
}
