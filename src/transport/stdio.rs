//! stdin to session to stdout, without a thread hop for cheap calls and without letting a slow one
//! block others.
//!
//! The thread that reads a line (the leader) serves cheap calls itself and goes on reading. A watch
//! looks at it every few milliseconds while there is traffic; a leader that is still busy with the
//! call of the last look is replaced by a new one. Heavy calls go to a pool of threads. What runs
//! and what waits is bounded, and beyond that stdin is not read, so a flood costs the client time
//! and the server nothing.

use std::io::Read;
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::batch;
use super::lines::{Line, Lines};
use super::pool::Pool;
use super::wake::Wake;
use super::writer::Writer;
use crate::budget::{Account, Purpose, Share};
use crate::cancel::CancelToken;
use crate::limits::{
    LAUNCHER_START_MS, MAX_GREETINGS, MAX_RUNNING_REQUESTS, MAX_WAITING_REQUESTS,
    SMALL_MESSAGE_BYTES, TAKEOVER_MS,
};
use crate::protocol::{
    Body, Code, Incoming, Outcome, Refusal, RpcError, parse, render, rendered_length,
};
use crate::server::{Admission, Session, Ticket, size};
use crate::tools::Weight;

/// Looks without any traffic after which the watch sleeps until there is some again.
const IDLE_LOOKS: u32 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The client closed its side and has all its answers.
    Served,
    /// The caller's descriptor became readable, or nobody reads the answers; nothing more is
    /// answered.
    Stopped,
}

/// What one client is held to.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest message, in bytes.
    pub max_line_bytes: usize,
    /// A call that hangs in the kernel for so long is given up.
    pub stall_timeout: Duration,
}

/// One client's stream, served until it ends.
pub struct Door {
    session: Session,
    writer: Arc<Writer>,
    lines: Mutex<Lines<Box<dyn Read + Send>>>,
    limits: Limits,
    /// Who pays for requests and replies.
    account: Account,
    pool: Pool,
    /// For calls that only wait.
    waiting: Pool,
    /// Even while the leader reads, odd while it serves; every step adds one, so a value never
    /// comes again.
    lead: AtomicU64,
    watched: AtomicBool,
    /// Wakes the watch: traffic after idleness, or the end.
    wake: Wake,
    ended: AtomicBool,
}

impl Door {
    /// Joins a session to a stream. Fails only when no event descriptor can be had.
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

    /// Answers on the calling thread, until `ready` is readable, a line comes that asks for more
    /// than what the server says of itself, or a client has asked more than it does at its start.
    /// `source` is what the door reads from; what fails of it fails again when it is served.
    /// Whether anything was answered.
    pub fn greet(self: &Arc<Self>, source: BorrowedFd<'_>, ready: BorrowedFd<'_>) -> bool {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut out, mut answered) = (Vec::new(), 0);
        let until = Instant::now() + Duration::from_millis(LAUNCHER_START_MS);
        while answered < MAX_GREETINGS {
            match lines.found() {
                Some(Line::Whole(line)) if is_greeting(&line) => {
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

    /// Serves until the stream ends or `stop` becomes readable. The calling thread is the watch.
    pub fn run(self: &Arc<Self>, stop: Option<BorrowedFd<'_>>) -> std::io::Result<End> {
        self.spawn_leader(None)?;
        let mut last_seen = 0;
        let mut last_taken = 0;
        let mut idle_looks = 0;
        // Four looks to a time limit: what is given up has hung for that time, and at most a
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
            // A client that has only closed its side still reads. One that is gone altogether waits
            // for nothing.
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
            self.wake.hush();
            if self.writer.is_broken() {
                // Nobody reads the answers any more.
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
                    // Traffic that began between the two is seen here, or sees the flag itself.
                    if self.lead.load(SeqCst) != seen {
                        self.watched.store(true, SeqCst);
                    }
                    idle_looks = 0;
                }
            }
        }
    }

    /// Answers for the calls that hang, and lets others run in their place.
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

    /// Puts a new leader in the place of one that has served the same call since the last look;
    /// whether it could.
    fn take_over(self: &Arc<Self>, seen: u64) -> bool {
        if !self.pool.enter() {
            return false;
        }
        let spawned = self.spawn_leader(Some(seen));
        if let Err(error) = &spawned {
            // The old leader reads on when its call is done, and the next look tries again.
            tracing::debug!("no thread to be had: {error}");
            self.pool.leave();
        }
        spawned.is_ok()
    }

    /// The first leader, or one that takes over from the leader of a turn. Only the new thread
    /// itself takes over: where no thread can be had the old leader must remain one.
    fn spawn_leader(self: &Arc<Self>, after: Option<u64>) -> std::io::Result<()> {
        let door = Arc::clone(self);
        thread::Builder::new()
            .name("leader".to_owned())
            .spawn(move || {
                let turn = after.map_or(0, |seen| seen + 1);
                if let Some(seen) = after
                    && door
                        .lead
                        .compare_exchange(seen, turn, SeqCst, SeqCst)
                        .is_err()
                {
                    return door.pool.leave();
                }
                // A session turns panics into errors, so this is a fault of the door itself; better
                // to end than to hang.
                if catch_unwind(AssertUnwindSafe(|| door.lead(turn))).is_err() {
                    tracing::error!("the thread that reads has panicked");
                    door.end();
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
                Ok(Line::Whole(line)) => line,
                Ok(Line::TooLong) => {
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
                Ok(Line::End) => return self.end(),
                Err(error) => {
                    tracing::error!("stdin cannot be read: {error}");
                    return self.end();
                }
            };
            // Until there is memory for it nothing more is read.
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

    /// Serves a line, or hands it on. Calls `admitted` once the line is admitted. No other line may
    /// be admitted before that: lines are admitted in the order of their arrival.
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

    /// Memory for so many bytes, waited for however long that takes; where there never is so much,
    /// all there is.
    fn hold(&self, bytes: usize, purpose: Purpose) -> Share {
        let bytes = bytes.min(self.account.most(purpose));
        self.account
            .take(bytes, purpose, None, None)
            .unwrap_or_default()
    }

    fn hand_on(self: &Arc<Self>, job: Job, share: Share) {
        let door = Arc::clone(self);
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
                        && let Some(outcome) = door.session.serve(&ticket, &request, &*door.writer)
                    {
                        door.reply(&mut out, &ticket, &outcome);
                    }
                }
                Job::Batch(line) => door.serve_batch(&line, &mut out),
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
        // The buffer of one large reply must not stay for good.
        if out.capacity() > KEEP_BYTES {
            *out = Vec::new();
        }
    }

    /// The stream has ended; what runs is still answered.
    fn end(&self) {
        self.session.ended();
        self.ended.store(true, SeqCst);
        self.wake.ring();
    }
}

/// Whether a line asks for nothing but what a server says of itself, or for no answer.
fn is_greeting(line: &[u8]) -> bool {
    const METHODS: [&str; 4] = ["initialize", "ping", "server/discover", "tools/list"];
    matches!(parse(line), Incoming::Request(request) if request.id.is_none() || METHODS.contains(&&*request.method))
}

/// Work that may take long.
enum Job {
    Call(Ticket, Vec<u8>),
    Batch(Vec<u8>),
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd as _;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::server::{AdmittedRequest, Coming, Front, Service};
    use crate::tools::{Registry, Toolset};

    /// Answers with the method that it was asked for.
    struct Asked;

    impl Service for Asked {
        fn weight(&self, _: &crate::protocol::Request<'_>) -> Weight {
            Weight::Quick
        }

        fn serve(&self, exchange: &AdmittedRequest<'_>) -> Option<Outcome> {
            Some(Ok(Body::Raw(
                format!("\"{}\"", exchange.request.method).into(),
            )))
        }
    }

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Kept {
        fn lines(&self) -> Vec<String> {
            String::from_utf8(self.0.lock().unwrap().clone())
                .unwrap()
                .lines()
                .map(str::to_owned)
                .collect()
        }
    }

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn before_the_walls_stand_nothing_is_answered_from_the_first_call_of_a_tool_on() {
        let (source, mut client) = std::io::pipe().unwrap();
        let (ready, launcher) = std::io::pipe().unwrap();
        let front = Front::new(
            Registry::declared(&[Toolset::Files], false, false),
            String::new(),
        );
        let coming = Coming::new(front, Account::default());
        let limits = Limits {
            max_line_bytes: 1000,
            stall_timeout: Duration::from_mins(1),
        };
        let kept = Kept::default();
        let (session, writer) = (
            Session::new(Arc::<Coming>::clone(&coming)),
            Writer::new(kept.clone()),
        );
        let door = Door::new(session, source.try_clone().unwrap(), writer, limits).unwrap();
        for (id, method) in ["ping", "tools/call", "ping"].into_iter().enumerate() {
            writeln!(
                client,
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\"}}"
            )
            .unwrap();
        }
        assert!(door.greet(source.as_fd(), ready.as_fd()));
        let mut answers = vec!["{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}".to_owned()];
        assert_eq!(kept.lines(), answers);
        drop(launcher);
        assert!(!door.greet(source.as_fd(), ready.as_fd()));
        assert_eq!(kept.lines(), answers);
        coming.arrived(Arc::new(Asked));
        drop(client);
        assert_eq!(door.run(None).unwrap(), End::Served);
        let later = [(1, "tools/call"), (2, "ping")];
        answers.extend(later.map(|(id, method)| {
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":\"{method}\"}}")
        }));
        assert_eq!(kept.lines(), answers);
    }

    #[test]
    fn a_service_that_is_not_there_refuses_what_its_front_cannot_answer() {
        let front = Front::new(
            Registry::declared(&[Toolset::Files], false, false),
            String::new(),
        );
        let session = Session::new(Coming::new(front, Account::default()));
        let line =
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file"}}"#;
        let Incoming::Request(request) = parse(line) else {
            panic!("no request")
        };
        let Admission::Admitted(ticket) = session.admit(&request) else {
            panic!("not admitted")
        };
        let outcome = session.serve(&ticket, &request, &Writer::new(Kept::default()));
        let Some(Err(error)) = outcome else {
            panic!("served")
        };
        assert_eq!(
            error.message,
            "the walls around commands are still being built; try again"
        );
    }
}
