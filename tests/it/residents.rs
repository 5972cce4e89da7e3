//! Resident programs, started by the built program as launcher: in every tier and, if the tests run
//! as root, also as an unprivileged user.

mod hostile;

use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use replay_base::cancel::CancelToken;
use replay_sandbox::exec::{
    ExecError, Exit, Launcher, Program, ProgramStatus, Resident, Slots, place_of,
};
use replay_sandbox::{
    CanonicalPath, Extent, Limits, Network, Plan, PlannedDevices, PlannedRoot, RawString, Scratch,
    Tier,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::Shutdown;

use crate::interception::{NOBODY, started_as_nobody};
use crate::walls::fresh_tag;

const TIMEOUT: Duration = Duration::from_mins(1);

/// Launcher of one tier.
struct LauncherFixture {
    launcher: Launcher,
    setting: (Tier, bool),
    work: PathBuf,
    running: Slots,
    cancel: CancelToken,
    _tree: tempfile::TempDir,
    _scratch: Scratch,
}

/// Runs a test in every available tier, with these limits.
fn everywhere_within(limits: &Limits, test: impl Fn(&LauncherFixture)) {
    let owners: &[bool] = if rustix::process::geteuid().is_root() {
        &[false, true]
    } else {
        &[false]
    };
    let settings = owners.iter().flat_map(|nobody| {
        [Tier::Namespaces, Tier::Landlock, Tier::Off].map(|tier| (tier, *nobody))
    });
    for setting in settings {
        #[expect(clippy::print_stdout, reason = "says where a test failed")]
        {
            println!("--- {setting:?}");
        }
        match LauncherFixture::start(setting, limits) {
            Ok(fixture) => test(&fixture),
            Err(reason) => {
                assert!(
                    std::env::var_os("REPLAY_TEST_REQUIRE_SANDBOX").is_none(),
                    "{setting:?}: {reason}"
                );
                #[expect(clippy::print_stderr, reason = "a tier that is left out is said")]
                {
                    eprintln!("skipped: {setting:?}: {reason}");
                }
            }
        }
    }
}

fn everywhere(test: impl Fn(&LauncherFixture)) {
    everywhere_within(&Limits::default(), test);
}

fn place(path: &Path) -> CanonicalPath {
    place_of(fs::File::open(path).unwrap().as_fd()).unwrap()
}

impl LauncherFixture {
    fn start(setting: (Tier, bool), limits: &Limits) -> Result<Self, String> {
        let tree = tempfile::Builder::new()
            .prefix("replay-it-")
            .tempdir()
            .unwrap();
        fs::set_permissions(tree.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let scratch = Scratch::create(tree.path()).unwrap();
        let work = tree.path().join("work");
        fs::create_dir(&work).unwrap();
        let program = if setting.1 {
            for path in [
                scratch.path(),
                &scratch.path().join("home"),
                &scratch.path().join("tmp"),
                &work,
            ] {
                std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
            started_as_nobody(tree.path())
        } else {
            env!("CARGO_BIN_EXE_replay").into()
        };
        let plan = Plan {
            is_tried: true,
            journal: None,
            hide: None,
            tier: setting.0,
            network: if setting.0 == Tier::Off {
                Network::Host
            } else {
                Network::None
            },
            answers_names: false,
            roots: vec![PlannedRoot {
                place: place(&work),
                writable: true,
                extent: Extent::Allowed,
            }],
            hidden: Vec::new(),
            other_names: Vec::new(),
            protected: vec![],
            system: ["/usr", "/bin", "/sbin", "/lib", "/lib64"]
                .map(Into::into)
                .to_vec(),
            devices: PlannedDevices::default(),
            sockets: Vec::new(),
            public_only: Vec::new(),
            public: Vec::new(),
            scratch: scratch.path().into(),
            cache: None,
            private_home: true,
            layers: Vec::new(),
            cargo_home: None,
            environment: vec![
                ("PATH".into(), "/usr/bin:/bin".into()),
                ("PLANNED".into(), "p".into()),
            ],
            limits: limits.clone(),
        };
        let (launcher, _) = Launcher::begin(&program)
            .and_then(|launcher| launcher.build(&plan))
            .map_err(|error| error.to_string())?;
        let (running, cancel) = (Slots::new(4), CancelToken::new());
        Ok(Self {
            launcher,
            setting,
            work,
            running,
            cancel,
            _tree: tree,
            _scratch: scratch,
        })
    }

    fn try_start(&self, argv: &[&str]) -> Result<Resident, ExecError> {
        let argv: Vec<RawString> = argv.iter().map(Into::into).collect();
        let environment = [("GIVEN".into(), "g".into())];
        let program = Program {
            title: "a program that stays",
            argv: &argv,
            dir: place(&self.work),
            environment: &environment,
        };
        Resident::start(&self.launcher, &program, &self.running, &self.cancel)
    }

    /// Starts a script with a unique text as `$1`.
    fn sh(&self, script: &str) -> ResidentProgram<'_> {
        let tag = fresh_tag();
        let resident = self
            .try_start(&["/bin/sh", "-c", script, "sh", &tag])
            .unwrap();
        ResidentProgram {
            fixture: self,
            resident,
            tag,
        }
    }
}

/// Running program and its channel.
struct ResidentProgram<'a> {
    fixture: &'a LauncherFixture,
    resident: Resident,
    tag: String,
}

impl ResidentProgram<'_> {
    fn send_message(&self, text: &str) {
        assert_eq!(
            rustix::io::write(self.resident.channel(), text.as_bytes()),
            Ok(text.len())
        );
    }

    /// Checks that the channel delivers this text next.
    #[track_caller]
    fn expect_message(&self, expected: &str) {
        assert_eq!(
            read_length(self.resident.channel(), expected.len()),
            expected,
            "{:?}",
            self.fixture.setting
        );
    }

    #[track_caller]
    fn status(&self) -> ProgramStatus {
        self.resident.status(TIMEOUT).unwrap()
    }

    /// Polls the status until the condition holds.
    #[track_caller]
    fn wait_for_status(&self, wanted: impl Fn(&ProgramStatus) -> bool) -> ProgramStatus {
        let until = Instant::now() + TIMEOUT;
        loop {
            let status = self.status();
            if wanted(&status) {
                return status;
            }
            assert!(
                Instant::now() < until,
                "{:?}: {status:?}",
                self.fixture.setting
            );
        }
    }

    #[track_caller]
    fn wait_exit(&self) -> Exit {
        self.resident
            .await_end(Instant::now() + TIMEOUT, &self.fixture.cancel)
            .unwrap()
            .expect("it ends")
    }

    /// Returns the number of processes with the tag as an argument, other than the program itself.
    fn other_processes(&self) -> usize {
        count(|arguments| {
            arguments.last() == Some(&self.tag.as_bytes()) && arguments[0] == b"sleep"
        })
    }

    #[track_caller]
    fn wait_for_processes(&self, wanted: usize) {
        let until = Instant::now() + TIMEOUT;
        while self.other_processes() != wanted {
            assert!(
                Instant::now() < until,
                "{:?}: {} instead of {wanted}",
                self.fixture.setting,
                self.other_processes()
            );
            // Yields the processor for the duration of a reply.
            let _ = self.resident.status(TIMEOUT);
        }
    }
}

/// Returns the number of living processes whose arguments satisfy the condition.
fn count(like: impl Fn(&[&[u8]]) -> bool) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|entry| {
            // An ended process has no arguments.
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let arguments: Vec<&[u8]> = line
                .strip_suffix(b"\0")
                .unwrap_or(&line)
                .split(|byte| *byte == 0)
                .collect();
            like(&arguments)
        })
        .count()
}

/// Waits until no process has this text among its arguments.
#[track_caller]
fn wait_until_no_process(tag: &str) {
    let until = Instant::now() + TIMEOUT;
    let left = || count(|arguments| arguments.contains(&tag.as_bytes()));
    while left() > 0 {
        assert!(Instant::now() < until, "{} are left", left());
        std::thread::yield_now();
    }
}

/// Returns true if data can be read within the limit.
fn is_readable(fd: BorrowedFd<'_>, limit: Duration) -> bool {
    poll(
        &mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)],
        Some(&Timespec::try_from(limit).unwrap()),
    )
    .unwrap()
        == 1
}

/// Reads this number of bytes, or fewer at the end of input or the deadline.
fn read_length(fd: BorrowedFd<'_>, length: usize) -> String {
    let until = Instant::now() + TIMEOUT;
    let mut text = vec![0; length];
    let mut got = 0;
    while got < length && Instant::now() < until {
        is_readable(fd, until.saturating_duration_since(Instant::now()));
        match rustix::io::read(fd, &mut text[got..]) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(Errno::AGAIN) => {}
            Err(errno) => panic!("{errno}"),
        }
    }
    String::from_utf8_lossy(&text[..got]).into_owned()
}

#[test]
fn program_answers_on_channel() {
    everywhere(|fixture| {
        let script = "echo out; echo err >&2; echo \"$PLANNED $GIVEN ${PWD##*/}\" >&0
            while read line; do echo \"got $line\" >&0; done; exit 3";
        let talk = fixture.sh(script);
        talk.expect_message("p g work\n");
        assert_eq!(read_length(talk.resident.stdout(), 4), "out\n");
        assert_eq!(read_length(talk.resident.stderr(), 4), "err\n");
        talk.send_message("a\nb\n");
        talk.expect_message("got a\ngot b\n");
        assert_eq!((talk.resident.ended(), fixture.running.len()), (None, 1));
        rustix::net::shutdown(talk.resident.channel(), Shutdown::Write).unwrap();
        assert!(is_readable(talk.resident.supervisor(), TIMEOUT));
        assert_eq!(
            (talk.wait_exit(), talk.resident.ended()),
            (Exit::Code(3), Some(Exit::Code(3)))
        );
        assert!(is_readable(talk.resident.supervisor(), Duration::ZERO));
        // No process holds an end any more.
        let [stdout, stderr] =
            [talk.resident.stdout(), talk.resident.stderr()].map(|end| read_length(end, 1));
        assert_eq!((stdout, stderr), (String::new(), String::new()));
        let over = talk.resident.status(TIMEOUT).unwrap_err().to_string();
        assert_eq!(over, "the program has ended already, with exit code 3");
        drop(talk);
        assert!(fixture.running.is_empty());
    });
}

#[test]
fn interrupt_reaches_all_descendants_of_program() {
    everywhere(|fixture| {
        for (work, others) in [
            ("sleep $1", 1),
            ("while [ -z \"$stop\" ]; do :; done", 0),
            ("sh -c 'sleep $1; echo not interrupted >&0' sh $1", 1),
            ("sh -c 'trap \"\" HUP; sleep $1 & wait' sh $1", 1),
        ] {
            let talk = fixture.sh(&format!(
                "trap 'echo interrupted >&0; stop=1' INT; echo ready >&0; {work}
                read line; echo \"$line $stop\" >&0; read line"
            ));
            talk.expect_message("ready\n");
            talk.wait_for_processes(others);
            talk.resident.interrupt().unwrap();
            talk.expect_message("interrupted\n");
            talk.send_message("still here\n");
            talk.expect_message("still here 1\n");
            assert_eq!(talk.resident.ended(), None);
            let status = talk.status();
            assert_eq!(
                (status.threads, status.processes <= 2),
                (1, true),
                "{work}: {status:?}"
            );
            let tag = talk.tag.clone();
            drop(talk);
            wait_until_no_process(&tag);
        }
    });
}

#[test]
fn state_of_program_is_always_answered() {
    everywhere(|fixture| {
        let talk = fixture.sh("read line; while :; do :; done");
        let waiting = talk.wait_for_status(|status| status.state == 'S');
        assert_eq!(
            (waiting.threads, waiting.processes, waiting.children_cpu),
            (1, 1, Duration::ZERO)
        );
        assert!(
            waiting.rss_bytes >= 4096 && waiting.rss_bytes < 1 << 30,
            "{waiting:?}"
        );
        talk.send_message("go\n");
        let busy =
            talk.wait_for_status(|status| status.cpu >= waiting.cpu + Duration::from_millis(50));
        assert!(
            busy.uptime > waiting.uptime && busy.cpu <= busy.uptime + Duration::from_millis(20),
            "{busy:?}"
        );
        talk.wait_for_status(|status| status.state == 'R');
        let outsider = talk.status();
        assert_eq!((outsider.threads, outsider.processes), (1, 1));
        talk.resident.kill();
        assert_eq!(talk.wait_exit(), Exit::Signal(9));

        let talk = fixture.sh("(while read line && [ $line = on ]; do :; done); echo done >&0; kill -STOP $$; read line");
        talk.send_message(&"on\n".repeat(20_000));
        talk.send_message("off\n");
        talk.expect_message("done\n");
        let stopped = talk.wait_for_status(|status| status.state == 'T');
        assert!(stopped.children_cpu > Duration::ZERO, "{stopped:?}");
    });
}

#[test]
fn program_ended_before_children_is_zombie() {
    everywhere(|fixture| {
        let talk = fixture
            .sh("trap '' TERM; sleep $1 & sleep $1 & trap - TERM; echo ready >&0; read line");
        talk.expect_message("ready\n");
        talk.wait_for_processes(2);
        talk.resident.terminate();
        let status = talk.wait_for_status(|status| status.state == 'Z' && status.processes == 2);
        assert_eq!(
            (status.rss_bytes, status.cpu, status.threads),
            (0, Duration::ZERO, 0)
        );
        assert_eq!(talk.resident.ended(), None);
        talk.resident.kill();
        assert_eq!(
            (talk.wait_exit(), talk.other_processes()),
            (Exit::Signal(15), 0)
        );
    });
}

#[test]
fn program_that_cannot_execute_is_refused() {
    everywhere(|fixture| {
        let missing = fixture
            .try_start(&["/usr/bin/no-such-program"])
            .unwrap_err()
            .to_string();
        assert_eq!(
            missing,
            "cannot start the command: execute `/usr/bin/no-such-program`: No such file or directory (os error 2)"
        );
        fs::write(fixture.work.join("text"), "no program").unwrap();
        let text = fixture.work.join("text").to_str().unwrap().to_owned();
        let refused = fixture.try_start(&[&text]).unwrap_err().to_string();
        assert_eq!(
            refused,
            format!("cannot start the command: execute `{text}`: Permission denied (os error 13)")
        );
        assert!(fixture.running.is_empty());
    });
}

#[test]
fn program_beyond_limit_is_refused() {
    everywhere(|fixture| {
        let all: Vec<_> = (0..4)
            .map(|_| fixture.sh("trap '' INT TERM; sleep $1 & read line"))
            .collect();
        let full = fixture.try_start(&["/bin/sh"]).unwrap_err();
        assert_eq!(
            full.to_string(),
            "all 4 slots for long-running programs are in use"
        );
        assert_eq!(fixture.running.end_all(), 4);
        for talk in &all {
            assert_eq!(
                (talk.wait_exit(), talk.other_processes()),
                (Exit::Signal(9), 0)
            );
        }
        assert!(matches!(
            fixture.try_start(&["/bin/sh"]).unwrap_err(),
            ExecError::ShuttingDown
        ));
    });
}

#[test]
fn python_obeys_interrupt_in_every_state() {
    let python = "/usr/bin/python3";
    if !Path::new(python).exists() {
        return;
    }
    let source = "import os, subprocess, sys, time
def spin():
    while True: pass
for work in (lambda: time.sleep(1000), spin, lambda: subprocess.run(['sleep', sys.argv[1]])):
    try:
        os.write(0, b'ready\\n')
        work()
    except KeyboardInterrupt:
        os.write(0, b'interrupted\\n')
os.read(0, 1)
";
    everywhere(|fixture| {
        let tag = fresh_tag();
        let resident = fixture.try_start(&[python, "-c", source, &tag]).unwrap();
        let talk = ResidentProgram {
            fixture,
            resident,
            tag,
        };
        for (others, sleeps) in [(0, true), (0, false), (1, true)] {
            talk.expect_message("ready\n");
            talk.wait_for_processes(others);
            // A signal between Python's check and the blocking call is seen only after that call.
            talk.wait_for_status(|status| !sleeps || status.state == 'S');
            talk.resident.interrupt().unwrap();
            talk.expect_message("interrupted\n");
        }
        // Python does not wait for a child that was interrupted with it.
        talk.wait_for_processes(0);
        assert_eq!(talk.resident.ended(), None);
    });
}
