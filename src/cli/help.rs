//! Which of the flags that every mode accepts the help of a mode shows: those that mean something to it.

use clap::{Arg, Command};

/// What may be reached on the disk.
const DIRECTORIES: &[&str] = &["allow", "allow_read", "allow_write", "sandbox_profile", "log_level"];
/// What a program is held in, and what it sees.
const WALLS: &[&str] = &[
    "protect",
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
/// What recordings are made and answered with.
const CALLS: &[&str] = &["isolation", "no_fsync"];
/// What a mock is.
const MOCKS: &[&str] = &["errors", "max_line_bytes", "stall_timeout_secs", "log_level"];

/// The flags of every mode that mean something to a subcommand, by its words; those of `Options` by their ids. What stands
/// for a subcommand stands for those below it too, unless they are named themselves.
const SHOWN: [(&[&str], &[&[&str]]); 11] = [
    (&["audit"], &[]),
    (&["health"], &[]),
    (&["token"], &[]),
    (&["bench"], &[]),
    (&["mock"], &[MOCKS]),
    (&["calls", "record"], &[DIRECTORIES, WALLS, CALLS]),
    (&["calls", "test"], &[DIRECTORIES, WALLS, CALLS]),
    (&["calls", "list"], &[DIRECTORIES]),
    (&["calls", "noise"], &[DIRECTORIES, &["protect", "no_fsync"]]),
    (&["calls", "show"], &[DIRECTORIES]),
    (&["sandbox"], &[DIRECTORIES, WALLS]),
];

/// The same command line, of which each help shows no flag that means nothing there. All are accepted as before.
#[must_use]
pub fn with_what_matters(command: Command) -> Command {
    let everywhere: Vec<Arg> = command.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    SHOWN.into_iter().fold(command, |command, (words, shown)| {
        let others = everywhere.iter().filter(|arg| !shown.concat().contains(&arg.get_id().as_str()));
        below(command, words, others.map(|arg| arg.clone().hide(true)).collect())
    })
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

    #[test]
    fn help_shows_what_means_something() {
        let sets = ["--path"];
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
            (vec!["calls", "noise"], [&sets[..], &["--write", "--protect", "--no-fsync"], &directories].concat()),
            (
                vec!["mock", "distill"],
                vec!["--errors", "--max-line-bytes", "--stall-timeout-secs", "--log-level", "--help"],
            ),
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
