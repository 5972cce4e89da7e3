//! A running interpreter with the driver, `driver/*.py`, inside.

mod work;

use std::ffi::OsString;
use std::fmt;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::{PythonError, how};
use super::kernel::Kernel as _;
use super::protocol::{Ready, Request};
use super::pump::{Line, Shared};
use crate::cancel::CancelToken;
use crate::exec::{Bell, ExecError, Exit, Launcher, Program, Resident, Slots, readable};
use crate::limits::{
    MAX_PYTHON_QUESTIONS, MAX_PYTHON_UNSENT_BYTES, PYTHON_SPARE_MS, PYTHON_START_MS,
};
use crate::sandbox::{Place, RawString};

/// What says that an interpreter is there, and reads the source then, with builtins that no cell
/// can change.
const BEGIN: &str = include_str!("driver/door.py");
/// One text, in this order: what it stands on, what it runs.
const SOURCE: &str = concat!(
    include_str!("driver/ground.py"),
    include_str!("driver/libraries.py"),
    include_str!("driver/session.py")
);
/// What it answers, which it reads when it is asked.
const QUESTIONS: &str = include_str!("driver/questions.py");
/// How it comes to a session, for one that waits for one.
const ADOPTION: &str = include_str!("driver/adoption.py");
/// Looks the interpreter up in PATH, as execve(2) does not.
const SHELL: [&str; 3] = ["/bin/sh", "-c", "exec \"$0\" \"$@\""];
/// The same for one that waits for a session, which has to know in which PATH it was looked up, and
/// what pyenv was told.
const SHELL_OF_SPARE: [&str; 3] = [
    "/bin/sh",
    "-c",
    "exec \"$0\" \"$@\" \"$PATH\" \"${PYENV_VERSION-}\" spare",
];

#[derive(Debug)]
pub struct Interpreter<'a> {
    /// The session's name, for what is said about it.
    pub session: &'a str,
    /// The name or path of the interpreter.
    pub python: &'a str,
    pub dir: Place,
    /// Variables beside, or instead of, those that commands have.
    pub environment: &'a [(OsString, OsString)],
    /// It is ended when nobody has used it for so long.
    pub idle: Duration,
}

/// What became of an interpreter that was to be a session's.
#[derive(Debug)]
pub enum Adoption {
    Done(Driver),
    /// It might not be what one would be that started now, and is ended.
    Refused,
    /// Nor can one ever be: what is called `python3` is not an interpreter, but decides which one
    /// to start.
    Never,
}

/// A running interpreter. Dropping it ends it.
pub struct Driver {
    session: String,
    ready: Ready,
    line: Arc<Line>,
    /// How long it had run and what processor time it had used when a session took it over.
    before: Option<(Duration, Duration)>,
}

impl Interpreter<'_> {
    fn argv(&self, shell: [&str; 3], adoption: &[&str]) -> Vec<RawString> {
        let words = [
            &shell[..],
            &[self.python, "-B", "-c", BEGIN, SOURCE, QUESTIONS],
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
    /// Starts one, and returns when it takes requests.
    pub fn start(
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
            // sh(1): it was not found, or cannot be executed. A manager of versions says so too,
            // and adds what helps a person.
            Some(Exit::Code(126 | 127)) => PythonError::NoInterpreter {
                python,
                said: first_line(&text),
            },
            Some(exit) => PythonError::NotStarted {
                python,
                reason: how(exit),
                said,
            },
            None => {
                let reason = format!("it has said nothing within {} s", PYTHON_START_MS / 1000);
                PythonError::NotStarted {
                    python,
                    reason,
                    said,
                }
            }
        })
    }

    /// Has one started that is for whoever takes it ([`Driver::adopted`]), and does not wait for
    /// it.
    pub fn begin(
        launcher: &Launcher,
        interpreter: &Interpreter<'_>,
        running: &Slots,
    ) -> Result<Self, PythonError> {
        // It compares that with what files say of their last change. They have it from this clock,
        // which stands still between two ticks (CLOCK_REALTIME_COARSE, clock_gettime(2)); by
        // another one a later change could seem to be the earlier one.
        let now = Duration::try_from(clock_gettime(ClockId::RealtimeCoarse))
            .unwrap_or_default()
            .as_nanos()
            .to_string();
        let argv = interpreter.argv(SHELL_OF_SPARE, &[ADOPTION, &now]);
        let resident = Resident::spawn(launcher, &interpreter.program(&argv), running)?;
        Self::around(resident, interpreter)
    }

    fn around(resident: Resident, interpreter: &Interpreter<'_>) -> Result<Self, PythonError> {
        let line = Arc::new(Line::new(resident, interpreter.idle).map_err(ExecError::Follow)?);
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

    /// Waits until it takes requests; the error is how it ended instead. `None` if it has done
    /// neither within this time, or the call was cancelled.
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

    /// The same interpreter for a session, which it belongs to from now on, if it is what one would
    /// be that started now.
    pub fn adopted(self, interpreter: &Interpreter<'_>, cancel: &CancelToken) -> Adoption {
        self.adopt(interpreter, cancel).unwrap_or(Adoption::Refused)
    }

    fn adopt(mut self, interpreter: &Interpreter<'_>, cancel: &CancelToken) -> Option<Adoption> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Answer {
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
        // One that was only just started has to read its driver first.
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
        let Answer::Adopted { cpu_seconds } = self.ask(adopt, timeout, cancel).ok()? else {
            return Some(Adoption::Never);
        };
        interpreter.session.clone_into(&mut self.session);
        let used = Duration::try_from_secs_f64(cpu_seconds).ok()?;
        self.before = Some((self.line.resident.uptime(), used));
        Some(Adoption::Done(self))
    }

    /// Waits until `find` has found something, `until` has come or the call is cancelled (`None`).
    fn wait<T>(
        &self,
        until: Option<Instant>,
        cancel: Option<&CancelToken>,
        mut find: impl FnMut(&mut Shared) -> Option<T>,
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

    /// Asks something that is answered beside the cell that runs.
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
                || Line::unsent(&shared) > MAX_PYTHON_UNSENT_BYTES
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
                struct Failed {
                    error: String,
                }
                if let Ok(Failed { error }) = serde_json::from_slice(&line) {
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

/// That of a traceback says what it is about.
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
