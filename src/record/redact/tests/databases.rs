//! Commands of Redis and documents of `MongoDB`. `ba78` is of `abc`.

use pretty_assertions::assert_eq;

use super::forms::{query, resp, wired};
use super::*;

#[test]
fn commands_of_redis() {
    let cases = [
        ("AUTH abc", "AUTH [redacted_ba78]"),
        ("auth me abc", "auth me [redacted_ba78]"),
        ("HELLO 3 AUTH me abc SETNAME x", "HELLO 3 AUTH me [redacted_ba78] SETNAME x"),
        ("HELLO 3 SETNAME AUTH", "HELLO 3 SETNAME AUTH"),
        ("CONFIG SET requirepass abc", "CONFIG SET requirepass [redacted_ba78]"),
        (
            "CONFIG SET maxclients 5 masterauth abc primaryauth abc tls-key-file-pass abc",
            "CONFIG SET maxclients 5 masterauth [redacted_ba78] primaryauth [redacted_ba78] tls-key-file-pass [redacted_ba78]",
        ),
        ("CONFIG GET requirepass", "CONFIG GET requirepass"),
        ("ACL SETUSER u on >abc ~* +@all", "ACL SETUSER u on >[redacted_ba78] ~* +@all"),
        (
            "acl setuser u <abc #abc !abc nopass",
            "acl setuser u <[redacted_ba78] #[redacted_ba78] ![redacted_ba78] nopass",
        ),
        ("MIGRATE h 1 k 0 9 AUTH abc", "MIGRATE h 1 k 0 9 AUTH [redacted_ba78]"),
        ("MIGRATE h 1  0 9 AUTH2 me abc KEYS k", "MIGRATE h 1  0 9 AUTH2 me [redacted_ba78] KEYS k"),
        ("SENTINEL SET m auth-pass abc quorum 2", "SENTINEL SET m auth-pass [redacted_ba78] quorum 2"),
        ("SENTINEL CONFIG SET sentinel-pass abc", "SENTINEL CONFIG SET sentinel-pass [redacted_ba78]"),
        ("SET password abc", "SET password [redacted_ba78]"),
        ("SETEX user:1:token 60 abc", "SETEX user:1:token 60 [redacted_ba78]"),
        ("SET otp:5551234 abc EX 60", "SET otp:5551234 [redacted_ba78] EX 60"),
        ("MSET n abc api_key abc", "MSET n abc api_key [redacted_ba78]"),
        ("HSET user:1 name abc password abc", "HSET user:1 name abc password [redacted_ba78]"),
        ("SET session:0123456789abcdef abc", "SET session:redacted-9f9f511 abc"),
        ("DEL sess:0123456789abcdef n token:0123456789abcdef", "DEL sess:redacted-9f9f511 n token:redacted-9f9f511"),
        ("SET u {\"password\":\"abc\",\"n\":\"abc\"}", "SET u {\"password\":\"[redacted_ba78]\",\"n\":\"abc\"}"),
        ("SET n postgres://u:abc@h/d", "SET n postgres://u:redacted-ba78@h/d"),
        ("GET user:1:token", "GET user:1:token"),
        ("SET session:1 abc", "SET session:1 abc"),
        ("AUTH", "AUTH"),
    ];
    for (asked, expected) in cases {
        assert_eq!(String::from_utf8(wired(Protocol::Redis, resp(asked))), String::from_utf8(resp(expected)));
    }
}

#[test]
fn that_a_database_answers_a_secret_is_told() {
    let answered = |asked: &str, answer: &[u8]| {
        let messages = [(Side::Client, query(asked)), (Side::Server, answer.to_vec())];
        let mut made = call("/", &[], "", &[], "");
        let messages = messages.into_iter().map(|(from, bytes)| Message { from, bytes }).collect();
        made.content = Content::Wire(Protocol::Postgres, Wire { messages, session: false });
        made
    };
    // The length before a value may be a letter.
    let row = b"D\0\0\0\x12\0\x01\0\0\0Aq1w2e3r4";
    let mut calls = vec![
        answered("INSERT INTO u (name, password) VALUES ('alice', 'q1w2e3r4'), ('bob', 'password')", b"INSERT 0 1"),
        answered("SELECT name FROM u", b"D alice password"),
        answered("SELECT password FROM u", row),
        answered("SELECT 'q1w2e3r4' AS password", row),
    ];
    let before = calls.clone();
    let told = exchanges(&mut calls);
    let answer = |exchange: &Exchange| match &exchange.content {
        Content::Wire(_, wire) => wire.messages[1].clone(),
        _ => panic!(),
    };
    assert_eq!(calls.iter().map(answer).collect::<Vec<_>>(), before.iter().map(answer).collect::<Vec<_>>());
    assert_eq!(
        told,
        [
            "a secret of a request stands in what a database answered, which was left, in `Postgres a:443 SELECT password FROM u`, `Postgres a:443 SELECT '[redacted]' AS password`"
        ]
    );
    assert_eq!(exchanges(&mut calls), [""; 0]);
}

#[test]
fn passwords_of_users_of_mongo() {
    let message = |command: &str, password: &str| {
        let text = |name: &str, value: &str| {
            [b"\x02", name.as_bytes(), b"\0", &(value.len() as u32 + 1).to_le_bytes(), value.as_bytes(), b"\0"].concat()
        };
        let elements = [text(command, "me"), text("pwd", password), text("$db", "admin")].concat();
        let document = [&(elements.len() as u32 + 5).to_le_bytes()[..], &elements, b"\0"].concat();
        let head = [document.len() as u32 + 21, 7, 0, 2013, 0].map(u32::to_le_bytes).concat();
        [&head[..], &[0], &document].concat()
    };
    for command in ["createUser", "updateUser"] {
        assert_eq!(wired(Protocol::Mongo, message(command, "abc")), message(command, "[redacted ba78]"));
    }
    assert_eq!(wired(Protocol::Mongo, message("find", "abc")), message("find", "[redacted ba78]"));
    // What is not whole loses its secret all the same.
    let whole = message("createUser", "abc");
    for end in 0..whole.len() - 1 {
        let left = wired(Protocol::Mongo, whole[..end].to_vec());
        let has_all = memchr::memmem::find(&whole[..end], b"pwd\0\x04\0\0\0abc\0").is_some();
        assert!(!has_all || memchr::memmem::find(&left, b"abc").is_none(), "{end}");
    }
}

#[test]
fn documents_of_mongo() {
    let document = |elements: &[u8]| [&(elements.len() as u32 + 5).to_le_bytes()[..], elements, b"\0"].concat();
    let element = |kind: u8, name: &str, value: &[u8]| [&[kind][..], name.as_bytes(), b"\0", value].concat();
    let text = |name: &str, value: &str| {
        element(2, name, &[&(value.len() as u32 + 1).to_le_bytes()[..], value.as_bytes(), b"\0"].concat())
    };
    let nested = |kind: u8, name: &str, elements: &[u8]| element(kind, name, &document(elements));
    let message = |sections: &[u8]| {
        let head = [sections.len() as u32 + 20, 7, 0, 2013, 0].map(u32::to_le_bytes).concat();
        [&head[..], sections].concat()
    };
    let insert = |hidden: &str, address: &str| {
        let command = document(&[text("insert", "users"), text("$db", "d")].concat());
        let profile = nested(3, "profile", &[text("api_key", hidden), text("note", "abc")].concat());
        let rows =
            [text("name", "abc"), text("password", hidden), profile, text("dsn", &format!("redis://u:{address}@h"))];
        let rows = [document(&rows.concat()), document(&text("token", hidden))].concat();
        let list = [b"documents\0", &rows[..]].concat();
        message(&[b"\0", &command[..], b"\x01", &(list.len() as u32 + 4).to_le_bytes(), &list].concat())
    };
    let card = |number: &str, alone: &str| {
        let inner = nested(3, "card", &[text("number", number), text("holder", "A. Bee")].concat());
        let many = nested(4, "ccNumber", &text("0", number));
        let rest =
            [text("cardNumber", "4111111111111112"), text("order_number", alone), text("number", alone)].concat();
        let command = [text("insert", "payments"), text("pan", number), inner, many, rest, text("$db", "d")].concat();
        message(&[b"\0", &document(&command)[..]].concat())
    };
    let number = "4012888888881881";
    let hidden = format!("redacted-{}---", &super::digits(number.as_bytes())[..4]);
    assert_eq!(
        wired(Protocol::Mongo, card(number, number)).escape_ascii().to_string(),
        card(&hidden, number).escape_ascii().to_string()
    );
    // Numbers become what stands for the same as a text.
    let numbers = |number: &dyn Fn(&str) -> Vec<u8>| {
        let inner = nested(3, "card", &number("number"));
        let command = [text("insert", "payments"), number("pan"), inner, text("$db", "d")].concat();
        message(&[b"\0", &document(&command)[..]].concat())
    };
    let hidden_number = numbers(&|name| text(name, &hidden));
    for (kind, bytes) in [(0x12, 4_012_888_888_881_881_i64.to_le_bytes()), (1, 4_012_888_888_881_881_f64.to_le_bytes())]
    {
        assert_eq!(wired(Protocol::Mongo, numbers(&|name| element(kind, name, &bytes))), hidden_number);
        let blanked = |bytes: Vec<u8>| {
            let messages = vec![Message { from: Side::Client, bytes }];
            let mut all = Wire { messages, session: false };
            wire(Protocol::Mongo, &mut all);
            all.messages[0].bytes.clone()
        };
        assert_eq!(blanked(numbers(&|name| element(kind, name, &bytes))), blanked(hidden_number.clone()));
    }
    let others = |bytes: [u8; 8]| numbers(&|name| element(1, name, &bytes));
    for number in [4_012_888_888_881_882_f64, 4_012_888_888_881.5, f64::NAN, f64::INFINITY, 1e300] {
        assert_eq!(wired(Protocol::Mongo, others(number.to_le_bytes())), others(number.to_le_bytes()));
    }
    assert_eq!(wired(Protocol::Mongo, insert("abc", "abc")), insert("[redacted ba78]", "redacted-ba78"));
    let find = |hidden: &str| {
        let several = nested(4, "$in", &[text("0", hidden), text("1", hidden)].concat());
        let filter = nested(3, "filter", &[text("name", "abc"), nested(3, "password", &several)].concat());
        let described = nested(3, "token", &text("user", "abc"));
        message(&[b"\0", &document(&[text("find", "users"), filter, described].concat())[..]].concat())
    };
    assert_eq!(wired(Protocol::Mongo, find("abc")), find("[redacted ba78]"));
    for end in 0..find("abc").len() {
        wired(Protocol::Mongo, find("abc")[..end].to_vec());
        wired(Protocol::Mongo, insert("abc", "abc")[..end].to_vec());
    }
}
