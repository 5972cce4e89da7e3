//! Shell commands without a sandbox: time limits, leftover processes and background commands.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use replay_base::cancel::CancelToken;
use replay_base::limits::{KILL_GRACE_MS, OUTPUT_CAP_BYTES};
use replay_files::journal::Changes;
use replay_sandbox::exec::{
    Background, BackgroundCommands, Captured, Command, Ending, ExecError, Exit, Foreground,
    Launcher, Outcome, OutputFiles, Slots, Stage, State, place_of,
};
use replay_sandbox::{CanonicalPath, Limits, Network, Plan, PlannedDevices, Scratch, Tier};
use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;

use crate::harness::ends_within;

static CHANGES: Changes<'static> = Changes::new(None, "execute_command");
const LONG: Duration = Duration::from_mins(1);
/// Time for a shell to run its first commands, also on a busy machine.
const BEGUN: Duration = Duration::from_secs(2);

fn handle(path: &Path) -> OwnedFd {
    rustix::fs::open(
        path,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .unwrap()
}

struct Shell {
    launcher: Launcher,
    dir: CanonicalPath,
    timeout: Duration,
    grace: Duration,
    cap: usize,
    cancel: CancelToken,
    running: Slots,
    terminal: Option<(u16, u16)>,
    /// Contains the private directory of the launcher.
    tree: tempfile::TempDir,
    scratch: Scratch,
}

impl Shell {
    fn new() -> Self {
        let tree = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(tree.path()).unwrap();
        let plan = Plan {
            is_tried: true,
            journal: None,
            hide: None,
            tier: Tier::Off,
            network: Network::Host,
            answers_names: false,
            roots: vec![],
            hidden: Vec::new(),
            other_names: Vec::new(),
            protected: vec![],
            system: vec![],
            devices: PlannedDevices::default(),
            sockets: vec![],
            public_only: Vec::new(),
            public: Vec::new(),
            scratch: scratch.path().into(),
            cache: None,
            private_home: false,
            layers: Vec::new(),
            cargo_home: None,
            environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            limits: Limits::default(),
        };
        let (launcher, _) = Launcher::begin(Path::new(env!("CARGO_BIN_EXE_replay")))
            .unwrap()
            .build(&plan)
            .unwrap();
        Self {
            launcher,
            dir: place_of(handle(Path::new("/"))).unwrap(),
            timeout: LONG,
            grace: Duration::from_millis(KILL_GRACE_MS),
            cap: OUTPUT_CAP_BYTES,
            cancel: CancelToken::new(),
            running: Slots::new(4),
            terminal: None,
            tree,
            scratch,
        }
    }

    fn try_run(&self, line: &str) -> Result<Outcome, ExecError> {
        self.watched(line, &mut |_, _| {})
    }

    fn watched(
        &self,
        line: &str,
        on_progress: &mut dyn FnMut(Duration, Stage),
    ) -> Result<Outcome, ExecError> {
        let foreground = Foreground {
            launcher: &self.launcher,
            running: &self.running,
            cancel: &self.cancel,
            timeout: self.timeout,
            grace: self.grace,
            output_cap_bytes: self.cap,
            files: None,
            over: None,
        };
        let outcome = foreground.run(&self.command(line), on_progress);
        assert!(
            self.running.is_empty(),
            "a command that is over left the table"
        );
        outcome
    }

    fn command<'a>(&self, line: &'a str) -> Command<'a> {
        Command {
            changes: &CHANGES,
            line,
            dir: self.dir.clone(),
            terminal: self.terminal,
            path: None,
        }
    }

    fn run(&self, line: &str) -> Outcome {
        self.try_run(line).unwrap()
    }

    fn backgrounds(&self, most: usize, bytes: u64) -> BackgroundCommands {
        BackgroundCommands::new(
            OutputFiles::new(self.scratch.as_fd().try_clone_to_owned().unwrap(), bytes),
            most,
        )
    }

    fn start(&self, all: &BackgroundCommands, line: &str) -> Arc<Background> {
        all.start(
            &self.launcher,
            &self.command(line),
            None,
            self.grace,
            &self.cancel,
        )
        .unwrap()
    }

    /// Waits until the output of the command is `expected`.
    fn wait_for_output(&self, command: &Background, expected: &str) {
        let mut text = String::new();
        let until = Instant::now() + LONG;
        while text != expected {
            assert!(Instant::now() < until, "{text:?} instead of {expected:?}");
            command
                .await_output(command.read_position(), until, &self.cancel)
                .unwrap();
            text += &String::from_utf8(command.read(None, 4096).unwrap().bytes).unwrap();
        }
    }

    fn ended(&self, command: &Background) -> Ending {
        command
            .await_end(Instant::now() + LONG, &self.cancel)
            .unwrap();
        match command.state() {
            State::Ended(ending) => ending,
            state => panic!("{state:?}"),
        }
    }
}

fn whole(text: &str) -> Captured {
    Captured::whole(text.as_bytes().to_vec())
}

fn finished(stdout: &str, stderr: &str, exit: Exit) -> Outcome {
    let (stdout, stderr) = (whole(stdout), whole(stderr));
    Outcome {
        stdout,
        stderr,
        exit,
        timed_out: false,
        cancelled: false,
        asked_by: None,
        left: 0,
        denied: vec![],
        would_change: None,
    }
}

/// Returns true if the process with this PID ends in time.
fn ends_in_time(number: &str) -> bool {
    ends_within(Pid::from_raw(number.trim().parse().unwrap()).unwrap(), LONG)
}

#[test]
fn command_returns_both_streams_and_exit_code() {
    let shell = Shell::new();
    assert_eq!(
        shell.run("echo out; echo err >&2; exit 7"),
        finished("out\n", "err\n", Exit::Code(7))
    );
    assert_eq!(shell.run("true"), finished("", "", Exit::Code(0)));
    assert_eq!(
        shell.run("no-such-program-here 2>/dev/null"),
        finished("", "", Exit::Code(127))
    );
    assert_eq!(
        shell.run("kill -SEGV $$"),
        finished("", "", Exit::Signal(11))
    );
}

#[test]
fn command_starts_with_clean_descriptors_and_signals() {
    let shell = Shell::new();
    assert_eq!(
        shell.run("cat; readlink /proc/self/fd/0"),
        finished("/dev/null\n", "", Exit::Code(0))
    );
    // `ls` itself opens one more descriptor: the directory that it lists.
    assert_eq!(
        shell.run("ls /proc/self/fd"),
        finished("0\n1\n2\n3\n", "", Exit::Code(0))
    );
    let status = shell
        .run("cat /proc/self/status")
        .stdout
        .text()
        .into_owned();
    assert_eq!(
        ["SigBlk:", "SigIgn:"].map(|name| set_of_signals(name, &status)),
        [0, 0]
    );
}

/// Returns one signal set of a status file, without the signals above 31: the C library uses 32 and
/// 33.
fn set_of_signals(name: &str, status: &str) -> u64 {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap();
    u64::from_str_radix(line.trim(), 16).unwrap() & 0x7fff_ffff
}

#[test]
fn command_is_session_leader() {
    let outcome = Shell::new().run("cut -d' ' -f1,5,6,7 /proc/$$/stat; echo $$");
    let text = outcome.stdout.text().into_owned();
    let (stat, pid) = text.trim().split_once('\n').unwrap();
    assert_eq!(stat, format!("{pid} {pid} {pid} 0"));
}

#[test]
fn output_above_cap_is_counted_without_blocking() {
    let mut shell = Shell::new();
    shell.cap = 1000;
    let outcome =
        shell.run("head -c 10000000 /dev/zero | tr '\\0' x; head -c 3000000 /dev/zero >&2");
    assert_eq!(outcome.exit, Exit::Code(0));
    assert_eq!(
        outcome.stdout,
        Captured {
            end: vec![b'x'; 500],
            total_bytes: 10_000_000,
            truncated: true,
            ..Captured::whole(vec![b'x'; 1000])
        }
    );
    assert_eq!(
        outcome.stderr,
        Captured {
            end: vec![0; 500],
            total_bytes: 3_000_000,
            truncated: true,
            ..Captured::whole(vec![0; 1000])
        }
    );
}

#[test]
fn timeout_ends_command_with_sigterm() {
    let mut shell = Shell::new();
    shell.timeout = BEGUN;
    shell.grace = LONG;
    let started = Instant::now();
    let outcome = shell.run("echo before; sleep 600");
    assert!(started.elapsed() < LONG, "the grace was waited for");
    assert_eq!(
        outcome,
        Outcome {
            timed_out: true,
            ..finished("before\n", "", Exit::Signal(15))
        }
    );
}

#[test]
fn timeout_kills_command_that_ignores_sigterm() {
    let mut shell = Shell::new();
    shell.timeout = BEGUN;
    shell.grace = Duration::from_millis(300);
    let started = Instant::now();
    let outcome = shell.run("trap '' TERM; echo $$; sleep 600 & echo $!; wait; wait; sleep 600");
    assert!(started.elapsed() >= shell.timeout + shell.grace);
    assert!(
        outcome.timed_out && outcome.exit == Exit::Signal(9),
        "{outcome:?}"
    );
    assert!(outcome.stdout.text().lines().all(ends_in_time));
}

#[test]
fn child_of_shell_gets_grace_period() {
    let mut shell = Shell::new();
    shell.timeout = BEGUN;
    shell.grace = LONG;
    // The outer shell dies of SIGTERM immediately; the inner one still prints a line.
    let outcome =
        shell.run("sh -c 'trap \"echo cleaned; exit 0\" TERM; sleep 600 & wait' ; echo never");
    assert_eq!(
        outcome,
        Outcome {
            timed_out: true,
            ..finished("cleaned\n", "", Exit::Signal(15))
        }
    );
}

#[test]
fn cancellation_kills_all_processes_immediately() {
    // Use the best of several attempts: other tests may load the machine.
    let mut best = Duration::MAX;
    for _ in 0..25 {
        let shell = Shell::new();
        let cancel = shell.cancel.clone();
        let mut asked = None;
        let outcome = shell
            .watched(
                "trap '' TERM; sleep 600 & echo $!; wait; sleep 600",
                &mut |_, stage| {
                    // The trap is set once there is output.
                    if stage.bytes() > 0 {
                        asked.get_or_insert_with(Instant::now);
                        cancel.cancel();
                    }
                },
            )
            .unwrap();
        best = best.min(asked.unwrap().elapsed());
        assert!(
            outcome.cancelled && !outcome.timed_out && outcome.exit == Exit::Signal(9),
            "{outcome:?}"
        );
        assert!(ends_in_time(&outcome.stdout.text()));

        let started = Instant::now();
        assert!(
            shell.run("sleep 600").cancelled,
            "a token that was cancelled before"
        );
        assert!(started.elapsed() < LONG);
        if best < Duration::from_millis(100) {
            break;
        }
    }
    assert!(best < Duration::from_millis(100), "{best:?}");
}

#[test]
fn leftover_processes_are_killed_and_counted() {
    let started = Instant::now();
    let outcome = Shell::new().run("sleep 600 & echo $!; echo hi");
    // Far below the minute, with room for a busy machine.
    assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
    let text = outcome.stdout.text().into_owned();
    let (job, rest) = text.split_once('\n').unwrap();
    assert_eq!(rest, "hi\n");
    assert_eq!((outcome.exit, outcome.left), (Exit::Code(0), 1));
    assert!(ends_in_time(job));
}

/// Returns a shell in a fresh directory, and a command line. The line starts `program` in a new
/// session, waits for its start and continues with `rest`.
fn with_daemon(program: &str, rest: &str) -> (Shell, String) {
    let mut shell = Shell::new();
    shell.dir = place_of(handle(shell.tree.path())).unwrap();
    let line = format!(
        "mkfifo gate; setsid sh -c 'echo $$ >&2; echo > gate; exec {program}' & read x < gate; {rest}"
    );
    (shell, line)
}

#[test]
fn daemon_in_own_session_is_killed() {
    let (shell, line) = with_daemon("sleep 600", "echo hi");
    let started = Instant::now();
    let outcome = shell.run(&line);
    assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
    assert_eq!(
        (outcome.stdout.clone(), outcome.exit, outcome.left),
        (whole("hi\n"), Exit::Code(0), 1)
    );
    assert!(ends_in_time(&outcome.stderr.text()));
}

#[test]
fn daemon_flooding_output_pipe_is_killed() {
    let (shell, line) = with_daemon("cat /dev/zero", "head -c 600000 /dev/zero");
    let started = Instant::now();
    let outcome = shell.run(&line);
    assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
    assert!(outcome.stdout.truncated && outcome.stdout.bytes.len() == OUTPUT_CAP_BYTES);
    assert!(ends_in_time(&outcome.stderr.text()));
}

#[test]
fn command_runs_in_opened_directory_after_rename() {
    let mut shell = Shell::new();
    let [before, after] = ["before", "after"].map(|name| shell.tree.path().join(name));
    fs::create_dir(&before).unwrap();
    fs::write(before.join("mark"), "here").unwrap();
    let open = handle(&before);
    shell.dir = place_of(&open).unwrap();
    fs::rename(&before, &after).unwrap();
    std::os::unix::fs::symlink("/", &before).unwrap();
    // Renamed between check and start: the command must not run in a new directory of the same
    // name.
    for another in ["a link", "a directory"] {
        let error = shell.try_run("pwd").unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("cannot start the command: the working directory was moved"),
            "{another}: {text}"
        );
        fs::remove_file(&before).ok();
        fs::create_dir(&before).ok();
    }
    // Renamed before the check.
    shell.dir = place_of(&open).unwrap();
    let after = fs::canonicalize(after).unwrap();
    assert_eq!(
        shell.run("cat mark; pwd -P"),
        finished(&format!("here{}\n", after.display()), "", Exit::Code(0))
    );
}

#[test]
fn progress_reports_bytes_so_far() {
    let mut reports = Vec::new();
    let outcome = Shell::new().watched(
        "echo 12345; echo 678 >&2; sleep 1.3",
        &mut |elapsed, stage| {
            reports.push((elapsed, stage.bytes()));
        },
    );
    assert_eq!(outcome.unwrap().exit, Exit::Code(0));
    assert_eq!(
        reports.last().map(|(_, bytes)| *bytes),
        Some(10),
        "{reports:?}"
    );
    assert!(
        reports.is_sorted_by_key(|(elapsed, _)| *elapsed),
        "{reports:?}"
    );
    assert!(reports[0].0 >= Duration::from_millis(500), "{reports:?}");
}

#[test]
fn panic_during_command_leaves_no_process() {
    let shell = Shell::new();
    let note = shell.tree.path().join("pid");
    let line = format!("echo $$ > {}; sleep 600", note.display());
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        shell.watched(&line, &mut |_, _| panic!("a fault in the progress report"))
    }));
    assert!(caught.is_err());
    assert!(shell.running.is_empty());
    assert!(ends_in_time(&fs::read_to_string(note).unwrap()));
}

#[test]
fn end_all_kills_and_blocks_commands() {
    let shell = Shell::new();
    let running = shell.running.clone();
    let mut ended = 0;
    let outcome = shell
        .watched("sleep 600 & echo $!; wait", &mut |_, _| {
            ended = running.end_all();
        })
        .unwrap();
    assert_eq!((ended, outcome.exit), (1, Exit::Signal(9)));
    assert!(ends_in_time(&outcome.stdout.text()));
    let refused = shell.try_run("echo no").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the server is shutting down and starts no more commands"
    );
}

#[test]
fn command_line_at_kernel_limit_runs() {
    let longest = format!("true #{}", "x".repeat(131_056 - 6));
    assert_eq!(Shell::new().run(&longest), finished("", "", Exit::Code(0)));
}

#[test]
fn terminal_merges_streams_without_input() {
    let mut shell = Shell::new();
    shell.terminal = Some((24, 120));
    let line = "test -t 0 && test -t 1 && test -t 2 && stty size; cat; echo $TERM >&2; echo hi > /dev/tty; exit 3";
    assert_eq!(
        shell.run(line),
        finished("24 120\r\nxterm-256color\r\nhi\r\n", "", Exit::Code(3))
    );
}

#[test]
fn terminal_output_before_exit_is_complete() {
    let mut shell = Shell::new();
    shell.terminal = Some((24, 120));
    for _ in 0..10 {
        let outcome = shell.run("seq 5000");
        assert_eq!(outcome.stdout.text().lines().last(), Some("5000"));
        assert_eq!(outcome.stdout.text().lines().count(), 5000);
    }
}

#[test]
fn background_command_is_read_written_and_ended() {
    let shell = Shell::new();
    let all = shell.backgrounds(2, 4096);
    let command = shell.start(
        &all,
        "echo out; echo err >&2; read x; echo got $x; sleep 600 & sleep 600",
    );
    shell.wait_for_output(&command, "out\nerr\n");
    assert_eq!(
        command
            .write(b"it\n", Instant::now() + LONG, &shell.cancel)
            .unwrap(),
        Some(3)
    );
    shell.wait_for_output(&command, "got it\n");
    assert_eq!(command.state(), State::Running);
    command.end();
    let ending = shell.ended(&command);
    assert_eq!(
        Ending { left: 0, ..ending },
        Ending {
            exit: Exit::Signal(15),
            timed_out: false,
            asked: true,
            left: 0,
            denied: vec![],
            changed: None
        }
    );
}

#[test]
fn background_command_reads_until_stdin_closes() {
    let shell = Shell::new();
    let all = shell.backgrounds(1, 4096);
    let command = shell.start(&all, "cat; exit 4");
    // More bytes than the capacity of a pipe: the write completes only as far as the command reads.
    let text = "x".repeat(200_000);
    assert_eq!(
        command
            .write(text.as_bytes(), Instant::now() + LONG, &shell.cancel)
            .unwrap(),
        Some(200_000)
    );
    command.close_input();
    assert_eq!(shell.ended(&command).exit, Exit::Code(4));
    let page = command.read(Some(10), 9999).unwrap();
    assert_eq!(
        (page.skipped, page.bytes.len(), page.end),
        (200_000 - 4096 - 10, 4096, 200_000)
    );
    assert_eq!(
        command.write(b"x", Instant::now(), &shell.cancel).unwrap(),
        None
    );
}

#[test]
fn unread_input_does_not_block_writer() {
    let shell = Shell::new();
    let all = shell.backgrounds(1, 4096);
    let command = shell.start(&all, "sleep 600");
    let text = vec![b'x'; 1_000_000];
    let until = Instant::now() + Duration::from_millis(100);
    let taken = command.write(&text, until, &shell.cancel).unwrap().unwrap();
    assert!((4096..1_000_000).contains(&taken), "{taken}");
}

#[test]
fn background_terminal_accepts_input() {
    let mut shell = Shell::new();
    shell.terminal = Some((24, 120));
    let all = shell.backgrounds(1, 4096);
    let command = shell.start(
        &all,
        "tty > /dev/null && echo ready; read x; echo got $x; cat; exit 5",
    );
    shell.wait_for_output(&command, "ready\r\n");
    command
        .write(b"it\n", Instant::now() + LONG, &shell.cancel)
        .unwrap();
    shell.wait_for_output(&command, "it\r\ngot it\r\n");
    command.close_input();
    assert_eq!(shell.ended(&command).exit, Exit::Code(5));
}

#[test]
fn background_command_has_only_explicit_timeout() {
    let shell = Shell::new();
    let all = shell.backgrounds(1, 4096);
    let timeout = Some(Duration::from_millis(200));
    let command = all
        .start(
            &shell.launcher,
            &shell.command("sleep 600"),
            timeout,
            LONG,
            &shell.cancel,
        )
        .unwrap();
    let ending = shell.ended(&command);
    assert_eq!(
        (ending.exit, ending.timed_out, ending.asked),
        (Exit::Signal(15), true, false)
    );
}

#[test]
fn background_output_is_limited_to_ring_buffer() {
    let shell = Shell::new();
    let all = shell.backgrounds(1, 100_000);
    let command = shell.start(&all, "head -c 50000000 /dev/zero; echo done");
    assert_eq!(shell.ended(&command).exit, Exit::Code(0));
    let page = command.read(None, 1_000_000).unwrap();
    assert_eq!(
        (page.skipped, page.bytes.len(), page.next),
        (50_000_005 - 100_000, 100_000, 50_000_005)
    );
    assert!(page.bytes.ends_with(b"\0done\n"));
    // The file has no name, so that commands cannot open it.
    let names = fs::read_dir(shell.scratch.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect::<Vec<_>>();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn background_commands_end_with_table_or_launcher() {
    let shell = Shell::new();
    for way in ["all", "dropped", "launcher"] {
        let all = shell.backgrounds(2, 4096);
        let command = shell.start(&all, "trap '' TERM; echo $$; sleep 600 & echo $!; wait");
        let until = Instant::now() + LONG;
        while command.written() == 0
            || command
                .read(Some(0), 99)
                .unwrap()
                .bytes
                .split(|b| *b == b'\n')
                .count()
                < 3
        {
            command
                .await_output(command.written(), until, &shell.cancel)
                .unwrap();
        }
        let numbers = String::from_utf8(command.read(None, 99).unwrap().bytes).unwrap();
        match way {
            "all" => assert_eq!(all.end_all(), 1),
            "dropped" => drop(all),
            _ => {
                assert_eq!(all.end_all(), 1);
                shell.launcher.end();
            }
        }
        assert!(numbers.lines().all(ends_in_time), "{way}");
    }
    assert!(!shell.scratch.path().exists());
    assert!(matches!(shell.try_run("true"), Err(ExecError::NoLauncher)));
}
