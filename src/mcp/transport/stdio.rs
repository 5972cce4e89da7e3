//! Transport over stdin and stdout, without a thread switch for cheap calls and without blocking
//! behind slow ones.
//!
//! The thread that reads a line (the leader) serves cheap calls itself and reads on. A watchdog
//! checks it every few milliseconds while there is traffic. A leader that still serves the same
//! call as at the last check is replaced by a new one.
//!
//! Heavy calls go to a thread pool. Running and waiting calls are bounded. Above the bound stdin is
//! not read, so a flood costs the client time and the server nothing.

use std::io::Read;
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use replay_base::budget::{Account, Purpose, Share};
use replay_base::cancel::CancelToken;
use replay_base::limits::{
    LAUNCHER_START_MS, MAX_RUNNING_REQUESTS, MAX_WAITING_REQUESTS, SMALL_MESSAGE_BYTES, TAKEOVER_MS,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::batch;
use super::lines::{InputLine, Lines};
use super::pool::Pool;
use super::wake::Wake;
use super::writer::Writer;
use crate::protocol::{
    Body, Code, Incoming, Outcome, Refusal, RpcError, parse, render, rendered_length,
};
use crate::sessions::Weight;
use crate::sessions::{Admission, Session, Ticket, size};

/// Lines that are answered before the walls stand. A client asks for two or three things at its
/// start; nothing is looked at meanwhile but its input.
const MAX_GREETINGS: usize = 8;

/// Number of checks without traffic after which the watchdog sleeps.
const IDLE_LOOKS: u32 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The client closed its side and got all replies.
    Served,
    /// The caller's descriptor became readable, or the client no longer reads; no further reply is
    /// sent.
    Stopped,
}

/// Limits of a client.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum length of a message, in bytes.
    pub max_line_bytes: usize,
    /// Time after which a call that hangs in the kernel is abandoned.
    pub stall_timeout: Duration,
}

/// Stream of one client, served until it ends.
pub struct StdioServer {
    session: Session,
    writer: Arc<Writer>,
    lines: Mutex<Lines<Box<dyn Read + Send>>>,
    limits: Limits,
    /// Account for the memory of requests and replies.
    account: Account,
    pool: Pool,
    /// Pool for calls that only wait.
    waiting: Pool,
    /// Turn counter: even while the leader reads, odd while it serves. Every step adds one, so no
    /// value repeats.
    lead: AtomicU64,
    watched: AtomicBool,
    /// Wakes the watchdog: traffic after idleness, or the end.
    wake: Wake,
    ended: AtomicBool,
}

impl StdioServer {
    /// Connects a session to a stream. Fails only if no event descriptor is available.
    pub fn new(
        session: Session,
        source: impl Read + Send + 'static,
        writer: Writer,
        limits: Limits,
    ) -> std::io::Result<Arc<Self>> {
        let wake = Wake::new()?;
        writer.ring_when_broken(wake.clone());
        let writer = Arc::new(writer);
        session.connected(writer.clone());
        Ok(Arc::new(Self {
            account: session.account(),
            session,
            writer,
            lines: Mutex::new(Lines::new(Box::new(source), limits.max_line_bytes)),
            limits,
            pool: Pool::new(MAX_RUNNING_REQUESTS, wake.clone()),
            waiting: Pool::new(MAX_WAITING_REQUESTS, wake.clone()),
            lead: AtomicU64::new(0),
            watched: AtomicBool::new(false),
            wake,
            ended: AtomicBool::new(false),
        }))
    }

    /// Answers handshake requests on the calling thread, while the launcher starts. Stops when
    /// `ready` is readable, at any other request, or at the limit of requests. `source` is the
    /// descriptor that the server reads from; its errors recur in `run`. Returns true if it answered
    /// a request.
    pub fn greet(self: &Arc<Self>, source: BorrowedFd<'_>, ready: BorrowedFd<'_>) -> bool {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut out, mut answered) = (Vec::new(), 0);
        let until = Instant::now() + Duration::from_millis(LAUNCHER_START_MS);
        while answered < MAX_GREETINGS {
            match lines.buffered_line() {
                Some(InputLine::Whole(line)) if is_greeting(&line) => {
                    self.accept(line, Share::default(), &mut out, || {});
                    answered += 1;
                    continue;
                }
                Some(line) => {
                    lines.put_back(line);
                    break;
                }
                None => {}
            }
            let left = Timespec::try_from(until.saturating_duration_since(Instant::now()))
                .unwrap_or_default();
            let mut fds = [ready, source].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
            match poll(&mut fds, Some(&left)) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(1..) if fds[0].revents().is_empty() && lines.fill().is_ok() => {}
                _ => break,
            }
        }
        answered > 0
    }

    /// Serves until the stream ends or `stop` becomes readable. The calling thread becomes the
    /// watchdog.
    pub fn run(self: &Arc<Self>, stop: Option<BorrowedFd<'_>>) -> std::io::Result<End> {
        self.spawn_leader(None)?;
        let mut last_seen = 0;
        let mut last_taken = 0;
        let mut idle_looks = 0;
        // Four checks per timeout: an abandoned call has hung for the timeout, and at most a
        // quarter more.
        let pace = self.limits.stall_timeout / 4;
        let mut last_stall_look = Instant::now();
        loop {
            let watched = self.watched.load(SeqCst);
            let pause = if watched {
                Duration::from_millis(TAKEOVER_MS)
            } else {
                pace
            };
            let timeout = Timespec::try_from(pause).unwrap_or(Timespec {
                tv_sec: 1,
                tv_nsec: 0,
            });
            let has_ended = self.ended.load(SeqCst);
            let waits = watched || !self.session.is_idle() || self.session.stuck() > 0;
            let mut fds = vec![PollFd::new(&self.wake, PollFlags::IN)];
            fds.extend(stop.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            // A client that closed its side may still read. A client that is gone gets no reply.
            let answers = self.writer.watched().filter(|_| has_ended);
            let at = fds.len();
            fds.extend(answers.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::empty())));
            match poll(&mut fds, waits.then_some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let is_gone = fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
            if is_gone || stop.is_some() && fds.get(1).is_some_and(|fd| !fd.revents().is_empty()) {
                self.session.cancel_all();
                return Ok(End::Stopped);
            }
            self.wake.reset();
            if self.writer.is_broken() {
                // The client no longer reads.
                self.session.cancel_all();
                return Ok(End::Stopped);
            }
            if last_stall_look.elapsed() >= pace {
                last_stall_look = Instant::now();
                self.give_up();
            }
            if self.ended.load(SeqCst)
                && self.pool.open() + self.waiting.open() <= self.session.stuck()
            {
                return Ok(End::Served);
            }
            let seen = self.lead.load(SeqCst);
            if seen != last_seen {
                (last_seen, idle_looks) = (seen, 0);
            } else if seen % 2 == 1 {
                if seen != last_taken && self.take_over(seen) {
                    last_taken = seen;
                }
            } else {
                idle_looks += 1;
                if idle_looks >= IDLE_LOOKS {
                    self.watched.store(false, SeqCst);
                    // Traffic that begins in between is seen here, or sees the flag itself.
                    if self.lead.load(SeqCst) != seen {
                        self.watched.store(true, SeqCst);
                    }
                    idle_looks = 0;
                }
            }
        }
    }

    /// Sends error replies for stuck calls, and allows other calls in their place.
    fn give_up(&self) {
        let mut out = Vec::new();
        for refused in self.session.give_up(self.limits.stall_timeout) {
            out.clear();
            render(
                &mut out,
                Some(&refused.id),
                &Err(refused.error),
                refused.revision,
            );
            self.flush(&mut out);
        }
        self.pool.replace(self.session.stuck());
    }

    /// Replaces a leader that served the same call since the last check. Returns true on success.
    fn take_over(self: &Arc<Self>, seen: u64) -> bool {
        if !self.pool.enter() {
            return false;
        }
        let spawned = self.spawn_leader(Some(seen));
        if let Err(error) = &spawned {
            // The old leader reads on after its call, and the next check tries again.
            tracing::debug!("no thread can be started: {error}");
            self.pool.leave();
        }
        spawned.is_ok()
    }

    /// Starts the first leader, or one that takes over after the given turn. Only the new thread
    /// itself takes over: without a thread, the old leader must stay one.
    fn spawn_leader(self: &Arc<Self>, after: Option<u64>) -> std::io::Result<()> {
        let server = Arc::clone(self);
        thread::Builder::new()
            .name("leader".to_owned())
            .spawn(move || {
                let turn = after.map_or(0, |seen| seen + 1);
                if let Some(seen) = after
                    && server
                        .lead
                        .compare_exchange(seen, turn, SeqCst, SeqCst)
                        .is_err()
                {
                    return server.pool.leave();
                }
                // A session turns panics into errors, so this is a bug of the server itself; ending
                // is better than hanging.
                if catch_unwind(AssertUnwindSafe(|| server.lead(turn))).is_err() {
                    tracing::error!("the thread that reads has panicked");
                    server.end();
                }
            })
            .map(drop)
    }

    fn lead(self: &Arc<Self>, mut turn: u64) {
        let mut out = Vec::new();
        loop {
            let line = self
                .lines
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .next();
            let line = match line {
                Ok(InputLine::Whole(line)) => line,
                Ok(InputLine::TooLong) => {
                    let message = format!(
                        "the line is longer than {} bytes (--max-line-bytes); split the message",
                        self.limits.max_line_bytes
                    );
                    self.refuse(
                        &mut out,
                        Refusal {
                            id: None,
                            code: Code::InvalidRequest,
                            message,
                        },
                    );
                    continue;
                }
                Ok(InputLine::End) => return self.end(),
                Err(error) => {
                    tracing::error!("stdin cannot be read: {error}");
                    return self.end();
                }
            };
            // Reads no further until there is memory for it.
            let share = self.hold(line.len(), Purpose::request(line.len()));
            self.accept(line, share, &mut out, || {
                self.lead.store(turn + 1, SeqCst);
                if !self.watched.swap(true, SeqCst) {
                    self.wake.ring();
                }
            });
            if self
                .lead
                .compare_exchange(turn + 1, turn + 2, SeqCst, SeqCst)
                .is_err()
            {
                // Another thread leads; this one was counted as running when it was replaced.
                return self.pool.leave();
            }
            turn += 2;
        }
    }

    /// Serves a line, or passes it to a pool. Calls `admitted` once the line is admitted. No other
    /// line may be admitted before, since lines are admitted in the order of arrival.
    fn accept(
        self: &Arc<Self>,
        line: Vec<u8>,
        share: Share,
        out: &mut Vec<u8>,
        admitted: impl FnOnce(),
    ) {
        let incoming = parse(&line);
        let admission = if let Incoming::Request(request) = &incoming {
            Some(self.session.admit(request))
        } else {
            None
        };
        admitted();
        let request = match incoming {
            Incoming::Request(request) => request,
            Incoming::Refused(_) if line.iter().all(u8::is_ascii_whitespace) => return,
            Incoming::Refused(refusal) => return self.refuse(out, refusal),
            Incoming::Response(response) => return self.session.answered(&response),
            Incoming::Batch(members) => {
                let Some(message) = batch::fault(self.session.state.revision(), members.len())
                else {
                    return self.hand_on(Job::Batch(line), share);
                };
                return self.refuse(
                    out,
                    Refusal {
                        id: None,
                        code: Code::InvalidRequest,
                        message,
                    },
                );
            }
        };
        match admission {
            Some(Admission::Admitted(ticket)) if !ticket.weight.is_light() => {
                self.hand_on(Job::Call(ticket, line), share);
            }
            Some(Admission::Admitted(ticket)) => {
                if let Some(outcome) = self.session.serve(&ticket, &request, &*self.writer) {
                    self.reply(out, &ticket, &outcome);
                }
            }
            Some(Admission::Refused(refused)) => {
                out.clear();
                render(
                    out,
                    Some(&refused.id),
                    &Err(refused.error),
                    refused.revision,
                );
                self.flush(out);
            }
            Some(Admission::Nothing) | None => {}
        }
    }

    /// Waits for memory of `bytes` bytes, or for the total if that is less.
    fn hold(&self, bytes: usize, purpose: Purpose) -> Share {
        let bytes = bytes.min(self.account.most(purpose));
        self.account
            .take(bytes, purpose, None, None)
            .unwrap_or_default()
    }

    fn hand_on(self: &Arc<Self>, job: Job, share: Share) {
        let server = Arc::clone(self);
        let pool = match &job {
            Job::Call(ticket, _) if ticket.weight == Weight::Waits => &self.waiting,
            Job::Call(..) | Job::Batch(_) => &self.pool,
        };
        let work = Box::new(move || {
            let _held = share;
            let mut out = Vec::new();
            match job {
                Job::Call(ticket, line) => {
                    if let Incoming::Request(request) = parse(&line)
                        && let Some(outcome) =
                            server.session.serve(&ticket, &request, &*server.writer)
                    {
                        server.reply(&mut out, &ticket, &outcome);
                    }
                }
                Job::Batch(line) => server.serve_batch(&line, &mut out),
            }
        });
        pool.run(work);
    }

    fn serve_batch(&self, line: &[u8], out: &mut Vec<u8>) {
        let Incoming::Batch(members) = parse(line) else {
            return;
        };
        let _held = batch::serve(
            &self.session,
            &members,
            &*self.writer,
            &CancelToken::new(),
            out,
        );
        if !out.is_empty() {
            self.flush(out);
        }
    }

    fn reply(&self, out: &mut Vec<u8>, ticket: &Ticket, outcome: &Outcome) {
        out.clear();
        let is_counted = matches!(outcome, Ok(Body::Tool(reply)) if reply.held.is_some());
        let is_small = size(outcome) <= SMALL_MESSAGE_BYTES as u64;
        let _held =
            (!is_counted && !is_small).then(|| self.hold(rendered_length(outcome), Purpose::Reply));
        render(out, Some(&ticket.id), outcome, ticket.revision);
        self.flush(out);
    }

    fn refuse(&self, out: &mut Vec<u8>, refusal: Refusal) {
        out.clear();
        let error = RpcError::new(refusal.code, refusal.message);
        render(
            out,
            refusal.id.as_ref(),
            &Err(error),
            self.session.state.revision(),
        );
        self.flush(out);
    }

    fn flush(&self, out: &mut Vec<u8>) {
        const KEEP_BYTES: usize = 1024 * 1024;
        out.push(b'\n');
        self.writer.write_line(out);
        // The buffer of one large reply must not be kept.
        if out.capacity() > KEEP_BYTES {
            *out = Vec::new();
        }
    }

    /// The stream has ended; running calls are still answered.
    fn end(&self) {
        self.session.ended();
        self.ended.store(true, SeqCst);
        self.wake.ring();
    }
}

/// Returns true if a line is a handshake request, or a notification.
fn is_greeting(line: &[u8]) -> bool {
    const METHODS: [&str; 4] = ["initialize", "ping", "server/discover", "tools/list"];
    matches!(parse(line), Incoming::Request(request) if request.id.is_none() || METHODS.contains(&&*request.method))
}

/// Work that may take long.
enum Job {
    Call(Ticket, Vec<u8>),
    Batch(Vec<u8>),
}
