//! Thread that reads all output of a running interpreter and wakes the waiting calls. The
//! interpreter therefore never waits for a call.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use replay_base::limits::{PIPE_READ_BYTES, PYTHON_PING_MS, PYTHON_STATUS_MS};
use replay_sandbox::exec::{Bell, ExecError, Exit, Resident};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionread, read};
use rustix::net::{SendFlags, send};

use super::output::{Capture, LateOutput};
use super::protocol::{CellEnd, DisplayedValue, Event, LineSplitter, Ready};

/// Time for an interpreter to exit after it has closed its channel, in milliseconds.
const PYTHON_HANG_UP_MS: u64 = 1000;
/// New output of a running cell that one report holds, in bytes.
const PYTHON_PROGRESS_BYTES: usize = 4096;
/// Values that a cell shows.
const MAX_PYTHON_SHOWN: usize = 100;
/// Largest size of all values together that a cell shows, in bytes.
const MAX_PYTHON_SHOWN_BYTES: usize = 16 * 1024 * 1024;

/// Maximum reads of one file descriptor before the others are read.
const READS_AT_ONCE: usize = 8;

/// State of a running interpreter that the pump and the calls share.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) resident: Resident,
    shared: Mutex<ConnectionState>,
    bell: Bell,
    last_id: AtomicU64,
    /// Locked while a cell begins or is interrupted, so that an interrupt reaches its own cell.
    /// `true` if a signal may still be on its way.
    interrupting: Mutex<bool>,
    /// The owner has dropped the interpreter.
    pub(super) is_dropped: AtomicBool,
    idle: Duration,
}

/// Received data, and the waiting calls.
#[derive(Debug)]
pub(super) struct ConnectionState {
    lines: LineSplitter,
    /// Bytes that the socket has not accepted yet.
    unsent: Vec<u8>,
    pub(super) ready: Option<Ready>,
    pub(super) cell: Option<RunningCell>,
    pub(super) late: LateOutput,
    /// Pending requests, and their raw replies.
    pub(super) replies: HashMap<u64, Option<Vec<u8>>>,
    watchers: Vec<Arc<Bell>>,
    pub(super) ended: Option<Exit>,
    pub(super) has_expired: bool,
    last_used: Instant,
    /// End of file was read on standard output and standard error.
    closed: [bool; 2],
    /// Time of the end of file on the channel. The interpreter is about to end, or is of no more
    /// use.
    hung_up: Option<Instant>,
    /// The interpreter was told to end.
    is_ending: bool,
}

/// The running cell.
#[derive(Debug)]
pub(super) struct RunningCell {
    pub(super) id: u64,
    pub(super) sent: Instant,
    pub(super) has_begun: bool,
    /// A call waits for the beginning of the cell.
    pub(super) wants_begin: bool,
    pub(super) streams: [Capture; 2],
    pub(super) shown: Vec<DisplayedValue>,
    shown_bytes: usize,
    pub(super) unshown: u64,
    pub(super) done: Option<CellEnd>,
    /// End of the output that was not reported yet.
    pub(super) recent: Vec<u8>,
}

impl RunningCell {
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

    fn show(&mut self, shown: DisplayedValue) {
        let bytes: usize = shown
            .data
            .values()
            .chain(&shown.files)
            .map(String::len)
            .sum();
        // The driver sends no data for values beyond the limit.
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

impl Connection {
    /// Creates the state for an interpreter. The interpreter is ended after `idle` without use.
    pub(super) fn new(resident: Resident, idle: Duration) -> std::io::Result<Self> {
        let shared = ConnectionState {
            lines: LineSplitter::default(),
            unsent: Vec::new(),
            ready: None,
            cell: None,
            late: LateOutput::default(),
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

    pub(super) fn lock(&self) -> MutexGuard<'_, ConnectionState> {
        // A panic leaves the state consistent at any point.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a new request id.
    pub(super) fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Sends a line. The pump sends what the socket does not accept at once.
    pub(super) fn send(&self, shared: &mut ConnectionState, line: &[u8]) {
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

    /// Interrupts this cell, if it has begun and not ended. Returns true if it did. Afterwards the
    /// signal is sent, or the next cell waits for a confirmation, so that no signal reaches the
    /// next cell.
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

    /// Waits until no interrupt is on its way, and blocks new ones while the guard lives.
    pub(super) fn block_interrupts(&self) -> Result<MutexGuard<'_, bool>, ExecError> {
        let mut is_sent = self
            .interrupting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.confirm(&mut is_sent, PYTHON_STATUS_MS)?;
        Ok(is_sent)
    }

    /// Confirms that the signal was sent. The supervisor works in sequence: a reply to the next
    /// request means that the signal is out.
    fn confirm(&self, is_sent: &mut bool, within_ms: u64) -> Result<(), ExecError> {
        if *is_sent {
            match self.resident.status(Duration::from_millis(within_ms)) {
                Ok(_) | Err(ExecError::Over { .. }) => *is_sent = false,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns the number of unsent bytes.
    pub(super) fn unsent(shared: &ConnectionState) -> usize {
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
                // The peer is gone, which the pump will notice.
                Err(_) => return bytes.len(),
            }
        }
        sent
    }

    /// Reads the output from before a cell begins, which does not belong to the cell.
    pub(super) fn drain_late(&self, shared: &mut ConnectionState) {
        for stream in [0, 1] {
            self.read_waiting(shared, stream);
        }
    }

    /// Registers a bell that rings at any news.
    pub(super) fn watch(&self, bell: &Arc<Bell>) {
        self.lock().watchers.push(Arc::clone(bell));
    }

    pub(super) fn unwatch(&self, bell: &Arc<Bell>) {
        self.lock()
            .watchers
            .retain(|watcher| !Arc::ptr_eq(watcher, bell));
    }

    /// Marks the interpreter as unused: it ends, and the pump with it.
    pub(super) fn leave(&self) {
        self.is_dropped.store(true, Ordering::SeqCst);
        self.resident.kill();
        self.bell.ring();
    }

    /// Pumps until the interpreter has ended.
    pub(super) fn pump(&self) {
        let mut buffer = vec![0; PIPE_READ_BYTES];
        loop {
            let until = self.lock().deadline(self.idle);
            let Some([supervisor, channel, stdout, stderr]) = self.wait(until) else {
                // Without `poll` its output cannot be read.
                self.resident.kill();
                self.handle_end(Exit::Signal(9));
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
                self.read_channel(&mut shared, &mut buffer, READS_AT_ONCE);
            }
            if shared
                .deadline(self.idle)
                .is_some_and(|until| Instant::now() >= until)
            {
                (shared.has_expired, shared.is_ending) = (shared.hung_up.is_none(), true);
                self.resident.kill();
            }
            drop(shared);
            if supervisor && let Some(exit) = self.resident.ended() {
                self.handle_end(exit);
                return;
            }
        }
    }

    /// Handles the end of the interpreter, after reading the rest of the pipes.
    fn handle_end(&self, exit: Exit) {
        let mut buffer = vec![0; PIPE_READ_BYTES];
        let mut shared = self.lock();
        for stream in [0, 1] {
            self.read_waiting(&mut shared, stream);
        }
        // One pipe's capacity, which is the most that can be left.
        self.read_channel(&mut shared, &mut buffer, usize::MAX);
        shared.ended = Some(exit);
        shared.watchers.iter().for_each(|watcher| watcher.ring());
    }

    /// Waits for news. Returns the ready state of supervisor, channel, standard output and standard
    /// error; `None` if `poll` fails.
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
        // A closed descriptor is always ready, so another one stands in for it.
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

    /// Reads one of the two output streams, at most `most` times.
    fn read_some(
        &self,
        shared: &mut ConnectionState,
        stream: usize,
        buffer: &mut [u8],
        most: usize,
    ) {
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

    /// Reads the bytes that a stream holds now, and no later ones.
    fn read_waiting(&self, shared: &mut ConnectionState, stream: usize) {
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

    /// Reads the channel, at most `most` times.
    fn read_channel(&self, shared: &mut ConnectionState, buffer: &mut [u8], most: usize) {
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

    fn take(&self, shared: &mut ConnectionState, event: Event) {
        match event {
            Event::Ready(ready) => {
                // Sent once; a repetition comes from a cell.
                shared.ready.get_or_insert(ready);
            }
            Event::Late { text } => return shared.late.push(text.as_bytes()),
            Event::Reply { id, line } => {
                // No call waits for this reply any more.
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
            Event::DisplayedValue { id, shown } => {
                if let Some(cell) = shared.cell_of(id) {
                    cell.show(shown);
                }
                return;
            }
            Event::Done(done) => {
                if shared.cell_of(done.id).is_none() {
                    return;
                }
                // All output of the cell is in the pipes by now.
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

impl ConnectionState {
    /// Returns the deadline of an interpreter that is idle or has hung up.
    fn deadline(&self, idle: Duration) -> Option<Instant> {
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

    /// Returns the running cell, if it has this id and has not ended.
    pub(super) fn cell_of(&mut self, id: u64) -> Option<&mut RunningCell> {
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
