//! Server context of runs and checks: the allowed directories, and the execution of commands.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use replay_base::budget::Account;
use replay_base::cancel::{Bound, CancelToken};
use replay_base::limits::{
    DEFAULT_COMMAND_TIMEOUT_SECS, KILL_GRACE_MS, MAX_COMMAND_BYTES, MAX_TEST_READ_SECS,
};
use replay_files::journal::Changes;
use replay_files::policy::{Checked, Policy, Read};
use replay_sandbox::exec::{
    self, Command, Exit, Foreground, Launcher, Logs, Outcome, Slots, Stage, place_of,
};
use replay_sandbox::{Scratch, SharedDirectory};
use replay_search::memory::Memory;

use super::command::quoted;
use super::error::TestrunError;
use super::history::History;
use super::project::disk::AllowedDisk;
use super::project::programs::path;
use super::project::python;
use super::python_install;

/// Output kept of a runner or checker, in bytes for each of its two streams: some say there what
/// became of the tests.
const TESTS_OUTPUT_BYTES: usize = 32 * 1024 * 1024;

/// Server state for all runs, and the current call.
#[derive(Clone, Copy)]
pub struct RunContext<'a> {
    /// Changes made by the call.
    pub changes: &'a Changes<'a>,
    pub policy: &'a Policy,
    /// Account that the memory is charged to.
    pub account: &'a Account,
    pub memory: &'a Memory,
    pub launcher: &'a Launcher,
    /// Slots for running commands.
    pub running: &'a Slots,
    /// Private files of commands.
    pub scratch: &'a Scratch,
    /// TMPDIR, as commands see it.
    pub tmp: &'a Path,
    /// Commands have no network.
    pub offline: bool,
    pub logs: &'a Logs,
    /// Failures of earlier runs.
    pub history: &'a History,
    pub cancel: &'a CancelToken,
}

impl<'a> RunContext<'a> {
    /// Returns the disk as detection reads it.
    pub fn disk(&self) -> AllowedDisk<'a> {
        AllowedDisk(self.policy)
    }

    pub fn call(&self) -> replay_search::Call<'a> {
        replay_search::Call {
            policy: self.policy,
            cancel: self.cancel,
            account: Some(self.account),
            memory: self.memory,
            progress: &|_| {},
        }
    }

    /// Creates a directory shared with a command, and returns it with its path as the command sees
    /// it.
    pub fn lend(&self) -> Result<(SharedDirectory, String), TestrunError> {
        let lent = self.scratch.lend("run").map_err(TestrunError::Place)?;
        let place = self.tmp.join(lent.name()).to_string_lossy().into_owned();
        Ok((lent, place))
    }

    /// Runs a shell command in a directory. Calls `on_progress` with the elapsed time.
    pub fn shell(
        &self,
        dir: &Checked<Read>,
        line: &str,
        timeout: Duration,
        on_progress: &mut dyn FnMut(Duration, Stage<'_>),
    ) -> Result<Outcome, TestrunError> {
        self.shell_until(dir, line, timeout, None, on_progress)
    }

    /// Like [`Self::shell`]; `on_progress` may set `over` to end the command as at a timeout.
    pub fn shell_until(
        &self,
        dir: &Checked<Read>,
        line: &str,
        timeout: Duration,
        over: Option<&Cell<bool>>,
        on_progress: &mut dyn FnMut(Duration, Stage<'_>),
    ) -> Result<Outcome, TestrunError> {
        if line.len() > MAX_COMMAND_BYTES {
            return Err(TestrunError::arguments(format!(
                "the command with these files is {} bytes long; at most {MAX_COMMAND_BYTES} are \
                 allowed. Name directories instead",
                line.len()
            )));
        }
        let place = place_of(dir)?;
        let path = path(self.policy, self.launcher, place.path.as_path());
        let command = Command {
            changes: self.changes,
            line,
            dir: place,
            terminal: None,
            path,
        };
        let grace = Duration::from_millis(KILL_GRACE_MS);
        let foreground = Foreground {
            launcher: self.launcher,
            running: self.running,
            cancel: self.cancel,
            timeout,
            grace,
            output_cap_bytes: TESTS_OUTPUT_BYTES,
            files: None,
            over,
        };
        let outcome = foreground.run(&command, on_progress)?;
        if outcome.cancelled {
            Err(exec::ExecError::Cancelled.into())
        } else {
            Ok(outcome)
        }
    }

    /// Returns the time limit for reading a report, from now on.
    pub fn read_bound(&self) -> Bound<'a> {
        Bound {
            deadline: Some(Instant::now() + Duration::from_secs(MAX_TEST_READ_SECS)),
            cancel: Some(self.cancel),
        }
    }

    /// Runs a short shell command in a directory, without progress.
    pub fn ask(&self, dir: &Checked<Read>, line: &str) -> Result<Outcome, TestrunError> {
        let timeout = Duration::from_secs(DEFAULT_COMMAND_TIMEOUT_SECS);
        self.shell(dir, line, timeout, &mut |_, _| {})
    }

    /// Returns true if commands find a program.
    pub fn is_installed(&self, dir: &Checked<Read>, program: &str) -> Result<bool, TestrunError> {
        let outcome = self.ask(dir, &format!("command -v {program} >/dev/null"))?;
        Ok(outcome.exit == Exit::Code(0))
    }

    /// Returns true if a project's Python finds a package.
    pub fn has_python_package(
        &self,
        project: &Checked<Read>,
        package: &str,
    ) -> Result<bool, TestrunError> {
        let (disk, dir) = (self.disk(), project.display_path());
        let python =
            quoted(&python::interpreter(disk, dir).unwrap_or_else(|| "python3".to_owned()));
        let code =
            format!("import importlib.util as u,sys;sys.exit(not u.find_spec(\"{package}\"))");
        let outcome = self.ask(project, &format!("{python} -c '{code}'"))?;
        Ok(outcome.exit == Exit::Code(0))
    }

    /// Returns the command that runs pip for the virtual environment of a command that ran, if it has one.
    pub fn pip(&self, project: &Path, argv: &[String]) -> Option<String> {
        let venv = argv
            .iter()
            .find_map(|word| word.strip_suffix("/bin/python"))?;
        let finds = |program: &str| self.finds(project, program);
        Some(python_install::pip(&self.disk(), venv, &finds))
    }

    /// Returns the way to install a Python package in a project: as its metadata lists it, or
    /// alone. `argv` is the command that ran.
    pub fn python_install_step(&self, project: &Path, argv: &[String], package: &str) -> String {
        let pip = self
            .pip(project, argv)
            .unwrap_or_else(|| "python3 -m venv .venv && .venv/bin/pip".to_owned());
        let finds = |program: &str| self.finds(project, program);
        match python_install::command(&self.disk(), project, package, (&pip, &finds)) {
            Some(command) => self.install_hint(&command, ""),
            None => self.install_hint(
                &format!("{pip} install {package}"),
                ", or as the project documents it",
            ),
        }
    }

    /// Returns true if commands in a project find a program.
    fn finds(&self, project: &Path, program: &str) -> bool {
        let dir = self.disk().directory(project);
        dir.is_ok_and(|dir| matches!(self.is_installed(&dir, program), Ok(true)))
    }

    /// Returns the next step if this command installs a missing program. `others` follows the
    /// command.
    pub fn install_hint(&self, command: &str, others: &str) -> String {
        let who = if self.offline {
            "; commands have no network here, so the operator must run it"
        } else {
            ""
        };
        format!("install it with `{command}`{others}{who}")
    }

    /// Returns the next step if commands do not find a program.
    pub fn not_found_hint(program: &str) -> String {
        format!(
            "commands cannot find `{program}`; the operator can add its directory with \
            --system"
        )
    }

    /// Returns the requested directory, or the default one.
    pub fn directory(&self, named: Option<&str>) -> Result<Checked<Read>, TestrunError> {
        self.disk()
            .directory(&named.map_or_else(|| self.default_dir(), PathBuf::from))
    }

    /// Returns the default directory for commands and relative paths.
    fn default_dir(&self) -> PathBuf {
        let directory = self.policy.default_directory();
        directory.unwrap_or(Path::new(".")).to_owned()
    }
}
