//! Tests with a scripted supervisor. Tests with real programs are in `tests/it/residents.rs`.

use std::os::fd::OwnedFd;
use std::thread::{self, JoinHandle};

use pretty_assertions::assert_eq;
use rustix::net::{RecvFlags, recv};

use super::*;
use crate::wire::{INTERRUPT, STATUS, receive, send_event};

const LONG: Duration = Duration::from_mins(1);

/// Starts a resident program whose supervisor sends [`Event::Started`] and then runs `script`.
fn scripted<T: Send + 'static>(
    running: &Slots,
    script: impl FnOnce(&OwnedFd) -> T + Send + 'static,
) -> (Resident, JoinHandle<T>) {
    let (here, there) = socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    let supervisor = thread::spawn(move || {
        let (request, mut handed) = receive::<Request>(&there).unwrap().unwrap();
        assert_eq!((request, handed.len()), (expected(), 4));
        let server = handed.remove(0);
        send_event(&server, &Event::Started, None).unwrap();
        script(&server)
    });
    let argv = ["/bin/program".into(), "argument".into()];
    let environment = [("A".into(), "b".into())];
    let program = Program {
        title: "a program that stays",
        argv: &argv,
        dir: CanonicalPath {
            path: "/src".into(),
            dev: 1,
            ino: 2,
        },
        environment: &environment,
    };
    let resident = Resident::start(
        &Launcher::over(here, None),
        &program,
        running,
        &CancelToken::new(),
    )
    .unwrap();
    (resident, supervisor)
}

fn expected() -> Request {
    Request {
        title: "a program that stays".into(),
        call: None,
        is_dry_run: false,
        run: Run::Program(vec!["/bin/program".into(), "argument".into()]),
        dir: CanonicalPath {
            path: "/src".into(),
            dev: 1,
            ino: 2,
        },
        environment: vec![("A".into(), "b".into())],
        stdin: true,
        terminal: None,
        announce: true,
        stays: true,
        intercept: None,
        guard: Guard::default(),
    }
}

fn hear(server: &OwnedFd) -> Vec<u8> {
    let mut words = [0; 16];
    let (length, _) = recv(server, &mut words[..], RecvFlags::empty()).unwrap();
    words[..length].to_vec()
}

fn question(number: u8) -> Vec<u8> {
    vec![STATUS, number, 0, 0, 0, 0, 0, 0, 0]
}

fn answer(server: &OwnedFd, number: u64, threads: u32) {
    let vitals = Vitals {
        state: 'R',
        rss_bytes: 4096,
        cpu_ms: 20,
        children_cpu_ms: 1500,
        threads,
        processes: threads + 1,
    };
    send_event(
        server,
        &Event::Status {
            number,
            vitals: Some(vitals),
        },
        None,
    )
    .unwrap();
}

#[test]
fn status_ignores_answer_to_earlier_request() {
    let (resident, supervisor) = scripted(&Slots::new(1), |server| {
        assert_eq!(hear(server), question(1));
        // Too late for the first request, and not the answer to the second.
        assert_eq!(hear(server), question(2));
        answer(server, 1, 1);
        answer(server, 2, 2);
        assert_eq!(hear(server), [INTERRUPT]);
        assert_eq!(hear(server), b"");
    });
    let silent = resident.status(Duration::from_millis(20)).unwrap_err();
    assert_eq!(
        silent.to_string(),
        "the supervisor of the program has not answered within 20 ms"
    );
    let status = resident.status(LONG).unwrap();
    let expected = ProgramStatus {
        state: 'R',
        rss_bytes: 4096,
        cpu: Duration::from_millis(20),
        children_cpu: Duration::from_millis(1500),
        threads: 2,
        uptime: status.uptime,
        processes: 3,
    };
    assert_eq!(status, expected);
    assert_eq!(resident.ended(), None);
    resident.interrupt().unwrap();
    drop(resident);
    supervisor.join().unwrap();
}

#[test]
fn status_answer_serves_all_earlier_requests() {
    let (resident, supervisor) = scripted(&Slots::new(1), |server| {
        let mut asked = [hear(server), hear(server), hear(server)];
        asked.sort();
        assert_eq!(asked, [question(1), question(2), question(3)]);
        answer(server, 3, 7);
        answer(server, 1, 9);
    });
    let threads = thread::scope(|scope| {
        let asking: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| resident.status(LONG).unwrap().threads))
            .collect();
        asking
            .into_iter()
            .map(|asking| asking.join().unwrap())
            .collect::<Vec<_>>()
    });
    assert_eq!(threads, [7, 7, 7]);
    supervisor.join().unwrap();
}

#[test]
fn status_of_ended_program_fails() {
    let running = Slots::new(1);
    let (resident, supervisor) = scripted(&running, |server| {
        assert_eq!(hear(server), question(1));
        let denied = vec![Denied::Memory];
        send_event(
            server,
            &Event::Ended {
                exit: Exit::Signal(9),
                left: 0,
                denied,
                changed: None,
            },
            None,
        )
        .unwrap();
    });
    let over = resident.status(LONG).unwrap_err();
    assert_eq!(
        over.to_string(),
        "the program has ended already, by signal 9"
    );
    assert_eq!(
        (resident.ended(), resident.take_denied()),
        (Some(Exit::Signal(9)), vec![Denied::Memory])
    );
    supervisor.join().unwrap();
    let over = resident.interrupt().unwrap_err();
    assert_eq!(
        over.hint().unwrap(),
        "start the program again; its memory is lost"
    );
    assert!(
        matches!(
            over,
            ExecError::Over {
                exit: Exit::Signal(9)
            }
        ),
        "{over:?}"
    );
    assert_eq!(running.len(), 1);
    drop(resident);
    assert!(running.is_empty());
}

#[test]
fn program_without_supervisor_counts_as_killed() {
    let (resident, supervisor) = scripted(&Slots::new(1), |_| ());
    supervisor.join().unwrap();
    let exit = resident
        .await_end(Instant::now() + LONG, &CancelToken::new())
        .unwrap();
    assert_eq!(
        (exit, resident.take_denied()),
        (Some(Exit::Signal(9)), vec![])
    );
}

#[test]
fn await_end_returns_when_call_is_cancelled() {
    let (resident, supervisor) = scripted(&Slots::new(1), hear);
    let cancel = CancelToken::new();
    assert_eq!(resident.await_end(Instant::now(), &cancel).unwrap(), None);
    cancel.cancel();
    assert_eq!(
        resident.await_end(Instant::now() + LONG, &cancel).unwrap(),
        None
    );
    drop(resident);
    assert_eq!(supervisor.join().unwrap(), b"");
}

#[test]
fn invalid_program_is_refused_before_request() {
    let (here, _there) = socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    let launcher = Launcher::over(here, None);
    let refused = |argv: &[RawString], environment: &[(OsString, OsString)]| {
        let dir = CanonicalPath {
            path: "/src".into(),
            dev: 1,
            ino: 2,
        };
        let program = Program {
            title: "a program that stays",
            argv,
            dir,
            environment,
        };
        let error =
            Resident::start(&launcher, &program, &Slots::new(1), &CancelToken::new()).unwrap_err();
        assert!(matches!(error, ExecError::Refused { .. }), "{error:?}");
        error.to_string()
    };
    let nul = "cannot start the command: an argument or a variable has a NUL byte: invalid input parameter";
    assert_eq!(refused(&["/bin/a".into(), "b\0".into()], &[]), nul);
    assert_eq!(
        refused(&["/bin/a".into()], &[("A".into(), "\0".into())]),
        nul
    );
    let relative =
        "cannot start the command: the program has no absolute path: invalid input parameter";
    assert_eq!(
        [refused(&[], &[]), refused(&["a".into()], &[])],
        [relative, relative]
    );
}
