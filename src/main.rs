//! The program: argv -> Cli -> `commands`. The only place that ends the process.

use std::process::ExitCode;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use replay::internals::sandbox::{self, attack};
use replay::internals::{cli, commands, compose, documents, exec};

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let first = words.next().unwrap_or_default();
    if first == sandbox::LAUNCHER_ARGUMENT {
        return sandbox::run_launcher(compose::skips_of, compose::globs_of).map_or_else(
            |fault| {
                commands::report(&anyhow::Error::from(fault).context("the launcher of commands"));
                ExitCode::FAILURE
            },
            |()| ExitCode::SUCCESS,
        );
    }
    if first == exec::READER_ARGUMENT {
        return exec::serve_reader(words, |question, bytes| documents::answer(question, &bytes));
    }
    if first == attack::ATTACK_ARGUMENT {
        return attack::inside(&words.next().unwrap_or_default().to_string_lossy());
    }
    sandbox::keep_little_heap();
    sandbox::keep_to_own_sources();
    let cli = cli::parse().unwrap_or_else(|error| error.exit());
    outlive_file_limit();
    open_many_files();
    commands::run(cli).unwrap_or_else(|error| {
        if is_unread(&error) {
            return ExitCode::from(UNREAD_STATUS);
        }
        commands::report(&error);
        ExitCode::from(2)
    })
}

/// As shells report a program that SIGPIPE (13) ended, which this one ignores: never 0, or a
/// verdict that nobody saw would be good.
const UNREAD_STATUS: u8 = 128 + 13;

/// Whether nobody reads any more what is printed, as behind `| head`: any other pipe that breaks
/// has a reason around it.
fn is_unread(error: &anyhow::Error) -> bool {
    let is_broken = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().len() == 1 && error.downcast_ref().is_some_and(is_broken)
}

/// The usual soft limit is for programs that use select(2) (systemd.exec(5), `LimitNOFILE`): a
/// change to many files at once needs more. Commands have a limit of their own.
fn open_many_files() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // If it fails, the limit is as it was.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// A write beyond `RLIMIT_FSIZE` is then the error EFBIG for one call instead of the end of the
/// process (setrlimit(2)). Programs that are started begin with an empty mask.
fn outlive_file_limit() {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    // It cannot fail with a valid set; if it did, the limit would be as it was.
    let _ = signals.thread_block();
}
