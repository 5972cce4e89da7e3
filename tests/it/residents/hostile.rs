//! Resident programs that resist being interrupted, queried and ended.

use pretty_assertions::assert_eq;
use replay_sandbox::exec::News;
use replay_sandbox::{Event, Guard, Request, Run};
use rustix::net::{SendFlags, send};

use super::*;

/// Restarts itself in a new session and exits, forever.
const HYDRA: &str = "#!/bin/sh\nsetsid sh \"$0\" \"$1\" &\n";

#[test]
fn program_ignoring_signals_is_killed() {
    everywhere(|fixture| {
        let talk = fixture.sh("trap '' INT TERM HUP QUIT; setsid sleep $1 & nohup sleep $1 & echo ready >&0; sleep $1");
        talk.expect_message("ready\n");
        talk.wait_for_processes(3);
        talk.resident.interrupt().unwrap();
        talk.resident.terminate();
        // Both were sent before this status was answered.
        assert_eq!(
            (
                talk.status().processes,
                talk.other_processes(),
                talk.resident.ended()
            ),
            (4, 3, None)
        );
        talk.resident.kill();
        assert_eq!(
            (talk.wait_exit(), talk.other_processes()),
            (Exit::Signal(9), 0)
        );
    });
}

#[test]
fn self_ended_program_leaves_no_process() {
    everywhere(|fixture| {
        for (how, exit) in [
            ("kill -9 $$", Exit::Signal(9)),
            ("kill -SEGV $$", Exit::Signal(11)),
            ("exit 5", Exit::Code(5)),
        ] {
            // Other processes hold its pipes and its channel open.
            let talk = fixture.sh(&format!(
                "trap '' TERM INT; setsid sleep $1 & sleep $1 & echo bye; echo bye >&0; {how}"
            ));
            assert_eq!(
                (talk.wait_exit(), talk.other_processes()),
                (exit, 0),
                "{how}"
            );
            assert_eq!(read_length(talk.resident.stdout(), 5), "bye\n");
            talk.expect_message("bye\n");
        }
    });
}

#[test]
fn closed_channel_does_not_end_program() {
    everywhere(|fixture| {
        let talk = fixture.sh("exec <&-; sleep $1");
        talk.wait_for_processes(1);
        assert_eq!(read_length(talk.resident.channel(), 1), "");
        assert_eq!((talk.resident.ended(), talk.status().processes), (None, 2));
        talk.resident.terminate();
        assert_eq!(talk.wait_exit(), Exit::Signal(15));
    });
}

#[test]
fn dropped_handle_ends_whole_program() {
    everywhere(|fixture| {
        let talk =
            fixture.sh("trap '' TERM INT; setsid sleep $1 & sleep $1 & echo ready >&0; read line");
        talk.expect_message("ready\n");
        talk.wait_for_processes(2);
        let tag = talk.tag.clone();
        drop(talk);
        assert!(fixture.running.is_empty());
        wait_until_no_process(&tag);
    });
}

#[test]
fn fork_bomb_is_counted_and_ended() {
    let limits = Limits {
        processes: Some(200),
        ..Limits::default()
    };
    everywhere_within(&limits, |fixture| {
        fs::write(fixture.work.join("hydra"), HYDRA).unwrap();
        let talk = fixture.sh(
            "trap '' INT; for i in 0 1 2 3 4 5 6 7 8 9; do sh hydra $1 & done
            i=0; while [ $i -lt 50 ]; do sleep $1 & i=$((i+1)); done; echo ready >&0; read line; echo $line >&0; read line",
        );
        talk.expect_message("ready\n");
        talk.wait_for_processes(50);
        let status = talk.wait_for_status(|status| status.processes > 51);
        assert!(status.processes < 1000, "{status:?}");
        talk.resident.interrupt().unwrap();
        talk.send_message("still here\n");
        talk.expect_message("still here\n");
        let tag = talk.tag.clone();
        drop(talk);
        wait_until_no_process(&tag);
    });
}

#[test]
fn program_can_be_ended_during_status_flood() {
    everywhere(|fixture| {
        let request = Request {
            title: String::new(),
            call: None,
            is_dry_run: false,
            run: Run::Script("while :; do sleep 0; done".into()),
            dir: place(&fixture.work),
            environment: vec![],
            stdin: false,
            terminal: None,
            announce: false,
            stays: true,
            intercept: None,
            guard: Guard::default(),
        };
        let null = fs::File::options().write(true).open("/dev/null").unwrap();
        let job = fixture
            .launcher
            .spawn(&request, &[null.as_fd(), null.as_fd()])
            .unwrap();
        // The replies are not read meanwhile.
        let until = Instant::now() + TIMEOUT;
        let mut asked = 0_u64;
        while asked < 20_000 {
            let words = [[b'S'].as_slice(), &asked.to_le_bytes()].concat();
            match send(&job, &words, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(_) => asked += 1,
                Err(Errno::AGAIN) => {
                    assert!(
                        Instant::now() < until,
                        "{:?}: the supervisor stands still at {asked}",
                        fixture.setting
                    );
                    std::thread::yield_now();
                }
                Err(errno) => panic!("{errno}"),
            }
        }
        while send(&job, b"K", SendFlags::DONTWAIT | SendFlags::NOSIGNAL) == Err(Errno::AGAIN) {
            assert!(Instant::now() < until, "{:?}", fixture.setting);
            std::thread::yield_now();
        }
        let mut answers = 0;
        loop {
            assert!(
                is_readable(job.as_fd(), TIMEOUT),
                "{:?}: no end",
                fixture.setting
            );
            match job.next_event().unwrap() {
                News::Said(Event::Status { number, vitals }, _) => {
                    assert!(number < asked && vitals.is_some(), "{number} {vitals:?}");
                    answers += 1;
                }
                News::Said(Event::Ended { exit, .. }, _) => {
                    assert_eq!((exit, answers > 0), (Exit::Signal(9), true));
                    break;
                }
                other => panic!("{:?}: {other:?}", fixture.setting),
            }
        }
    });
}

#[test]
fn descriptors_sent_by_program_are_dropped() {
    let python = "/usr/bin/python3";
    if !Path::new(python).exists() {
        return;
    }
    let source = "import array, os, socket
channel = socket.socket(fileno=0)
ends = os.pipe()
for i in range(100):
    channel.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [ends[1]]))])
os.close(ends[1])
channel.sendall(b'!')
os.read(ends[0], 1)
channel.sendall(b'closed')
os.read(0, 1)
";
    everywhere(|fixture| {
        let talk = ResidentProgram {
            fixture,
            resident: fixture.try_start(&[python, "-c", source]).unwrap(),
            tag: fresh_tag(),
        };
        // The pipe reaches its end when no queue and no descriptor table holds the other side.
        talk.expect_message(&format!("{}!closed", "x".repeat(100)));
    });
}
