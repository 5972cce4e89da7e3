//! A session: a name, settings, and an interpreter that is started on demand.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use replay_base::cancel::CancelToken;
use replay_base::limits::DEFAULT_PYTHON;
use replay_base::text::escape::show_path;
use replay_files::fs::FsError;
use replay_files::policy::{Checked, FileKind, Policy, Read};
use replay_sandbox::exec::{ExecError, Exit, place_of};

use super::driver::{Driver, Interpreter};
use super::error::{PythonError, describe_exit};
use super::health::{Health, Samples};
use super::host::Host;
use super::kernel::{Bounds, Cell, Kernel, News};
use super::output::Captured;
use super::packages::names_module;
use super::snapshot::{Changes, SnapshotTaker};
use super::spare::Spare;
use super::turn::TurnQueue;

/// See signal(7).
const SIGKILL: i32 = 9;

/// Settings of a session.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub description: Option<String>,
    /// Name or path of the interpreter.
    pub python: String,
    pub directory: PathBuf,
    /// Variables that extend or override those of commands.
    pub environment: Vec<(OsString, OsString)>,
}

#[derive(Debug)]
pub struct Session {
    name: String,
    /// Number of the session, never reused by this server.
    number: u64,
    settings: Settings,
    created: SystemTime,
    idle: Duration,
    turn: TurnQueue,
    lookout: SnapshotTaker,
    spare: Arc<Spare>,
    /// Locked while the interpreter starts or ends, so that there is never more than one.
    starting: Mutex<()>,
    state: Mutex<SessionState>,
}

#[derive(Debug)]
struct SessionState {
    kernel: Option<Arc<dyn Kernel>>,
    /// Reason for lost variables of earlier cells, until it is reported.
    lost: Option<String>,
    /// Output of the last interpreter between cells, until it is reported.
    late: String,
    /// Exit of the last interpreter.
    exit: Option<Exit>,
    was_started: bool,
    /// PATH that finds the interpreter of the project first.
    path: Option<OsString>,
    last_activity: SystemTime,
    /// Environment of the installed packages.
    packages: Option<PathBuf>,
    /// Installed packages, as requested.
    installed: Vec<String>,
    samples: Samples,
    is_deleted: bool,
}

/// Result of a cell, and its effects outside the interpreter.
#[derive(Debug)]
pub struct Ran {
    pub cell: Cell,
    /// Changed files below the session's directory.
    pub changes: Changes,
    /// Files with whole outputs, as paths below the session's directory.
    pub logs: Vec<String>,
    /// Reason for lost variables of earlier cells, or of this one.
    pub lost: Option<String>,
    /// Further notes for the reply.
    pub notes: Vec<String>,
}

impl Session {
    /// Creates a session without an interpreter. The first start uses the spare interpreter if it
    /// fits. An interpreter is ended after `idle` without use.
    pub(super) fn new(
        name: String,
        number: u64,
        settings: Settings,
        idle: Duration,
        spare: Arc<Spare>,
    ) -> Self {
        let now = SystemTime::now();
        let state = SessionState {
            kernel: None,
            lost: None,
            late: String::new(),
            exit: None,
            was_started: false,
            path: None,
            last_activity: now,
            packages: None,
            installed: Vec::new(),
            samples: Samples::default(),
            is_deleted: false,
        };
        let (turn, lookout, starting, state) = (
            TurnQueue::default(),
            SnapshotTaker::default(),
            Mutex::default(),
            Mutex::new(state),
        );
        Self {
            name,
            number,
            settings,
            created: now,
            idle,
            turn,
            lookout,
            spare,
            starting,
            state,
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the session's number, never reused by this server.
    pub fn number(&self) -> u64 {
        self.number
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the creation time.
    pub fn created(&self) -> SystemTime {
        self.created
    }

    /// Returns the time of the last use.
    pub fn last_activity(&self) -> SystemTime {
        self.lock().last_activity
    }

    /// Returns the working directory, checked by the policy now.
    pub fn directory(&self, policy: &Policy) -> Result<Checked<Read>, PythonError> {
        let directory = policy.read(&self.settings.directory)?;
        if directory.kind() != FileKind::Directory {
            return Err(FsError::NotADirectory {
                path: directory.display_path().into(),
            }
            .into());
        }
        Ok(directory)
    }

    /// Returns the interpreter's name or path, which is that of the package environment if there is
    /// one.
    pub fn python(&self) -> String {
        let packages = self.lock().packages.clone();
        packages.map_or_else(
            || self.settings.python.clone(),
            |dir| dir.join("bin/python").display().to_string(),
        )
    }

    /// Sets PATH of the interpreter, which finds that of the project first, unless another one was
    /// requested or an interpreter was started.
    pub fn prefer_path(&self, path: OsString) {
        let mut state = self.lock();
        let has_path = self
            .settings
            .environment
            .iter()
            .any(|(name, _)| name == "PATH");
        if self.settings.python == DEFAULT_PYTHON && !has_path && !state.was_started {
            state.path = Some(path);
        }
    }

    /// Returns PATH of the interpreter, if it has one of its own.
    pub fn path(&self) -> Option<OsString> {
        self.lock().path.clone()
    }

    /// Records packages and their environment, which the next start uses.
    pub fn use_packages(&self, directory: &Path, installed: Vec<String>) {
        let mut state = self.lock();
        state.packages = Some(directory.to_owned());
        state.installed.extend(installed);
    }

    /// Returns true if an installed package has a module of this name.
    pub fn has_module(&self, module: &str) -> bool {
        self.lock()
            .installed
            .iter()
            .any(|package| names_module(package, module))
    }

    /// Returns the state in one word: `not_started`, `idle`, `busy` or `dead`.
    pub fn word(&self) -> &'static str {
        let state = self.lock();
        match &state.kernel {
            None if state.was_started => "dead",
            None => "not_started",
            Some(kernel) if kernel.ended().is_some() => "dead",
            Some(kernel) if kernel.busy_for().is_some() => "busy",
            Some(_) => "idle",
        }
    }

    /// Returns true if an interpreter runs.
    pub(super) fn is_alive(&self) -> bool {
        self.live().is_some()
    }

    /// Returns the running interpreter.
    pub fn live(&self) -> Option<Arc<dyn Kernel>> {
        self.lock()
            .kernel
            .clone()
            .filter(|kernel| kernel.ended().is_none())
    }

    /// Returns the interpreter; starts one if there is none.
    pub fn kernel(
        &self,
        host: &Host<'_>,
        cancel: &CancelToken,
    ) -> Result<Arc<dyn Kernel>, PythonError> {
        let _starting = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut state = self.lock();
            state.last_activity = SystemTime::now();
            if state.is_deleted {
                return Err(PythonError::Unknown {
                    name: self.name.clone(),
                    known: "the session was just deleted".to_owned(),
                });
            }
            if let Some(kernel) = state.kernel.clone() {
                if kernel.has_expired() {
                    kernel.kill();
                }
                match kernel.ended() {
                    None => return Ok(kernel),
                    Some(exit) => {
                        state.record_end(&kernel, exit);
                    }
                }
            }
        }
        let directory = self.directory(host.policy)?;
        let python = self.python();
        let path = self.path().map(|path| ("PATH".into(), path));
        let environment: Vec<_> = self
            .settings
            .environment
            .iter()
            .cloned()
            .chain(path)
            .collect();
        let interpreter = Interpreter {
            session: &self.name,
            python: &python,
            dir: place_of(&directory)?,
            environment: &environment,
            idle: self.idle,
        };
        let driver = match self.spare.take(&interpreter, cancel) {
            Some(driver) => driver,
            None => Driver::start(host.launcher, &interpreter, host.residents, cancel)?,
        };
        let kernel: Arc<dyn Kernel> = Arc::new(driver);
        let mut state = self.lock();
        state.kernel = Some(Arc::clone(&kernel));
        (state.was_started, state.samples, state.exit) = (true, Samples::default(), None);
        Ok(kernel)
    }

    /// Runs a cell. Waits for earlier cells first, at most for the cell's own timeout.
    pub fn run(
        &self,
        host: &Host<'_>,
        code: &str,
        bounds: &Bounds,
        cancel: &CancelToken,
        on_news: &mut dyn FnMut(News<'_>),
    ) -> Result<Ran, PythonError> {
        let until = Instant::now() + bounds.timeout;
        let Some(_held) = self.turn.enter(until, cancel)? else {
            let running = self
                .live()
                .and_then(|kernel| kernel.busy_for())
                .unwrap_or_default();
            return Err(PythonError::Busy {
                session: self.name.clone(),
                seconds: running.as_secs_f64(),
            });
        };
        let directory = self.directory(host.policy)?;
        let before = self.lookout.look(&directory, cancel);
        if cancel.is_cancelled() {
            return Err(PythonError::Cancelled);
        }
        let mut kernel = self.kernel(host, cancel)?;
        let mut cell = kernel.execute(code, bounds, cancel, on_news)?;
        let unbegun = cell
            .ended
            .filter(|_| !cell.has_begun && !cell.killed && !cell.cancelled);
        if let Some(exit) = unbegun
            && self.lock().record_end(&kernel, exit)
        {
            // The interpreter was about to end when it got the cell, of which no part has run.
            self.lock().late.push_str(&cell.late);
            kernel = self.kernel(host, cancel)?;
            cell = kernel.execute(code, bounds, cancel, on_news)?;
        }
        let (mut lost, late) = {
            let mut state = self.lock();
            (state.lost.take(), std::mem::take(&mut state.late))
        };
        cell.late.insert_str(0, &late);
        for shown in &mut cell.shown {
            shown
                .files
                .retain(|file| self.has_output(host.policy, file));
        }
        let mut notes = Vec::new();
        if cell.killed {
            let what = if cell.cancelled {
                "was cancelled"
            } else {
                "ran into its timeout"
            };
            lost = Some(format!(
                "the cell {what} and ignored the interrupt, so the session was ended"
            ));
            self.lock().drop_kernel(&kernel, Exit::Signal(SIGKILL));
        } else if let Some(exit) = cell.ended {
            lost = Some(format!(
                "the session's process ended in the cell ({})",
                describe_exit(exit)
            ));
            self.lock().drop_kernel(&kernel, exit);
        }
        if cell.cancelled {
            // Its caller gets no reply, so the next one is told.
            self.lock().lost.clone_from(&lost);
        }
        self.lock().last_activity = SystemTime::now();
        let logs = self.keep_logs(host, &mut cell, &mut notes);
        let changes = self.lookout.changes_since(before, &directory, cancel);
        Ok(Ran {
            cell,
            changes,
            logs,
            lost,
            notes,
        })
    }

    /// Runs an action that is not a cell, and collects the files that it makes and changes.
    pub fn with_changes<T>(
        &self,
        policy: &Policy,
        cancel: &CancelToken,
        work: impl FnOnce() -> T,
    ) -> Result<(T, Changes), PythonError> {
        let directory = self.directory(policy)?;
        let before = self.lookout.look(&directory, cancel);
        let done = work();
        Ok((done, self.lookout.changes_since(before, &directory, cancel)))
    }

    /// Returns true if a saved output exists. Cells can send any path, so the name alone is no
    /// proof.
    fn has_output(&self, policy: &Policy, file: &str) -> bool {
        file.strip_prefix("outputs/")
            .is_some_and(|name| !name.contains('/'))
            && policy
                .read(self.settings.directory.join(file))
                .is_ok_and(|found| found.kind() == FileKind::File)
    }

    /// Writes outputs that are not shown whole into files.
    fn keep_logs(&self, host: &Host<'_>, cell: &mut Cell, notes: &mut Vec<String>) -> Vec<String> {
        let since = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default()
            .as_millis();
        let mut kept = Vec::new();
        let mut keep = |name: &str, captured: &mut Captured| {
            let Some(log) = captured.log.take() else {
                return;
            };
            let path = format!("outputs/{name}-{since:x}.txt");
            let target = host
                .policy
                .write(self.settings.directory.join(&path))
                .map_err(PythonError::from);
            let asked = &self.settings.directory;
            let directory = host
                .policy
                .absolute(asked)
                .unwrap_or_else(|_| asked.clone());
            let shown = shown_path(host.policy, &directory, path.as_bytes());
            let shown = show_path(&shown);
            match target
                .and_then(|target| Ok(host.writer.replace(&target, [log.as_slice()], None)?))
            {
                Ok(_) if log.len() as u64 == captured.total_bytes => {
                    captured.name_file(&shown);
                    kept.push(path);
                }
                Ok(_) => {
                    notes.push(format!(
                        "{shown} holds the first {} of {} bytes",
                        log.len(),
                        captured.total_bytes
                    ));
                    kept.push(path);
                }
                Err(error) => notes.push(format!("the full {name} could not be stored: {error}")),
            }
        };
        keep("stdout", &mut cell.stdout);
        keep("stderr", &mut cell.stderr);
        kept
    }

    /// Restarts the interpreter. A running cell ends with it.
    pub fn restart(
        &self,
        host: &Host<'_>,
        cancel: &CancelToken,
    ) -> Result<Arc<dyn Kernel>, PythonError> {
        self.end();
        let kernel = self.kernel(host, cancel)?;
        self.lock().lost = None;
        Ok(kernel)
    }

    /// Interrupts the cell that already ran at the time `asked`. Returns true if one was
    /// interrupted.
    pub fn interrupt(&self, asked: Instant) -> Result<bool, PythonError> {
        self.live()
            .map_or(Ok(false), |kernel| kernel.interrupt(asked))
    }

    /// Returns the health of the process.
    pub fn health(&self) -> Result<Health, PythonError> {
        let (kernel, exit) = {
            let state = self.lock();
            (state.kernel.clone(), state.exit)
        };
        let Some(kernel) = kernel else {
            return Ok(Health::dead(exit));
        };
        if let Some(exit) = kernel.ended() {
            return Ok(Health::dead(Some(exit)));
        }
        match kernel.status() {
            Ok(status) => Ok(Health::of(&*kernel, status, &mut self.lock().samples)),
            Err(PythonError::Exec(ExecError::Over { exit })) => Ok(Health::dead(Some(exit))),
            Err(error) => Err(error),
        }
    }

    /// Returns true if an interpreter was ever started.
    pub fn was_started(&self) -> bool {
        self.lock().was_started
    }

    /// Ends the interpreter on request, so that the next cell reports no loss.
    fn end(&self) {
        let kernel = {
            let mut state = self.lock();
            state.lost = None;
            state.kernel.take()
        };
        if let Some(kernel) = kernel {
            kernel.kill();
            let exit = kernel.ended();
            self.lock().exit = exit;
        }
    }

    /// Ends the interpreter for good.
    pub(super) fn delete(&self) {
        self.lock().is_deleted = true;
        self.end();
    }

    fn lock(&self) -> MutexGuard<'_, SessionState> {
        // A panic leaves the state consistent at any point.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionState {
    /// Records that the interpreter has ended, and the reason for the next cell's caller. Returns
    /// false if it was ended on purpose.
    fn record_end(&mut self, kernel: &Arc<dyn Kernel>, exit: Exit) -> bool {
        if !self.drop_kernel(kernel, exit) {
            return false;
        }
        self.late.push_str(&kernel.take_late());
        self.lost = Some(if kernel.has_expired() {
            "the session was ended because it was not used for long (--python-idle-timeout-secs)"
                .to_owned()
        } else {
            format!("the session's process had ended ({})", describe_exit(exit))
        });
        true
    }

    /// Drops an ended interpreter. Returns false if another one has replaced it since.
    fn drop_kernel(&mut self, kernel: &Arc<dyn Kernel>, exit: Exit) -> bool {
        let is_own = self
            .kernel
            .as_ref()
            .is_some_and(|own| std::ptr::addr_eq(Arc::as_ptr(own), Arc::as_ptr(kernel)));
        if is_own {
            self.kernel = None;
            self.exit = Some(exit);
        }
        is_own
    }
}

/// Returns a path below a session's directory as the file tools take it: relative where relative
/// paths begin, else absolute.
pub fn shown_path(policy: &Policy, directory: &Path, rel: &[u8]) -> PathBuf {
    let rel = Path::new(std::ffi::OsStr::from_bytes(rel));
    if policy.base() == Some(directory) {
        rel.to_owned()
    } else {
        directory.join(rel)
    }
}
