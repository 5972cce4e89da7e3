//! A running Python interpreter with the driver (`driver/*.py`) inside.

mod work;

use std::ffi::OsString;
use std::fmt;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use replay_base::cancel::CancelToken;
use replay_sandbox::exec::{Bell, ExecError, Exit, Launcher, Program, Resident, Slots, readable};
use replay_sandbox::{CanonicalPath, RawString};
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::{PythonError, describe_exit};
use super::kernel::Kernel as _;
use super::protocol::{Ready, Request};
use super::pump::{Connection, ConnectionState};

/// Timeout for the start of an interpreter, in milliseconds.
const PYTHON_START_MS: u64 = 20_000;
/// Time that a session waits for the spare interpreter that is being started, in milliseconds. Then
/// it starts one of its own.
const PYTHON_SPARE_MS: u64 = 5000;
/// Largest size of unsent messages to one session, in bytes.
const MAX_PYTHON_UNSENT_BYTES: usize = 4 * 1024 * 1024;
/// Questions that one session is asked at the same time.
const MAX_PYTHON_QUESTIONS: usize = 64;

/// First script of the interpreter. Reports that the interpreter is up, then reads the driver's
/// source, with builtins that no cell can change.
const START_SCRIPT: &str = include_str!("driver/start.py");
/// Source of the driver, one text: definitions first, then the code that uses them.
const SOURCE: &str = concat!(
    include_str!("driver/ground.py"),
    include_str!("driver/libraries.py"),
    include_str!("driver/session.py")
);
/// Source for requests beside a cell: completion, inspection, variables. Read at the first one.
const QUESTIONS: &str = include_str!("driver/questions.py");
/// Source that hands a spare interpreter over to a session.
const ADOPTION: &str = include_str!("driver/adoption.py");
/// Shell command that looks the interpreter up in PATH, as execve(2) does not.
const SHELL: [&str; 3] = ["/bin/sh", "-c", "exec \"$0\" \"$@\""];
/// Like [`SHELL`], for a spare interpreter. It reports the PATH of its lookup and the version that
/// pyenv was told.
const SHELL_OF_SPARE: [&str; 3] = [
    "/bin/sh",
    "-c",
    "exec \"$0\" \"$@\" \"$PATH\" \"${PYENV_VERSION-}\" spare",
];

#[derive(Debug)]
pub(crate) struct Interpreter<'a> {
    /// Session name, for messages.
    pub session: &'a str,
    /// Name or path of the interpreter.
    pub python: &'a str,
    pub dir: CanonicalPath,
    /// Variables that extend or override those of commands.
    pub environment: &'a [(OsString, OsString)],
    /// Idle time after which the interpreter is ended.
    pub idle: Duration,
}

/// Result of handing a spare interpreter to a session.
#[derive(Debug)]
pub(crate) enum Adoption {
    Done(Driver),
    /// The interpreter may differ from one started now, and is ended.
    Refused,
    /// No spare interpreter can be adopted: `python3` is a wrapper that decides which interpreter
    /// starts.
    Never,
}

/// A running interpreter. Ended on drop.
pub(crate) struct Driver {
    session: String,
    ready: Ready,
    line: Arc<Connection>,
    /// Run time and processor time before a session took the interpreter over.
    before: Option<(Duration, Duration)>,
}

impl Interpreter<'_> {
    fn argv(&self, shell: [&str; 3], adoption: &[&str]) -> Vec<RawString> {
        let words = [
            &shell[..],
            &[self.python, "-B", "-c", START_SCRIPT, SOURCE, QUESTIONS],
            adoption,
        ]
        .concat();
        words.into_iter().map(RawString::from).collect()
    }

    fn program<'a>(&'a self, argv: &'a [RawString]) -> Program<'a> {
        Program {
            title: work::BETWEEN_CELLS,
            argv,
            dir: self.dir.clone(),
            environment: self.environment,
        }
    }
}

impl Driver {
    /// Starts an interpreter and returns when it takes requests.
    pub(crate) fn start(
        launcher: &Launcher,
        interpreter: &Interpreter<'_>,
        running: &Slots,
        cancel: &CancelToken,
    ) -> Result<Self, PythonError> {
        let python = interpreter.python;
        let resident = Resident::start(
            launcher,
            &interpreter.program(&interpreter.argv(SHELL, &[""])),
            running,
            cancel,
        )?;
        let mut driver = Self::around(resident, interpreter)?;
        let said = match driver.await_ready(PYTHON_START_MS, cancel)? {
            Some(Ok(())) => return Ok(driver),
            _ if cancel.is_cancelled() => return Err(PythonError::Cancelled),
            other => other,
        };
        driver.kill();
        let (python, exit) = (python.to_owned(), said.and_then(Result::err));
        let text = driver.line.lock().late.take();
        let said = last_line(&text);
        Err(match exit {
            // sh(1): not found, or not executable. A version manager exits so too, with helpful
            // text.
            Some(Exit::Code(126 | 127)) => PythonError::NoInterpreter {
                python,
                said: first_line(&text),
            },
            Some(exit) => PythonError::NotStarted {
                python,
                reason: describe_exit(exit),
                said,
            },
            None => {
                let reason = format!(
                    "the interpreter did not respond within {} s",
                    PYTHON_START_MS / 1000
                );
                PythonError::NotStarted {
                    python,
                    reason,
                    said,
                }
            }
        })
    }

    /// Starts a spare interpreter for [`Driver::adopted`], without waiting for it.
    pub(crate) fn begin(
        launcher: &Launcher,
        interpreter: &Interpreter<'_>,
        running: &Slots,
    ) -> Result<Self, PythonError> {
        // The interpreter compares this time with the modification times of files. These come from
        // the coarse clock (CLOCK_REALTIME_COARSE, clock_gettime(2)), which stands still between
        // two ticks. With another clock a later change could seem earlier.
        let now = Duration::try_from(clock_gettime(ClockId::RealtimeCoarse))
            .unwrap_or_default()
            .as_nanos()
            .to_string();
        let argv = interpreter.argv(SHELL_OF_SPARE, &[ADOPTION, &now]);
        let resident = Resident::spawn(launcher, &interpreter.program(&argv), running)?;
        Self::around(resident, interpreter)
    }

    fn around(resident: Resident, interpreter: &Interpreter<'_>) -> Result<Self, PythonError> {
        let line =
            Arc::new(Connection::new(resident, interpreter.idle).map_err(ExecError::Follow)?);
        let pumped = Arc::clone(&line);
        thread::Builder::new()
            .name(format!("python {}", interpreter.session))
            .spawn(move || pumped.pump())
            .map_err(ExecError::Follow)?;
        let (session, ready, before) = (interpreter.session.to_owned(), Ready::default(), None);
        Ok(Self {
            session,
            ready,
            line,
            before,
        })
    }

    /// Waits until the interpreter takes requests; the error is its end instead. Returns `None`
    /// after the timeout or if the call was cancelled.
    fn await_ready(
        &mut self,
        within_ms: u64,
        cancel: &CancelToken,
    ) -> Result<Option<Result<(), Exit>>, PythonError> {
        let until = Instant::now() + Duration::from_millis(within_ms);
        let ready = self.wait(Some(until), Some(cancel), |shared| {
            shared
                .ready
                .clone()
                .map(Ok)
                .or_else(|| shared.ended.map(Err))
        })?;
        Ok(ready.map(|ready| ready.map(|ready| self.ready = ready)))
    }

    /// Hands a spare interpreter to a session, if it equals one that would be started now.
    pub(crate) fn adopted(self, interpreter: &Interpreter<'_>, cancel: &CancelToken) -> Adoption {
        self.adopt(interpreter, cancel).unwrap_or(Adoption::Refused)
    }

    fn adopt(mut self, interpreter: &Interpreter<'_>, cancel: &CancelToken) -> Option<Adoption> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum AdoptReply {
            Adopted {
                cpu_seconds: f64,
            },
            StandIn {
                #[serde(rename = "is_stand_in")]
                _is_stand_in: bool,
            },
        }
        let directory = interpreter.dir.path.as_path().to_str()?;
        let (dev, ino) = (interpreter.dir.dev, interpreter.dir.ino);
        let begun = Instant::now();
        self.await_ready(PYTHON_SPARE_MS, cancel).ok()??.ok()?;
        // A freshly started interpreter has to read its driver first.
        let timeout = Duration::from_millis(PYTHON_SPARE_MS).saturating_sub(begun.elapsed());
        let adopt = |id| {
            Request::Adopt {
                id,
                directory,
                dev,
                ino,
            }
            .line()
        };
        let AdoptReply::Adopted { cpu_seconds } = self.ask(adopt, timeout, cancel).ok()? else {
            return Some(Adoption::Never);
        };
        interpreter.session.clone_into(&mut self.session);
        let used = Duration::try_from_secs_f64(cpu_seconds).ok()?;
        self.before = Some((self.line.resident.uptime(), used));
        Some(Adoption::Done(self))
    }

    /// Waits until `find` returns a value. Returns `None` at `until` or if the call was cancelled.
    fn wait<T>(
        &self,
        until: Option<Instant>,
        cancel: Option<&CancelToken>,
        mut find: impl FnMut(&mut ConnectionState) -> Option<T>,
    ) -> Result<Option<T>, PythonError> {
        let bell = Arc::new(Bell::new().map_err(ExecError::Follow)?);
        let wake = cancel
            .map(CancelToken::wake_fd)
            .transpose()
            .map_err(|errno| ExecError::Follow(errno.into()))?;
        self.line.watch(&bell);
        let found = loop {
            bell.hush();
            if let Some(found) = find(&mut self.line.lock()) {
                break Ok(Some(found));
            }
            if cancel.is_some_and(CancelToken::is_cancelled)
                || until.is_some_and(|until| Instant::now() >= until)
            {
                break Ok(None);
            }
            if let Err(error) = readable([Some(bell.as_fd()), wake], until) {
                break Err(error.into());
            }
        };
        self.line.unwatch(&bell);
        found
    }

    /// Sends a request that is answered while a cell runs, and waits for the reply.
    fn ask<T: DeserializeOwned>(
        &self,
        request: impl Fn(u64) -> Result<Vec<u8>, serde_json::Error>,
        timeout: Duration,
        cancel: &CancelToken,
    ) -> Result<T, PythonError> {
        let id = self.line.next_id();
        let line = request(id).map_err(|error| self.unanswered(error.to_string()))?;
        {
            let mut shared = self.line.lock();
            if let Some(exit) = shared.ended {
                return Err(self.over(exit));
            }
            if shared.replies.len() >= MAX_PYTHON_QUESTIONS
                || Connection::unsent(&shared) > MAX_PYTHON_UNSENT_BYTES
            {
                return Err(self.silent());
            }
            shared.replies.insert(id, None);
            self.line.send(&mut shared, &line);
        }
        let until = Instant::now() + timeout;
        let answer = self.wait(Some(until), Some(cancel), |shared| {
            shared
                .replies
                .get_mut(&id)
                .and_then(Option::take)
                .map(Ok)
                .or_else(|| shared.ended.map(Err))
        });
        self.line.lock().replies.remove(&id);
        match answer? {
            Some(Ok(line)) => {
                #[derive(Deserialize)]
                struct ErrorReply {
                    error: String,
                }
                if let Ok(ErrorReply { error }) = serde_json::from_slice(&line) {
                    return Err(self.unanswered(error));
                }
                serde_json::from_slice(&line).map_err(|error| self.unanswered(error.to_string()))
            }
            Some(Err(exit)) => Err(self.over(exit)),
            None if cancel.is_cancelled() => Err(PythonError::Cancelled),
            None => Err(self.silent()),
        }
    }

    fn silent(&self) -> PythonError {
        PythonError::Silent {
            session: self.session.clone(),
        }
    }

    fn over(&self, exit: Exit) -> PythonError {
        PythonError::Over {
            session: self.session.clone(),
            exit,
        }
    }

    fn unanswered(&self, reason: String) -> PythonError {
        PythonError::Unanswered {
            session: self.session.clone(),
            reason,
        }
    }
}

fn first_line(text: &str) -> String {
    text.trim_start()
        .lines()
        .next()
        .unwrap_or_default()
        .trim_end()
        .to_owned()
}

/// Returns the last line. In a traceback that is the error.
fn last_line(text: &str) -> String {
    text.trim_end()
        .lines()
        .last()
        .unwrap_or_default()
        .to_owned()
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("session", &self.session)
            .field("ready", &self.ready)
            .finish_non_exhaustive()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.line.leave();
    }
}
