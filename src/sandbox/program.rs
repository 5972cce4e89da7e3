//! The last steps from a supervisor's copy to execve(2) of a command's program.

use std::convert::Infallible;
use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use nix::errno::Errno as NixErrno;
use nix::sys::signal::SigSet;
use replay_base::limits::{COMMAND_OPEN_FILES, OPEN_FILES_KEPT_SHARE};
use replay_sys as sys;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use rustix::thread::set_no_new_privs;

use super::capabilities;
use super::fault::{Fault, StepContext};
use super::plan::{CanonicalPath, Limits, Tier};
use super::raw_string::RawString;
use super::view;
use super::walls::{Walls, intercept_only, seal};
use super::wire::{Event, Request, Run, send_event, send_listener};
use replay_environment::variables::{FALLBACK_SHELL, SHELL};

/// Makes a shell run the text of [`SCRIPT`] without passing the variable on. `unset` is on the
/// first line of the text, so that line numbers are right.
const RUN_SCRIPT: &str = "eval \"unset REPLAY_COMMAND; $REPLAY_COMMAND\"";
/// Variable for a script that must not appear in arguments.
const SCRIPT: &str = "REPLAY_COMMAND";
/// Makes a shell replace itself with the program in the following words.
const BY_SHELL: [&str; 4] = [FALLBACK_SHELL, "-c", "exec \"$@\"", "sh"];
const PATH: &[u8] = b"PATH=";

/// Standard streams of a program.
#[derive(Debug)]
pub(crate) enum Streams {
    Separate([OwnedFd; 3]),
    /// The slave side of a terminal for all three streams, which becomes the controlling terminal.
    Terminal(OwnedFd),
}

/// Common settings for every program of this launcher.
#[derive(Debug)]
pub(crate) struct Start {
    /// Tier of the commands.
    pub tier: Tier,
    /// Walls, if any.
    pub walls: Option<Walls>,
    /// Resource limits.
    pub limits: Limits,
    /// Environment, including HOME and TMPDIR.
    pub environment: Vec<(RawString, RawString)>,
}

impl Start {
    /// Becomes the program. On failure it sends [`Event::Refused`] to `birth` and exits; on
    /// success, execve(2) closes `birth`. Before that it sends the seccomp listener, with
    /// [`Event::Started`] or [`Event::Listens`].
    pub(crate) fn become_program(
        &self,
        request: &Request,
        streams: &Streams,
        birth: &OwnedFd,
    ) -> ! {
        let Err(fault) = self.go(request, streams, birth);
        let refused = Event::refused(&fault);
        let _ = send_event(birth, &refused, None);
        sys::exit_now(127)
    }

    fn go(
        &self,
        request: &Request,
        streams: &Streams,
        birth: &OwnedFd,
    ) -> Result<Infallible, Fault> {
        let (arguments, hidden) = self.invocation(&request.run);
        let arguments = arguments
            .iter()
            .map(argument)
            .collect::<Result<Vec<_>, _>>()?;
        let program = arguments
            .first()
            .ok_or_else(|| Fault::because("argv", "it is empty"))?;
        let environment = self.variables(
            &request
                .environment
                .iter()
                .chain(&hidden)
                .collect::<Vec<_>>(),
        )?;
        attach(streams)?;
        // The only signal that this process ignores; execve(2) resets the handlers.
        sys::default_signals([libc::SIGPIPE]);
        SigSet::empty().thread_set_mask().step("unblock signals")?;
        // The supervisor is not dumpable, and a process that is not dumpable may not write below
        // its own /proc.
        set_dumpable_behavior(DumpableBehavior::Dumpable).step("PR_SET_DUMPABLE")?;
        limit(&self.limits, self.tier)?;
        if self.tier == Tier::Namespaces {
            view::seal_proc()?;
        }
        rustix::process::fchdir(working_directory(&request.dir)?).step("fchdir")?;
        if let Some(walls) = &self.walls {
            capabilities::drop_most().step("drop capabilities")?;
            set_no_new_privs(true).step("PR_SET_NO_NEW_PRIVS")?;
            if request.intercepts_calls() {
                offer(&walls.enter_intercepted()?, birth)?;
            } else {
                let listener = walls.enter()?;
                send_event(birth, &Event::Started, Some(listener.as_fd()))
                    .step("hand the listener over")?;
            }
        } else if request.intercepts_calls() {
            set_no_new_privs(true).step("PR_SET_NO_NEW_PRIVS")?;
            offer(&intercept_only()?, birth)?;
        }
        sys::close_on_exec_from(3).step("close_range")?;
        // No descriptor is sent from here on.
        limit_open_files(&self.limits)?;
        if let Run::Named(words) = &request.run {
            execute_named(words, &environment)?;
        }
        let Err(error) = nix::unistd::execve(program, &arguments, &environment);
        Err(error).step_with(|| format!("execute `{}`", program.to_string_lossy()))
    }

    /// Returns the arguments, and the variable for a script, if any. A shell gets its script in its
    /// last argument, or in a variable if others that share /proc could read arguments. The
    /// environment of another domain's process is not readable there (`environ` requires ptrace(2)
    /// access).
    ///
    /// The variable is the second choice: some shells replace themselves with the last program of a
    /// script, but `eval` forks.
    fn invocation(&self, run: &Run) -> (Vec<RawString>, Option<(RawString, RawString)>) {
        let text = match run {
            Run::Program(arguments) => return (arguments.clone(), None),
            // A file that cannot be executed may be a script without a shebang. Otherwise the shell
            // reports the error.
            Run::Named(words) => return ([&BY_SHELL.map(Into::into)[..], words].concat(), None),
            Run::Script(text) => text,
        };
        let shell = self.environment.iter().find(|(name, _)| name.0 == SHELL);
        let shell = shell.map_or_else(|| FALLBACK_SHELL.into(), |(_, path)| path.clone());
        match self.tier {
            Tier::Landlock => (
                vec![shell, "-c".into(), RUN_SCRIPT.into()],
                Some((SCRIPT.into(), text.clone())),
            ),
            Tier::Namespaces | Tier::Off => (vec![shell, "-c".into(), text.clone()], None),
        }
    }

    /// Merges `more` over the plan's variables.
    fn variables(&self, more: &[&(RawString, RawString)]) -> Result<Vec<CString>, Fault> {
        let own = |name: &RawString| more.iter().any(|(other, _)| other == name);
        let planned = self.environment.iter().filter(|(name, _)| !own(name));
        planned
            .chain(more.iter().copied())
            .map(|(name, value)| {
                let mut variable = name.0.clone();
                variable.push("=");
                variable.push(&value.0);
                argument(&variable.into())
            })
            .collect()
    }
}

/// Executes the first program of this name on the PATH. Returns if it cannot be executed.
fn execute_named(words: &[RawString], environment: &[CString]) -> Result<(), Fault> {
    let words = words.iter().map(argument).collect::<Result<Vec<_>, _>>()?;
    let Some(name) = words.first().map(|name| OsStr::from_bytes(name.to_bytes())) else {
        return Ok(());
    };
    let path = environment
        .iter()
        .find_map(|variable| variable.to_bytes().strip_prefix(PATH))
        .unwrap_or_default();
    // A name with a slash is a path.
    let places = path
        .split(|byte| *byte == b':')
        .filter(|_| !name.as_bytes().contains(&b'/'));
    let places = places.map(|place| Path::new(OsStr::from_bytes(place)).join(name));
    for place in places {
        let Err(errno) =
            nix::unistd::execve(&argument(&place.as_path().into())?, &words, environment);
        // Other errors end the search (execvp(3)).
        if !matches!(
            errno,
            NixErrno::ENOENT | NixErrno::ENOTDIR | NixErrno::EACCES
        ) {
            break;
        }
    }
    Ok(())
}

/// Sends the listener to the supervisor, and then seals the filter: only this call is exempt from
/// supervision.
fn offer(listener: &OwnedFd, birth: &OwnedFd) -> Result<(), Fault> {
    let step = "hand the listener over";
    send_listener(birth, listener.as_fd()).step(step)?;
    match rustix::io::read(birth, &mut [0; 1]) {
        Ok(1) => seal(),
        Ok(_) => Err(Fault::because(step, "the supervisor did not take it")),
        Err(errno) => Err(errno).step(step),
    }
}

fn argument(text: &RawString) -> Result<CString, Fault> {
    CString::new(text.as_bytes())
        .map_err(|_| Fault::because("arguments", "a NUL byte cannot be part of one"))
}

/// Starts a new session, so that no terminal of the server is its controlling one, and attaches the
/// three streams.
fn attach(streams: &Streams) -> Result<(), Fault> {
    rustix::process::setsid().step("setsid")?;
    let [stdin, stdout, stderr] = match streams {
        Streams::Separate(streams) => streams.each_ref(),
        Streams::Terminal(terminal) => {
            rustix::process::ioctl_tiocsctty(terminal).step("TIOCSCTTY")?;
            [terminal; 3]
        }
    };
    dup2_stdin(stdin).step("stdin")?;
    dup2_stdout(stdout).step("stdout")?;
    dup2_stderr(stderr).step("stderr")
}

fn limit(limits: &Limits, tier: Tier) -> Result<(), Fault> {
    let hard = |value: u64| Rlimit {
        current: Some(value),
        maximum: Some(value),
    };
    let mut wanted = vec![(Resource::Core, Some(hard(0)))];
    wanted.push((Resource::Fsize, limits.file_bytes.map(hard)));
    // SIGXCPU, which tells the reason, comes first, and SIGKILL a second later.
    let and_a_second = |value: u64| Rlimit {
        current: Some(value),
        maximum: Some(value.saturating_add(1)),
    };
    wanted.push((Resource::Cpu, limits.cpu_secs.map(and_a_second)));
    if tier == Tier::Namespaces {
        wanted.push((Resource::Nproc, limits.processes.map(hard)));
    }
    for (resource, limit) in wanted {
        if let Some(mut limit) = limit {
            // A lower existing limit remains.
            let most = getrlimit(resource).maximum;
            if let Some(most) = most {
                limit.current = limit.current.map(|value| value.min(most));
                limit.maximum = limit.maximum.map(|value| value.min(most));
            }
            setrlimit(resource, limit).step_with(|| format!("limit {resource:?}"))?;
        }
    }
    // Not a wall: if the system forbids it, the command runs anyway.
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    let _ = File::options()
        .write(true)
        .open("/proc/self/oom_score_adj")
        .and_then(|mut file| file.write_all(limits.oom_score_adj.to_string().as_bytes()));
    Ok(())
}

/// Keeps the limit below that of the processes that start commands, by [`OPEN_FILES_KEPT_SHARE`].
fn limit_open_files(limits: &Limits) -> Result<(), Fault> {
    let most = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let most = most - most / OPEN_FILES_KEPT_SHARE;
    let soft = limits.open_files.unwrap_or(COMMAND_OPEN_FILES).min(most);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(soft),
            maximum: Some(most),
        },
    )
    .step("limit Nofile")
}

/// Opens the working directory by its path as this process sees it, if it is still the checked one.
///
/// A descriptor from another process would not do: it would refer to the mounts of the process that
/// opened it, outside all walls.
pub(crate) fn working_directory(place: &CanonicalPath) -> Result<OwnedFd, Fault> {
    let (dir, now) = directory_at(&place.path)?;
    if now == *place {
        Ok(dir)
    } else {
        Err(not_entered(Errno::STALE))
    }
}

/// Opens the directory that this process sees at a path.
pub(crate) fn directory_at(path: &RawString) -> Result<(OwnedFd, CanonicalPath), Fault> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    #[expect(
        clippy::disallowed_methods,
        reason = "the place was checked by policy, and is compared with it here"
    )]
    let dir = openat2(CWD, path.as_path(), flags, Mode::empty(), resolve).map_err(not_entered)?;
    let stat = fstat(&dir).step("fstat")?;
    Ok((
        dir,
        CanonicalPath {
            path: path.clone(),
            dev: stat.st_dev,
            ino: stat.st_ino,
        },
    ))
}

/// Builds the error for a working directory that cannot be opened.
///
/// Each kernel with Landlock has `openat2`, so `ENOSYS` comes from a seccomp filter such as
/// systemd's. That filter cannot inspect the mode of a new file and refuses the call
/// (`RestrictSUIDSGID=` in systemd.exec(5), implied by `DynamicUser=`).
fn not_entered(errno: Errno) -> Fault {
    let step = match errno {
        Errno::NOSYS => {
            "openat2(2), which a seccomp filter around the server refuses (RestrictSUIDSGID= or \
             DynamicUser= of systemd)"
        }
        _ => "the working directory was moved or replaced",
    };
    Fault {
        step: step.into(),
        cause: errno.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn working_directory_error_names_cause() {
        assert_eq!(
            [Errno::NOSYS, Errno::LOOP].map(|errno| not_entered(errno).to_string()),
            [
                "openat2(2), which a seccomp filter around the server refuses (RestrictSUIDSGID= \
                 or DynamicUser= of systemd): Function not implemented (os error 38)",
                "the working directory was moved or replaced: Too many levels of symbolic links (os error 40)",
            ]
        );
    }
}
