//! Properties of files of recorded calls: each is read or refused, and writing preserves what was
//! read.

use std::time::{Duration, SystemTime};

use replay_record::redact::{Secrets, left_over};
use replay_record::store::{self, BodyFiles, BodyRef, Head};
use replay_record::{
    BodyEnd, Content, Dns, End, Exchange, Http, HttpRequest, HttpResponse, HttpVersion, Message,
    Noise, Protocol, Recording, Recordings, Side, StatementMeta, Target, Wire,
};

use super::Source;

/// Reads any bytes as a file of recorded calls. If the file is accepted, writing it preserves the
/// calls, and each request finds its own recording.
///
/// # Panics
/// If the property is violated.
pub fn a_file_of_calls_is_read_or_refused(bytes: &[u8]) {
    let nowhere = |_: &BodyRef| Err(String::new());
    let Ok(calls) = store::read("f", bytes, &nowhere) else {
        return;
    };
    let Ok(written) = store::write(
        "f",
        &calls.head,
        &calls.recordings,
        &mut BodyFiles::default(),
    ) else {
        return;
    };
    let again = store::read("f", &written, &nowhere)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&written)));
    assert_eq!(
        (again.head, &again.recordings, again.torn),
        (calls.head, &calls.recordings, None)
    );
    for recording in calls.recordings {
        let asked = recording.exchange.clone();
        let book = Recordings::of(vec![recording], Noise::default(), Secrets::default());
        book.find(&asked).unwrap_or_else(|miss| panic!("{miss}"));
    }
}

/// Writes any calls and reads them back unchanged. A truncated file yields the first calls. Each
/// request finds its recording, although secrets in the recordings are redacted.
///
/// # Panics
/// If the property is violated.
pub fn a_call_comes_back(bytes: &[u8]) {
    let mut source = Source(bytes);
    let exchanges: Vec<Exchange> = (0..=source.byte() % 3)
        .map(|_| exchange(&mut source))
        .collect();
    let recordings: Vec<Recording> = Recording::number(exchanges)
        .into_iter()
        .map(|it| Recording {
            reusable: it.reusable || matches!(it.exchange.content, Content::Dns(_)),
            ..it
        })
        .collect();
    let nowhere = |_: &BodyRef| Err(String::new());
    let file = store::write(
        "f",
        &Head::default(),
        &recordings,
        &mut BodyFiles::default(),
    )
    .unwrap();
    let calls = store::read("f", &file, &nowhere)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&file)));
    assert_eq!((calls.recordings, calls.torn), (recordings.clone(), None));

    let end = usize::from(source.byte()) * file.len() / 256;
    if let Ok(cut) = store::read("f", &file[..end], &nowhere) {
        assert_eq!(cut.recordings, recordings[..cut.recordings.len()]);
    }

    let mut redacted = recordings.clone();
    for recording in &mut redacted {
        Secrets::default().calls(std::slice::from_mut(&mut recording.exchange));
    }
    let book = Recordings::of(redacted, Noise::default(), Secrets::default());
    for recording in &recordings {
        book.find(&recording.exchange)
            .unwrap_or_else(|miss| panic!("{miss}"));
    }
}

/// Replaces the secrets of any calls. A second pass changes nothing, and the number of messages
/// stays the same. The list of suspicious remains is bounded.
///
/// # Panics
/// If the property is violated.
pub fn secrets_are_replaced_once(bytes: &[u8]) {
    let mut source = Source(bytes);
    let variable = (
        "API_TOKEN".to_owned(),
        String::from_utf8_lossy(source.bytes()).into_owned(),
    );
    let secrets = Secrets::new([variable].into_iter(), &[]).unwrap();
    let calls: Vec<Exchange> = (0..=source.byte() % 3)
        .map(|_| exchange(&mut source))
        .collect();
    let mut once = calls.clone();
    secrets.calls(&mut once);
    let mut twice = once.clone();
    secrets.calls(&mut twice);
    assert_eq!(twice, once);
    let messages = |calls: &[Exchange]| -> Vec<usize> {
        let count = |call: &Exchange| match &call.content {
            Content::Wire(_, wire) => wire.messages.len(),
            _ => 0,
        };
        calls.iter().map(count).collect()
    };
    assert_eq!(messages(&once), messages(&calls));
    for call in &once {
        assert!(left_over(call).len() <= 20);
    }
}

fn text(source: &mut Source<'_>) -> String {
    const PIECES: [&str; 12] = [
        "a",
        "Host",
        "yes",
        ": ",
        "#",
        "\n",
        "'",
        "\"",
        "1",
        "Cookie",
        "\u{e9}\u{2028}",
        "password=",
    ];
    let pieces = source.byte() % 4;
    (0..pieces).map(|_| source.choice(&PIECES)).collect()
}

fn fields(source: &mut Source<'_>) -> Vec<(String, Vec<u8>)> {
    (0..source.byte() % 4)
        .map(|_| (text(source), source.bytes().to_vec()))
        .collect()
}

fn exchange(source: &mut Source<'_>) -> Exchange {
    let protocols = [
        Protocol::Generic,
        Protocol::Redis,
        Protocol::Postgres,
        Protocol::MySql,
        Protocol::Mongo,
    ];
    let content = match source.byte() % 8 {
        0 => Content::Http(Box::new(http(source, HttpVersion::Http11))),
        1 => Content::Http(Box::new(http(source, HttpVersion::Http2))),
        2 => {
            let mut http = http(source, HttpVersion::Http2);
            http.request.body = source.bytes().to_vec();
            Content::Grpc(Box::new(http))
        }
        3 => Content::Dns(Dns {
            name: text(source).to_ascii_lowercase(),
            kind: source.choice(&["A", "AAAA", "TYPE257"]).to_owned(),
            code: source.byte() % 16,
            answers: vec![text(source)],
        }),
        _ => {
            let protocol = source.choice(&protocols);
            let mut messages: Vec<Message> = (0..source.byte() % 5)
                .map(|_| Message {
                    from: source.choice(&[Side::Client, Side::Server]),
                    bytes: source.bytes().to_vec(),
                })
                .collect();
            // Messages after `ReadyForQuery` are notifications, which have their times.
            messages.retain(|message| message.bytes.first() != Some(&b'Z'));
            Content::Wire(
                protocol,
                Wire {
                    messages,
                    session: source.flag(),
                    meta: StatementMeta {
                        types: source.bytes().iter().copied().map(u32::from).collect(),
                        results: source.bytes().iter().copied().map(u16::from).collect(),
                        bound: text(source),
                        rows_before: u64::from(source.byte()),
                    },
                    ..Wire::default()
                },
            )
        }
    };
    let sent_at = SystemTime::UNIX_EPOCH
        + Duration::new(
            u64::from(source.byte()) << 24,
            u32::from(source.byte()) * 1000,
        );
    Exchange {
        target: Target {
            host: source.choice(&["a.example", "::1", "127.0.0.1"]).to_owned(),
            port: u16::from(source.byte()),
        },
        tls: source.flag(),
        connection: u64::from(source.byte()),
        sent_at,
        answered_at: sent_at + Duration::from_millis(u64::from(source.byte())),
        end: End::Answered,
        content,
    }
}

fn http(source: &mut Source<'_>, version: HttpVersion) -> Http {
    let response = source.flag().then(|| HttpResponse {
        version,
        status: 200 + u16::from(source.byte()),
        reason: if version == HttpVersion::Http11 {
            text(source)
        } else {
            String::new()
        },
        headers: fields(source),
        body: source.bytes().to_vec(),
        body_end: source.choice(&[BodyEnd::Complete, BodyEnd::Truncated, BodyEnd::CutOff]),
        is_coded: source.flag(),
        trailers: fields(source),
    });
    let request = HttpRequest {
        version,
        method: source.choice(&["GET", "POST", "M-SEARCH"]).to_owned(),
        scheme: source.choice(&["http", "https"]).to_owned(),
        authority: text(source),
        path: format!("/{}", text(source)),
        headers: fields(source),
        body: source.bytes().to_vec(),
    };
    Http { request, response }
}
