//! A running interpreter with the driver, `driver/*.py`, inside.

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
use super::kernel::{Bounds, Cell, Kernel, News, Pong, Question};
use super::protocol::{Completion, Inspection, Ready, Request, Variable};
use super::pump::{Line, Running as RunningCell, Shared};
use crate::cancel::CancelToken;
use crate::exec::{Bell, ExecError, Exit, Launcher, Program, ProgramStatus, Resident, Running, readable};
use crate::limits::{
    KILL_WAIT_MS, MAX_PYTHON_ASKED_BYTES, MAX_PYTHON_CODE_BYTES, MAX_PYTHON_QUESTIONS, MAX_PYTHON_UNSENT_BYTES,
    PYTHON_ANSWER_MS, PYTHON_PING_MS, PYTHON_PROGRESS_MS, PYTHON_SPARE_MS, PYTHON_START_MS, PYTHON_STATUS_MS,
};
use crate::sandbox::{Place, RawString};

/// What says that an interpreter is there, and reads the source then, with builtins that no cell can change.
const BEGIN: &str = include_str!("driver/door.py");
/// One text, in this order: what it stands on, what it runs.
const SOURCE: &str = concat!(include_str!("driver/ground.py"), include_str!("driver/session.py"));
/// What it answers, which it reads when it is asked.
const QUESTIONS: &str = include_str!("driver/questions.py");
/// How it comes to a session, for one that waits for one.
const ADOPTION: &str = include_str!("driver/adoption.py");
/// Looks the interpreter up in PATH, as execve(2) does not.
const SHELL: [&str; 3] = ["/bin/sh", "-c", "exec \"$0\" \"$@\""];
/// The same for one that waits for a session, which has to know in which PATH it was looked up, and what pyenv was told.
const SHELL_OF_SPARE: [&str; 3] = ["/bin/sh", "-c", "exec \"$0\" \"$@\" \"$PATH\" \"${PYENV_VERSION-}\" spare"];

/// What is started.
#[derive(Debug)]
pub struct Interpreter<'a> {
    /// The session's name, for what is said about it.
    pub session: &'a str,
    /// The name or path of the interpreter.
    pub python: &'a str,
    /// The working directory.
    pub dir: Place,
    /// Variables beside, or instead of, those that commands have.
    pub environment: &'a [(OsString, OsString)],
    /// It is ended when nobody has used it for so long.
    pub idle: Duration,
}

/// What became of an interpreter that was to be a session's.
#[derive(Debug)]
pub enum Adoption {
    /// It is.
    Done(Driver),
    /// It might not be what one would be that started now, and is ended.
    Refused,
    /// Nor can one ever be: what is called `python3` is not an interpreter, but decides which one to start.
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
        let words = [&shell[..], &[self.python, "-B", "-c", BEGIN, SOURCE, QUESTIONS], adoption].concat();
        words.into_iter().map(RawString::from).collect()
    }

    fn program<'a>(&'a self, argv: &'a [RawString]) -> Program<'a> {
        Program { argv, dir: self.dir.clone(), environment: self.environment }
    }
}

impl Driver {
    /// Starts one, and returns when it takes requests.
    pub fn start(
        launcher: &Launcher,
        interpreter: &Interpreter<'_>,
        running: &Running,
        cancel: &CancelToken,
    ) -> Result<Self, PythonError> {
        let python = interpreter.python;
        let resident =
            Resident::start(launcher, &interpreter.program(&interpreter.argv(SHELL, &[""])), running, cancel)?;
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
            // sh(1): it was not found, or cannot be executed. A manager of versions says so too, and adds what helps a person.
            Some(Exit::Code(126 | 127)) => PythonError::NoInterpreter { python, said: first_line(&text) },
            Some(exit) => PythonError::NotStarted { python, reason: how(exit), said },
            None => {
                let reason = format!("it has said nothing within {} s", PYTHON_START_MS / 1000);
                PythonError::NotStarted { python, reason, said }
            }
        })
    }

    /// Has one started that is for whoever takes it ([`Driver::adopted`]), and does not wait for it.
    pub fn begin(launcher: &Launcher, interpreter: &Interpreter<'_>, running: &Running) -> Result<Self, PythonError> {
        // It compares that with what files say of their last change. They have it from this clock, which stands still between two
        // ticks (CLOCK_REALTIME_COARSE, clock_gettime(2)); by another one a later change could seem to be the earlier one.
        let now = Duration::try_from(clock_gettime(ClockId::RealtimeCoarse)).unwrap_or_default().as_nanos().to_string();
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
        Ok(Self { session, ready, line, before })
    }

    /// Waits until it takes requests; the error is how it ended instead. `None` if it has done neither within this time,
    /// or the call was cancelled.
    fn await_ready(&mut self, within_ms: u64, cancel: &CancelToken) -> Result<Option<Result<(), Exit>>, PythonError> {
        let until = Instant::now() + Duration::from_millis(within_ms);
        let ready = self
            .wait(Some(until), Some(cancel), |shared| shared.ready.clone().map(Ok).or_else(|| shared.ended.map(Err)))?;
        Ok(ready.map(|ready| ready.map(|ready| self.ready = ready)))
    }

    /// The same interpreter for a session, which it belongs to from now on, if it is what one would be that started now.
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
        let adopt = |id| Request::Adopt { id, directory, dev, ino }.line();
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
        let wake = cancel.map(CancelToken::wake_fd).transpose().map_err(|errno| ExecError::Follow(errno.into()))?;
        self.line.watch(&bell);
        let found = loop {
            bell.hush();
            if let Some(found) = find(&mut self.line.lock()) {
                break Ok(Some(found));
            }
            if cancel.is_some_and(CancelToken::is_cancelled) || until.is_some_and(|until| Instant::now() >= until) {
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
            if shared.replies.len() >= MAX_PYTHON_QUESTIONS || Line::unsent(&shared) > MAX_PYTHON_UNSENT_BYTES {
                return Err(self.silent());
            }
            shared.replies.insert(id, None);
            self.line.send(&mut shared, &line);
        }
        let until = Instant::now() + timeout;
        let answer = self.wait(Some(until), Some(cancel), |shared| {
            shared.replies.get_mut(&id).and_then(Option::take).map(Ok).or_else(|| shared.ended.map(Err))
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
        PythonError::Silent { session: self.session.clone() }
    }

    fn over(&self, exit: Exit) -> PythonError {
        PythonError::Over { session: self.session.clone(), exit }
    }

    fn unanswered(&self, reason: String) -> PythonError {
        PythonError::Unanswered { session: self.session.clone(), reason }
    }
}

/// How far the end of a cell is that was not left to itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Running,
    /// It is to be interrupted as soon as it has begun.
    Wanted,
    Interrupted,
    /// And once more: an interrupt that comes between the interpreter's look for one and a call that waits in the kernel is
    /// seen only when that call is over, and a second one ends the call.
    Repeated,
    Killed,
}

impl Kernel for Driver {
    fn ready(&self) -> &Ready {
        &self.ready
    }

    fn execute(
        &self,
        code: &str,
        bounds: &Bounds,
        cancel: &CancelToken,
        on_news: &mut dyn FnMut(News<'_>),
    ) -> Result<Cell, PythonError> {
        if code.len() > MAX_PYTHON_CODE_BYTES {
            return Err(PythonError::TooLong { bytes: code.len(), asked: false });
        }
        let id = self.line.next_id();
        let line = Request::Exec { id, code }.line().map_err(|error| self.unanswered(error.to_string()))?;
        let mut cell = Cell::default();
        let _work = self.line.resident.work();
        let begun = Instant::now();
        {
            let _no_interrupt = self.line.alone()?;
            let mut shared = self.line.lock();
            if shared.ended.is_some() {
                (cell.ended, cell.late) = (shared.ended, shared.late.take());
                return Ok(cell);
            }
            self.line.drain_late(&mut shared);
            shared.cell = Some(RunningCell::new(id, bounds.output_cap_bytes));
            self.line.send(&mut shared, &line);
        }
        let progress = Duration::from_millis(PYTHON_PROGRESS_MS);
        let (mut step, mut due, mut next_news) = (Step::Running, begun.checked_add(bounds.timeout), begun + progress);
        // When what is interrupted has to be over.
        let mut last = None;
        loop {
            // After an interrupt nobody wants to hear of the cancellation again.
            let cancelled = (step == Step::Running).then_some(cancel);
            let until = due.map_or(next_news, |due| due.min(next_news));
            let wants_begin = step == Step::Wanted;
            let found = self.wait(Some(until), cancelled, |shared| {
                let is_over = shared.ended.is_some() || shared.cell.as_ref().is_none_or(|cell| cell.done.is_some());
                let has_begun = shared.cell.as_mut().is_some_and(|cell| {
                    cell.wants_begin |= wants_begin;
                    cell.has_begun
                });
                (is_over || wants_begin && has_begun).then_some(is_over)
            });
            // A cell that cannot be followed is not left alone.
            let found = found.inspect_err(|_| self.line.resident.kill())?;
            if found == Some(true) {
                break;
            }
            let now = Instant::now();
            if step == Step::Running && cancel.is_cancelled() {
                cell.cancelled = true;
                (step, due) = (Step::Wanted, now.checked_add(bounds.grace));
                last = due;
            } else if due.is_some_and(|due| now >= due) {
                match step {
                    Step::Running => {
                        cell.timed_out = true;
                        (step, due) = (Step::Wanted, now.checked_add(bounds.grace));
                        last = due;
                    }
                    Step::Interrupted => {
                        let _ = self.line.interrupt(id);
                        (step, due) = (Step::Repeated, last);
                    }
                    Step::Wanted | Step::Repeated => {
                        self.line.resident.kill();
                        cell.killed = true;
                        (step, due) = (Step::Killed, Some(now + Duration::from_millis(KILL_WAIT_MS)));
                    }
                    Step::Killed => return Err(ExecError::Stuck.into()),
                }
            }
            if step == Step::Wanted && self.line.lock().cell.as_ref().is_some_and(|cell| cell.has_begun) {
                // It fails when the interpreter has ended, which is heard next.
                let _ = self.line.interrupt(id);
                let half = last.map(|last: Instant| now + last.saturating_duration_since(now) / 2);
                (step, due) = (Step::Interrupted, half);
            }
            if now >= next_news {
                next_news = now + progress;
                let (bytes, recent) = self.line.lock().cell.as_mut().map_or((0, Vec::new()), |cell| {
                    (cell.streams.iter().map(super::output::Capture::total).sum(), std::mem::take(&mut cell.recent))
                });
                on_news(News { elapsed: now - begun, bytes, text: &String::from_utf8_lossy(&recent) });
            }
        }
        let mut shared = self.line.lock();
        cell.ended = shared.ended;
        cell.late = shared.late.take();
        let Some(mut ran) = shared.cell.take() else { return Ok(cell) };
        drop(shared);
        let [stdout, stderr] = &mut ran.streams;
        (cell.stdout, cell.stderr) = (stdout.finish(), stderr.finish());
        (cell.shown, cell.unshown, cell.has_begun) = (ran.shown, ran.unshown, ran.has_begun);
        cell.elapsed = begun.elapsed();
        if let Some(done) = ran.done {
            (cell.number, cell.error, cell.notes) = (done.number, done.error, done.notes);
            // It ended after all.
            cell.ended = None;
            cell.killed = false;
        }
        Ok(cell)
    }

    fn interrupt(&self, asked: Instant) -> Result<bool, PythonError> {
        let ran = |shared: &Shared| shared.cell.as_ref().filter(|cell| cell.sent <= asked).map(|cell| cell.id);
        let Some(id) = ran(&self.line.lock()) else { return Ok(false) };
        // Before the cell has begun an interrupt would mean nothing.
        let until = Instant::now() + Duration::from_millis(PYTHON_PING_MS);
        let runs = self.wait(Some(until), None, |shared| {
            let has_ended = shared.ended.is_some();
            let Some(cell) = shared.cell_of(id) else { return Some(false) };
            cell.wants_begin = true;
            cell.has_begun.then_some(true).or(has_ended.then_some(false))
        })?;
        Ok(runs == Some(true) && self.line.interrupt(id)?)
    }

    fn complete(&self, question: Question<'_>, cancel: &CancelToken) -> Result<Completion, PythonError> {
        let Question { code, cursor } = checked(question)?;
        self.ask(|id| Request::Complete { id, code, cursor }.line(), ANSWER, cancel)
    }

    fn inspect(&self, question: Question<'_>, level: u8, cancel: &CancelToken) -> Result<Inspection, PythonError> {
        let Question { code, cursor } = checked(question)?;
        self.ask(|id| Request::Inspect { id, code, cursor, detail: level }.line(), ANSWER, cancel)
    }

    fn variables(&self, cancel: &CancelToken) -> Result<Vec<Variable>, PythonError> {
        #[derive(Deserialize)]
        struct Variables {
            variables: Vec<Variable>,
        }
        self.ask::<Variables>(|id| Request::Variables { id }.line(), ANSWER, cancel).map(|all| all.variables)
    }

    fn add_packages(&self, directory: &str, cancel: &CancelToken) -> Result<(), PythonError> {
        #[derive(Deserialize)]
        struct Nothing {}
        self.ask::<Nothing>(|id| Request::Packages { id, directory }.line(), ANSWER, cancel).map(drop)
    }

    fn ping(&self, timeout: Duration, cancel: &CancelToken) -> Result<Option<Pong>, PythonError> {
        #[derive(Deserialize)]
        struct Answer {
            test: i64,
        }
        let begun = Instant::now();
        match self.ask::<Answer>(|id| Request::Ping { id }.line(), timeout, cancel) {
            Ok(Answer { test }) => Ok(Some(Pong { elapsed: begun.elapsed(), value: test })),
            Err(PythonError::Silent { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn status(&self) -> Result<ProgramStatus, PythonError> {
        let mut status = self.line.resident.status(Duration::from_millis(PYTHON_STATUS_MS))?;
        if let Some((waited, used)) = self.before {
            // What was before is nothing of the session's.
            status.uptime = status.uptime.saturating_sub(waited);
            status.cpu = status.cpu.saturating_sub(used);
        }
        Ok(status)
    }

    fn busy_for(&self) -> Option<Duration> {
        let shared = self.line.lock();
        shared.cell.as_ref().filter(|cell| cell.done.is_none()).map(|cell| cell.sent.elapsed())
    }

    fn ended(&self) -> Option<Exit> {
        // What the pump has not heard of yet is known to the socket.
        self.line.lock().ended.or_else(|| self.line.resident.ended())
    }

    fn take_late(&self) -> String {
        self.line.lock().late.take()
    }

    fn has_expired(&self) -> bool {
        self.line.lock().has_expired
    }

    fn kill(&self) {
        self.line.resident.kill();
        let until = Instant::now() + Duration::from_millis(KILL_WAIT_MS);
        // Without a bell there is no waiting; it is told to end in any case.
        let _ = self.wait(Some(until), None, |shared| shared.ended.map(drop));
    }
}

const ANSWER: Duration = Duration::from_millis(PYTHON_ANSWER_MS);

fn checked(question: Question<'_>) -> Result<Question<'_>, PythonError> {
    let bytes = question.code.len();
    if bytes > MAX_PYTHON_ASKED_BYTES { Err(PythonError::TooLong { bytes, asked: true }) } else { Ok(question) }
}

fn first_line(text: &str) -> String {
    text.trim_start().lines().next().unwrap_or_default().trim_end().to_owned()
}

/// That of a traceback says what it is about.
fn last_line(text: &str) -> String {
    text.trim_end().lines().last().unwrap_or_default().to_owned()
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("session", &self.session).field("ready", &self.ready).finish_non_exhaustive()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.line.leave();
    }
}
