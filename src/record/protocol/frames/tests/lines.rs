//! Protocols of lines: memcached and SMTP.

use pretty_assertions::assert_eq;

use super::{answered, split, told, turn};
use crate::call::Protocol;
use crate::protocol::dissector::parts_of;
use crate::protocol::frames::{credentials, mail};
use crate::protocol::words;

#[test]
fn quiet_commands_of_memcached_have_no_answers() {
    let calls = split(vec![
        turn(1, 0, b"get a\r\n", &[(b"END\r\n", None)]),
        turn(
            1,
            5,
            b"set a 0 0 4 noreply\r\n\r\n\r\n\r\nset n 0 9 7\r\n{\"x\":1}\r\nget noreply\r\n",
            &[(b"STORED\r\nVALUE noreply 0 5\r\nEND\r\n", None)],
        ),
        turn(1, 9, b"quit\r\n", &[(b"\r\nEND\r\n", None)]),
    ]);
    let expected = vec![
        answered("memcached", "get a", &["END\\r\\n"]),
        answered("memcached", "set a 0 0 noreply", &[]),
        answered("memcached", "set n 0 9 1", &["STORED\\r\\n"]),
        answered(
            "memcached",
            "get noreply",
            &["VALUE noreply 0 5\\r\\nEND\\r\\n\\r\\nEND\\r\\n"],
        ),
        answered("memcached", "quit", &[]),
    ];
    assert_eq!(told(calls), expected);
}

#[test]
fn replies_to_quiet_meta_commands_find_their_commands() {
    let asked = b"mg a v q\r\nmg b v k q\r\nms c 2 q\r\nhi\r\nmd d q\r\nmn\r\n";
    let said = b"VA 1 kb\r\nx\r\nNS\r\nMN\r\n";
    let calls = split(vec![turn(1, 0, asked, &[(said, None)])]);
    let expected = vec![
        answered("memcached", "mg a v q", &[]),
        answered("memcached", "mg b v k q", &["VA 1 kb\\r\\nx\\r\\n"]),
        answered("memcached", "ms c q hi", &["NS\\r\\n"]),
        answered("memcached", "md d q", &[]),
        answered("memcached", "mn", &["MN\\r\\n"]),
    ];
    assert_eq!(told(calls), expected);
}

#[test]
fn statistics_of_memcached_are_one_answer() {
    let said = b"STAT pid 1\r\nSTAT up 2\r\nEND\r\n5\r\nSERVER_ERROR out of memory\r\n";
    let asked = b"stats\r\nincr n 4\r\nms kkey 1\r\nx\r\n";
    let calls = split(vec![turn(1, 0, asked, &[(said, None)])]);
    let expected = vec![
        answered(
            "memcached",
            "stats",
            &["STAT pid 1\\r\\nSTAT up 2\\r\\nEND\\r\\n"],
        ),
        answered("memcached", "incr n 4", &["5\\r\\n"]),
        answered(
            "memcached",
            "ms kkey x",
            &["SERVER_ERROR out of memory\\r\\n"],
        ),
    ];
    assert_eq!(told(calls), expected);
}

#[test]
fn other_line_protocols_are_not_memcached() {
    let cases: [(&[u8], &[u8]); 4] = [
        (b"stats\r\n", b"OK 8\r\n---\na: 1\r\n"),
        (b"delete 1\r\nreserve\r\n", b"DELETED\r\n"),
        (b"put 0 0 60 2\r\nhi\r\n", b"INSERTED 1\r\n"),
        (b"0\x0c\x02\x01\x01`\x07\x02\x01\x03\x04\0\x80\0", b"0\x0c"),
    ];
    for (asked, said) in cases {
        let turns = vec![turn(1, 0, asked, &[(said, None)])];
        assert_eq!(split(turns.clone()), turns);
    }
    let calls = split(vec![turn(1, 0, b"get a b\r\n", &[(b"a=1\r\n", None)])]);
    let expected = [answered("TCP", "get a b", &["a=1\\r\\n"])];
    assert_eq!(told(calls), expected);
}

/// A mail with these names of its own.
fn mail_named(id: &str, boundary: &str, date: &str) -> Vec<u8> {
    let mail = format!(
        "From: a@example.com\r\nMessage-ID:\r\n <{id}@host>\r\nDate: {date}\r\n\
         Content-Type: multipart/mixed;\r\n boundary=\"{boundary}\"\r\n\r\n--{boundary}\r\n\
         Content-ID: <{id}.1@host>\r\n\r\ncid:=\r\n{id}.1=\r\n@host\r\n--{boundary}--\r\n.\r\n"
    );
    mail.into_bytes()
}

#[test]
fn mail_after_data_is_one_call() {
    let mail = mail_named("1234", "=======1==", "today");
    let calls = split(vec![
        turn(1, 0, b"", &[(b"220 host ESMTP\r\n", None)]),
        turn(1, 5, b"ehlo me\r\n", &[(b"250-host\r\n250 HELP\r\n", None)]),
        turn(
            1,
            9,
            b"mail FROM:<a@b> size=9\r\nRCPT TO:<c@d>\r\nDATA\r\n",
            &[(b"250 OK\r\n250 OK\r\n354 go\r\n", None)],
        ),
        turn(1, 12, &mail, &[(b"250 queued\r\n", None)]),
        turn(1, 15, b"QUIT\r\n", &[(b"221 bye\r\n", None)]),
    ]);
    let text = words::text(Protocol::Smtp, &mail);
    let expected = vec![
        answered("SMTP", "", &["220 host ESMTP\\r\\n"]),
        answered("SMTP", "EHLO", &["250-host\\r\\n250 HELP\\r\\n"]),
        answered("SMTP", "MAIL FROM:<a@b>", &["250 OK\\r\\n"]),
        answered("SMTP", "RCPT TO:<c@d>", &["250 OK\\r\\n"]),
        answered("SMTP", "DATA", &["354 go\\r\\n"]),
        answered("SMTP", &text, &["250 queued\\r\\n"]),
        answered("SMTP", "QUIT", &["221 bye\\r\\n"]),
    ];
    assert_eq!(told(calls), expected);
}

#[test]
fn command_after_refused_data_is_no_mail() {
    let asked = b"DATA\r\nrset\r\nBDAT 4 LAST\r\na\r\n.DATA\r\n.\r\n";
    let said = b"503 no\r\n250 OK\r\n250 OK\r\n354 go\r\n250 OK\r\n";
    let calls = split(vec![
        turn(1, 0, b"", &[(b"220 host\r\n", None)]),
        turn(1, 5, b"HELO me\r\n", &[(b"250 host\r\n", None)]),
        turn(1, 9, asked, &[(said, None)]),
    ]);
    let expected = vec![
        answered("SMTP", "", &["220 host\\r\\n"]),
        answered("SMTP", "HELO", &["250 host\\r\\n"]),
        answered("SMTP", "DATA", &["503 no\\r\\n"]),
        answered("SMTP", "RSET", &["250 OK\\r\\n"]),
        answered("SMTP", "BDAT LAST a .", &["250 OK\\r\\n"]),
        answered("SMTP", "DATA", &["354 go\\r\\n"]),
        answered("SMTP", "", &["250 OK\\r\\n"]),
    ];
    assert_eq!(told(calls), expected);
}

#[test]
fn mails_with_other_names_of_their_own_are_equal() {
    let one = mail_named("1795820000.1.22", "===============1==", "Mon, 30 Nov 2026");
    let other = mail_named(
        "1795829999.77.333",
        "===============2222==",
        "Tue, 1 Dec 2026",
    );
    let parts = |mail: &[u8]| parts_of(Protocol::Smtp, mail).expect("is a mail");
    assert_eq!(parts(&one), parts(&other));

    let mut answer = b"250 OK as <1795820000.1.22@host>\r\n".to_vec();
    mail::put_message_id(&one, &other, &mut answer);
    assert_eq!(answer, b"250 OK as <1795829999.77.333@host>\r\n");
}

#[test]
fn credentials_of_smtp_are_the_answers_to_challenges() {
    let cases: [(&[u8], Option<&[u8]>); 8] = [
        (b"AUTH PLAIN AGEAYg==\r\n", Some(b"AGEAYg==")),
        (b"auth login\r\n", None),
        (b"cGFzcw==\r\n", Some(b"cGFzcw==")),
        (b"quit\r\n", None),
        (b"*\r\n", None),
        (b".\r\n", None),
        (b"MAIL FROM:<a@b>\r\n", None),
        (b"word\r\n\r\n.\r\n", None),
    ];
    for (line, expected) in cases {
        let found = credentials(Protocol::Smtp, line).map(|at| &line[at]);
        assert_eq!(found, expected, "{}", line.escape_ascii());
    }
}

#[test]
fn replies_to_many_commands_at_once_come_in_order() {
    let all = |text: fn(usize) -> String| (0..3000).map(text).collect::<String>();
    let asked = all(|at| format!("get {at}\r\n"));
    let said = all(|at| format!("VALUE {at} 0 1\r\nx\r\nEND\r\n"));
    let asked = turn(1, 0, asked.as_bytes(), &[(said.as_bytes(), None)]);
    let expected = (0..3000).map(|at| {
        let said = format!("VALUE {at} 0 1\\r\\nx\\r\\nEND\\r\\n");
        answered("memcached", &format!("get {at}"), &[&said])
    });
    assert_eq!(told(split(vec![asked])), expected.collect::<Vec<_>>());
}

#[test]
fn short_name_of_mail_leaves_answer() {
    let mut answer = b"250 2 recipients\r\n".to_vec();
    let mail = |name: &str| format!("Message-ID: {name}\r\n\r\n.\r\n").into_bytes();
    mail::put_message_id(&mail("2"), &mail("3"), &mut answer);
    assert_eq!(answer, b"250 2 recipients\r\n");
}
