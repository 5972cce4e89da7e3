//! Real shells, each test bounded by the time limit of its command.
#![expect(clippy::disallowed_methods, reason = "tests lay out trees")]

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::*;
use crate::cancel::CancelToken;
use crate::limits::{KILL_GRACE_MS, OUTPUT_CAP_BYTES};

const LONG: Duration = Duration::from_secs(20);

fn handle(path: &std::path::Path) -> OwnedFd {
    rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap()
}

struct Shell {
    dir: OwnedFd,
    timeout: Duration,
    grace: Duration,
    cap: usize,
    cancel: CancelToken,
    running: Running,
}

impl Shell {
    fn new() -> Self {
        Self {
            dir: handle(std::path::Path::new("/")),
            timeout: LONG,
            grace: Duration::from_millis(KILL_GRACE_MS),
            cap: OUTPUT_CAP_BYTES,
            cancel: CancelToken::new(),
            running: Running::new(),
        }
    }

    fn try_run(&self, line: &str) -> Result<Outcome, ExecError> {
        self.watched(line, &mut |_, _| {})
    }

    fn watched(&self, line: &str, on_progress: &mut dyn FnMut(Duration, u64)) -> Result<Outcome, ExecError> {
        let command = Command {
            line,
            dir: self.dir.as_fd(),
            timeout: self.timeout,
            grace: self.grace,
            output_cap_bytes: self.cap,
        };
        let outcome = run(&command, &self.running, &self.cancel, on_progress);
        assert!(self.running.is_empty(), "a command that is over left the table");
        outcome
    }

    fn run(&self, line: &str) -> Outcome {
        self.try_run(line).unwrap()
    }
}

fn whole(text: &str) -> Captured {
    Captured { bytes: text.as_bytes().to_vec(), total_bytes: text.len() as u64, truncated: false }
}

fn done(stdout: &str, stderr: &str, exit: Exit) -> Outcome {
    Outcome { stdout: whole(stdout), stderr: whole(stderr), exit, timed_out: false, cancelled: false, pipe_held: false }
}

/// Descriptors of this process above 2 that a child gets: what the test runner's parent left open. Nothing
/// that the program opens itself may be among them.
fn inheritable() -> Vec<u32> {
    let flags = |entry: fs::DirEntry| {
        let fd = entry.file_name().to_str()?.parse().ok().filter(|fd| *fd > 2)?;
        let info = fs::read_to_string(entry.path()).ok()?;
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
        let close_on_exec = u64::from_str_radix(flags.trim(), 8).ok()? & 0o2_000_000 != 0;
        (!close_on_exec).then_some(fd)
    };
    fs::read_dir("/proc/self/fdinfo").unwrap().filter_map(|entry| flags(entry.unwrap())).collect()
}

/// Waits until the process with this number has ended; whether it did within ten seconds.
fn ends(number: &str) -> bool {
    let pid = Pid::from_raw(number.trim().parse().unwrap()).unwrap();
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else { return true };
    let mut fds = [PollFd::new(&pidfd, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: 10, tv_nsec: 0 })).unwrap() == 1
}

#[test]
fn gives_both_streams_and_the_exit_code() {
    let shell = Shell::new();
    assert_eq!(shell.run("echo out; echo err >&2; exit 7"), done("out\n", "err\n", Exit::Code(7)));
    assert_eq!(shell.run("true"), done("", "", Exit::Code(0)));
    assert_eq!(shell.run("no-such-program-here 2>/dev/null"), done("", "", Exit::Code(127)));
    assert_eq!(shell.run("kill -SEGV $$"), done("", "", Exit::Signal(11)));
}

#[test]
fn gets_no_input_no_descriptors_and_the_default_signals() {
    let shell = Shell::new();
    assert_eq!(shell.run("cat; readlink /proc/self/fd/0"), done("/dev/null\n", "", Exit::Code(0)));
    let own = inheritable();
    let listed = shell.run("ls /proc/self/fd").stdout.text().into_owned();
    let mut given: Vec<u32> = listed.lines().map(|line| line.parse().unwrap()).collect();
    given.retain(|fd| !own.contains(fd));
    // `ls` has one more open while it looks: the directory that it lists.
    assert!(given.starts_with(&[0, 1, 2]) && given.len() == 4, "{given:?}");
    // What the parent of this process ignored stays ignored; SIGPIPE (bit 12), which Rust ignores, does not.
    let own = set_of_signals("SigIgn:", &fs::read_to_string("/proc/self/status").unwrap());
    let child = shell.run("cat /proc/self/status").stdout.text().into_owned();
    assert!(own & 0x1000 != 0);
    assert_eq!(set_of_signals("SigIgn:", &child), own & !0x1000);
    assert_eq!(set_of_signals("SigBlk:", &child), 0);
}

/// One line of a status file, without the signals above 31: 32 and 33 are the C library's own.
fn set_of_signals(name: &str, status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    u64::from_str_radix(line.trim(), 16).unwrap() & 0x7fff_ffff
}

#[test]
fn leads_a_process_group_of_its_own() {
    let outcome = Shell::new().run("echo $$; ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat");
    let text = outcome.stdout.text().into_owned();
    let numbers: Vec<&str> = text.split_whitespace().collect();
    assert_eq!(numbers.len(), 2);
    assert_eq!(numbers[0], numbers[1]);
}

#[test]
fn keeps_the_cap_and_counts_the_rest_without_blocking_the_writer() {
    let mut shell = Shell::new();
    shell.cap = 1000;
    let outcome = shell.run("head -c 10000000 /dev/zero | tr '\\0' x; head -c 3000000 /dev/zero >&2");
    assert_eq!(outcome.exit, Exit::Code(0));
    assert_eq!(outcome.stdout, Captured { bytes: vec![b'x'; 1000], total_bytes: 10_000_000, truncated: true });
    assert_eq!(outcome.stderr, Captured { bytes: vec![0; 1000], total_bytes: 3_000_000, truncated: true });
}

#[test]
fn a_timeout_ends_a_command_that_listens() {
    let mut shell = Shell::new();
    shell.timeout = Duration::from_millis(300);
    shell.grace = LONG;
    let started = Instant::now();
    let outcome = shell.run("echo before; sleep 60");
    assert!(started.elapsed() < Duration::from_secs(10), "the grace was waited for");
    assert_eq!(outcome, Outcome { timed_out: true, ..done("before\n", "", Exit::Signal(15)) });
}

#[test]
fn a_timeout_ends_a_command_that_does_not_listen() {
    let mut shell = Shell::new();
    shell.timeout = Duration::from_millis(200);
    shell.grace = Duration::from_millis(300);
    let started = Instant::now();
    let outcome = shell.run("trap '' TERM; echo $$; sleep 60 & echo $!; wait; wait; sleep 60");
    assert!(started.elapsed() >= Duration::from_millis(500));
    assert!(outcome.timed_out && outcome.exit == Exit::Signal(9), "{outcome:?}");
    assert!(outcome.stdout.text().lines().all(ends));
}

#[test]
fn a_program_below_the_shell_keeps_its_grace() {
    let mut shell = Shell::new();
    shell.timeout = Duration::from_millis(300);
    shell.grace = LONG;
    // The outer shell dies of SIGTERM at once; the inner one still has something to say.
    let outcome = shell.run("sh -c 'trap \"echo cleaned; exit 0\" TERM; sleep 60 & wait' ; echo never");
    assert_eq!(outcome, Outcome { timed_out: true, ..done("cleaned\n", "", Exit::Signal(15)) });
}

#[test]
fn cancelling_ends_everything_at_once() {
    let shell = Shell::new();
    let cancel = shell.cancel.clone();
    let mut asked = None;
    // The first report comes after half a second, when the trap stands.
    let outcome = shell
        .watched("trap '' TERM; sleep 60 & echo $!; wait; sleep 60", &mut |_, _| {
            asked = Some(Instant::now());
            cancel.cancel();
        })
        .unwrap();
    assert!(asked.unwrap().elapsed() < Duration::from_millis(100), "{:?}", asked.unwrap().elapsed());
    assert!(outcome.cancelled && !outcome.timed_out && outcome.exit == Exit::Signal(9), "{outcome:?}");
    assert!(ends(&outcome.stdout.text()));

    let started = Instant::now();
    assert!(shell.run("sleep 60").cancelled, "a token that was cancelled before");
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn does_not_wait_for_a_background_job_and_ends_it() {
    let started = Instant::now();
    let outcome = Shell::new().run("sleep 60 & echo $!; echo hi");
    // Far below the minute, with room for a busy machine.
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    let text = outcome.stdout.text().into_owned();
    let (job, rest) = text.split_once('\n').unwrap();
    assert_eq!(rest, "hi\n");
    assert_eq!((outcome.exit, outcome.pipe_held), (Exit::Code(0), false));
    assert!(ends(job));
}

/// A shell in a fresh directory, and a line that starts `program` in a session of its own, waits until it
/// is there, and goes on with `rest`.
fn with_daemon(program: &str, rest: &str) -> (tempfile::TempDir, Shell, String) {
    let tree = tempfile::tempdir().unwrap();
    let mut shell = Shell::new();
    shell.dir = handle(tree.path());
    let line = format!("mkfifo gate; setsid sh -c 'echo $$ >&2; echo > gate; exec {program}' & read x < gate; {rest}");
    (tree, shell, line)
}

#[test]
fn does_not_wait_for_a_daemon_that_holds_the_pipe() {
    let (_tree, shell, line) = with_daemon("sleep 60", "echo hi");
    let started = Instant::now();
    let outcome = shell.run(&line);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!((outcome.stdout.clone(), outcome.exit), (whole("hi\n"), Exit::Code(0)));
    assert!(outcome.pipe_held);
    let daemon = Pid::from_raw(outcome.stderr.text().trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(daemon, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn a_daemon_that_floods_the_pipe_is_not_read_for_ever() {
    let (_tree, shell, line) = with_daemon("cat /dev/zero", "head -c 600000 /dev/zero");
    let started = Instant::now();
    let outcome = shell.run(&line);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert!(outcome.stdout.truncated && outcome.stdout.bytes.len() == OUTPUT_CAP_BYTES);
    // Its pipe has lost its reader.
    assert!(ends(&outcome.stderr.text()));
}

#[test]
fn runs_in_the_directory_of_the_handle_even_when_its_name_moves() {
    let tree = tempfile::tempdir().unwrap();
    let [before, after] = ["before", "after"].map(|name| tree.path().join(name));
    fs::create_dir(&before).unwrap();
    fs::write(before.join("mark"), "here").unwrap();
    let mut shell = Shell::new();
    shell.dir = handle(&before);
    fs::rename(&before, &after).unwrap();
    std::os::unix::fs::symlink("/", &before).unwrap();
    let after = fs::canonicalize(after).unwrap();
    assert_eq!(shell.run("cat mark; pwd -P"), done(&format!("here{}\n", after.display()), "", Exit::Code(0)));
}

#[test]
fn reports_progress_with_the_bytes_so_far() {
    let mut reports = Vec::new();
    let outcome = Shell::new().watched("echo 12345; echo 678 >&2; sleep 1.3", &mut |elapsed, bytes| {
        reports.push((elapsed, bytes));
    });
    assert_eq!(outcome.unwrap().exit, Exit::Code(0));
    assert!((1..=2).contains(&reports.len()), "{reports:?}");
    assert!(reports.iter().all(|(_, bytes)| *bytes == 10), "{reports:?}");
    assert!(reports.is_sorted() && reports[0].0 >= Duration::from_millis(500), "{reports:?}");
}

#[test]
fn a_panic_in_the_middle_leaves_nothing_behind() {
    let shell = Shell::new();
    let tree = tempfile::tempdir().unwrap();
    let note = tree.path().join("pid");
    let line = format!("echo $$ > {}; sleep 60", note.display());
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        shell.watched(&line, &mut |_, _| panic!("a fault in the progress report"))
    }));
    assert!(caught.is_err());
    assert!(shell.running.is_empty());
    assert!(ends(&fs::read_to_string(note).unwrap()));
}

#[test]
fn ending_all_ends_what_runs_and_lets_nothing_start() {
    let shell = Shell::new();
    let running = shell.running.clone();
    let mut ended = 0;
    let outcome = shell.watched("sleep 60 & echo $!; wait", &mut |_, _| ended = running.end_all()).unwrap();
    assert_eq!((ended, outcome.exit), (1, Exit::Signal(9)));
    assert!(ends(&outcome.stdout.text()));
    let refused = shell.try_run("echo no").unwrap_err();
    assert_eq!(refused.to_string(), "the server is shutting down and starts no more commands");
}

#[test]
fn refuses_what_the_kernel_cannot_take() {
    let shell = Shell::new();
    let nul = shell.try_run("echo a\0b").unwrap_err();
    assert_eq!(nul.to_string(), "`command` has a NUL byte at offset 6, and a shell command cannot contain one");
    let long = shell.try_run(&format!("#{}", "x".repeat(131_071))).unwrap_err();
    assert_eq!(long.to_string(), "`command` is 131072 bytes long, and at most 131071 bytes are allowed");
    assert!(long.hint().is_some());
    let longest = format!("true #{}", "x".repeat(131_071 - 6));
    assert_eq!(shell.run(&longest), done("", "", Exit::Code(0)));
}
