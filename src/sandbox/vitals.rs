//! Status of a running program: numbers of proc(5), which the program cannot hide from its
//! supervisor.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use nix::unistd::Pid;
use replay_base::limits::{COUNTING_MS, MAX_COUNTED_PROCESSES};
use rustix::net::{SendFlags, send};

use super::kill_scope::each_descendant;
use super::wire::{Event, Vitals};

impl Vitals {
    /// Reads the status of a program, a child of this process; of a reaped one for `None`. Returns
    /// `None` if /proc cannot be read.
    fn look(program: Option<Pid>) -> Option<Self> {
        let (begun, most) = (Instant::now(), Duration::from_millis(COUNTING_MS));
        let processes = each_descendant()
            .take(MAX_COUNTED_PROCESSES)
            .take_while(|_| begun.elapsed() < most)
            .count() as u32;
        let ended = Self {
            state: 'Z',
            rss_bytes: 0,
            cpu_ms: 0,
            children_cpu_ms: 0,
            threads: 0,
            processes,
        };
        let Some(program) = program else {
            return Some(ended);
        };
        #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
        let stat = std::fs::read_to_string(format!("/proc/{program}/stat")).ok()?;
        let stat = Stat::parse(&stat)?;
        if stat.state == 'Z' {
            return Some(ended);
        }
        let ms = |ticks: u64| {
            ticks.saturating_mul(1000) / rustix::param::clock_ticks_per_second().max(1)
        };
        Some(Self {
            state: stat.state,
            rss_bytes: stat
                .rss_pages
                .saturating_mul(rustix::param::page_size() as u64),
            cpu_ms: ms(stat.ticks),
            children_cpu_ms: ms(stat.children_ticks),
            threads: stat.threads,
            processes,
        })
    }
}

/// Fields of `/proc/PID/stat`.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    state: char,
    ticks: u64,
    children_ticks: u64,
    threads: u32,
    rss_pages: u64,
}

impl Stat {
    fn parse(line: &str) -> Option<Self> {
        // The second field is the program's name in parentheses, which may contain more of them.
        let (_, fields) = line.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        // proc(5) counts from 1, and the state is field 3.
        let field = |number: usize| fields.get(number - 3).copied();
        // Clamps a number that is signed in proc(5) to 0.
        let number = |at: usize| Some(field(at)?.parse::<i64>().ok()?.max(0).cast_unsigned());
        Some(Self {
            state: field(3)?.chars().next()?,
            ticks: number(14)?.saturating_add(number(15)?),
            children_ticks: number(16)?.saturating_add(number(17)?),
            threads: u32::try_from(number(20)?).ok()?,
            rss_pages: number(24)?,
        })
    }
}

/// Answers the server's status requests, spending at most half of the time.
#[derive(Debug)]
pub(crate) struct Reporter {
    /// Highest pending request. Its answer covers the earlier ones, which may arrive after it.
    asked: Option<u64>,
    next: Instant,
}

impl Reporter {
    pub(crate) fn new() -> Self {
        Self {
            asked: None,
            next: Instant::now(),
        }
    }

    /// Records a request of the server.
    pub(crate) fn ask(&mut self, number: u64) {
        self.asked = self.asked.max(Some(number));
    }

    /// Time until [`Reporter::answer`] has work; `None` if no request is pending.
    pub(crate) fn pause(&self) -> Option<Duration> {
        self.asked
            .map(|_| self.next.saturating_duration_since(Instant::now()))
    }

    /// Answers a pending request if it is time. `program` is `None` after the program was reaped.
    pub(crate) fn answer(&mut self, server: BorrowedFd<'_>, program: Option<Pid>) {
        let begun = Instant::now();
        if begun < self.next {
            return;
        }
        let Some(number) = self.asked.take() else {
            return;
        };
        let event = Event::Status {
            number,
            vitals: Vitals::look(program),
        };
        if let Ok(packet) = serde_json::to_vec(&event) {
            // The answer is dropped if the server does not read: waiting for it could block
            // forever.
            let _ = send(server, &packet, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        }
        self.next = Instant::now() + begun.elapsed();
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, OwnedFd};

    use nix::unistd::getpid;
    use pretty_assertions::assert_eq;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::*;
    use crate::wire::receive_event;

    #[test]
    fn program_name_with_parentheses_is_parsed() {
        let line = "12 (a) R 1 (b) S 1 12 12 0 -1 4194304 100 200 0 0 5 6 7 8 20 0 3 0 4567 1000000 42 18446744073709551615 1\n";
        let expected = Stat {
            state: 'S',
            ticks: 11,
            children_ticks: 15,
            threads: 3,
            rss_pages: 42,
        };
        assert_eq!(Stat::parse(line), Some(expected));
        assert_eq!(
            [
                Stat::parse(""),
                Stat::parse("12 (a"),
                Stat::parse("12 (a) S 1 2")
            ],
            [None, None, None]
        );
    }

    #[test]
    fn child_status_is_read_by_parent() {
        let own = Vitals::look(Some(getpid())).unwrap();
        assert!(own.state == 'R' || own.state == 'S', "{own:?}");
        assert!(own.rss_bytes > 0 && own.threads > 0, "{own:?}");
        // No process has this number (`PID_MAX_LIMIT` of `linux/threads.h`).
        assert_eq!(Vitals::look(Some(Pid::from_raw(1 << 22))), None);
        let gone = Vitals::look(None).unwrap();
        assert_eq!((gone.state, gone.rss_bytes, gone.threads), ('Z', 0, 0));
    }
    fn numbers(socket: &OwnedFd) -> Vec<u64> {
        std::iter::from_fn(|| receive_event(socket).ok().flatten())
            .map(|(event, _)| match event {
                Event::Status {
                    number,
                    vitals: Some(_),
                } => number,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    fn pair() -> (OwnedFd, OwnedFd) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap()
    }

    #[test]
    fn pending_requests_get_one_delayed_answer() {
        let (here, there) = pair();
        let mut reporter = Reporter::new();
        reporter.answer(there.as_fd(), None);
        assert_eq!((reporter.pause(), numbers(&here)), (None, vec![]));
        for number in [1, 3, 2] {
            reporter.ask(number);
        }
        assert_eq!(reporter.pause(), Some(Duration::ZERO));
        reporter.answer(there.as_fd(), Some(getpid()));
        assert_eq!((reporter.pause(), numbers(&here)), (None, vec![3]));
        reporter.next = Instant::now() + Duration::from_mins(1);
        reporter.ask(4);
        reporter.answer(there.as_fd(), None);
        assert!(
            reporter
                .pause()
                .is_some_and(|pause| pause > Duration::from_secs(50))
        );
        assert_eq!(numbers(&here), Vec::<u64>::new());
    }

    #[test]
    fn full_socket_does_not_block_reporter() {
        let (here, there) = pair();
        // The supervisor's end is blocking, as outside of tests.
        rustix::io::ioctl_fionbio(&there, false).unwrap();
        let mut reporter = Reporter::new();
        for number in 0..5000 {
            reporter.next = Instant::now();
            reporter.ask(number);
            reporter.answer(there.as_fd(), None);
        }
        let heard = numbers(&here);
        assert!(heard.len() > 10 && heard.len() < 5000, "{}", heard.len());
    }
}
