//! The thread beside a running interpreter: it takes in everything that comes from there, so that
//! nothing there waits for a call, and tells the calls that wait.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionread, read};
use rustix::net::{SendFlags, send};

use super::output::{Capture, Late};
use super::protocol::{Done, Event, Lines, Ready, Shown};
use crate::exec::{Bell, ExecError, Exit, Resident};
use crate::limits::{
    MAX_PYTHON_SHOWN, MAX_PYTHON_SHOWN_BYTES, PIPE_READ_BYTES, PYTHON_HANG_UP_MS, PYTHON_PING_MS,
    PYTHON_PROGRESS_BYTES, PYTHON_STATUS_MS,
};

/// Reads of one descriptor before the others have their turn.
const READS_AT_ONCE: usize = 8;

/// A running interpreter as the pump and the calls share it.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) resident: Resident,
    shared: Mutex<Shared>,
    bell: Bell,
    last_id: AtomicU64,
    /// Held while a cell is interrupted, and while one begins: an interrupt is for the cell that it
    /// was meant for. Whether one may still be on its way.
    interrupting: Mutex<bool>,
    /// Nobody uses it any more.
    pub(super) is_dropped: AtomicBool,
    idle: Duration,
}

/// What has come, and who waits.
#[derive(Debug)]
pub(super) struct Shared {
    lines: Lines,
    /// What could not be sent yet.
    unsent: Vec<u8>,
    pub(super) ready: Option<Ready>,
    pub(super) cell: Option<Running>,
    pub(super) late: Late,
    /// Questions that wait, and their answers as they are on the wire.
    pub(super) replies: HashMap<u64, Option<Vec<u8>>>,
    watchers: Vec<Arc<Bell>>,
    pub(super) ended: Option<Exit>,
    pub(super) has_expired: bool,
    last_used: Instant,
    /// Its standard output and error are at their end.
    closed: [bool; 2],
    /// Its channel is, since this moment: it is about to end, or is of no use any more.
    hung_up: Option<Instant>,
    /// It was told to end.
    is_ending: bool,
}

/// The cell that runs.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) id: u64,
    pub(super) sent: Instant,
    pub(super) has_begun: bool,
    /// Somebody waits for its beginning.
    pub(super) wants_begin: bool,
    pub(super) streams: [Capture; 2],
    pub(super) shown: Vec<Shown>,
    shown_bytes: usize,
    pub(super) unshown: u64,
    pub(super) done: Option<Done>,
    /// The end of what nobody was told of yet.
    pub(super) recent: Vec<u8>,
}

impl Running {
    pub(super) fn new(id: u64, cap: usize) -> Self {
        Self {
            id,
            sent: Instant::now(),
            has_begun: false,
            wants_begin: false,
            streams: [Capture::new(cap), Capture::new(cap)],
            shown: Vec::new(),
            shown_bytes: 0,
            unshown: 0,
            done: None,
            recent: Vec::new(),
        }
    }

    fn write(&mut self, stream: usize, bytes: &[u8]) {
        self.streams[stream].push(bytes);
        self.recent
            .extend_from_slice(&bytes[bytes.len().saturating_sub(PYTHON_PROGRESS_BYTES)..]);
        let over = self.recent.len().saturating_sub(PYTHON_PROGRESS_BYTES);
        self.recent.drain(..over);
    }

    fn show(&mut self, shown: Shown) {
        let bytes: usize = shown
            .data
            .values()
            .chain(&shown.files)
            .map(String::len)
            .sum();
        // The driver sends nothing of what is too many.
        let is_sent = !(shown.data.is_empty() && shown.files.is_empty());
        if is_sent
            && self.shown.len() < MAX_PYTHON_SHOWN
            && self.shown_bytes + bytes <= MAX_PYTHON_SHOWN_BYTES
        {
            self.shown_bytes += bytes;
            self.shown.push(shown);
        } else {
            self.unshown += 1;
        }
    }
}

impl Line {
    /// With nothing taken in yet; nobody uses it for `idle`, and it is ended.
    pub(super) fn new(resident: Resident, idle: Duration) -> std::io::Result<Self> {
        let shared = Shared {
            lines: Lines::default(),
            unsent: Vec::new(),
            ready: None,
            cell: None,
            late: Late::default(),
            replies: HashMap::new(),
            watchers: Vec::new(),
            ended: None,
            has_expired: false,
            last_used: Instant::now(),
            closed: [false; 2],
            hung_up: None,
            is_ending: false,
        };
        let (bell, last_id, is_dropped) = (Bell::new()?, AtomicU64::new(0), AtomicBool::new(false));
        let interrupting = Mutex::default();
        Ok(Self {
            resident,
            shared: Mutex::new(shared),
            bell,
            last_id,
            interrupting,
            is_dropped,
            idle,
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Shared> {
        // What is under the lock is whole at any point.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number for a request.
    pub(super) fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Sends a line, or leaves the rest of it to the pump.
    pub(super) fn send(&self, shared: &mut Shared, line: &[u8]) {
        shared.last_used = Instant::now();
        let sent = if shared.unsent.is_empty() {
            self.send_some(line)
        } else {
            0
        };
        if sent < line.len() {
            shared.unsent.extend_from_slice(&line[sent..]);
            self.bell.ring();
        }
    }

    /// Interrupts this cell, if it has begun and is not over; whether it was so. When this returns
    /// the signal was sent, or the next cell waits until it is known to be, so that none is on its
    /// way to that one.
    pub(super) fn interrupt(&self, id: u64) -> Result<bool, ExecError> {
        let mut is_sent = self
            .interrupting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !self
            .lock()
            .cell
            .as_ref()
            .is_some_and(|cell| cell.id == id && cell.has_begun && cell.done.is_none())
        {
            return Ok(false);
        }
        self.resident.interrupt()?;
        *is_sent = true;
        match self.confirm(&mut is_sent, PYTHON_PING_MS) {
            Err(ExecError::Silent { .. }) => Ok(true),
            confirmed => confirmed.map(|()| true),
        }
    }

    /// Waits until no interrupt is on its way, and holds up others as long as the guard lives.
    pub(super) fn alone(&self) -> Result<MutexGuard<'_, bool>, ExecError> {
        let mut is_sent = self
            .interrupting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.confirm(&mut is_sent, PYTHON_STATUS_MS)?;
        Ok(is_sent)
    }

    /// Its supervisor does one thing after the other: it has sent the signal when it answers what
    /// it was asked next.
    fn confirm(&self, is_sent: &mut bool, within_ms: u64) -> Result<(), ExecError> {
        if *is_sent {
            match self.resident.status(Duration::from_millis(within_ms)) {
                Ok(_) | Err(ExecError::Over { .. }) => *is_sent = false,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Bytes that wait to be sent.
    pub(super) fn unsent(shared: &Shared) -> usize {
        shared.unsent.len()
    }

    fn send_some(&self, bytes: &[u8]) -> usize {
        let mut sent = 0;
        while sent < bytes.len() {
            match send(
                self.resident.channel(),
                &bytes[sent..],
                SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
            ) {
                Ok(count) => sent += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                // It is gone, which the pump will hear.
                Err(_) => return bytes.len(),
            }
        }
        sent
    }

    /// Takes in what was written before a cell begins: none of it is the cell's.
    pub(super) fn drain_late(&self, shared: &mut Shared) {
        for stream in [0, 1] {
            self.read_waiting(shared, stream);
        }
    }

    /// Has a bell be rung at any news.
    pub(super) fn watch(&self, bell: &Arc<Bell>) {
        self.lock().watchers.push(Arc::clone(bell));
    }

    pub(super) fn unwatch(&self, bell: &Arc<Bell>) {
        self.lock()
            .watchers
            .retain(|watcher| !Arc::ptr_eq(watcher, bell));
    }

    /// Nobody uses it any more: it ends, and the pump with it.
    pub(super) fn leave(&self) {
        self.is_dropped.store(true, Ordering::SeqCst);
        self.resident.kill();
        self.bell.ring();
    }

    /// Until the interpreter has ended.
    pub(super) fn pump(&self) {
        let mut buffer = vec![0; PIPE_READ_BYTES];
        loop {
            let until = self.lock().due(self.idle);
            let Some([supervisor, channel, stdout, stderr]) = self.wait(until) else {
                // Without `poll` nothing of it could be heard.
                self.resident.kill();
                self.settle(Exit::Signal(9));
                return;
            };
            let mut shared = self.lock();
            let unsent = std::mem::take(&mut shared.unsent);
            let sent = self.send_some(&unsent);
            shared.unsent = unsent;
            shared.unsent.drain(..sent);
            for (stream, _) in [stdout, stderr]
                .into_iter()
                .enumerate()
                .filter(|(_, is_ready)| *is_ready)
            {
                self.read_some(&mut shared, stream, &mut buffer, READS_AT_ONCE);
            }
            if channel {
                self.hear(&mut shared, &mut buffer, READS_AT_ONCE);
            }
            if shared
                .due(self.idle)
                .is_some_and(|until| Instant::now() >= until)
            {
                (shared.has_expired, shared.is_ending) = (shared.hung_up.is_none(), true);
                self.resident.kill();
            }
            drop(shared);
            if supervisor && let Some(exit) = self.resident.ended() {
                self.settle(exit);
                return;
            }
        }
    }

    /// The end: what still lies in the pipes is taken in first.
    fn settle(&self, exit: Exit) {
        let mut buffer = vec![0; PIPE_READ_BYTES];
        let mut shared = self.lock();
        for stream in [0, 1] {
            self.read_waiting(&mut shared, stream);
        }
        // A pipe's worth, which is all that can be there.
        self.hear(&mut shared, &mut buffer, usize::MAX);
        shared.ended = Some(exit);
        shared.watchers.iter().for_each(|watcher| watcher.ring());
    }

    /// Which of supervisor, channel, standard output and error have news; `None` if that cannot be
    /// said.
    fn wait(&self, until: Option<Instant>) -> Option<[bool; 4]> {
        let (has_unsent, [no_stdout, no_stderr], no_channel) = {
            let shared = self.lock();
            (
                !shared.unsent.is_empty(),
                shared.closed,
                shared.hung_up.is_some(),
            )
        };
        let both = if has_unsent {
            PollFlags::IN | PollFlags::OUT
        } else {
            PollFlags::IN
        };
        // One that is closed says so at once each time, so another one stands in for it.
        let channel = if no_channel {
            self.bell.as_fd()
        } else {
            self.resident.channel()
        };
        let stdout = if no_stdout {
            self.bell.as_fd()
        } else {
            self.resident.stdout()
        };
        let stderr = if no_stderr {
            self.bell.as_fd()
        } else {
            self.resident.stderr()
        };
        let mut fds = [
            PollFd::from_borrowed_fd(self.resident.supervisor(), PollFlags::IN),
            PollFd::from_borrowed_fd(channel, if no_channel { PollFlags::IN } else { both }),
            PollFd::from_borrowed_fd(stdout, PollFlags::IN),
            PollFd::from_borrowed_fd(stderr, PollFlags::IN),
            PollFd::from_borrowed_fd(self.bell.as_fd(), PollFlags::IN),
        ];
        let timeout = until.map(|until| {
            let left = until.saturating_duration_since(Instant::now());
            Timespec::try_from(left).unwrap_or(Timespec {
                tv_sec: i64::MAX,
                tv_nsec: 0,
            })
        });
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Some([false; 4]),
            Err(_) => return None,
        }
        let [supervisor, channel, stdout, stderr, rung] = fds.map(|fd| !fd.revents().is_empty());
        if rung {
            self.bell.hush();
        }
        Some([
            supervisor,
            channel && !no_channel,
            stdout && !no_stdout,
            stderr && !no_stderr,
        ])
    }

    /// Reads one of the two output streams, at most so many times.
    fn read_some(&self, shared: &mut Shared, stream: usize, buffer: &mut [u8], most: usize) {
        let fd = if stream == 0 {
            self.resident.stdout()
        } else {
            self.resident.stderr()
        };
        for _ in 0..most {
            match read(fd, &mut *buffer) {
                Ok(0) => {
                    shared.closed[stream] = true;
                    return;
                }
                Ok(count) => shared.write(stream, &buffer[..count]),
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    /// Reads what one of the streams holds at this moment, and not what comes meanwhile.
    fn read_waiting(&self, shared: &mut Shared, stream: usize) {
        let fd = if stream == 0 {
            self.resident.stdout()
        } else {
            self.resident.stderr()
        };
        let mut left = ioctl_fionread(fd).unwrap_or(0) as usize;
        let mut buffer = vec![0; left.min(PIPE_READ_BYTES)];
        while left > 0 {
            let size = left.min(buffer.len());
            match read(fd, &mut buffer[..size]) {
                Ok(0) => return,
                Ok(count) => {
                    shared.write(stream, &buffer[..count]);
                    left -= count;
                }
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    /// Reads the channel, at most so many times.
    fn hear(&self, shared: &mut Shared, buffer: &mut [u8], most: usize) {
        for _ in 0..most {
            match read(self.resident.channel(), &mut *buffer) {
                Ok(count @ 1..) => {
                    let mut lines = std::mem::take(&mut shared.lines);
                    let cut = lines.push(&buffer[..count], |line| {
                        if let Some(event) = Event::read(line) {
                            self.take(shared, event);
                        }
                    });
                    shared.lines = lines;
                    if cut.is_err() {
                        self.resident.kill();
                        return;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Ok(_) | Err(_) => {
                    shared.hung_up.get_or_insert_with(Instant::now);
                    return;
                }
            }
        }
    }

    fn take(&self, shared: &mut Shared, event: Event) {
        match event {
            Event::Ready(ready) => {
                // Said once; whatever says it again is a cell.
                shared.ready.get_or_insert(ready);
            }
            Event::Late { text } => return shared.late.push(text.as_bytes()),
            Event::Reply { id, line } => {
                // An answer that nobody waits for any more.
                let Some(reply) = shared.replies.get_mut(&id) else {
                    return;
                };
                *reply = Some(line);
            }
            Event::Begun { id } => {
                let Some(cell) = shared.cell_of(id) else {
                    return;
                };
                cell.has_begun = true;
                if !cell.wants_begin {
                    return;
                }
            }
            Event::Shown { id, shown } => {
                if let Some(cell) = shared.cell_of(id) {
                    cell.show(shown);
                }
                return;
            }
            Event::Done(done) => {
                if shared.cell_of(done.id).is_none() {
                    return;
                }
                // Everything that the cell wrote is in the pipes by now.
                for stream in [0, 1] {
                    self.read_waiting(shared, stream);
                }
                shared.last_used = Instant::now();
                if let Some(cell) = &mut shared.cell {
                    cell.done = Some(done);
                }
            }
        }
        shared.watchers.iter().for_each(|watcher| watcher.ring());
    }
}

impl Shared {
    /// When it has to end, if nothing happens: nobody uses it, or it has hung up.
    fn due(&self, idle: Duration) -> Option<Instant> {
        if self.is_ending {
            return None;
        }
        if let Some(hung_up) = self.hung_up {
            return Some(hung_up + Duration::from_millis(PYTHON_HANG_UP_MS));
        }
        let is_running = self.cell.as_ref().is_some_and(|cell| cell.done.is_none());
        if is_running {
            None
        } else {
            self.last_used.checked_add(idle)
        }
    }

    /// The cell that runs, if it is this one and not over.
    pub(super) fn cell_of(&mut self, id: u64) -> Option<&mut Running> {
        self.cell
            .as_mut()
            .filter(|cell| cell.id == id && cell.done.is_none())
    }

    fn write(&mut self, stream: usize, bytes: &[u8]) {
        match &mut self.cell {
            Some(cell) if cell.done.is_none() => cell.write(stream, bytes),
            _ => self.late.push(bytes),
        }
    }
}
