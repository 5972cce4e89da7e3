mod cookies;
mod corpus;
mod databases;
mod forms;
mod laws;
mod names;
mod statements;
mod time;

use std::time::{Duration, SystemTime};

use pretty_assertions::assert_eq;

use super::names::is_secret_key;
use super::*;
use crate::record::exchange::{HttpRequest, HttpResponse, HttpVersion, Message, Protocol, Side, Target, Wire};

fn fields(list: &[(&str, &str)]) -> Vec<(String, Vec<u8>)> {
    list.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect()
}

/// A call to `https://a/PATH` with these fields and bodies.
fn call(path: &str, asks: &[(&str, &str)], body: &str, gives: &[(&str, &str)], answer: &str) -> Exchange {
    Exchange {
        target: Target { host: "a".to_owned(), port: 443 },
        tls: true,
        connection: 1,
        sent_at: SystemTime::UNIX_EPOCH,
        answered_at: SystemTime::UNIX_EPOCH,
        abandoned: false,
        cancelled: false,
        content: Content::Http(Box::new(Http {
            request: HttpRequest {
                version: HttpVersion::Http11,
                method: "POST".to_owned(),
                scheme: "https".to_owned(),
                authority: "a".to_owned(),
                path: path.to_owned(),
                headers: fields(asks),
                body: body.as_bytes().to_vec(),
            },
            response: Some(HttpResponse {
                version: HttpVersion::Http11,
                status: 200,
                reason: String::new(),
                headers: fields(gives),
                body: answer.as_bytes().to_vec(),
                trailers: Vec::new(),
            }),
        })),
    }
}

fn told(exchange: &Exchange) -> (String, Vec<String>, String, String) {
    let Content::Http(http) = &exchange.content else { panic!() };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let answer = http.response.as_ref().unwrap();
    let all = http.request.headers.iter().chain(&answer.headers);
    let headers = all.map(|(name, value)| format!("{name}: {}", text(value))).collect();
    (http.request.path.clone(), headers, text(&http.request.body), text(&answer.body))
}

#[test]
fn a_body_changes_only_where_its_secrets_are() {
    let json = r#"{ "user":"x" , "Password" : "p\"w" ,"next_page_token":"n", "n":1.50,
 "api_keys":["a"],"apiKey":["k1", "k2",3] ,"db":{"client_secret":"","secret":{"token":"t"}},"pin":"password"}"#;
    let expected = r#"{ "user":"x" , "Password" : "[redacted ffe3]" ,"next_page_token":"n", "n":1.50,
 "api_keys":["a"],"apiKey":["[redacted 6ab9]", "[redacted 015f]","[redacted 4e07]"] ,"db":{"client_secret":"","secret":{"token":"[redacted e3b9]"}},"pin":"password"}"#;
    let length = json.len().to_string();
    let answer = r#"{"token":"abc","expires_in":3600,"password":"abc"}"#;
    let mut login = call("/login", &[("Content-Length", &length)], json, &[("Content-Length", "7")], answer);
    exchange(&mut login);
    let once = login.clone();
    exchange(&mut login);
    assert_eq!(login, once);
    let headers = vec![format!("Content-Length: {}", expected.len()), "Content-Length: 7".to_owned()];
    let given = r#"{"token":"redacted-ba78","expires_in":3600,"password":"[redacted ba78]"}"#;
    assert_eq!(told(&login), ("/login".to_owned(), headers, expected.to_owned(), given.to_owned()));
    // Events and lines hold JSON, and what is cut short harms nobody.
    for (text, expected) in [
        (
            "data: {\"token\":\"t\"}\n\ndata: {\"secret\":\"t\"}",
            Some("data: {\"token\":\"redacted-e3b9\"}\n\ndata: {\"secret\":\"redacted-e3b9\"}"),
        ),
        ("{\"token\":", None),
        ("{\"token\":\"abc", None),
        ("{\"token\":[\"abc\",", Some("{\"token\":[\"redacted-ba78\",")),
        ("{\"a\":\"token\",\"b\":\"c\\", None),
    ] {
        let mut stream = call("/", &[], "", &[], text);
        exchange(&mut stream);
        assert_eq!(told(&stream).3, expected.unwrap_or(text));
    }
}

#[test]
fn a_token_that_is_given_is_the_same_wherever_it_is_shown() {
    const TOKEN: &str = "tok-0123456789abcdef";
    const OTHER: &str = "redacted-6db3068996f";
    let head = format!("Bearer {TOKEN}");
    let stored = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$20\r\n{TOKEN}\r\n");
    let mut redis = call("/", &[], "", &[], "");
    let messages = vec![Message { from: Side::Client, bytes: stored.into_bytes() }];
    redis.content = Content::Wire(Protocol::Redis, Wire { messages, session: false });
    let mut known = call("/bot/0123456789abcdef", &[], "", &[], r#"{"token":"0123456789abcdef"}"#);
    known.sent_at += Duration::from_secs(2);
    let mut run = vec![
        call("/login", &[], "{}", &[], &format!(r#"{{"access_token":"{TOKEN}"}}"#)),
        call(&format!("/of/{TOKEN}?t={TOKEN}"), &[("Authorization", &head)], &format!("x {TOKEN}"), &[], TOKEN),
        redis,
        known,
    ];
    for call in &mut run[1..] {
        call.sent_at += Duration::from_secs(1);
    }
    exchanges(&mut run);
    let once = run.clone();
    exchanges(&mut run);
    assert_eq!(run, once);
    assert_eq!(told(&run[0]).3, format!(r#"{{"access_token":"{OTHER}"}}"#));
    let (path, headers, body, answer) = told(&run[1]);
    assert_eq!((path, body, answer), (format!("/of/{OTHER}?t={OTHER}"), format!("x {OTHER}"), OTHER.to_owned()));
    assert_eq!(headers, ["Authorization: Bearer [redacted 6db3068996f]"]);
    let Content::Wire(_, wire) = &run[2].content else { panic!() };
    let expected = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$20\r\n{OTHER}\r\n");
    assert_eq!(String::from_utf8_lossy(&wire.messages[0].bytes), expected);
    // What it knew before, it knows in a replay as well.
    assert_eq!(told(&run[3]).0, "/bot/0123456789abcdef");
    // What a program does in a replay with what it is given then.
    let Content::Http(recorded) = &run[1].content else { panic!() };
    let again = call("/", &[("Authorization", &format!("Bearer {OTHER}"))], "", &[], "");
    let Content::Http(asked) = &again.content else { panic!() };
    assert_eq!(credentials(&asked.request), credentials(&recorded.request));
}

#[test]
fn of_a_json_web_token_all_but_the_signature_stays() {
    let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlLW9mLWl0";
    let mut run = vec![
        call("/login", &[], "", &[], &format!(r#"{{"id_token":"{token}"}}"#)),
        call("/", &[("Authorization", &format!("Bearer {token}"))], "", &[], ""),
    ];
    run[1].sent_at += Duration::from_secs(1);
    exchanges(&mut run);
    let (first, second) = (told(&run[0]).3, told(&run[1]).1);
    let digits = &second[0]["Authorization: Bearer [redacted ".len()..].trim_end_matches(']');
    let expected = format!(r#"{{"id_token":"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.redacted-{digits}"}}"#);
    assert_eq!(first, expected);
}

#[test]
fn passwords_in_statements() {
    let cases = [
        (
            "ALTER ROLE a WITH PASSWORD 'p''w' VALID UNTIL 'x'",
            "ALTER ROLE a WITH PASSWORD '[redacted]' VALID UNTIL 'x'",
        ),
        ("create user a ENCRYPTED PASSWORD E'p\\'w'", "create user a ENCRYPTED PASSWORD E'[redacted]'"),
        (
            "UPDATE u SET \"password\" = 'a', b='c' WHERE n='d'",
            "UPDATE u SET \"password\" = '[redacted]', b='c' WHERE n='d'",
        ),
        ("SELECT 'password' , 'x' -- don't\n , password_hint = 'y'", ""),
        ("SELECT 1 /* password 'a' */, password FROM t WHERE a = 'b'", ""),
        ("SELECT password", ""),
        ("ALTER ROLE a PASSWORD 'cut", ""),
        ("OPTIONS (user 'a', password 'b')", "OPTIONS (user 'a', password '[redacted]')"),
    ];
    for (text, expected) in cases {
        let redacted = sql::statement(text.as_bytes(), Protocol::Postgres, &sql::Prepared::new(), &mut blank);
        assert_eq!(
            redacted.map(|it| String::from_utf8(it).unwrap()).as_deref(),
            Some(expected).filter(|it| !it.is_empty()),
            "{text}"
        );
    }
    let cases = [
        ("CREATE USER 'a'@'b' IDENTIFIED BY 'pw'", "CREATE USER 'a'@'b' IDENTIFIED BY '[redacted]'"),
        ("ALTER USER a IDENTIFIED WITH x BY \"p\\\"w\"", "ALTER USER a IDENTIFIED WITH x BY \"[redacted]\""),
        (
            "GRANT ALL ON *.* TO a IDENTIFIED BY PASSWORD '*AB'",
            "GRANT ALL ON *.* TO a IDENTIFIED BY PASSWORD '[redacted]'",
        ),
        ("SET PASSWORD FOR 'a'@'b' = PASSWORD('pw')", "SET PASSWORD FOR 'a'@'b' = PASSWORD('[redacted]')"),
        (
            "CHANGE MASTER TO MASTER_USER='u', MASTER_PASSWORD='pw'",
            "CHANGE MASTER TO MASTER_USER='u', MASTER_PASSWORD='[redacted]'",
        ),
        ("SELECT a FROM t ORDER BY 'x'", ""),
    ];
    for (text, expected) in cases {
        let redacted = sql::statement(text.as_bytes(), Protocol::MySql, &sql::Prepared::new(), &mut blank);
        assert_eq!(
            redacted.map(|it| String::from_utf8(it).unwrap()).as_deref(),
            Some(expected).filter(|it| !it.is_empty()),
            "{text}"
        );
    }
    assert_eq!(said(Protocol::Postgres, false, b"Q\0\0\0\x11password 'a'\0"), b"Q\0\0\0\x1apassword '[redacted]'\0");
    let parse = |text: &str| {
        [b"P", &(text.len() as u32 + 4 + 5).to_be_bytes()[..], b"s\0", text.as_bytes(), b"\0\0\0"].concat()
    };
    assert_eq!(said(Protocol::Postgres, false, &parse("password 'a'")), parse("password '[redacted]'"));
    assert_eq!(said(Protocol::MySql, false, b"\x0d\0\0\0\x03password 'a'"), b"\x16\0\0\0\x03password '[redacted]'");
}

#[test]
fn names_of_secrets() {
    let headers = ["X-Token", "x-auth-user", "X-RapidAPI-Key", "My-Api-Key", "X-Refresh-Token"];
    let none = ["x-continuation-token", "idempotency-key", "etag", "x-author"];
    assert_eq!(headers.map(is_secret_header), [true; 5]);
    assert_eq!(none.map(is_secret_header), [false; 4]);
    let keys = ["client_secret", "clientSecret", "access-token", "DB_PASSWORD", "refreshToken", "token", "api_key"];
    assert_eq!(keys.map(is_secret_key), [true; 7]);
    let none = ["next_page_token", "password_hint", "key", "secretary", "sig", "expires_in", "max_tokens"];
    assert_eq!(none.map(is_secret_key), [false; 7]);
    assert_eq!(["sig", "X-Amz-Signature", "token", "page"].map(is_secret_parameter), [true, true, true, false]);
}

fn said(protocol: Protocol, session: bool, bytes: &[u8]) -> Vec<u8> {
    let message = Message { from: Side::Client, bytes: bytes.to_vec() };
    let mut all = Wire { messages: vec![message], session };
    wire(protocol, &mut all);
    let once = all.clone();
    wire(protocol, &mut all);
    assert_eq!(all, once, "a second time changes something");
    all.messages[0].bytes.clone()
}

#[test]
fn http_keeps_what_is_no_secret() {
    let headers = [
        ("Host", "a"),
        ("authorization", "Bearer abc.def"),
        ("Proxy-Authorization", "opaque"),
        ("Cookie", "a=1; b=2=3"),
        ("X-API-Key", "k"),
        ("X-My-Auth-Token", "t"),
        ("X-Continuation-Token", "page"),
        ("Content-Type", "application/x-www-form-urlencoded; charset=utf-8"),
        ("Content-Length", "45"),
    ];
    let answer = [
        ("Set-Cookie", "sid=secret; Path=/; HttpOnly"),
        ("Location", "https://b/c?x=1&access_token=abc#f"),
        ("Date", "now"),
    ];
    let mut login = Exchange {
        target: Target { host: "a".to_owned(), port: 80 },
        tls: false,
        connection: 1,
        sent_at: SystemTime::UNIX_EPOCH,
        answered_at: SystemTime::UNIX_EPOCH,
        abandoned: false,
        cancelled: false,
        content: Content::Http(Box::new(Http {
            request: HttpRequest {
                version: HttpVersion::Http11,
                method: "POST".to_owned(),
                scheme: "http".to_owned(),
                authority: "a".to_owned(),
                path: "/t?q=1&Api_Key=abc&empty&access_token=".to_owned(),
                headers: fields(&headers),
                body: b"grant_type=client_credentials&client_secret=x".to_vec(),
            },
            response: Some(HttpResponse {
                version: HttpVersion::Http11,
                status: 302,
                reason: String::new(),
                headers: fields(&answer),
                body: b"access_token=stays".to_vec(),
                trailers: Vec::new(),
            }),
        })),
    };
    exchange(&mut login);
    let once = login.clone();
    exchange(&mut login);
    assert_eq!(login, once);
    let Content::Http(http) = login.content else { panic!() };
    assert_eq!(http.request.path, "/t?q=1&Api_Key=[redacted ba78]&empty&access_token=[redacted e3b0]");
    assert_eq!(http.request.body, b"grant_type=client_credentials&client_secret=[redacted 2d71]");
    let expected = [
        ("Host", "a"),
        ("authorization", "Bearer [redacted ebb3]"),
        ("Proxy-Authorization", "[redacted 6d22]"),
        ("Cookie", "a=1; b=2=3"),
        ("X-API-Key", "[redacted 8254]"),
        ("X-My-Auth-Token", "[redacted e3b9]"),
        ("X-Continuation-Token", "page"),
        ("Content-Type", "application/x-www-form-urlencoded; charset=utf-8"),
        ("Content-Length", "59"),
    ];
    assert_eq!(http.request.headers, fields(&expected));
    let response = http.response.unwrap();
    let expected = [
        ("Set-Cookie", "sid=redacted-2bb8; Path=/; HttpOnly"),
        ("Location", "https://b/c?x=1&access_token=redacted-ba78#f"),
        ("Date", "now"),
    ];
    assert_eq!(response.headers, fields(&expected));
    assert_eq!(response.body, b"access_token=stays");
    // A length may stand beside what is in other bodies.
    let mut grpc = call("/", &[("content-type", "application/grpc")], r#"{"token":"t"}"#, &[], "");
    let before = told(&grpc).2;
    exchange(&mut grpc);
    assert_eq!(told(&grpc).2, before);
}

#[test]
fn redis_commands_with_passwords() {
    let resp =
        |words: &[&str]| words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect::<Vec<_>>().concat();
    let command = |words: &[&str]| format!("*{}\r\n{}", words.len(), resp(words)).into_bytes();
    let cases = [
        (command(&["AUTH", "pw"]), command(&["AUTH", "[redacted]"])),
        (command(&["auth", "me", "pw"]), command(&["auth", "me", "[redacted]"])),
        (
            command(&["HELLO", "3", "AUTH", "me", "pw", "SETNAME", "x"]),
            command(&["HELLO", "3", "AUTH", "me", "[redacted]", "SETNAME", "x"]),
        ),
        (command(&["CONFIG", "SET", "requirepass", "pw"]), command(&["CONFIG", "SET", "requirepass", "[redacted]"])),
        (command(&["SET", "AUTH", "pw"]), command(&["SET", "AUTH", "pw"])),
        (b"AUTH pw\r\n".to_vec(), command(&["AUTH", "[redacted]"])),
        (
            [command(&["GET", "a"]), command(&["AUTH", "pw"])].concat(),
            [command(&["GET", "a"]), command(&["AUTH", "[redacted]"])].concat(),
        ),
        (b"*2\r\n$4\r\nAUTH".to_vec(), b"*2\r\n$4\r\nAUTH".to_vec()),
    ];
    for (asked, expected) in cases {
        assert_eq!(String::from_utf8_lossy(&said(Protocol::Redis, true, &asked)), String::from_utf8_lossy(&expected));
    }
}

#[test]
fn other_databases() {
    assert_eq!(said(Protocol::Postgres, true, b"p\0\0\0\x08abc\0"), b"p\0\0\0\x0f[redacted]\0");
    assert_eq!(said(Protocol::Postgres, false, b"Q\0\0\0\x05\0"), b"Q\0\0\0\x05\0");

    let head = [&(CLIENT_SECURE).to_le_bytes()[..], &[0; 28]].concat();
    let response = |secret: &[u8]| [b"\x30\0\0\x01", &head[..], b"root\0", &[3], secret, b"db\0"].concat();
    assert_eq!(said(Protocol::MySql, true, &response(b"abc")), response(&[0; 3]));
    assert_eq!(said(Protocol::MySql, false, b"\x05\0\0\x01abcde"), b"\x05\0\0\x01abcde");
    assert_eq!(said(Protocol::MySql, false, b"\x09\0\0\0\x11me\0\x02pwdb\0"), b"\x09\0\0\0\x11me\0\x02\0\0db\0");

    let sasl = |secret: &[u8]| {
        [&[0; 21][..], b"\x10saslStart\0\x01\0\0\0\x05payload\0", &[3, 0, 0, 0, 0], secret, b"\0"].concat()
    };
    assert_eq!(said(Protocol::Mongo, true, &sasl(b"abc")), sasl(&[0; 3]));
    let cut = sasl(b"abc");
    for end in 0..cut.len() {
        said(Protocol::Mongo, true, &cut[..end]);
        said(Protocol::MySql, true, &response(b"abc")[..end.min(response(b"abc").len())]);
    }
}

const CLIENT_SECURE: u32 = 0x8000;

fn asked(exchange: &Exchange) -> &HttpRequest {
    let Content::Http(http) = &exchange.content else { panic!() };
    &http.request
}

/// What a body of this media type becomes in a request.
fn kept(kind: &str, body: &str) -> String {
    let mut call = call("/", &[("content-type", kind)], body, &[], "");
    exchange(&mut call);
    let once = call.clone();
    exchange(&mut call);
    assert_eq!(call, once, "a second time changes something");
    told(&call).2
}

#[test]
fn values_of_secrets_in_json_in_all_their_forms() {
    let cases = [
        (r#"{"pass\u0077ord":"abc"}"#, r#"{"pass\u0077ord":"[redacted ba78]"}"#),
        (
            r#"{"password":{"value":"abc","type":"x","n":7}}"#,
            r#"{"password":{"value":"[redacted ba78]","type":"x","n":7}}"#,
        ),
        (
            r#"{"tokens":{"a":["abc"]},"secrets":{"a":["k1"]},"max":{"tokens":7}}"#,
            r#"{"tokens":{"a":["abc"]},"secrets":{"a":["[redacted 6ab9]"]},"max":{"tokens":7}}"#,
        ),
        (r#"{"token":{"user":"abc"}}"#, r#"{"token":{"user":"abc"}}"#),
        (r#"{"name":"password","value":"abc"}"#, r#"{"name":"password","value":"[redacted ba78]"}"#),
        (
            r#"[{"value":"abc","key":"api_key"},{"value":"abc"}]"#,
            r#"[{"value":"[redacted ba78]","key":"api_key"},{"value":"abc"}]"#,
        ),
        (r#"{"body":"{\"jwt\":\"abc\"}"}"#, r#"{"body":"{\"jwt\":\"[redacted ba78]\"}"}"#),
        (r#"{"url":"postgres://u:abc@h/d"}"#, r#"{"url":"postgres://u:redacted-ba78@h/d"}"#),
        (r#"{"dsn":"Server=h;Password=abc;"}"#, r#"{"dsn":"Server=h;Password=redacted-ba78;"}"#),
        (
            r#"{"aws_secret_access_key":"abc","sessionId":"abc"}"#,
            r#"{"aws_secret_access_key":"[redacted ba78]","sessionId":"[redacted ba78]"}"#,
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(kept("application/octet-stream", body), expected);
        assert_eq!(kept("application/json", body), expected);
    }
    let deep = "[".repeat(100_000) + "\"x\"" + &"]".repeat(100_000);
    assert_eq!(kept("application/json", &deep), deep);
}

#[test]
fn names_of_parameters_in_all_their_forms() {
    let form = "application/x-www-form-urlencoded";
    let cases = [
        ("access%5Ftoken=abc&p%61ssword=abc", "access%5Ftoken=[redacted ba78]&p%61ssword=[redacted ba78]"),
        (
            "user[password]=abc&user%5Bpassword%5D=abc",
            "user[password]=[redacted ba78]&user%5Bpassword%5D=[redacted ba78]",
        ),
        ("user.password=abc;sig=abc;a=b", "user.password=[redacted ba78];sig=[redacted ba78];a=b"),
        ("url=postgres%3A%2F%2Fu%3Aabc%40h", "url=postgres%3A%2F%2Fu%3Aredacted-ba78%40h"),
        ("payload=%7B%22secret%22%3A%22abc%22%7D", "payload=%7B%22secret%22%3A%22%5Bredacted%20ba78%5D%22%7D"),
    ];
    for (pairs, expected) in cases {
        assert_eq!(kept(form, pairs), expected);
        let mut get = call(&format!("/?{pairs}"), &[], "", &[], "");
        exchange(&mut get);
        assert_eq!(told(&get).0, format!("/?{expected}"));
    }
    let part = |value: &str| {
        format!(
            "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n{value}\r\n--b\r\n\r\nabc\r\n--b--\r\n"
        )
    };
    assert_eq!(kept("multipart/form-data; boundary=b", &part("abc")), part("[redacted ba78]"));
}

#[test]
fn addresses_in_fields() {
    let asks = [("Referer", "http://a/#access_token=abc&x=1"), ("X-Db", "redis://:abc@h"), ("X-User-Token", "abc")];
    let gives = [("Link", "<https://a/?access_token=abc>; rel=next"), ("X-RateLimit-Remaining-Tokens", "5")];
    let mut get = call("/", &asks, "", &gives, "");
    exchange(&mut get);
    let expected = [
        "Referer: http://a/#access_token=[redacted ba78]&x=1",
        "X-Db: redis://:redacted-ba78@h",
        "X-User-Token: [redacted ba78]",
        "Link: <https://a/?access_token=redacted-ba78>; rel=next",
        "X-RateLimit-Remaining-Tokens: 5",
    ];
    assert_eq!(told(&get).1, expected);
}

#[test]
fn a_secret_that_an_answer_repeats() {
    let key = "0123456789abcdef0123";
    let answer = format!("you sent {key}, and hunter22");
    let length = answer.len().to_string();
    let asks = [("X-Api-Key", key)];
    let mut call = call("/?password=hunter22", &asks, "", &[("Content-Length", &length), ("X-Echo", key)], &answer);
    exchange(&mut call);
    let (path, headers, _, answer) = told(&call);
    assert_eq!(answer, "you sent edac71bd8fd47297f19b, and redacted-20d2");
    assert_eq!(path, "/?password=[redacted 20d2]");
    assert_eq!(
        headers,
        [
            "X-Api-Key: [redacted 1bd8fd47297]",
            &format!("Content-Length: {}", answer.len()),
            "X-Echo: edac71bd8fd47297f19b"
        ]
    );
}

#[test]
fn an_answer_is_changed_only_where_it_repeats_a_secret_and_that_is_told() {
    let stays = [
        ("test", "this is a test, test"),
        ("1", "1"),
        ("password", r#"{"password_hint":"x","kind":"password"}"#),
        ("20250101", "on 20250101"),
        ("administrator", "the administrator"),
        ("aaaaaaaaaaaaaaaaaaaa1", "aaaaaaaaaaaaaaaaaaaa1"),
        ("hunter22", "myhunter22s hunter22_x"),
    ];
    for (password, answer) in stays {
        let mut calls = [call(&format!("/?password={password}"), &[], "", &[], answer)];
        let told_so = exchanges(&mut calls);
        assert_eq!(told(&calls[0]).3, answer, "{password}");
        let is_told = !matches!(password, "test" | "1" | "hunter22");
        let stand_in = told(&calls[0]).0;
        let note = format!(
            "a secret of the request may stand in the answer, where it was left as an ordinary word, in `POST https://a:443{}`",
            stand_in.replace(&stand_in["/?password=".len()..], "[redacted]")
        );
        assert_eq!(told_so, if is_told { vec![note] } else { Vec::new() }, "{password}");
    }
    let mut calls: Vec<_> = (0..5).map(|_| call("/?password=hunter22", &[], "", &[], "(hunter22)")).collect();
    let note = format!(
        "a secret of the request stood in the answer and was replaced there, in {}`POST https://a:443/?password=[redacted]` and 2 more",
        "`POST https://a:443/?password=[redacted]`, ".repeat(2)
    );
    assert_eq!(exchanges(&mut calls), [note]);
    assert_eq!(told(&calls[4]).3, "(redacted-20d2)");
    assert_eq!(exchanges(&mut calls), [""; 0]);
}

#[test]
fn no_two_secrets_of_a_set_have_the_same_stand_in() {
    // Of so many short ones several have the same sixteen bits.
    let mut calls: Vec<_> = (0..2000).map(|n| call(&format!("/?password={n}"), &[], "", &[], "")).collect();
    let plain = calls.clone();
    exchanges(&mut calls);
    let kept: std::collections::BTreeSet<String> = calls.iter().map(|call| told(call).0).collect();
    assert_eq!(kept.len(), 2000);
    assert!(kept.iter().any(|path| path.len() > "/?password=[redacted 0000]".len()));
    for (recorded, asks) in calls.iter().zip(&plain) {
        let (recorded, asks) = (places(asked(recorded)), places(asked(asks)));
        assert!(recorded[0].is_like(&asks[0]));
    }
    // What cannot be guessed has as many digits as there is room for.
    let long = "0123456789abcdef".repeat(3);
    let mut call = call(&format!("/?api_key={long}"), &[], "", &[], "");
    exchange(&mut call);
    assert_eq!(told(&call).0.len(), "/?api_key=[redacted ]".len() + 32);
}
