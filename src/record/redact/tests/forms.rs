//! Secrets in all forms of statements, commands, documents and addresses. `ba78` is of `abc`.

use pretty_assertions::assert_eq;

use super::*;

/// What a call becomes that says this to a database.
pub(super) fn wired(protocol: Protocol, bytes: Vec<u8>) -> Vec<u8> {
    let messages = vec![Message { from: Side::Client, bytes }];
    let mut all = call("/", &[], "", &[], "");
    all.content = Content::Wire(protocol, Wire { messages, session: false });
    exchange(&mut all);
    let once = all.clone();
    exchange(&mut all);
    assert_eq!(all, once, "a second time changes something");
    let Content::Wire(_, wire) = all.content else { panic!() };
    wire.messages.into_iter().next().unwrap().bytes
}

pub(super) fn query(text: &str) -> Vec<u8> {
    [b"Q", &(text.len() as u32 + 5).to_be_bytes()[..], text.as_bytes(), b"\0"].concat()
}

pub(super) fn com_query(text: &str) -> Vec<u8> {
    [&(text.len() as u32 + 1).to_le_bytes()[..3], &[0, 3], text.as_bytes()].concat()
}

pub(super) fn resp(line: &str) -> Vec<u8> {
    let words: Vec<&str> = line.split(' ').collect();
    let of = |word: &&str| format!("${}\r\n{}\r\n", word.len(), word).replace('_', " ");
    format!("*{}\r\n{}", words.len(), words.iter().map(of).collect::<String>()).into_bytes()
}

#[test]
fn statements_of_postgres() {
    let cases = [
        "ALTER USER a PASSWORD 'abc'",
        "alter role a with login encrypted password 'abc' valid until 'x'",
        "CREATE ROLE a LOGIN PASSWORD /* mine */ 'abc'",
        "CREATE ROLE a PASSWORD -- mine\n 'abc'",
        "CREATE ROLE a PASSWORD $$abc$$",
        "CREATE ROLE a PASSWORD $q$abc$q$",
        "CREATE ROLE a PASSWORD U&'abc'",
        "CREATE USER MAPPING FOR a SERVER s OPTIONS (user 'b', password 'abc')",
        "DO $do$ BEGIN ALTER USER a PASSWORD 'abc'; END $do$",
        "UPDATE u SET password='abc', n = 'x' WHERE id = 1",
        "SELECT 1 FROM u WHERE u.\"password\" = 'abc'",
        "SELECT set_config('a', 'b', true), password := 'abc'",
        "INSERT INTO u (name, password) VALUES ('a', 'abc')",
        "insert into s.u(name, \"password\", n) values ('a', 'abc', 1), ('b', crypt('abc', gen_salt('bf')), 2) on conflict do nothing",
        "INSERT INTO u (\"password\") VALUES (E'abc') RETURNING 'id'",
        "SELECT 1 FROM u WHERE password LIKE 'abc' AND n = 'x'",
        "SELECT 1 FROM u WHERE password = 'abc'::text",
        "SELECT 1 FROM u WHERE password NOT IN ('abc', 'abc') AND n IN ('x')",
        "SELECT 1 FROM u WHERE password = ANY(ARRAY['abc','abc'])",
        "SELECT 1 FROM u WHERE password IS DISTINCT FROM 'abc' AND password <> 'abc'",
        "SELECT 1 FROM u WHERE password = crypt('abc', password)",
    ];
    for text in cases {
        let expected = text.replace("abc", "[redacted ba78]");
        assert_eq!(String::from_utf8(wired(Protocol::Postgres, query(text))), String::from_utf8(query(&expected)));
    }
    let addresses = [
        "SELECT dblink('host=h password=abc dbname=d', 'SELECT 1')",
        "CREATE SUBSCRIPTION s CONNECTION 'postgres://u:abc@h/d' PUBLICATION p",
        "SELECT $$redis://u:abc@h$$",
    ];
    for text in addresses {
        let expected = text.replace("abc", "redacted-ba78");
        assert_eq!(String::from_utf8(wired(Protocol::Postgres, query(text))), String::from_utf8(query(&expected)));
    }
    let none = [
        "ALTER USER a PASSWORD NULL",
        "ALTER USER a VALID UNTIL 'abc'",
        "SELECT 'password' AS \"identified\", 'abc' AS x",
        "SELECT replace('password', 'a', 'abc')",
        "SET SESSION AUTHORIZATION 'abc'",
        "SELECT token FROM t WHERE a = 'abc'",
        "SELECT password, 'abc' FROM t ORDER BY token",
        "SELECT next_page_token = 'abc'",
    ];
    for text in none {
        assert_eq!(String::from_utf8(wired(Protocol::Postgres, query(text))), String::from_utf8(query(text)));
    }
}

#[test]
fn statements_of_mysql() {
    let cases = [
        "CREATE USER 'a'@'%' IDENTIFIED BY 'abc'",
        "CREATE USER a IDENTIFIED BY \"abc\" REQUIRE SSL",
        "CREATE USER a IDENTIFIED WITH caching_sha2_password BY 'abc'",
        "CREATE USER a IDENTIFIED WITH 'caching_sha2_password' AS 'abc'",
        "CREATE USER a IDENTIFIED VIA ed25519 USING 'abc'",
        "CREATE USER a IDENTIFIED VIA ed25519 USING PASSWORD('abc')",
        "ALTER USER a IDENTIFIED BY 'abc' REPLACE 'abc'",
        "SET PASSWORD = 'abc'",
        "SET PASSWORD FOR 'a'@'b' = 'abc' REPLACE 'abc' RETAIN CURRENT PASSWORD",
        "SET PASSWORD FOR a = PASSWORD('abc')",
        "GRANT ALL ON *.* TO a IDENTIFIED BY PASSWORD 'abc'",
        "CHANGE MASTER TO MASTER_HOST='h', MASTER_PASSWORD='abc', MASTER_PORT=1",
        "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD = 'abc'",
        "START REPLICA USER='u' PASSWORD='abc'",
        "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD 'abc')",
        "# it's\nSET PASSWORD = 'abc'",
        "/*!80000 SET PASSWORD = 'abc' */",
        "UPDATE mysql.user SET `password` = 'abc'",
        "INSERT INTO u SET name = 'x', password = SHA2('abc', 256)",
        "INSERT INTO u (`name`, `password`) VALUES ('x', \"abc\") ON DUPLICATE KEY UPDATE name = 'y'",
        "REPLACE INTO u (password) VALUE (_utf8mb4'abc')",
        "SELECT 'abc' AS password",
    ];
    for text in cases {
        let expected = text.replace("abc", "[redacted ba78]");
        assert_eq!(String::from_utf8(wired(Protocol::MySql, com_query(text))), String::from_utf8(com_query(&expected)));
    }
    for text in ["REPLACE INTO t VALUES ('abc')", "CREATE TABLE t AS SELECT 'password'"] {
        assert_eq!(wired(Protocol::MySql, com_query(text)), com_query(text), "{text}");
    }
}

#[test]
fn secrets_under_other_names_than_password() {
    for text in [
        "SELECT 1 FROM s WHERE access_token = 'abc'",
        "UPDATE s SET api_key = 'abc'",
        "INSERT INTO s (id, client_secret) VALUES (7, 'abc')",
        "SET app.jwt = 'abc'",
    ] {
        let expected = text.replace("abc", "[redacted ba78]");
        assert_eq!(String::from_utf8(wired(Protocol::Postgres, query(text))), String::from_utf8(query(&expected)));
    }
}

#[test]
fn values_that_are_bound_to_parameters() {
    let texts = [
        "INSERT INTO u (name, password) VALUES ($1, $2)",
        "UPDATE u SET password = $2 WHERE name = $1",
        "SELECT name FROM u WHERE name = $1 AND password = crypt($2, password)",
        "SELECT 1 FROM u WHERE password IN ($2) AND name = $1",
    ];
    for text in texts {
        let bind = |password: &str| {
            let value = |value: &str| [&(value.len() as u32).to_be_bytes()[..], value.as_bytes()].concat();
            let values = [&[0, 0, 0, 3][..], &value("abc"), &value(password), &[0xff; 4], &[0, 0]].concat();
            let body = [b"\0", text.as_bytes(), b"\0", &values].concat();
            [b"B", &(body.len() as u32 + 4).to_be_bytes()[..], &body].concat()
        };
        let left = wired(Protocol::Postgres, bind("abc"));
        assert_eq!(left.escape_ascii().to_string(), bind("[redacted ba78]").escape_ascii().to_string(), "{text}");
        let cut = bind("abc");
        for end in 0..cut.len() {
            wired(Protocol::Postgres, cut[..end].to_vec());
        }
    }
    let packet = |payload: &[u8]| [&(payload.len() as u32).to_le_bytes()[..3], &[0], payload].concat();
    let prepare = packet(b"\x16INSERT INTO u (id, at, password, name) VALUES (?, ?, ?, ?)");
    let execute = |password: &str| {
        let head = b"\x17\0\0\0\0\0\x01\0\0\0\x08\x01\x03\0\x0c\0\xfd\0\xfd\0\x07\0\0\0\x04\xe9\x07\x01\x01";
        packet(&[head, &[password.len() as u8][..], password.as_bytes()].concat())
    };
    let long = |password: &str| packet(&[b"\x18\0\0\0\0\x02\0", password.as_bytes()].concat());
    let said = |messages: [Vec<u8>; 3]| {
        let messages = messages.into_iter().map(|bytes| Message { from: Side::Client, bytes }).collect();
        let mut all = call("/", &[], "", &[], "");
        all.content = Content::Wire(Protocol::MySql, Wire { messages, session: false });
        all
    };
    let mut all = said([prepare.clone(), long("abc"), execute("abc")]);
    exchange(&mut all);
    let hidden = "[redacted ba78]";
    assert_eq!(all, said([prepare.clone(), long(hidden), execute(hidden)]));
    exchange(&mut all);
    assert_eq!(all, said([prepare.clone(), long(hidden), execute(hidden)]));
    for end in 0..execute("abc").len() {
        exchange(&mut said([prepare.clone(), long("abc"), execute("abc")[..end].to_vec()]));
    }
}

#[test]
fn documents_of_xml() {
    let cases = [
        ("<a><password>abc</password><b>abc</b></a>", "<a><password>[redacted ba78]</password><b>abc</b></a>"),
        (
            "<?xml version=\"1.0\"?><!-- <password>x</password> --><Login Password='abc' user=\"u\"/>",
            "<?xml version=\"1.0\"?><!-- <password>x</password> --><Login Password='[redacted ba78]' user=\"u\"/>",
        ),
        (
            "<wsse:UsernameToken><wsse:Username>u</wsse:Username>\n <wsse:Password Type=\"x#PasswordText\"> abc </wsse:Password></wsse:UsernameToken>",
            "<wsse:UsernameToken><wsse:Username>u</wsse:Username>\n <wsse:Password Type=\"x#PasswordText\"> [redacted ba78] </wsse:Password></wsse:UsernameToken>",
        ),
        ("<apiKey><![CDATA[abc]]></apiKey>", "<apiKey><![CDATA[[redacted ba78]]]></apiKey>"),
        (
            "<secret><part>abc</part><type>x</type></secret><c/>abc",
            "<secret><part>[redacted ba78]</part><type>x</type></secret><c/>abc",
        ),
        (
            "<add key=\"password\" value=\"abc\"/><param name='api_key'>abc</param>",
            "<add key=\"password\" value=\"[redacted ba78]\"/><param name='api_key'>[redacted ba78]</param>",
        ),
        (
            "<member><name>password</name><value><string>abc</string></value></member><name>n</name><value>abc</value>",
            "<member><name>password</name><value><string>[redacted ba78]</string></value></member><name>n</name><value>abc</value>",
        ),
        (
            "<dict><key>apiKey</key>\n<string>abc</string><key>x</key><string>abc</string></dict>",
            "<dict><key>apiKey</key>\n<string>[redacted ba78]</string><key>x</key><string>abc</string></dict>",
        ),
        ("<u>postgres://u:abc@h/d</u>", "<u>postgres://u:redacted-ba78@h/d</u>"),
        ("<token><user>abc</user></token><token>abc", "<token><user>abc</user></token><token>[redacted ba78]"),
        ("<password></password><password/><x>abc</x>", "<password></password><password/><x>abc</x>"),
    ];
    for (body, expected) in cases {
        for kind in ["text/xml; charset=utf-8", "application/xml", "application/soap+xml"] {
            assert_eq!(kept(kind, body), expected);
        }
    }
    // What breaks off, and what is no XML.
    for cut in ["<", "<a", "<password", "<a b", "<a b=", "<password b=\"", "<!--", "<![CDATA[", "<?", "</", "<!", "<a/"]
    {
        assert_eq!(kept("text/xml", cut), cut);
    }
    let deep = "<a>".repeat(1000) + "<password>abc</password>" + &"</a>".repeat(1000) + "<password>abc</password>";
    let expected =
        "<a>".repeat(1000) + "<password>abc</password>" + &"</a>".repeat(1000) + "<password>[redacted ba78]</password>";
    assert_eq!(kept("text/xml", &deep), expected);
    let packed = "PK\u{3}<password>abc</password>";
    assert_eq!(kept("application/vnd.openxmlformats-officedocument.wordprocessingml.document", packed), packed);
    // An answer's secret becomes what the program can show again.
    let mut call =
        call("/", &[], "", &[("content-type", "text/xml")], "<r><sessionId>0123456789abcdef</sessionId></r>");
    exchange(&mut call);
    assert_eq!(told(&call).3, "<r><sessionId>redacted-9f9f511</sessionId></r>");
}

#[test]
fn tokens_in_paths_of_known_services() {
    let path = |path: &str| {
        let mut get = call(path, &[], "", &[], "");
        exchange(&mut get);
        let once = get.clone();
        exchange(&mut get);
        assert_eq!(get, once, "a second time changes something");
        let recorded = places(asked(&get));
        let asks = call(path, &[], "", &[], "");
        assert_eq!(recorded.len(), places(asked(&asks)).len());
        assert!(recorded.iter().zip(places(asked(&asks))).all(|(one, other)| one.is_like(&other)));
        told(&get).0
    };
    let token = "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0";
    let bot = format!("123456789:{token}");
    let stand_in = |token: &str| String::from_utf8(Marks::default().stand_in(token.as_bytes(), false)).unwrap();
    let hidden = stand_in(&bot);
    let slack = "XXXXXXXXXXXXXXXXXXXXXXXX";
    let discord = "abcdefghij".repeat(7);
    let cases = [
        (format!("/bot{bot}/getMe"), format!("/bot{hidden}/getMe")),
        (format!("/file/bot{bot}/photos/1?a=b"), format!("/file/bot{hidden}/photos/1?a=b")),
        (format!("https://api.telegram.org/bot{bot}/getMe"), format!("https://api.telegram.org/bot{hidden}/getMe")),
        (
            format!("/services/T00000000/B00000000/{slack}?token=abc"),
            format!("/services/T00000000/B00000000/{}?token=[redacted ba78]", stand_in(slack)),
        ),
        (
            format!("/workflows/T00000000/A00000000/123/{slack}"),
            format!("/workflows/T00000000/A00000000/123/{}", stand_in(slack)),
        ),
        (format!("/triggers/T00000000/123/{slack}"), format!("/triggers/T00000000/123/{}", stand_in(slack))),
        (
            format!("/api/webhooks/123456789012345678/{discord}"),
            format!("/api/webhooks/123456789012345678/{}", stand_in(&discord)),
        ),
        (
            format!("/api/v10/webhooks/123456789012345678/{discord}/slack"),
            format!("/api/v10/webhooks/123456789012345678/{}/slack", stand_in(&discord)),
        ),
    ];
    for (asked, expected) in cases {
        assert_eq!(path(&asked), expected);
    }
    for plain in [
        "/",
        "",
        "/bot",
        "/bots/123456789",
        "/bot12:short/x",
        "/services/T1/B1/x",
        "/services/tenants/backends/0123456789012345678901",
        "/api/webhooks/7/x",
        "/of/0123456789abcdef0123456789abcdef",
        "/services/T00000000/B00000000/",
    ] {
        assert_eq!(path(plain), plain);
    }
}

#[test]
fn bodies_whose_media_type_says_nothing() {
    for kind in ["application/x-www-form-urlencoded", "text/plain", ""] {
        let cases = [
            (r#"{"password":"abc"}"#, r#"{"password":"[redacted ba78]"}"#),
            (r#" [{"api_key":"abc"}]"#, r#" [{"api_key":"[redacted ba78]"}]"#),
            ("<a><password>abc</password></a>", "<a><password>[redacted ba78]</password></a>"),
        ];
        for (body, expected) in cases {
            assert_eq!(kept(kind, body), expected, "{kind}");
        }
    }
}

#[test]
fn addresses_in_parameters_and_more_names_of_fields() {
    let fields = ["X-Auth", "X-Credentials", "X-Key", "X-Pin", "X-Signing-Key"];
    let mut call = call(
        "/?redirect=https%3A%2F%2Fb%2F%3Faccess_token%3Dabc%26x%3D1&next=%2Fc%23token%3Dabc",
        &fields.map(|name| (name, "abc")),
        "",
        &[],
        "",
    );
    exchange(&mut call);
    let once = call.clone();
    exchange(&mut call);
    assert_eq!(call, once, "a second time changes something");
    let (path, headers, ..) = told(&call);
    let stand_in = "%5Bredacted%20ba78%5D";
    let expected =
        format!("/?redirect=https%3A%2F%2Fb%2F%3Faccess_token%3D{stand_in}%26x%3D1&next=%2Fc%23token%3D{stand_in}");
    assert_eq!(path, expected);
    assert_eq!(headers, fields.map(|name| format!("{name}: [redacted ba78]")));
}

#[test]
fn tokens_are_known_by_their_shape_wherever_they_stand() {
    let tail = "0123456789abcdefghijABCDEFGHIJ0123456789abcd";
    let tokens = [
        format!("ghp_{}", &tail[..36]),
        format!("github_pat_{}", &tail[..40]),
        format!("sk_live_{}", &tail[..24]),
        format!("glpat-{}", &tail[..20]),
        format!("xoxb-{}", &tail[..24]),
        format!("AIza{}", &tail[..35]),
        "AKIAIOSFODNN7EXAMPLE".to_owned(),
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlLW9mLWl0".to_owned(),
    ];
    for token in &tokens {
        let secret = token.rsplit('.').next().unwrap();
        let gives = [("X-Deploy", token.as_str())];
        let grpc = [("content-type", "application/grpc+proto"), ("x-plain", token.as_str())];
        let length = [token.len() as u8];
        let message = [b"\0\0\0\0\x40\x0a", &length[..], token.as_bytes(), b"\x12\x01z"].concat();
        let mut all = [
            call(&format!("/of/{token}/x?id={token}"), &grpc, "", &gives, &format!("{{\"note\":\"{token}\"}}")),
            call("/", &[("authorization", &format!("Bearer {token}"))], "", &[], ""),
        ];
        let Content::Http(http) = &mut all[0].content else { panic!() };
        http.request.body.clone_from(&message);
        let plain = all.clone();
        exchanges(&mut all);
        let once = all.clone();
        exchanges(&mut all);
        assert_eq!(all, once, "a second time changes something");
        let shown = format!("{all:?}");
        assert!(!shown.contains(&secret[secret.len() - 12..]), "{token}: {shown}");
        let Content::Http(http) = &all[0].content else { panic!() };
        assert_eq!(http.request.body.len(), message.len());
        assert_eq!(http.request.body[..7], message[..7]);
        assert_eq!(told(&all[0]).3.len(), told(&plain[0]).3.len());
        assert!(secret.len() == 16 || http.request.body[7..].starts_with(&token.as_bytes()[..4]));
        // The same wherever it stands, so that a replay knows it again.
        for (kept, asks) in all.iter().zip(&plain) {
            let like = |one: Vec<Shown>, other: Vec<Shown>| {
                assert_eq!(one.len(), other.len());
                assert!(one.iter().zip(&other).all(|(one, other)| one.is_like(other)), "{one:?} {other:?}");
            };
            like(places(asked(kept)), places(asked(asks)));
            like(credentials(asked(kept)), credentials(asked(asks)));
            assert_eq!(without_secrets(asked(kept)).path, without_secrets(asked(asks)).path);
            assert_eq!(without_secrets(asked(kept)).body, without_secrets(asked(asks)).body);
        }
    }
    for none in
        ["ghp_short", "AKIAIOSFODNN7EXAMPLEX", "sk_live_", "eyJhbGciOiJIUzI1NiJ9.x.y", "a-----BEGIN CERTIFICATE-----b"]
    {
        assert_eq!(kept("text/plain", none), none);
    }
}

#[test]
fn tokens_in_what_is_said_to_databases_and_answered() {
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let stand_in = format!("ghp_redacted-{}", &digits(token.as_bytes())[..27]);
    assert_eq!(stand_in.len(), token.len());
    let ways: [(Protocol, Vec<u8>); 4] = [
        (Protocol::Postgres, query(&format!("INSERT INTO t VALUES ('{token}')"))),
        (Protocol::MySql, com_query(&format!("SELECT '{token}'"))),
        (
            Protocol::Redis,
            resp(&format!("SET k {token}")).iter().map(|byte| if *byte == b' ' { b'_' } else { *byte }).collect(),
        ),
        (Protocol::Generic, format!("PUT {token}\n").into_bytes()),
    ];
    for (protocol, bytes) in ways {
        let expected = String::from_utf8_lossy(&bytes).replace(token, &stand_in);
        assert_eq!(String::from_utf8_lossy(&wired(protocol, bytes)), expected);
    }
    let mut answered = call("/", &[], "", &[], "");
    let said = |from, bytes: &str| Message { from, bytes: bytes.as_bytes().to_vec() };
    let config = "*2\r\n$11\r\nrequirepass\r\n$3\r\nabc\r\n";
    let ask = "*3\r\n$6\r\nCONFIG\r\n$3\r\nGET\r\n$1\r\n*\r\n";
    let messages = vec![said(Side::Client, ask), said(Side::Server, config)];
    answered.content = Content::Wire(Protocol::Redis, Wire { messages, session: false });
    exchange(&mut answered);
    let Content::Wire(_, wire) = &answered.content else { panic!() };
    assert_eq!(
        String::from_utf8_lossy(&wire.messages[1].bytes),
        "*2\r\n$11\r\nrequirepass\r\n$13\r\nredacted-ba78\r\n"
    );
    // A word in quotes is not taken apart in commands in a line.
    assert_eq!(
        String::from_utf8(wired(Protocol::Redis, b"AUTH \"a bc\"\r\n".to_vec())).unwrap().matches("[redacted").count(),
        2
    );
}

#[test]
fn private_keys_keep_their_lines() {
    let inside = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7";
    for end in ["\n", r"\n", "\r\n"] {
        let key = |inside: &str| {
            format!("x-----BEGIN RSA PRIVATE KEY-----{end}{inside}{end}-----END RSA PRIVATE KEY-----{end}")
        };
        let left = kept("text/plain", &key(inside));
        assert!(!left.contains(&inside[9..20]), "{left}");
        assert_eq!(left.len(), key(inside).len());
        assert!(left.starts_with(&key("redacted-")[..30 + end.len()]), "{left}");
        assert!(left.ends_with(&format!("-----END RSA PRIVATE KEY-----{end}")));
    }
}

#[test]
fn parts_of_messages_of_several() {
    let part = |head: &str, value: &str| format!("--a b\r\n{head}\r\n\r\n{value}\r\n");
    let form = |value: &str| {
        let json = format!("{{\"password\":\"{value}\"}}");
        let inner = format!("--i\r\nContent-Disposition: form-data; name=secret\r\n\r\n{value}\r\n--i--\r\n");
        [
            "what is before it\r\n",
            &part("content-disposition: form-data; filename=\"name=\\\"x\\\"\"; name=\"password\"", value),
            &part("Content-Disposition: form-data; name*=UTF-8''pass%77ord", value),
            &part("Content-Disposition: form-data; name=n; filename*=UTF-8''password", "abc"),
            &part("Content-Type: application/json\r\nContent-Disposition: form-data; name=\"n\"", &json),
            &part("Content-Type: multipart/mixed; boundary=i", &inner),
            "--a b--\r\nabc",
        ]
        .concat()
    };
    for kind in ["multipart/form-data; boundary=\"a b\"", "Multipart/Related; type=x; Boundary=\"a b\"; start=y"] {
        assert_eq!(kept(kind, &form("abc")), form("[redacted ba78]"));
    }
    let lines = |value: &str| form(value).replace("\r\n", "\n");
    assert_eq!(kept("multipart/form-data; boundary=\"a b\"", &lines("abc")), lines("[redacted ba78]"));
    let deep = "--a\r\nContent-Type: multipart/mixed; boundary=a\r\n\r\n".repeat(10_000);
    assert_eq!(kept("multipart/form-data; boundary=a", &deep), deep);
}

#[test]
fn texts_of_sixteen_bits() {
    let json = |value: &str| format!("{{\"password\":\"{value}\",\"\u{e4}\":\"\u{1f600}\"}}");
    let encoded = |text: &str, mark: bool, of: fn(u16) -> [u8; 2]| -> Vec<u8> {
        mark.then_some(0xfeff).into_iter().chain(text.encode_utf16()).flat_map(of).collect()
    };
    for of in [u16::to_be_bytes, u16::to_le_bytes] {
        for mark in [true, false] {
            let mut post = call("/", &[("content-type", "application/json; charset=utf-16")], "", &[], "");
            let Content::Http(http) = &mut post.content else { panic!() };
            http.request.body = encoded(&json("abc"), mark, of);
            exchange(&mut post);
            assert_eq!(asked(&post).body, encoded(&json("[redacted ba78]"), mark, of));
        }
    }
}

#[test]
fn settings_in_lines_and_arguments_of_queries() {
    let yaml = |password: &str, address: &str| {
        format!(
            "db:\n  password: {password} # mine\n  'api_key': \"{password}\"\n  url: redis://u:{address}@h\n- secret: |\n    \
             {password}\n  n: 1\npassword_hint: abc\nsecret:\n  a: b\n"
        )
    };
    assert_eq!(kept("application/yaml", &yaml("abc", "abc")), yaml("[redacted ba78]", "redacted-ba78"));
    let block = kept("application/x-yaml", "client_secret: |\n  a\n  b\n");
    assert!(block.starts_with("client_secret: |\n  [redacted ") && block.ends_with("]\n"), "{block}");
    let toml = |password: &str| format!("[db]\npassword = '{password}'\nn = 1\n");
    assert_eq!(kept("application/toml", &toml("abc")), toml("[redacted ba78]"));
    let query = |value: &str| format!("mutation {{ login(user: \"abc\", password : \"{value}\") {{ token }} }}");
    assert_eq!(kept("application/graphql", &query("abc")), query("[redacted ba78]"));
    let json = |value: &str| {
        serde_json::json!({ "query": query(value), "variables": { "password": value, "n": "abc" } }).to_string()
    };
    assert_eq!(kept("application/json", &json("abc")), json("[redacted ba78]"));
}

#[test]
fn variables_of_a_query_in_a_url() {
    for query in [
        "mutation($p:String)+{login(name:$n,password:$p)}",
        "mutation%28%24p%3AString%29%20%7Blogin%28name%3A%24n%2C%20password%3A%20%24p%29%7D",
    ] {
        let mut asked = call(&format!("/g?query={query}&variables={{\"p\":\"abc\",\"n\":\"abc\"}}"), &[], "", &[], "");
        exchange(&mut asked);
        let once = asked.clone();
        exchange(&mut asked);
        assert_eq!(asked, once);
        let variables = "%7B%22p%22%3A%22%5Bredacted%20ba78%5D%22%2C%22n%22%3A%22abc%22%7D";
        assert_eq!(told(&asked).0, format!("/g?query={query}&variables={variables}"));
    }
}
