//! The program: argv -> Cli -> `commands`. Only this file ends the process.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use replay_sandbox::exec;
use replay_search::documents;

fn main() -> ExitCode {
    // The processes that this one starts inherit no descriptor of the client.
    if let Err(error) = replay_sandbox::close_on_exec_from(3) {
        replay::report(&anyhow::Error::from(error).context("close_range(2)"));
        return ExitCode::FAILURE;
    }
    let mut words = std::env::args_os().skip(1);
    let first = words.next().unwrap_or_default();
    if first == replay_sandbox::LAUNCHER_ARGUMENT {
        return replay_sandbox::run_launcher(replay::skips_of, replay::globs_of).map_or_else(
            |fault| {
                replay::report(&anyhow::Error::from(fault).context("the launcher of commands"));
                ExitCode::FAILURE
            },
            |()| ExitCode::SUCCESS,
        );
    }
    if first == exec::READER_ARGUMENT {
        return exec::serve_reader(words, |question, bytes| documents::answer(question, &bytes));
    }
    if first == replay_probe::ATTACK_ARGUMENT {
        return replay_probe::inside(&words.next().unwrap_or_default().to_string_lossy());
    }
    replay_sandbox::keep_little_heap();
    replay_sandbox::keep_to_own_sources();
    let cli = replay::parse().unwrap_or_else(|error| error.exit());
    outlive_file_limit();
    open_many_files();
    replay::run(cli).unwrap_or_else(|error| {
        if is_unread(&error) {
            return ExitCode::from(UNREAD_STATUS);
        }
        replay::report(&error);
        ExitCode::from(2)
    })
}

/// Exit status after an ignored SIGPIPE (13), as shells report it. It is never 0, since an unread
/// result must not count as success.
const UNREAD_STATUS: u8 = 128 + 13;

/// Returns true if the reader of stdout is gone, as with `| head`. Errors of other pipes have a
/// context.
fn is_unread(error: &anyhow::Error) -> bool {
    let is_broken = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().len() == 1 && error.downcast_ref().is_some_and(is_broken)
}

/// Raises the soft limit of open files to the hard limit, since atomic changes to many files need
/// more. The usual limit protects programs that use select(2) (systemd.exec(5), `LimitNOFILE`).
/// Commands have a limit of their own.
fn open_many_files() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // On failure the limit stays as it was.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// Blocks SIGXFSZ. A write beyond `RLIMIT_FSIZE` then fails with EFBIG for one call and does not
/// kill the process (setrlimit(2)). Child processes start with an empty mask.
fn outlive_file_limit() {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    // Cannot fail with a valid set; otherwise the limit kills the process as before.
    let _ = signals.thread_block();
}
