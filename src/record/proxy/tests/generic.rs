use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::sync::Mutex;

use std::time::{Instant, SystemTime};

use super::*;
use crate::call::{Content, End, FirstMessages, Link, Refusal, Side};
use crate::matching::Connection;
use crate::protocol::generic::{GenericPlayer, GenericRecorder};
use crate::protocol::wire::{PlayStep, RecordStep, WirePlayer as _, WireRecorder as _};

/// Returns senders and texts of the messages, in order.
fn messages(exchange: &Exchange) -> Vec<(Side, String)> {
    let Content::Wire(_, wire) = &exchange.content else {
        panic!("{exchange:?}")
    };
    wire.messages
        .iter()
        .map(|message| (message.from, text(&message.bytes)))
        .collect()
}

#[test]
fn unknown_protocol_is_replayed_in_turns() {
    let server = Server::start(|mut stream| {
        let mut count = 0;
        loop {
            let mut line = Vec::new();
            let mut byte = [0];
            while !line.ends_with(b"\n") {
                if stream.read(&mut byte).unwrap_or(0) == 0 {
                    return;
                }
                line.push(byte[0]);
            }
            count += 1;
            stream
                .write_all(format!("{count}:{}", text(&line)).as_bytes())
                .unwrap();
            if line == b"quit\n" {
                return;
            }
        }
    });
    let (got, recorded) = record_and_replay(server, b"", |setup| {
        let mut stream = connect(setup.address);
        let mut got = Vec::new();
        for line in ["hello\n", "same\n", "same\n"] {
            stream.write_all(line.as_bytes()).unwrap();
            got.extend(until(&mut stream, b"\n"));
        }
        stream.write_all(b"quit\n").unwrap();
        stream.read_to_end(&mut got).unwrap();
        text(&got)
    });
    assert_eq!(got, "1:hello\n2:same\n3:same\n4:quit\n");
    let all: Vec<_> = recorded.exchanges.iter().map(messages).collect();
    let (client, server) = (Side::Client, Side::Server);
    let turn = |a: &str, b: &str| vec![(client, a.to_owned()), (server, b.to_owned())];
    let mut last = turn("quit\n", "4:quit\n");
    last.push((server, String::new()));
    assert_eq!(
        all,
        [
            turn("hello\n", "1:hello\n"),
            turn("same\n", "2:same\n"),
            turn("same\n", "3:same\n"),
            last
        ]
    );
}

#[test]
fn server_greeting_is_replayed_first() {
    let server = Server::start(|mut stream| {
        stream.write_all(b"220 ready\r\n").unwrap();
        until(&mut stream, b"\r\n");
        stream.write_all(b"250 hello\r\n").unwrap();
        let _ = stream.read(&mut [0]);
    });
    let (got, recorded) = record_and_replay(server, b"", |setup| {
        let mut stream = connect(setup.address);
        let mut got = until(&mut stream, b"\r\n");
        stream.write_all(b"EHLO me\r\n").unwrap();
        got.extend(until(&mut stream, b"\r\n"));
        text(&got)
    });
    assert_eq!(got, "220 ready\r\n250 hello\r\n");
    assert_eq!(recorded.exchanges.len(), 2);
}

#[test]
fn last_turns_are_recorded_while_server_keeps_connections() {
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let server = Server::start(move |mut stream| {
        let said = until(&mut stream, b"\n");
        stream.write_all(&said).unwrap();
        // Until the test has ended.
        let _ = held.lock().unwrap().recv();
    });
    let setup = setup(Mode::Record, server.address, b"");
    for number in 0..8 {
        let line = format!("{number}\n");
        let mut stream = connect(setup.address);
        stream.write_all(line.as_bytes()).unwrap();
        assert_eq!(text(&until(&mut stream, b"\n")), line);
    }
    let recorded = setup.proxy.finish();
    drop(release);
    let said: Vec<_> = recorded.exchanges.iter().map(messages).collect();
    let turn = |number| {
        let line = format!("{number}\n");
        vec![(Side::Client, line.clone()), (Side::Server, line)]
    };
    assert_eq!(said, (0..8).map(turn).collect::<Vec<_>>());
}

#[test]
fn split_message_and_its_prefix_are_distinguished() {
    let server = Server::start(|mut stream| {
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        stream
            .write_all(format!("{} bytes", got.len()).as_bytes())
            .unwrap();
    });
    let (got, _) = record_and_replay(server, b"", |setup| {
        ["\x01ab", "\x01abcdef", "\x01abc"].map(|message| {
            let mut stream = connect(setup.address);
            for piece in message.as_bytes().chunks(2) {
                stream.write_all(piece).unwrap();
            }
            // A server that needs no end may have answered and closed. Under load, the kernel then
            // answers with a reset.
            let _ = stream.shutdown(Shutdown::Write);
            let mut got = Vec::new();
            stream.read_to_end(&mut got).unwrap();
            text(&got)
        })
    });
    assert_eq!(got, ["3 bytes", "7 bytes", "4 bytes"]);
}

#[test]
fn unrecorded_message_closes_connection_as_miss() {
    let to: SocketAddr = "127.0.0.1:9".parse().unwrap();
    let (got, report) = run_replay(Vec::new(), to, |setup| {
        let mut stream = connect(setup.address);
        stream.write_all(b"\x00\x01what").unwrap();
        let mut got = Vec::new();
        let spoke = stream.read_to_end(&mut got).map(|_| got);
        let mut silent = connect(setup.address);
        let mut nothing = Vec::new();
        let waited = silent.read_to_end(&mut nothing).map(|_| nothing);
        (
            spoke.map_err(|error| error.kind()),
            waited.map_err(|error| error.kind()),
        )
    });
    assert_eq!(got, (Ok(Vec::new()), Ok(Vec::new())));
    assert_eq!(report.missed.len(), 2);
}

#[test]
fn bidirectional_bulk_data_does_not_deadlock() {
    const SIZE: usize = 8 * 1024 * 1024;
    let server = Server::start(|mut stream| {
        let mut reading = stream.try_clone().unwrap();
        let writer = thread::spawn(move || stream.write_all(&vec![7; SIZE]));
        let mut got = vec![0; SIZE];
        reading.read_exact(&mut got).unwrap();
        writer.join().unwrap().unwrap();
    });
    let setup = setup(Mode::Record, server.address, b"");
    let stream = connect(setup.address);
    let mut writing = stream.try_clone().unwrap();
    let writer = thread::spawn(move || writing.write_all(&vec![9; SIZE]));
    let mut got = vec![0; SIZE];
    (&stream).read_exact(&mut got).unwrap();
    writer.join().unwrap().unwrap();
    assert!(got.iter().all(|byte| *byte == 7));
}

/// Connects and closes without sending, or waits until the server closes.
fn silent(to: SocketAddr, waits: bool) {
    let mut stream = connect(to);
    if waits {
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    }
}

#[test]
fn idle_connections_are_recorded_once_without_miss() {
    let server = Server::start(|mut stream| {
        let _ = stream.read(&mut [0]);
    });
    let ((), recorded) = record_and_replay(server, b"", |setup| {
        silent(setup.address, false);
        silent(setup.address, false);
        // The third connection is open at the end.
        let (stream, begun) = (connect(setup.address), Instant::now());
        while setup.proxy.attempts.shared.state().counts.connections < 3 {
            assert!(begun.elapsed() < PATIENCE);
            thread::yield_now();
        }
        assert!(stream.peer_addr().is_ok());
    });
    assert_eq!(
        recorded.exchanges.iter().map(messages).collect::<Vec<_>>(),
        [vec![]]
    );
    assert_eq!(recorded.exchanges[0].end, End::Silent);
}

#[test]
fn server_close_of_idle_connection_is_replayed() {
    let ((), recorded) = record_and_replay(Server::start(drop), b"", |setup| {
        silent(setup.address, true);
    });
    assert_eq!(
        recorded
            .exchanges
            .iter()
            .map(|exchange| exchange.end)
            .collect::<Vec<_>>(),
        [End::Closed]
    );
}

#[test]
fn idle_connection_beside_calls_is_dropped() {
    let server = Server::start(|mut stream| {
        if stream.read(&mut [0]).unwrap_or(0) == 1 {
            stream.write_all(b"yes").unwrap();
        }
    });
    let ((), recorded) = record_and_replay(server, b"", |setup| {
        silent(setup.address, false);
        let mut stream = connect(setup.address);
        stream.write_all(b"?").unwrap();
        assert_eq!(until(&mut stream, b"s"), b"yes");
    });
    assert_eq!(recorded.exchanges.len(), 1, "{:?}", recorded.exchanges);
}

#[test]
fn message_on_recorded_idle_target_is_missed() {
    let to: SocketAddr = "127.0.0.1:9".parse().unwrap();
    let link = Link {
        target: Target {
            host: "127.0.0.1".to_owned(),
            port: 9,
        },
        tls: false,
        connection: 1,
    };
    let now = SystemTime::UNIX_EPOCH;
    let kept = vec![link.silent(now, now, Some(Side::Client))];
    let (got, report) = run_replay(kept, to, |setup| {
        silent(setup.address, false);
        let mut stream = connect(setup.address);
        stream.write_all(b"\x00what").unwrap();
        let _ = stream.shutdown(Shutdown::Write);
        stream.read(&mut [0]).map_err(|error| error.kind())
    });
    assert_eq!(got, Ok(0));
    let missed: Vec<&str> = report
        .missed
        .iter()
        .map(|miss| miss.asked.as_str())
        .collect();
    assert_eq!((missed, report.replayed), (vec!["TCP 127.0.0.1:9 what"], 0));
}

#[test]
fn refused_then_greeting_server_is_replayed() {
    let to: SocketAddr = "127.0.0.1:9".parse().unwrap();
    let link = Link {
        target: Target {
            host: "127.0.0.1".to_owned(),
            port: 9,
        },
        tls: false,
        connection: 2,
    };
    let now = SystemTime::UNIX_EPOCH;
    let refused = link.refused(Refusal::Connect(libc::ECONNREFUSED), 1, now);
    let mut recorder = GenericRecorder::new(link, false);
    recorder.take(Side::Server, b"220 ready\r\n", now);
    let Some(RecordStep::Done(greeting)) = recorder.end(Side::Client, SystemTime::now()).pop()
    else {
        panic!("nothing was recorded")
    };
    let (got, report) = run_replay(vec![refused, *greeting], to, |setup| {
        assert!(
            TcpStream::connect(setup.address)
                .unwrap()
                .read_to_end(&mut Vec::new())
                .is_err()
        );
        text(&until(&mut connect(setup.address), b"\r\n"))
    });
    assert_eq!((got.as_str(), report.missed), ("220 ready\r\n", vec![]));
}

#[test]
fn recorded_refusal_applies_only_to_its_index() {
    let to: SocketAddr = "127.0.0.1:9".parse().unwrap();
    let link = Link {
        target: Target {
            host: "127.0.0.1".to_owned(),
            port: 9,
        },
        tls: false,
        connection: 2,
    };
    let now = SystemTime::UNIX_EPOCH;
    let refused = link.refused(Refusal::Connect(libc::ECONNREFUSED), 1, now);
    let silence = link.silent(now, now, Some(Side::Client));
    let outline = Outline::of([&refused, &silence]);
    let target = &link.target;
    assert_eq!(
        [1, 2, 3].map(|nth| outline.refused(target, nth).is_some()),
        [true, false, false]
    );
    let ((), report) = run_replay(vec![refused, silence], to, |setup| {
        drop(connect(setup.address));
    });
    assert_eq!(report.missed, vec![]);
}

#[test]
fn turn_limit_applies_to_each_direction() {
    const HALF: usize = replay_base::limits::MAX_RECORDED_BODY_BYTES / 2 + 1;
    let link = Link {
        target: Target {
            host: "127.0.0.1".to_owned(),
            port: 9,
        },
        tls: false,
        connection: 1,
    };
    let now = SystemTime::UNIX_EPOCH;
    let lengths = |recorder: &mut GenericRecorder| match recorder
        .end(Side::Client, SystemTime::now())
        .pop()
    {
        Some(RecordStep::Done(exchange)) => messages(&exchange)
            .into_iter()
            .map(|(from, text)| (from, text.len()))
            .collect::<Vec<_>>(),
        other => panic!("{:?}", other.map(|_| "lost")),
    };
    let (piece, mut recorder) = (vec![b'x'; HALF], GenericRecorder::new(link.clone(), false));
    recorder.take(Side::Client, &piece, now);
    recorder.take(Side::Server, &piece, now);
    assert_eq!(
        lengths(&mut recorder),
        [(Side::Client, HALF), (Side::Server, HALF)]
    );
    recorder.take(Side::Client, &piece, now);
    recorder.take(Side::Client, &piece, now);
    let lost = "a message of one side at `127.0.0.1:9`: at most 128 MiB are recorded".to_owned();
    assert_eq!(
        recorder.end(Side::Client, SystemTime::now()),
        [RecordStep::Lost(lost)]
    );
}

/// Returns a factory of players for these recorded requests and answers.
fn player_of(calls: &[(&[u8], &[u8])]) -> (impl Fn() -> GenericPlayer, Arc<Recordings>) {
    let link = Link {
        target: Target {
            host: "127.0.0.1".to_owned(),
            port: 9,
        },
        tls: false,
        connection: 1,
    };
    let recorded = calls.iter().map(|(asked, answered)| {
        let mut recorder = GenericRecorder::new(link.clone(), false);
        recorder.take(Side::Client, asked, SystemTime::now());
        recorder.take(Side::Server, answered, SystemTime::now());
        let Some(RecordStep::Done(kept)) = recorder.end(Side::Client, SystemTime::now()).pop()
        else {
            panic!()
        };
        *kept
    });
    let book = Arc::new(Recordings::new(recorded.collect(), Noise::default()));
    let said: FirstMessages = Arc::new(calls.iter().map(|(asked, _)| Arc::from(*asked)).collect());
    let of = Arc::clone(&book);
    (
        move || GenericPlayer::new(link.clone(), Connection::on(&of), Arc::clone(&said), false),
        book,
    )
}

#[test]
fn pause_inside_message_waits_for_rest() {
    let (player, book) = player_of(&[(b"one two", b"answer")]);
    let mut slow = player();
    assert_eq!(
        (slow.take(b"one"), slow.waits(), slow.pause(), slow.waits()),
        (vec![], true, vec![], false)
    );
    assert_eq!(slow.take(b" two"), [PlayStep::Send(b"answer".to_vec())]);
    // An incomplete message is reported at the end.
    let mut half = player();
    assert_eq!(
        (half.take(b"one"), half.pause(), half.finish()),
        (vec![], vec![], vec![PlayStep::Close])
    );
    assert_eq!(book.report().missed[0].asked, "TCP 127.0.0.1:9 one");
}

#[test]
fn message_is_recognized_at_any_split() {
    let player = || player_of(&[(b"one", b"1"), (b"one two", b"2")]).0();
    let whole = b"one two";
    for cut in 1..whole.len() {
        let mut pieces = player();
        assert_eq!((cut, pieces.take(&whole[..cut])), (cut, vec![]));
        if cut > b"one".len() {
            assert_eq!((cut, pieces.pause()), (cut, vec![]));
        }
        assert_eq!(
            (cut, pieces.take(&whole[cut..])),
            (cut, vec![PlayStep::Send(b"2".to_vec())])
        );
    }
    let mut short = player();
    assert_eq!(
        (short.take(b"one"), short.pause()),
        (vec![], vec![PlayStep::Send(b"1".to_vec())])
    );
}

/// Starts a broker of lines: `pub` sends `hi` to the connections of `sub`.
fn broker() -> Server {
    let subscribers = Mutex::new(Vec::new());
    Server::start(move |mut stream| {
        let mut asked = Vec::new();
        let mut byte = [0];
        while stream.read(&mut byte).unwrap_or(0) == 1 {
            asked.push(byte[0]);
            let answer = match asked.as_slice() {
                b"sub\n" => {
                    let mut subscribers = subscribers.lock().unwrap();
                    subscribers.push(stream.try_clone().unwrap());
                    "subscribed\n"
                }
                b"pub\n" => {
                    for mut subscriber in subscribers.lock().unwrap().iter() {
                        subscriber.write_all(b"hi\n").unwrap();
                    }
                    "published\n"
                }
                b"ping\n" => "pong\n",
                _ => continue,
            };
            stream.write_all(answer.as_bytes()).unwrap();
            asked.clear();
        }
        // The clones keep it open.
        let _ = stream.shutdown(Shutdown::Both);
    })
}

#[test]
fn push_waits_for_request_on_other_connection() {
    let (got, _) = record_and_replay(broker(), b"", |setup| {
        let mut listener = connect(setup.address);
        listener.write_all(b"sub\n").unwrap();
        let answer = until(&mut listener, b"\n");
        let mut publisher = connect(setup.address);
        publisher.write_all(b"ping\n").unwrap();
        until(&mut publisher, b"\n");
        listener.set_nonblocking(true).unwrap();
        let before = listener.peek(&mut [0]).map_err(|error| error.kind());
        listener.set_nonblocking(false).unwrap();
        publisher.write_all(b"pub\n").unwrap();
        until(&mut publisher, b"\n");
        (text(&answer), before, text(&until(&mut listener, b"\n")))
    });
    let expected = (
        "subscribed\n".to_owned(),
        Err(std::io::ErrorKind::WouldBlock),
        "hi\n".to_owned(),
    );
    assert_eq!(got, expected);
}

#[test]
fn push_keeps_its_place_between_answers() {
    let (got, _) = record_and_replay(broker(), b"", |setup| {
        let [mut listener, mut publisher] = [connect(setup.address), connect(setup.address)];
        let ask = |stream: &mut TcpStream, line: &[u8]| {
            stream.write_all(line).unwrap();
            text(&until(stream, b"\n"))
        };
        let mut lines = vec![ask(&mut listener, b"sub\n")];
        for _ in 0..3 {
            lines.push(ask(&mut publisher, b"pub\n"));
            lines.push(text(&until(&mut listener, b"\n")));
            lines.push(ask(&mut listener, b"ping\n"));
        }
        lines.concat()
    });
    let round = "published\nhi\npong\n";
    assert_eq!(got, format!("subscribed\n{round}{round}{round}"));
}

const MQTT_CONNECT: &[u8] = b"\x10\x0d\0\x04MQTT\x04\x02\0\x01\0\x01a";

#[test]
fn heartbeats_are_not_recorded_and_always_answered() {
    let server = Server::start(|mut stream| {
        let mut connect = [0; MQTT_CONNECT.len()];
        stream.read_exact(&mut connect).unwrap();
        stream.write_all(b"\x20\x02\0\0").unwrap();
        while stream.read_exact(&mut [0; 2]).is_ok() {
            stream.write_all(b"\xd0\0").unwrap();
        }
    });
    let client = |beats: usize| {
        move |setup: &Setup| {
            let mut stream = connect(setup.address);
            stream.write_all(MQTT_CONNECT).unwrap();
            stream.read_exact(&mut [0; 4]).unwrap();
            for _ in 0..beats {
                let mut answer = [0; 2];
                stream.write_all(b"\xc0\0").unwrap();
                stream.read_exact(&mut answer).unwrap();
                assert_eq!(answer, *b"\xd0\0");
            }
        }
    };
    let to = server.address;
    let setup = setup(Mode::Record, to, b"");
    client(1)(&setup);
    let recorded = setup.proxy.finish().exchanges;
    drop(server);
    let bytes = |exchange: &Exchange| match &exchange.content {
        Content::Wire(_, wire) => wire.messages.iter().map(|it| it.bytes.clone()).collect(),
        _ => Vec::new(),
    };
    let calls: Vec<_> = recorded.iter().map(bytes).collect();
    assert_eq!(calls, [[MQTT_CONNECT.to_vec(), b"\x20\x02\0\0".to_vec()]]);
    let ((), report) = run_replay(recorded, to, client(3));
    assert_eq!(
        (report.replayed, report.missed, report.unused),
        (1, vec![], vec![])
    );
}

#[test]
fn heartbeat_after_unanswered_message_belongs_to_it() {
    let link = Link {
        target: Target {
            host: "127.0.0.1".to_owned(),
            port: 9,
        },
        tls: false,
        connection: 1,
    };
    let mut recorder = GenericRecorder::new(link, false);
    let now = SystemTime::now();
    let mut done = Vec::new();
    for (from, bytes) in [
        (Side::Client, "CONNECT {}\r\n"),
        (Side::Client, "PING\r\n"),
        (Side::Server, "PONG\r\n"),
        (Side::Client, "PING\r\n"),
        (Side::Server, "PONG\r\nMSG a 1 1\r\nx\r\n"),
        (Side::Client, "PONG\r\n"),
        (Side::Client, "PUB a 1\r\nx\r\n"),
    ] {
        done.extend(recorder.take(from, bytes.as_bytes(), now));
    }
    done.extend(recorder.end(Side::Client, now));
    let calls = done.iter().filter_map(|step| match step {
        RecordStep::Done(call) => Some(messages(call)),
        _ => None,
    });
    let (client, server) = (Side::Client, Side::Server);
    assert_eq!(
        calls.collect::<Vec<_>>(),
        [
            vec![
                (client, "CONNECT {}\r\nPING\r\n".to_owned()),
                (server, "PONG\r\n".to_owned()),
                (server, "MSG a 1 1\r\nx\r\n".to_owned()),
            ],
            vec![(client, "PUB a 1\r\nx\r\n".to_owned())],
        ]
    );
}

#[test]
fn miss_keeps_connection_open_for_a_while() {
    let (player, book) = player_of(&[(b"one", b"1")]);
    let close = PlayStep::CloseAfter(Duration::from_millis(200));
    assert_eq!(player().take(b"two"), [close]);
    assert_eq!(book.report().missed_count, 1);
}

#[test]
fn postgres_notification_reaches_idle_program() {
    const LOGIN: &[u8] = b"\0\0\0\x10\0\x03\0\0user\0u\0\0";
    const LISTEN: &[u8] = b"Q\0\0\0\x10LISTEN news\0";
    const READY: &[u8] = b"Z\0\0\0\x05I";
    let server = Server::start(|mut stream| {
        let mut asked = vec![0; LOGIN.len()];
        stream.read_exact(&mut asked).unwrap();
        stream
            .write_all(&[b"R\0\0\0\x08\0\0\0\0", READY].concat())
            .unwrap();
        let mut asked = vec![0; LISTEN.len()];
        stream.read_exact(&mut asked).unwrap();
        stream
            .write_all(&[b"C\0\0\0\x0bLISTEN\0", READY].concat())
            .unwrap();
        stream
            .write_all(b"A\0\0\0\x10\0\0\0\x07news\0hi\0")
            .unwrap();
        let _ = stream.read(&mut asked);
    });
    let (got, _) = record_and_replay(server, b"", |setup| {
        let mut stream = connect(setup.address);
        stream.write_all(LOGIN).unwrap();
        until(&mut stream, READY);
        stream.write_all(LISTEN).unwrap();
        until(&mut stream, READY);
        text(&until(&mut stream, b"hi\0"))
    });
    assert_eq!(
        got.escape_default().to_string(),
        "A\\u{0}\\u{0}\\u{0}\\u{10}\\u{0}\\u{0}\\u{0}\\u{7}news\\u{0}hi\\u{0}"
    );
}
