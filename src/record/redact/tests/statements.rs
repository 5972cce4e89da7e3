//! What is inserted, copied and given to functions. `ba78` is of `abc`.

use pretty_assertions::assert_eq;

use super::forms::{com_query, query, wired};
use super::*;

#[test]
fn what_is_selected_to_be_inserted() {
    for text in [
        "INSERT INTO u (name, password) SELECT 'a', 'abc'",
        "INSERT INTO s.u (name, password, n) SELECT 'a', crypt('abc', gen_salt('bf')), 'b' FROM t WHERE x = 'y'",
        "INSERT INTO u (\"password\", n) SELECT 'abc'::text AS x, 'b' UNION ALL TABLE v",
    ] {
        let expected = text.replace("abc", "[redacted ba78]");
        assert_eq!(String::from_utf8(wired(Protocol::Postgres, query(text))), String::from_utf8(query(&expected)));
    }
    for text in [
        "SELECT * FROM (SELECT id, password FROM u) SELECT 'a', 'abc'",
        "WITH x AS (SELECT id, password FROM u) SELECT 'a', 'abc' FROM x",
    ] {
        assert_eq!(wired(Protocol::Postgres, query(text)), query(text), "{text}");
    }
}

#[test]
fn what_is_inserted_by_lists_in_brackets_and_between() {
    for text in [
        "INSERT INTO u (password, n) (VALUES ('abc', 'b'), ('abc', 'c'))",
        "INSERT INTO u (n, password) SELECT * FROM unnest(ARRAY['a', 'b'], ARRAY['abc', 'abc'])",
        "INSERT INTO u (n, password) SELECT * FROM unnest('{a}'::text[], 'abc'::text[]) ON CONFLICT DO NOTHING",
        "SELECT n FROM u WHERE password BETWEEN 'abc' AND 'abc' AND n = 'b' AND m = 'c'",
    ] {
        let expected = text.replace("abc", "[redacted ba78]");
        assert_eq!(String::from_utf8(wired(Protocol::Postgres, query(text))), String::from_utf8(query(&expected)));
    }
    assert_eq!(
        sql::parameters(b"INSERT INTO u(n, password) SELECT * FROM unnest($1::int[], $2::text[])", Protocol::Postgres),
        ([(1, "password")].into(), 2)
    );
}

#[test]
fn a_text_of_mysql_in_hexadecimal_digits() {
    let text = "SELECT 0x61, n FROM u WHERE password = 0x616263 AND n = 0xzz";
    let without = wired(Protocol::MySql, com_query(text));
    let expected = com_query(&text.replace("616263", &format!("[redacted {}]", &super::digits(b"616263")[..4])));
    assert_eq!(String::from_utf8_lossy(&without), String::from_utf8_lossy(&expected));
    assert_eq!(wired(Protocol::MySql, without.clone()), without);
}

#[test]
fn what_functions_of_cryptography_are_given() {
    for text in [
        "SELECT crypt('abc', gen_salt('bf', 8))",
        "SELECT encode(digest('abc', 'sha256'), 'hex')",
        "SELECT id FROM t WHERE x = crypt('abc', x) AND n = 'b'",
        "SELECT pgp_sym_encrypt('abc', 'abc', 'cipher-algo=aes256')",
        "UPDATE t SET a = pgp_sym_decrypt(b::bytea, 'abc') WHERE n = 'b'",
        "SELECT hmac('text', 'abc', 'sha256')",
    ] {
        let expected = text.replace("abc", "[redacted ba78]");
        assert_eq!(String::from_utf8(wired(Protocol::Postgres, query(text))), String::from_utf8(query(&expected)));
    }
    for text in ["SELECT AES_ENCRYPT('abc', \"abc\")", "UPDATE t SET x = AES_DECRYPT(y, 'abc') WHERE n = 'b'"] {
        let expected = text.replace("abc", "[redacted ba78]");
        assert_eq!(String::from_utf8(wired(Protocol::MySql, com_query(text))), String::from_utf8(com_query(&expected)));
    }
    assert_eq!(
        sql::parameters(b"SELECT 1 FROM u WHERE h = crypt($1, h) AND n = $2", Protocol::Postgres),
        ([(0, "password")].into(), 2)
    );
    assert_eq!(sql::parameters(b"SELECT AES_DECRYPT(?, ?)", Protocol::MySql), ([(1, "password")].into(), 2));
}

#[test]
fn what_is_inserted_into_columns_without_names() {
    let cases = [
        (
            "INSERT INTO users VALUES (1, 'bob', 'bob@example.com', 's3cr3t!', '2026-01-02', 'abc'), (2, 'eve', NULL, 'hunter2', 'x')",
            vec!["s3cr3t!", "hunter2"],
        ),
        ("INSERT INTO app.accounts SELECT 7, 'a b', 'Tr0ub4dor&3'", vec!["Tr0ub4dor&3"]),
        ("INSERT INTO t VALUES ('abc1234', 'a')", vec![]),
        (
            "INSERT INTO users VALUES ('0f8fad5b-d9cb-469f-a165-70867728950e', '192.168.0.1:80', 'Main St. 5', '12:30:01', 'a.png')",
            vec![],
        ),
    ];
    for (text, secrets) in cases {
        let left = wired(Protocol::Postgres, query(text)).escape_ascii().to_string();
        let expected = secrets.iter().fold(text.to_owned(), |text, secret| {
            text.replace(secret, &format!("[redacted {}]", &super::digits(secret.as_bytes())[..4]))
        });
        assert_eq!(left, query(&expected).escape_ascii().to_string());
    }
    let card = "INSERT INTO t (card_number, pan) VALUES ('4242424242424242', '4242424242424241')";
    let left = card.replace("4242424242424242", "redacted-477b---");
    assert_eq!(wired(Protocol::Postgres, query(card)), query(&left));
    let hash = "$2b$12$LQv3c1yqBWVHxkd0LHAkCOYz6TtxMQJqhN8/LewdBPj4J/HS.i7qa";
    let left =
        String::from_utf8(wired(Protocol::Postgres, query(&format!("INSERT INTO t VALUES ('{hash}')")))).unwrap();
    let expected = format!("$2b$redacted-{}{}", &super::digits(hash.as_bytes())[..4], "-".repeat(43));
    assert_eq!(
        (expected.len(), left),
        (hash.len(), String::from_utf8(query(&format!("INSERT INTO t VALUES ('{expected}')"))).unwrap())
    );
}

/// What is left of data that is copied after this statement.
fn copied(text: &str, data: &[&[u8]]) -> Vec<u8> {
    let message = |kind: &[u8], body: &[u8]| [kind, &(body.len() as u32 + 4).to_be_bytes(), body].concat();
    let mut said = vec![query(text)];
    said.extend(data.iter().map(|data| message(b"d", data)));
    said.push(message(b"c", b""));
    let messages = said.into_iter().map(|bytes| Message { from: Side::Client, bytes }).collect();
    let mut all = call("/", &[], "", &[], "");
    all.content = Content::Wire(Protocol::Postgres, Wire { messages, session: false });
    exchange(&mut all);
    let once = all.clone();
    exchange(&mut all);
    assert_eq!(all, once, "a second time changes something");
    let Content::Wire(_, wire) = all.content else { panic!() };
    let frame = |message: &Message| {
        let length = u32::from_be_bytes([message.bytes[1], message.bytes[2], message.bytes[3], message.bytes[4]]);
        assert_eq!(length as usize + 1, message.bytes.len());
        message.bytes[5..].to_vec()
    };
    let data: Vec<_> = wire.messages[1..wire.messages.len() - 1].iter().map(frame).collect();
    data.concat()
}

#[test]
fn data_that_is_copied() {
    const HIDDEN: &str = "[redacted ba78]";
    let text = |password: &str| format!("1\t{password}\tx\n2\t\\N\ty\\\tz\n3\t{password}\tabc\n\\.\n");
    let statement = "COPY users (id, password, name) FROM STDIN";
    let whole = text("abc");
    for cut in 0..whole.len() {
        let (one, other) = whole.as_bytes().split_at(cut);
        let left = String::from_utf8(copied(statement, &[one, other])).unwrap();
        // A value that stands in two messages is replaced in both.
        let is_whole = !["abc\tx", "\\N", "abc\tabc"].iter().any(|value| {
            let at = whole.find(value).unwrap();
            (at + 1..at + 3).contains(&cut)
        });
        assert!(!is_whole || left == text(HIDDEN), "{cut}: {left}");
        assert!(!left.contains("\tabc\tx") && left.ends_with("\tabc\n\\.\n"), "{cut}: {left}");
    }
    let csv = |password: &str| format!("1,\"{password}\",\"a,\n\"\"b\"\n2,{password},abc\n");
    let statement = "copy s.users(id, \"api_key\", name) from stdin with (format csv, delimiter ',')";
    assert_eq!(String::from_utf8(copied(statement, &[csv("abc").as_bytes()])).unwrap(), csv(HIDDEN));
    let binary = |password: &str| {
        let value = |value: &str| [&(value.len() as u32).to_be_bytes()[..], value.as_bytes()].concat();
        let row = [&[0, 2][..], &value("abc"), &value(password)].concat();
        [
            b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0",
            &row[..],
            &[0, 2, 255, 255, 255, 255, 255, 255, 255, 255],
            &row,
            &[255, 255],
        ]
        .concat()
    };
    let statement = "COPY users (id, password) FROM STDIN BINARY";
    assert_eq!(
        copied(statement, &[&binary("abc")]).escape_ascii().to_string(),
        binary(HIDDEN).escape_ascii().to_string()
    );
    for cut in 0..binary("abc").len() {
        copied(statement, &[&binary("abc")[..cut]]);
    }
    let unnamed = "1\thunter2\tbob\n";
    assert_eq!(
        String::from_utf8(copied("COPY users FROM STDIN", &[unnamed.as_bytes()])).unwrap(),
        unnamed.replace("hunter2", &format!("[redacted {}]", &super::digits(b"hunter2")[..4]))
    );
    for statement in ["COPY prices (id, name, n) FROM STDIN", "COPY (SELECT password FROM users) TO STDOUT"] {
        assert_eq!(copied(statement, &[whole.as_bytes()]), whole.as_bytes());
    }
}

#[test]
fn numbers_of_cards_that_are_bound_and_copied() {
    let number = "4012888888881881";
    let hidden = format!("redacted-{}---", &super::digits(number.as_bytes())[..4]);
    let bind = |pan: &str, order: &str| {
        let value = |text: &str| [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat();
        let text = b"\0INSERT INTO payments (pan, order_number) VALUES ($1, $2)\0";
        let body = [&text[..], b"\0\0\0\x02", &value(pan), &value(order), b"\0\0"].concat();
        [b"B", &(body.len() as u32 + 4).to_be_bytes()[..], &body].concat()
    };
    let escaped = |bytes: Vec<u8>| bytes.escape_ascii().to_string();
    assert_eq!(escaped(wired(Protocol::Postgres, bind(number, number))), escaped(bind(&hidden, number)));
    // No number of a card.
    assert_eq!(
        escaped(wired(Protocol::Postgres, bind("4111111111111112", number))),
        escaped(bind("4111111111111112", number))
    );
    let rows = |pan: &str| format!("1\t{pan}\t{number}\n2\t4111111111111112\tx\n");
    let statement = "COPY payments (id, card_number, order_number) FROM STDIN";
    assert_eq!(String::from_utf8(copied(statement, &[rows(number).as_bytes()])).unwrap(), rows(&hidden));
}

/// A `Bind` of a statement with these values.
fn bind(text: &str, values: &[&str]) -> Vec<u8> {
    let value = |value: &&str| [&(value.len() as u32).to_be_bytes()[..], value.as_bytes()].concat();
    let values =
        [&(values.len() as u16).to_be_bytes()[..], &values.iter().map(value).collect::<Vec<_>>().concat()].concat();
    let body = [b"\0", text.as_bytes(), b"\0\0\0", &values, b"\0\0"].concat();
    [b"B", &(body.len() as u32 + 4).to_be_bytes()[..], &body].concat()
}

#[test]
fn settings_whose_names_are_bound() {
    let text = "SELECT set_config($2, $1, false), set_config($3, $4, true)";
    let made = |secret: &str| bind(text, &[secret, "app.password", "app.tenant", "abc"]);
    assert_eq!(wired(Protocol::Postgres, made("abc")), made("[redacted ba78]"));
}
