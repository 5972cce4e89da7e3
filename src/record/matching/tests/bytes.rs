//! Messages of unknown protocols: texts and spans of bytes.

use pretty_assertions::assert_eq;

use super::*;

const RECORDED: &str = "3f1c9a52-0d6e-4a7b-9c58-1b2d3e4f5a6b";
const ASKED: &str = "b7e0d4c1-9f3a-4e2b-8d6c-0a1b2c3d4e5f";

fn tcp(asked: &[u8], answer: &[u8]) -> Exchange {
    wire(Protocol::Generic, asked, answer, false)
}

/// Returns an opening packet of MQTT.
fn connect(client: &str) -> Exchange {
    let length = client.len() as u8;
    let head = [&[0x10, 12 + length, 0, 4][..], b"MQTT\x04\x02\0\x3c\0"].concat();
    tcp(&[&head, &[length][..], client.as_bytes()].concat(), b"ack")
}

fn publish(packet: u8) -> Exchange {
    tcp(
        &[b"\x32\x09\0\x04news\0", &[packet][..], b"hi"].concat(),
        b"ack",
    )
}

fn acknowledge(packet: u8) -> Exchange {
    tcp(&[0x40, 2, 0, packet], b"ack")
}

fn book_with(call: Exchange, declared: &DeclaredNoise) -> Recordings {
    let mut noise = Noise::default();
    noise.declare(Some(&call), declared).unwrap();
    Recordings::new(vec![call], noise)
}

fn differences(recorded: Exchange, asked: &Exchange) -> Vec<String> {
    let book = Recordings::new(vec![recorded], Noise::default());
    book.find(asked).unwrap_err().closest.unwrap().differences
}

#[test]
fn tcp_message_with_new_id_gets_answer_with_it() {
    let call = |id: &str| {
        let message = [&b"\x01$"[..], id.as_bytes(), b"\0"].concat();
        tcp(&message, format!("\x02${id}").as_bytes())
    };
    let book = Recordings::new(vec![call(RECORDED)], Noise::default());
    assert_eq!(ask(&book, &call(ASKED)), Ok(format!("\x02${ASKED}")));
}

#[test]
fn tcp_message_with_any_binary_time_near_run_matches() {
    // The last byte of a double may be printable.
    let call = |at: SystemTime| {
        let secs = at.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let double = secs.as_secs_f64().to_be_bytes();
        let millis = (secs.as_millis() as u64).to_be_bytes();
        let message = [
            b"\x01",
            &double[..],
            b"text\x07",
            &millis,
            RECORDED.as_bytes(),
        ];
        Exchange {
            sent_at: at,
            ..tcp(&message.concat(), b"ok")
        }
    };
    let now = SystemTime::now();
    for micros in 0..256 {
        let at = now - Duration::from_micros(3_600_000_000 + micros);
        let book = Recordings::new(vec![call(at)], Noise::default());
        assert_eq!(ask(&book, &call(now)), Ok("ok".to_owned()));
    }
}

#[test]
fn redis_value_with_msgpack_time_matches() {
    let call = |at: SystemTime| {
        let millis = at
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap()
            .as_millis() as f64;
        let head = b"*3\r\n$3\r\nSET\r\n$3\r\njob\r\n$9\r\n\xcb";
        let command = [&head[..], &millis.to_be_bytes(), b"\r\n"].concat();
        Exchange {
            sent_at: at,
            ..wire(Protocol::Redis, &command, b"+OK\r\n", false)
        }
    };
    let now = SystemTime::now();
    let book = Recordings::new(vec![call(now - Duration::from_hours(1))], Noise::default());
    assert_eq!(ask(&book, &call(now)), Ok("+OK\r\n".to_owned()));
}

#[test]
fn declared_noise_of_tcp_ignores_text_or_pattern() {
    let value = DeclaredNoise {
        values: vec!["^client-[0-9]+$".to_owned()],
        ..DeclaredNoise::default()
    };
    for declared in [learned(&["text.2"]), value] {
        let book = book_with(connect("client-17"), &declared);
        assert_eq!(ask(&book, &connect("client-42")), Ok("ack".to_owned()));
    }
    let book = book_with(
        connect("client-17"),
        &learned(&["bytes.0-3", "bytes.8-13", "text.2"]),
    );
    assert_eq!(ask(&book, &connect("client-1042")), Ok("ack".to_owned()));
    assert!(book.find(&publish(1)).is_err());
}

#[test]
fn noise_of_tcp_is_learned_for_alike_messages() {
    let run = |client: &str, packet| vec![connect(client), publish(packet), acknowledge(packet)];
    let (ours, theirs) = (run("client-17", 1), run("client-42", 2));
    let (noise, lessons) = learn(&ours, &theirs);
    let found: Vec<_> = lessons
        .iter()
        .map(|lesson| (lesson.place.as_str(), lesson.changes[0].field.as_str()))
        .collect();
    let expected = [
        ("TCP db:5432 news ", "bytes.8-11"),
        ("TCP db:5432 MQTT ? ", "text.2"),
    ];
    assert_eq!(found, expected);
    // Without its bytes an acknowledgement is any message.
    assert_eq!(noise.learned(&ours[2]), None);
    assert_eq!(noise.unlike(&ours, &theirs), 1);
    let book = Recordings::new(ours, noise);
    assert_eq!(ask(&book, &connect("client-99")), Ok("ack".to_owned()));
}

#[test]
fn missed_tcp_message_names_texts_and_spans() {
    assert_eq!(
        differences(publish(1), &publish(7)),
        [
            "bytes.8-11: recorded `0x00016869`, asked `0x00076869`",
            "only values differ. If the program was changed, record again. If they change in each \
             run, add `noise: {req: [bytes.8-11]}` below `name: mock-1`, or run `replay calls \
             noise SET OTHER --write`"
        ]
    );
    assert_eq!(
        differences(acknowledge(1), &acknowledge(7)),
        [
            "bytes.0-3: recorded `0x40020001`, asked `0x40020007`",
            "this call was not recorded: record the program again"
        ]
    );
    assert_eq!(
        differences(connect("client-17"), &connect("client-142"))[2],
        "text.2: recorded `client-17`, asked `client-142`"
    );
}
