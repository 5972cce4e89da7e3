//! Protocols of lines: memcached.

use pretty_assertions::assert_eq;

use super::{answered, told, turn};
use crate::protocol::frames::split;

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
        answered("memcached", "set a 0 0 noreply ", &[]),
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
    let cases: [(&[u8], &[u8]); 5] = [
        (b"stats\r\n", b"OK 8\r\n---\na: 1\r\n"),
        (b"delete 1\r\nreserve\r\n", b"DELETED\r\n"),
        (b"put 0 0 60 2\r\nhi\r\n", b"INSERTED 1\r\n"),
        (b"get a b\r\n", b"a=1\r\n"),
        (b"0\x0c\x02\x01\x01`\x07\x02\x01\x03\x04\0\x80\0", b"0\x0c"),
    ];
    for (asked, said) in cases {
        let turns = vec![turn(1, 0, asked, &[(said, None)])];
        assert_eq!(split(turns.clone()), turns);
    }
}
