//! Supervisor of one command: starts the program, obeys the server, and ends leftover processes.
//!
//! In namespaces it is process 1 of the command's pid namespace, otherwise a parent process. It
//! never reports the end of a command before it has reaped the command's last process.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use replay_base::limits::{JOURNAL_TITLE_BYTES, LAST_PROCESSES_MS, MAX_DENIED, MEMORY_WATCH_MS};
use replay_sys as sys;
use replay_sys::seccomp::can_answer_with;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};

use super::caller::CallerMemory;
use super::capabilities;
use super::cgroup::Group;
use super::denied::Denied;
use super::dry_run::DryRun;
use super::fault::{Fault, StepContext};
use super::intercept::ProxySocket;
use super::kill_scope::KillScope;
use super::memory_watch::{MemoryWatch, kernel_kills};
use super::monitor::Monitor;
use super::plan::Tier;
use super::port_sockets::held_sockets;
use super::program::{Start, Streams};
use super::reaper::{ReapResult, reap_one};
use super::supervisor_table::SupervisorLine;
use super::terminal;
use super::vitals::Reporter;
use super::walls::Walls;
use super::wire::{
    ACCOUNT, Event, Exit, INTERRUPT, KILL, PORTS, Request, STATUS, TERMINATE, receive_event,
    receive_order, send_event, send_held,
};

/// Time between two looks at a command's intercepted calls that wait, in milliseconds.
const INTERCEPTED_LOOK_MS: u64 = 200;

const HUNG_UP: Exit = Exit::Signal(Signal::SIGHUP as i32);

/// A command and its supervision, from start to end.
pub(crate) struct Supervisor<'a> {
    /// Set of processes to signal.
    pub kill_scope: KillScope,
    /// The server's side of the command.
    pub server: OwnedFd,
    /// Common settings for starting programs.
    pub start: &'a Start,
    /// Monitor for this tier: broker, journal and refusals.
    pub monitor: Box<dyn Monitor + 'a>,
    /// Overlays of a dry run, if it is one.
    pub dry_run: Option<DryRun>,
    /// Connects for the server if no call of the command is intercepted.
    pub proxy_socket: Option<ProxySocket>,
    /// Socket to the launcher, if the launcher watches protected paths.
    pub line: Option<Rc<SupervisorLine>>,
    /// Cgroup that counts the command's memory. Without it, a memory limit is enforced by polling.
    pub group: Option<Group>,
    /// OOM kill count of the kernel before the command.
    pub kernel_kills: Option<u64>,
    /// `true` if the program may have begun.
    pub may_have_begun: bool,
}

impl Supervisor<'_> {
    /// Runs the command and reports to the server. Returns after the last process has ended.
    pub(crate) fn run(mut self, request: &Request, stdio: Vec<OwnedFd>) {
        if let Err(fault) = self.supervise(request, stdio) {
            self.kill_scope.signal(Signal::SIGKILL);
            let last = Event::failed(&fault, self.may_have_begun);
            let _ = send_event(&self.server, &last, None);
        }
    }

    fn supervise(&mut self, request: &Request, stdio: Vec<OwnedFd>) -> Result<(), Fault> {
        let mut child = SigSet::empty();
        child.add(Signal::SIGCHLD);
        child.thread_block().step("block SIGCHLD")?;
        let children = SignalFd::with_flags(&child, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
            .step("signalfd")?;
        let (streams, master) = match request.terminal {
            Some((rows, columns)) => {
                let (program, server) = terminal::open(rows, columns)?;
                (Streams::Terminal(program), Some(server))
            }
            None => (separate(stdio)?, None),
        };
        let (birth, program_birth) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .step("socketpair")?;
        let opens = self
            .start
            .walls
            .as_ref()
            .map_or(Ok(false), Walls::hold_supervisor)?;
        let copy = match &self.group {
            Some(group) => sys::fork_into_group(group.as_fd()),
            None => sys::fork(),
        };
        let Some(program) = copy.step("fork")? else {
            self.start.become_program(request, &streams, &program_birth)
        };
        // If calls are intercepted, the program waits until this process has its listener.
        self.may_have_begun = !request.intercepts_calls();
        drop((streams, program_birth));
        // Not earlier: the program's side needs /proc/self before it executes.
        set_dumpable_behavior(DumpableBehavior::NotDumpable).step("PR_SET_DUMPABLE")?;
        if self.start.walls.is_some() {
            // From here on the supervisor acts for the program with no more power than the program
            // has.
            let drop = match self.start.tier {
                Tier::Namespaces => capabilities::drop_but_tracing,
                Tier::Landlock | Tier::Off => capabilities::drop_most,
            };
            drop().step("drop capabilities")?;
        }
        let mut life = ProgramState {
            program,
            birth: Some(birth),
            master,
            exit: None,
            terminated: false,
            killed: false,
            over: None,
            opens,
            hung_up: 0,
        };
        self.follow(request, &mut life, &children)?;
        let Some(exit) = life.exit else {
            self.monitor.end_entry("");
            return Ok(());
        };
        if self.group.as_ref().is_some_and(Group::was_ended) {
            life.over = Some(Denied::Memory);
        }
        let met = if life.over.is_some() {
            Vec::new()
        } else {
            self.limits_met(exit, &mut life)
        };
        let left = self.end_rest(&children, &mut life.hung_up);
        // The kernel sends SIGHUP to leftover processes on the terminal.
        let left = if request.terminal.is_some() {
            left + life.hung_up
        } else {
            left
        };
        if let Some(dry_run) = self.dry_run.take() {
            send_event(
                &self.server,
                &Event::WouldChange,
                Some(dry_run.report()?.as_fd()),
            )
            .step("tell the server")?;
        }
        // Files that the launcher moves aside before it answers belong to this entry.
        let denied = self.monitor.close(self.line.as_deref());
        let changed = self.monitor.end_entry("");
        // A command that was ended did not leave processes behind on purpose.
        let left = if life.over.is_some() { 0 } else { left };
        // The list has to fit into one packet.
        let denied = life
            .over
            .into_iter()
            .chain(met)
            .chain(denied)
            .take(MAX_DENIED)
            .collect();
        let _ = send_event(
            &self.server,
            &Event::Ended {
                exit,
                left,
                denied,
                changed,
            },
            None,
        );
        Ok(())
    }

    /// Waits until the program has ended (`life.exit`) or the server is gone.
    fn follow(
        &mut self,
        request: &Request,
        life: &mut ProgramState,
        children: &SignalFd,
    ) -> Result<(), Fault> {
        let with_ipc = self.start.tier == Tier::Namespaces;
        let most = self
            .start
            .limits
            .memory_bytes
            .filter(|_| self.group.is_none());
        let mut watch = most.map(|most| MemoryWatch::new(most, with_ipc));
        let mut reporter = Reporter::new();
        let mut next_look = Instant::now() + Duration::from_millis(INTERCEPTED_LOOK_MS);
        loop {
            let states = {
                let [calls, rest] = self.monitor.waits_for();
                let fds = [
                    Some(children.as_fd()),
                    Some(self.server.as_fd()),
                    calls,
                    rest,
                    life.birth.as_ref().map(AsFd::as_fd),
                    self.proxy_socket.as_ref().map(AsFd::as_fd),
                    self.line
                        .as_deref()
                        .filter(|_| life.over.is_none())
                        .map(AsFd::as_fd),
                ];
                let pause = watch.as_ref().map(|_| MEMORY_WATCH_MS);
                let look = self.monitor.has_to_look().then_some(INTERCEPTED_LOOK_MS);
                let pauses = pause.into_iter().chain(look).map(Duration::from_millis);
                wait_for_more(fds, &[], pauses.chain(reporter.pause()).min())?.0
            };
            let [child, server, called, more, birth, ushered, ordered] =
                states.map(|state| !state.is_empty());
            let duty = called || more;
            if self.monitor.has_to_look() && next_look <= Instant::now() {
                self.monitor.look();
                next_look = Instant::now() + Duration::from_millis(INTERCEPTED_LOOK_MS);
            }
            if birth {
                self.read_birth_event(request, life)?;
            }
            if ushered && let Some(proxy_socket) = &mut self.proxy_socket {
                proxy_socket.serve();
            }
            if child {
                while children.read_signal().is_ok_and(|signal| signal.is_some()) {}
                reap(life);
            }
            // After a terminating signal the program often ends before its children. They keep
            // their grace period, because SIGKILL follows.
            if life.exit.is_some()
                && life.birth.is_none()
                && (!life.terminated || is_childless(&mut life.hung_up))
            {
                return Ok(());
            }
            // Orders that precede a call are obeyed before the call is answered.
            match if server || duty && request.stays {
                self.read_order()
            } else {
                ServerOrder::Nothing
            } {
                ServerOrder::Nothing => {}
                ServerOrder::Terminate(signal) => {
                    life.terminated = true;
                    self.kill_scope.signal(signal);
                }
                ServerOrder::Kill => {
                    (life.terminated, life.killed) = (false, true);
                    self.kill_scope.signal(Signal::SIGKILL);
                    if life.exit.is_some() && life.birth.is_none() {
                        return Ok(());
                    }
                }
                ServerOrder::Interrupt => {
                    // Before its birth the program would die of SIGINT, whatever handler it
                    // installs later.
                    if life.birth.is_none() {
                        self.kill_scope.signal(Signal::SIGINT);
                    }
                }
                ServerOrder::Tell(number) => reporter.ask(number),
                ServerOrder::Ports(inodes, reply) => send_held(&reply, &held_sockets(&inodes)),
                ServerOrder::Account(number, next) => {
                    let mut denied = self.monitor.take_denied(self.line.as_deref());
                    let changed = self.monitor.end_entry(&next);
                    denied.truncate(MAX_DENIED);
                    let _ = send_event(
                        &self.server,
                        &Event::Accounted {
                            number,
                            changed,
                            denied,
                        },
                        None,
                    );
                    if let Some(why) = self
                        .line
                        .as_deref()
                        .and_then(SupervisorLine::take_order_to_end)
                    {
                        life.over = Some(why);
                        self.kill_scope.signal(Signal::SIGKILL);
                    }
                }
                ServerOrder::Gone => {
                    self.kill_scope.signal(Signal::SIGKILL);
                    self.end_rest(children, &mut life.hung_up);
                    life.exit = None;
                    return Ok(());
                }
            }
            if duty {
                self.monitor.serve([states[2], states[3]]);
            }
            reporter.answer(
                self.server.as_fd(),
                life.exit.is_none().then_some(life.program),
            );
            if life.over.is_none()
                && let Some(line) = &self.line
                && (ordered || line.has_to_end())
            {
                life.over = Some(line.hear());
                self.kill_scope.signal(Signal::SIGKILL);
            }
            if let Some(watch) = &mut watch
                && life.over.is_none()
                && watch.is_over()
            {
                life.over = Some(Denied::Memory);
                self.kill_scope.signal(Signal::SIGKILL);
            }
        }
    }

    /// Returns the limits that the command met, from its exit status and from the kernel's current
    /// refusals.
    fn limits_met(&self, exit: Exit, life: &mut ProgramState) -> Vec<Denied> {
        let limits = &self.start.limits;
        // A shell reports the signal that ended its program as an exit code.
        let signal = match exit {
            Exit::Signal(signal) => signal,
            Exit::Code(code) => code - 128,
        };
        let by = |wanted: Signal| signal == wanted as i32;
        let mut met = Vec::new();
        if by(Signal::SIGXCPU) && limits.cpu_secs.is_some() {
            met.push(Denied::ProcessorTime);
        }
        if by(Signal::SIGXFSZ) && limits.file_bytes.is_some() {
            met.push(Denied::FileSize);
        }
        if by(Signal::SIGKILL)
            && !life.killed
            && self.kernel_kills.is_some()
            && kernel_kills() > self.kernel_kills
        {
            met.push(Denied::MachineMemory);
        }
        let bounded = limits
            .processes
            .filter(|_| self.start.tier == Tier::Namespaces);
        if bounded.is_some_and(|most| !is_childless(&mut life.hung_up) && has_no_room(most)) {
            met.push(Denied::Processes);
        }
        met
    }

    /// Reads from the program's side before it executes: a descriptor of its walls, a failure, or
    /// end of stream, which means that the program runs.
    fn read_birth_event(
        &mut self,
        request: &Request,
        life: &mut ProgramState,
    ) -> Result<(), Fault> {
        let Some(birth) = &life.birth else {
            return Ok(());
        };
        match receive_event(birth).step("start the program")? {
            Some((Event::Refused { step, cause }, _)) => {
                self.may_have_begun = false;
                Err(Fault {
                    step,
                    cause: cause.into(),
                })
            }
            Some((Event::Listens, Some(listener))) => {
                let program = life.program.as_raw().cast_unsigned();
                // The same system call as for later addresses: if it is refused, no call can be
                // redirected. Address 0 is unmapped.
                if let Err(errno) = CallerMemory::of(program).bytes(0, 1)
                    && errno != Errno::FAULT
                {
                    let step = "read the memory of the command (process_vm_readv), without which no calls are intercepted";
                    return Err(errno).step(step);
                }
                can_answer(&listener, true)?;
                self.monitor.take(listener);
                self.may_have_begun = true;
                rustix::io::write(birth, b"x").step("start the program")?;
                Ok(())
            }
            Some((_, Some(descriptor))) => {
                can_answer(&descriptor, life.opens)?;
                self.monitor.take(descriptor);
                Ok(())
            }
            Some((_, None)) => Err(Fault::because(
                "start the program",
                "it said something unexpected",
            )),
            None => {
                life.birth = None;
                let master = life.master.take();
                if request.announce || master.is_some() {
                    let _ = send_event(
                        &self.server,
                        &Event::Started,
                        master.as_ref().map(AsFd::as_fd),
                    );
                }
                Ok(())
            }
        }
    }

    /// Reads the next order of the server.
    fn read_order(&self) -> ServerOrder {
        let mut order = [0; 9 + JOURNAL_TITLE_BYTES];
        let (received, attached) = match receive_order(&self.server, &mut order) {
            Ok((got, attached)) => (Ok(got), attached),
            Err(error) => (Err(Errno::from_io_error(&error)), None),
        };
        match received {
            Ok(0) => ServerOrder::Gone,
            Ok(got) if order[0] == PORTS => attached.map_or(ServerOrder::Nothing, |reply| {
                let (inodes, _) = order[1..got].as_chunks();
                ServerOrder::Ports(
                    inodes.iter().map(|it| u64::from_le_bytes(*it)).collect(),
                    reply,
                )
            }),
            Ok(_) if order[0] == TERMINATE => ServerOrder::Terminate(terminating_signal(order[1])),
            Ok(_) if order[0] == KILL => ServerOrder::Kill,
            Ok(_) if order[0] == INTERRUPT => ServerOrder::Interrupt,
            Ok(_) if order[0] == STATUS => ServerOrder::Tell(number(&order)),
            Ok(got @ 9..) if order[0] == ACCOUNT => ServerOrder::Account(
                number(&order),
                String::from_utf8_lossy(&order[9..got]).into_owned(),
            ),
            Ok(_) | Err(Some(Errno::AGAIN | Errno::INTR)) => ServerOrder::Nothing,
            Err(_) => ServerOrder::Gone,
        }
    }

    /// Ends leftover processes of the program and returns their number. The wait for a process that
    /// the kernel does not release is bounded; such a process can no longer act.
    fn end_rest(&mut self, children: &SignalFd, hung_up: &mut u32) -> u32 {
        // Processes that ended by themselves are not counted. Usually none is left.
        if is_childless(hung_up) {
            return 0;
        }
        let until = Instant::now() + Duration::from_millis(LAST_PROCESSES_MS);
        let mut left = 0;
        loop {
            self.kill_scope.signal(Signal::SIGKILL);
            loop {
                match reap_one() {
                    ReapResult::Ended(..) => left += 1,
                    ReapResult::NoneYet => break,
                    // The absence of children is the proof.
                    ReapResult::Nobody => return left,
                }
            }
            if Instant::now() >= until {
                return left;
            }
            // If the kill scope is not atomic, a process may have been born unseen, so poll soon.
            let pause = Duration::from_millis(if self.kill_scope.is_atomic() {
                LAST_PROCESSES_MS
            } else {
                1
            });
            let _ = wait_for([Some(children.as_fd())], Some(pause));
            while children.read_signal().is_ok_and(|signal| signal.is_some()) {}
        }
    }
}

/// Returns true if no process can replace the program that ended, nor run beside it.
fn has_no_room(most: u64) -> bool {
    let hard = getrlimit(Resource::Nproc).maximum;
    let most = hard.map_or(most, |hard| hard.min(most));
    let _ = setrlimit(
        Resource::Nproc,
        Rlimit {
            current: Some(most),
            maximum: hard,
        },
    );
    let copies = [(); 2].map(|()| sys::fork_to_end());
    copies.iter().flatten().for_each(|copy| {
        let _ = waitpid(*copy, None);
    });
    copies.iter().any(|copy| {
        copy.as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    })
}

/// Fails if required calls cannot be answered with descriptors.
fn can_answer(listener: &OwnedFd, is_needed: bool) -> Result<(), Fault> {
    if !is_needed || can_answer_with(listener) {
        return Ok(());
    }
    let step = "answer a call with a descriptor (SECCOMP_ADDFD_FLAG_SEND)";
    Err(Fault::because(
        step,
        "the kernel does not have it; Linux 5.14 or newer has",
    ))
}

/// Order of the server for a command.
enum ServerOrder {
    Nothing,
    /// Send this terminating signal.
    Terminate(Signal),
    Kill,
    Interrupt,
    /// Report the program's status, under this number.
    Tell(u64),
    /// Report changes until now under this number. The string is the title of the next entry.
    Account(u64, String),
    /// Report on this socket which of these sockets the command holds.
    Ports(Vec<u64>, OwnedFd),
    /// The server is gone.
    Gone,
}

/// Parses the number after the first byte of an order.
fn number(order: &[u8]) -> u64 {
    order
        .get(1..9)
        .and_then(|bytes| bytes.try_into().ok())
        .map(u64::from_le_bytes)
        .unwrap_or_default()
}

/// Returns the terminating signal with this number; SIGTERM for any other number.
fn terminating_signal(number: u8) -> Signal {
    let asking = [Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT];
    asking
        .into_iter()
        .find(|signal| *signal as i32 == i32::from(number))
        .unwrap_or(Signal::SIGTERM)
}

/// Reaps ended children and returns true if none is left. Orphans of the command are reparented to
/// this process.
///
/// Adds the children that SIGHUP ended to `hung_up`.
fn is_childless(hung_up: &mut u32) -> bool {
    loop {
        match reap_one() {
            ReapResult::Ended(_, exit) => *hung_up += u32::from(exit == HUNG_UP),
            ReapResult::NoneYet => return false,
            ReapResult::Nobody => return true,
        }
    }
}

/// State of the running program.
struct ProgramState {
    program: Pid,
    /// Pipe from the program's side, until the program is executed.
    birth: Option<OwnedFd>,
    /// Master side of the terminal, until it is sent.
    master: Option<OwnedFd>,
    exit: Option<Exit>,
    /// A terminating signal was sent, but not SIGKILL.
    terminated: bool,
    /// SIGKILL was sent.
    killed: bool,
    over: Option<Denied>,
    /// The supervisor makes its opens.
    opens: bool,
    /// Number of its processes that ended by SIGHUP.
    hung_up: u32,
}

/// Reaps ended children until the program is among them.
fn reap(life: &mut ProgramState) {
    while life.exit.is_none()
        && let ReapResult::Ended(pid, exit) = reap_one()
    {
        if pid.as_raw_pid() == life.program.as_raw() {
            life.exit = Some(exit);
        } else {
            life.hung_up += u32::from(exit == HUNG_UP);
        }
    }
}

/// Takes the three streams from the request's descriptors.
fn separate(stdio: Vec<OwnedFd>) -> Result<Streams, Fault> {
    let streams: [OwnedFd; 3] = stdio.try_into().map_err(|_| {
        Fault::because(
            "streams",
            "the request has not the descriptors it speaks of",
        )
    })?;
    Ok(Streams::Separate(streams))
}

/// Waits until one of `fds` is readable or closed, or until the timeout. Returns the ready ones.
pub(crate) fn wait_for<const N: usize>(
    fds: [Option<BorrowedFd<'_>>; N],
    timeout: Option<Duration>,
) -> Result<[bool; N], Fault> {
    wait_for_more(fds, &[], timeout).map(|(states, _)| states.map(|state| !state.is_empty()))
}

/// Waits like [`wait_for`] with additional descriptors. Returns the events of each of `fds`, and
/// the indexes of the ready descriptors in `more`.
pub(crate) fn wait_for_more<const N: usize>(
    fds: [Option<BorrowedFd<'_>>; N],
    more: &[BorrowedFd<'_>],
    timeout: Option<Duration>,
) -> Result<([PollFlags; N], Vec<usize>), Fault> {
    let all = fds.iter().flatten().chain(more);
    let mut polled: Vec<PollFd<'_>> = all
        .map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN))
        .collect();
    let timeout = timeout.map(|timeout| {
        Timespec::try_from(timeout).unwrap_or(Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        })
    });
    match poll(&mut polled, timeout.as_ref()) {
        Ok(_) => {}
        Err(Errno::INTR) => return Ok(([PollFlags::empty(); N], Vec::new())),
        Err(errno) => return Err(errno).step("poll"),
    }
    let mut states = polled.iter().map(PollFd::revents);
    let first = fds.map(|fd| fd.and_then(|_| states.next()).unwrap_or(PollFlags::empty()));
    Ok((
        first,
        states
            .enumerate()
            .filter_map(|(index, state)| (!state.is_empty()).then_some(index))
            .collect(),
    ))
}
