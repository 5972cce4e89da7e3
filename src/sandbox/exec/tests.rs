//! Tests of the client with a scripted launcher and scripted supervisors. No process is started
//! here. Tests with real shells are in `tests/it/commands.rs`.

#![expect(clippy::disallowed_methods, reason = "tests lay out trees")]

use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use pretty_assertions::assert_eq;
use replay_base::cancel::CancelToken;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, recv, socketpair};

use super::launcher::{LaunchError, Ready};
use super::*;
use crate::wire::{CgroupView, receive, send, send_event};
use crate::{Event, Guard, Hello, Limits, MemoryHold, Network, Plan, PlannedDevices, Tier};

static NO_CHANGES: Changes<'static> = Changes::new(None, "execute_command");
const LONG: Duration = Duration::from_mins(1);

/// The supervisor's side of one command.
struct Peer {
    request: Request,
    control: OwnedFd,
    streams: Vec<OwnedFd>,
}

impl Peer {
    fn write(&self, stream: usize, bytes: &[u8]) {
        let mut done = 0;
        while done < bytes.len() {
            done += rustix::io::write(&self.streams[stream], &bytes[done..]).unwrap();
        }
    }

    fn say(&self, event: &Event) {
        send_event(&self.control, event, None).unwrap();
    }

    fn end(self, exit: Exit) {
        self.streams.into_iter().for_each(drop);
        send_event(
            &self.control,
            &Event::Ended {
                exit,
                left: 0,
                denied: vec![],
                changed: None,
            },
            None,
        )
        .unwrap();
        // Until the server has closed its end.
        while recv(&self.control, &mut [0_u8; 8][..], RecvFlags::empty())
            .is_ok_and(|(got, _)| got > 0)
        {}
    }

    /// Returns the next byte from the server; `None` at the end.
    fn hear(&self) -> Option<u8> {
        let mut word = [0; 1];
        let (got, _) = recv(&self.control, &mut word[..], RecvFlags::empty()).unwrap();
        (got > 0).then_some(word[0])
    }
}

/// Creates a launcher that passes each command to `supervise`, on its own thread.
fn launcher(supervise: impl Fn(Peer) + Send + Sync + 'static) -> Launcher {
    let (here, there) = socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    let supervise = std::sync::Arc::new(supervise);
    thread::spawn(move || {
        while let Some((request, mut streams)) = receive::<Request>(&there).unwrap() {
            let control = streams.remove(0);
            let supervise = std::sync::Arc::clone(&supervise);
            thread::spawn(move || {
                supervise(Peer {
                    request,
                    control,
                    streams,
                });
            });
        }
    });
    Launcher::over(here, None)
}

fn command(line: &str) -> Command<'_> {
    Command {
        changes: &NO_CHANGES,
        line,
        dir: CanonicalPath {
            path: "/src".into(),
            dev: 1,
            ino: 2,
        },
        terminal: None,
        path: None,
    }
}

fn foreground<'a>(
    launcher: &'a Launcher,
    timeout: Duration,
    running: &'a Slots,
    cancel: &'a CancelToken,
) -> Foreground<'a> {
    let grace = Duration::from_millis(50);
    Foreground {
        launcher,
        running,
        cancel,
        timeout,
        grace,
        output_cap_bytes: 10,
        files: None,
        over: None,
    }
}

fn run_it(
    launcher: &Launcher,
    timeout: Duration,
    running: &Slots,
    cancel: &CancelToken,
) -> Result<Outcome, ExecError> {
    foreground(launcher, timeout, running, cancel).run(&command("a line"), &mut |_, _| {})
}

#[test]
fn progress_callback_can_end_command() {
    let (sender, receiver) = channel();
    let launcher = launcher(move |peer| {
        let mut word = [0; 8];
        let (got, _) = recv(&peer.control, &mut word[..], RecvFlags::empty()).unwrap();
        sender.send(word[..got].to_vec()).unwrap();
        peer.end(Exit::Signal(15));
    });
    let (running, cancel, over) = (
        Slots::new(1),
        CancelToken::new(),
        std::cell::Cell::new(false),
    );
    let foreground = Foreground {
        grace: LONG,
        over: Some(&over),
        ..foreground(&launcher, LONG, &running, &cancel)
    };
    let outcome = foreground
        .run(&command("a line"), &mut |_, stage| {
            over.set(stage != Stage::Waiting);
        })
        .unwrap();
    assert_eq!(receiver.recv().unwrap(), [b'T', 15]);
    assert_eq!(
        outcome,
        Outcome {
            timed_out: true,
            ..finished(Exit::Signal(15))
        }
    );
}

fn simple(launcher: &Launcher) -> Result<Outcome, ExecError> {
    run_it(launcher, LONG, &Slots::new(1), &CancelToken::new())
}

fn finished(exit: Exit) -> Outcome {
    Outcome {
        would_change: None,
        stdout: Captured::default(),
        stderr: Captured::default(),
        exit,
        timed_out: false,
        cancelled: false,
        asked_by: None,
        left: 0,
        denied: vec![],
    }
}

#[test]
fn request_and_outcome_match_messages() {
    let launcher = launcher(|peer| {
        let expected = Request {
            title: "execute_command: a line".into(),
            call: None,
            is_dry_run: false,
            run: Run::Script("a line".into()),
            dir: CanonicalPath {
                path: "/src".into(),
                dev: 1,
                ino: 2,
            },
            environment: vec![],
            stdin: false,
            terminal: None,
            announce: false,
            stays: false,
            intercept: None,
            guard: Guard::default(),
        };
        assert_eq!((&peer.request, peer.streams.len()), (&expected, 2));
        peer.write(0, &vec![b'x'; 300_000]);
        peer.write(1, b"bad");
        peer.say(&Event::Ended {
            exit: Exit::Code(3),
            left: 2,
            denied: vec![Denied::Network],
            changed: None,
        });
    });
    assert_eq!(
        simple(&launcher).unwrap(),
        Outcome {
            would_change: None,
            stdout: Captured {
                end: vec![b'x'; 5],
                total_bytes: 300_000,
                truncated: true,
                ..Captured::whole(vec![b'x'; 10])
            },
            stderr: Captured::whole(b"bad".to_vec()),
            exit: Exit::Code(3),
            timed_out: false,
            cancelled: false,
            asked_by: None,
            left: 2,
            denied: vec![Denied::Network],
        }
    );
}

#[test]
fn run_returns_while_pipe_is_still_open() {
    let (sender, receiver) = channel();
    let launcher = launcher(move |peer| {
        peer.write(0, b"hi");
        peer.say(&Event::Ended {
            exit: Exit::Code(0),
            left: 0,
            denied: vec![],
            changed: None,
        });
        sender.send(peer).unwrap();
    });
    let outcome = simple(&launcher).unwrap();
    assert_eq!(outcome.stdout.bytes, b"hi");
    drop(receiver.recv().unwrap());
}

#[test]
fn time_limit_sends_term_then_kill() {
    let launcher = launcher(|peer| {
        assert_eq!([peer.hear(), peer.hear()], [Some(b'T'), Some(b'K')]);
        peer.end(Exit::Signal(9));
    });
    let begun = Instant::now();
    let outcome = run_it(
        &launcher,
        Duration::from_millis(100),
        &Slots::new(1),
        &CancelToken::new(),
    )
    .unwrap();
    assert_eq!(
        outcome,
        Outcome {
            timed_out: true,
            ..finished(Exit::Signal(9))
        }
    );
    assert!(begun.elapsed() >= Duration::from_millis(150));
}

#[test]
fn cancel_sends_kill_at_once() {
    let cancel = CancelToken::new();
    let token = cancel.clone();
    let launcher = launcher(move |peer| {
        token.cancel();
        assert_eq!(peer.hear(), Some(b'K'));
        peer.end(Exit::Signal(9));
    });
    let outcome = run_it(&launcher, LONG, &Slots::new(1), &cancel).unwrap();
    assert_eq!(
        outcome,
        Outcome {
            cancelled: true,
            ..finished(Exit::Signal(9))
        }
    );
}

/// Returns a pipe with the records of signalfd(2) for these signals.
fn signalled(signals: &[Signal]) -> OwnedFd {
    let (read, write) = rustix::pipe::pipe().unwrap();
    for signal in signals {
        let mut record = [0_u8; 128];
        record[..4].copy_from_slice(&(*signal as i32).to_ne_bytes());
        assert_eq!(rustix::io::write(&write, &record), Ok(128));
    }
    // The end of a pipe would be readable; a signalfd has no end.
    std::mem::forget(write);
    read
}

#[test]
fn second_forwarded_signal_sends_kill() {
    for (signals, words) in [
        (vec![Signal::SIGINT], vec![vec![b'T', 2]]),
        (
            vec![Signal::SIGHUP, Signal::SIGINT],
            vec![vec![b'T', 1], vec![b'K']],
        ),
        (
            vec![Signal::SIGINT, Signal::SIGINT, Signal::SIGQUIT],
            vec![vec![b'T', 2], vec![b'K']],
        ),
    ] {
        let (sender, receiver) = channel();
        let count = words.len();
        let launcher = launcher(move |peer| {
            let hear = || {
                let mut word = [0; 8];
                let (got, _) = recv(&peer.control, &mut word[..], RecvFlags::empty()).unwrap();
                word[..got].to_vec()
            };
            sender
                .send((0..count).map(|_| hear()).collect::<Vec<_>>())
                .unwrap();
            peer.end(Exit::Signal(9));
        });
        let come = signalled(&signals);
        let how = Intercepted {
            signals: Some(come.as_fd()),
            ..Intercepted::default()
        };
        let (running, cancel) = (Slots::new(1), CancelToken::new());
        let foreground = Foreground {
            grace: LONG,
            ..foreground(&launcher, LONG, &running, &cancel)
        };
        let outcome =
            foreground.run_intercepted(&command("a line"), &how, &mut |_| None, &mut |_, _| {});
        assert_eq!(receiver.recv().unwrap(), words);
        assert_eq!(
            outcome.unwrap(),
            Outcome {
                asked_by: Some(signals[0] as i32),
                ..finished(Exit::Signal(9))
            }
        );
    }
}

#[test]
fn supervisor_failure_returns_specific_error() {
    let vanished = launcher(drop);
    assert_eq!(
        simple(&vanished).unwrap_err().to_string(),
        "the supervisor of the command has crashed, so the result of the command is unknown"
    );
    let refused = launcher(|peer| {
        peer.say(&Event::Refused {
            step: "chdir".to_owned(),
            cause: Cause::Errno(2),
        });
    });
    assert_eq!(
        simple(&refused).unwrap_err().to_string(),
        "cannot start the command: chdir: No such file or directory (os error 2)"
    );
    let gone = launcher(drop);
    gone.end();
    let error = simple(&gone).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the launcher of commands has ended, and no command can be started without it"
    );
    assert_eq!(
        error.hint().unwrap(),
        "the operator must restart the server; file tools still work"
    );
}

#[test]
fn spawn_fails_when_launcher_is_gone() {
    let (here, there) = socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    let launcher = Launcher::over(here, None);
    drop(there);
    for _ in 0..2 {
        assert!(matches!(
            simple(&launcher).unwrap_err(),
            ExecError::NoLauncher
        ));
    }
}

#[test]
fn line_over_kernel_limit_fails_before_request() {
    let launcher = launcher(drop);
    let try_line = |line: &str| {
        foreground(&launcher, LONG, &Slots::new(1), &CancelToken::new())
            .run(&command(line), &mut |_, _| {})
            .unwrap_err()
    };
    let nul = try_line("echo a\0b");
    assert_eq!(
        nul.to_string(),
        "`command` has a NUL byte at offset 6, and a shell command cannot contain one"
    );
    let long = try_line(&"x".repeat(131_057));
    assert_eq!(
        long.to_string(),
        "`command` is 131057 bytes long, and at most 131056 bytes are allowed"
    );
}

#[test]
fn dropped_job_closes_supervisor_socket() {
    let (sender, receiver) = channel();
    let launcher = launcher(move |peer| sender.send(peer.hear()).unwrap());
    let job = launcher
        .spawn(&command("x").request(false, false).unwrap(), &[])
        .unwrap();
    let control = job.control();
    drop(job);
    assert_eq!(receiver.recv_timeout(LONG).unwrap(), None);
    drop(control);
}

/// Returns a launcher whose commands end when the test releases them, and the channel to do so.
fn launcher_with_release() -> (Launcher, std::sync::mpsc::Receiver<Sender<()>>) {
    let (started, starts) = channel();
    let launcher = launcher(move |peer| {
        let (release, released) = channel();
        started.send(release).unwrap();
        let _ = released.recv_timeout(LONG);
        peer.end(Exit::Code(0));
    });
    (launcher, starts)
}

#[test]
fn commands_over_limit_wait_for_slot() {
    let (launcher, starts) = launcher_with_release();
    let running = Slots::new(1);
    thread::scope(|scope| {
        let call = |cancel: CancelToken, timeout, stages: Sender<bool>| {
            let (launcher, running) = (&launcher, &running);
            scope.spawn(move || {
                foreground(launcher, timeout, running, &cancel).run(
                    &command("a line"),
                    &mut |_, stage| {
                        let _ = stages.send(stage == Stage::Waiting);
                    },
                )
            })
        };
        let (stages, heard) = channel();
        let first = call(CancelToken::new(), LONG, stages.clone());
        let release = starts.recv_timeout(LONG).unwrap();
        assert_eq!(running.len(), 1);

        let impatient = call(
            CancelToken::new(),
            Duration::from_millis(100),
            stages.clone(),
        );
        let error = impatient.join().unwrap().unwrap_err();
        assert!(matches!(error, ExecError::NoPlace { most: 1 }), "{error}");

        let cancelled = CancelToken::new();
        while heard.try_recv().is_ok() {}
        let unwanted = call(cancelled.clone(), LONG, stages.clone());
        assert!(heard.recv_timeout(LONG).unwrap());
        cancelled.cancel();
        assert!(matches!(
            unwanted.join().unwrap(),
            Err(ExecError::Cancelled)
        ));

        let second = call(CancelToken::new(), LONG, stages.clone());
        while !heard.recv_timeout(LONG).unwrap() {}
        release.send(()).unwrap();
        assert_eq!(first.join().unwrap().unwrap(), finished(Exit::Code(0)));
        starts.recv_timeout(LONG).unwrap().send(()).unwrap();
        assert_eq!(second.join().unwrap().unwrap(), finished(Exit::Code(0)));
        assert!(running.is_empty());
    });
}

#[test]
fn end_all_kills_running_commands() {
    let launcher = launcher(|peer| {
        assert_eq!(peer.hear(), Some(b'K'));
        peer.end(Exit::Signal(9));
    });
    let running = Slots::new(1);
    thread::scope(|scope| {
        let (stages, heard) = channel();
        let call = || {
            let (stages, launcher, running) = (stages.clone(), &launcher, &running);
            scope.spawn(move || {
                foreground(launcher, LONG, running, &CancelToken::new()).run(
                    &command("a line"),
                    &mut |_, stage| {
                        let _ = stages.send(stage == Stage::Waiting);
                    },
                )
            })
        };
        let first = call();
        assert!(!heard.recv_timeout(LONG).unwrap());
        let second = call();
        while !heard.recv_timeout(LONG).unwrap() {}
        assert_eq!(running.end_all(), 1);
        assert!(matches!(
            second.join().unwrap(),
            Err(ExecError::ShuttingDown)
        ));
        assert_eq!(first.join().unwrap().unwrap(), finished(Exit::Signal(9)));
    });
}

fn backgrounds(most: usize) -> BackgroundCommands {
    BackgroundCommands::new(
        OutputFiles::new(std::fs::File::open(std::env::temp_dir()).unwrap().into(), 8),
        most,
    )
}

fn begin(
    all: &BackgroundCommands,
    launcher: &Launcher,
) -> Result<std::sync::Arc<Background>, ExecError> {
    all.start(
        launcher,
        &command("a line"),
        None,
        Duration::from_millis(50),
        &CancelToken::new(),
    )
}

fn text(command: &Background, cursor: Option<u64>) -> (String, u64, u64) {
    let page = command.read(cursor, 100).unwrap();
    (
        String::from_utf8(page.bytes).unwrap(),
        page.skipped,
        page.next,
    )
}

#[test]
fn background_command_supports_read_write_end() {
    let launcher = launcher(|peer| {
        assert!(peer.request.stdin && peer.request.announce && peer.streams.len() == 3);
        peer.say(&Event::Started);
        let mut word = [0; 3];
        assert_eq!(rustix::io::read(&peer.streams[0], &mut word).unwrap(), 3);
        peer.write(1, &word);
        peer.write(2, "12€".as_bytes());
        assert_eq!([peer.hear(), peer.hear()], [Some(b'T'), Some(b'K')]);
        peer.write(1, b"bye");
        peer.end(Exit::Signal(9));
    });
    let (all, cancel) = (backgrounds(1), CancelToken::new());
    let command = begin(&all, &launcher).unwrap();
    let until = Instant::now() + LONG;
    assert_eq!((command.id(), command.state()), ("c1", State::Running));
    assert_eq!(command.write(b"abc", until, &cancel).unwrap(), Some(3));
    command.await_output(7, until, &cancel).unwrap();
    assert_eq!(text(&command, None), ("abc12€".to_owned(), 0, 8));
    assert_eq!(text(&command, None), (String::new(), 0, 8));
    assert_eq!(text(&command, Some(3)), ("12€".to_owned(), 0, 8));

    let full = begin(&all, &launcher).unwrap_err();
    assert_eq!(
        full.to_string(),
        "all 1 slots for background commands are in use (--max-background-commands): c1"
    );
    command.end();
    command.await_end(until, &cancel).unwrap();
    let ending = Ending {
        exit: Exit::Signal(9),
        timed_out: false,
        asked: true,
        left: 0,
        denied: vec![],
        changed: None,
    };
    assert_eq!(command.state(), State::Ended(ending));
    assert_eq!(text(&command, None), ("bye".to_owned(), 0, 11));
    assert_eq!(text(&command, Some(1)), ("12€bye".to_owned(), 2, 11));
    assert_eq!(command.write(b"x", until, &cancel).unwrap(), None);
    assert_eq!(all.find("c1").unwrap().line(), "a line");
    assert!(all.find("c2").is_none());
}

#[test]
fn incomplete_character_is_held_back_until_complete() {
    let (sender, receiver) = channel();
    let receiver = std::sync::Mutex::new(receiver);
    let launcher = launcher(move |peer| {
        peer.say(&Event::Started);
        peer.write(1, b"a\xe2\x82");
        receiver.lock().unwrap().recv_timeout(LONG).unwrap();
        peer.write(1, b"\xac");
        peer.end(Exit::Code(0));
    });
    let (all, cancel, until) = (backgrounds(1), CancelToken::new(), Instant::now() + LONG);
    let command = begin(&all, &launcher).unwrap();
    command.await_output(0, until, &cancel).unwrap();
    assert_eq!(text(&command, None), ("a".to_owned(), 0, 1));
    sender.send(()).unwrap();
    command.await_end(until, &cancel).unwrap();
    assert_eq!(text(&command, None), ("€".to_owned(), 0, 4));
}

#[test]
fn time_limit_hands_command_over_to_background() {
    let (sender, receiver) = channel();
    let receiver = std::sync::Mutex::new(receiver);
    let launcher = launcher(move |peer| {
        let go_on = || receiver.lock().unwrap().recv_timeout(LONG).unwrap();
        assert_eq!((peer.streams.len(), peer.request.announce), (2, false));
        peer.write(0, b"a\xe2\x82");
        go_on();
        peer.write(1, b"E");
        go_on();
        peer.write(0, b"\xacb\xe2");
        peer.end(Exit::Code(7));
    });
    let (all, running, cancel) = (backgrounds(1), Slots::new(1), CancelToken::new());
    let foreground = foreground(&launcher, Duration::from_millis(100), &running, &cancel);
    let waited = foreground
        .run_or_hand_over(
            &command("a line"),
            None,
            &mut || all.place().ok(),
            &mut |_, _| {},
        )
        .unwrap();
    let Waited::HandedOver(HandedOver {
        command,
        stdout,
        stderr,
    }) = waited
    else {
        panic!("{waited:?}")
    };
    assert_eq!((running.len(), stderr), (0, Captured::default()));
    // As much output as there was until then.
    let before = String::from_utf8(stdout.bytes).unwrap();
    assert_eq!(
        (command.read_position(), command.id(), command.state()),
        (before.len() as u64, "c1", State::Running)
    );
    let until = Instant::now() + LONG;
    sender.send(()).unwrap();
    command.await_output(1, until, &cancel).unwrap();
    let (middle, ..) = text(&command, None);
    sender.send(()).unwrap();
    command.await_end(until, &cancel).unwrap();
    let page = command.read(None, 100).unwrap();
    assert_eq!(
        (before + &middle, page.bytes.as_slice(), page.next),
        ("aE".to_owned(), &b"\xe2\x82\xacb\xe2"[..], 7)
    );
    let ending = Ending {
        exit: Exit::Code(7),
        timed_out: false,
        asked: false,
        left: 0,
        denied: vec![],
        changed: None,
    };
    assert_eq!(command.state(), State::Ended(ending));
}

#[test]
fn time_limit_without_background_slot_ends_command() {
    let launcher = launcher(|peer| {
        assert_eq!(peer.hear(), Some(b'T'));
        peer.end(Exit::Signal(15));
    });
    let (running, cancel) = (Slots::new(1), CancelToken::new());
    let foreground = foreground(&launcher, Duration::from_millis(100), &running, &cancel);
    let waited = foreground
        .run_or_hand_over(&command("a line"), None, &mut || None, &mut |_, _| {})
        .unwrap();
    let Waited::Over(outcome) = waited else {
        panic!("{waited:?}")
    };
    assert_eq!(
        outcome,
        Outcome {
            timed_out: true,
            ..finished(Exit::Signal(15))
        }
    );
}

#[test]
fn failed_background_command_reports_reason() {
    let all = backgrounds(1);
    let refused = launcher(|peer| {
        peer.say(&Event::Refused {
            step: "exec".to_owned(),
            cause: Cause::Errno(13),
        });
    });
    let error = begin(&all, &refused).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot start the command: exec: Permission denied (os error 13)"
    );

    let vanishes = launcher(|peer| peer.say(&Event::Started));
    let command = begin(&all, &vanishes).unwrap();
    command
        .await_end(Instant::now() + LONG, &CancelToken::new())
        .unwrap();
    assert_eq!(
        command.state(),
        State::Lost(ExecError::Vanished.to_string())
    );
}

#[test]
fn ended_background_commands_stay_listed() {
    let (sender, receiver) = channel();
    let launcher = launcher(move |peer| {
        peer.say(&Event::Started);
        sender.send(peer.hear()).unwrap();
        peer.end(Exit::Signal(9));
    });
    let all = backgrounds(2);
    for _ in 0..replay_base::limits::KEPT_BACKGROUND_COMMANDS + 3 {
        let command = begin(&all, &launcher).unwrap();
        command.end();
        command
            .await_end(Instant::now() + LONG, &CancelToken::new())
            .unwrap();
        assert_eq!(receiver.recv_timeout(LONG).unwrap(), Some(b'T'));
    }
    let last = begin(&all, &launcher).unwrap();
    let ids: Vec<String> = all
        .list()
        .iter()
        .map(|command| command.id().to_owned())
        .collect();
    assert_eq!(
        (ids.len(), ids[0].as_str(), ids[16].as_str()),
        (17, "c4", "c20")
    );
    assert_eq!(all.end_all(), 1);
    assert_eq!(receiver.recv_timeout(LONG).unwrap(), Some(b'K'));
    last.await_end(Instant::now() + LONG, &CancelToken::new())
        .unwrap();
    assert!(matches!(
        begin(&all, &launcher),
        Err(ExecError::ShuttingDown)
    ));
}

fn empty_plan() -> Plan {
    Plan {
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
        sockets: Vec::new(),
        public_only: Vec::new(),
        public: Vec::new(),
        scratch: "/tmp/x".into(),
        cache: None,
        layers: Vec::new(),
        cargo_home: None,
        private_home: false,
        environment: vec![("A".into(), "b".into())],
        limits: Limits::default(),
    }
}

fn greeting(answer: Option<Hello>) -> Result<Ready, LaunchError> {
    let plan = empty_plan();
    let (here, there) = socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    let expected = plan.clone();
    let peer = thread::spawn(move || {
        assert_eq!(receive::<Plan>(&there).unwrap().unwrap().0, expected);
        if let Some(answer) = answer {
            send(there.as_fd(), &answer, &[]).unwrap();
        }
    });
    let greeted = Launcher::over(here, None).greet(&plan, &mut |_| ());
    peer.join().unwrap();
    greeted
}

#[test]
fn launcher_build_sends_plan() {
    let (tmp, gaps) = (Some("/scratch/tmp".into()), vec!["a gap".to_owned()]);
    let memory = Some(MemoryHold::Watch {
        reason: "no cgroup".to_owned(),
    });
    let ready = Ready {
        home: None,
        tmp,
        landlock_abi: Some(6),
        memory,
        cgroup: Some(CgroupView::Shown),
        gaps,
    };
    let Ready {
        home,
        tmp,
        landlock_abi,
        memory,
        cgroup,
        gaps,
    } = ready.clone();
    assert_eq!(
        greeting(Some(Hello::Ready {
            home,
            tmp,
            landlock_abi,
            memory,
            cgroup,
            gaps
        }))
        .unwrap(),
        ready
    );
    let cannot = greeting(Some(Hello::Cannot {
        reason: "unshare: not permitted".to_owned(),
    }))
    .unwrap_err();
    assert_eq!(cannot.to_string(), "unshare: not permitted");
    assert!(matches!(greeting(None), Err(LaunchError::Ended)));
    let missing = Launcher::begin(std::path::Path::new("/no/such/program"))
        .and_then(|launcher| launcher.build(&empty_plan()));
    assert!(matches!(missing, Err(LaunchError::Start(_))));
    // A program that does not know the protocol.
    let other = Launcher::begin(std::path::Path::new("/bin/true"))
        .and_then(|launcher| launcher.build(&empty_plan()));
    assert!(matches!(other, Err(LaunchError::Ended)), "{other:?}");
}

#[test]
fn launcher_end_does_not_wait_for_cleanup() {
    let (here, there) = socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    #[expect(
        clippy::disallowed_methods,
        reason = "stands for a launcher that has much to remove"
    )]
    let child = std::process::Command::new("sleep")
        .arg("1000")
        .spawn()
        .unwrap();
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    let launcher = Launcher::over(here, Some(child));
    let commands = std::thread::spawn(move || {
        // The launcher sees that the server is gone, and ends its commands.
        assert_eq!(rustix::io::read(&there, &mut [0; 8]), Ok(0));
    });
    launcher.end();
    commands.join().unwrap();
    assert_eq!(
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL),
        Ok(())
    );
    let ended = nix::sys::wait::waitpid(pid, None).unwrap();
    assert_eq!(
        ended,
        nix::sys::wait::WaitStatus::Signaled(pid, nix::sys::signal::Signal::SIGKILL, false)
    );
}
