//! That what is long takes as long as it is, however it is made.

use rustix::time::{ClockId, clock_gettime};

use super::forms::{com_query, query};
use super::*;

/// How often the longer of two texts has the shorter one, and how many times as long it may take: what looks at all that
/// follows from every place takes the square.
const TIMES: usize = 8;
const MOST_TIMES: u32 = 32;
const SHORT_BYTES: usize = 8 * 1024;

/// What this thread has worked: other threads do not matter.
fn worked(mut all: Exchange) -> Duration {
    let now = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(u64::try_from(now.tv_sec).unwrap(), u32::try_from(now.tv_nsec).unwrap())
    };
    let before = now();
    exchange(&mut all);
    now().saturating_sub(before)
}

fn check(name: &str, piece: &str, make: impl Fn(String) -> Exchange) {
    let of = |bytes: usize| worked(make(piece.repeat(bytes / piece.len())));
    let (short, long) = (of(SHORT_BYTES).max(Duration::from_millis(1)), of(TIMES * SHORT_BYTES));
    assert!(long <= MOST_TIMES * short, "{name} `{piece}`: {short:?}, and {long:?} for {TIMES} times as much");
}

fn wire(protocol: Protocol, bytes: Vec<u8>) -> Exchange {
    let mut all = call("/", &[], "", &[], "");
    let messages = vec![Message { from: Side::Client, bytes }];
    all.content = Content::Wire(protocol, Wire { messages, session: false });
    all
}

#[test]
fn statements_take_as_long_as_they_are() {
    for piece in [
        "(password) values (",
        "INSERT INTO t (password) VALUES ('a', ",
        "(key, value) values ('api_key', ",
        "with x(password) as (values (",
        "(id, password) = (1, ",
        "(id, password) in ((1, ",
        "password in ('a', ",
        "password = coalesce(",
        "password = case ",
        "password = 'a' || ",
        "insert ",
        "into users values (",
        "insert into users select 'a1b2c3', ",
        "digest('a', ",
        "where key = ",
        "set value = 'a' where key = 'api_key' ",
        "prepare p as insert into u (password) values ($1); execute p (",
        "execute p (",
        "set_config('app.password', ",
        "password password ",
        "'password' ",
        "$a$ ",
        "/* ",
        "-- ",
        "\"",
        "((((",
        ")))) ",
    ] {
        let before = "PREPARE p AS SELECT 'api_key' WHERE password = $1; ";
        check("PostgreSQL", piece, |text| wire(Protocol::Postgres, query(&format!("{before}{text}"))));
    }
    for piece in ["(password) values (", "password in ('a', ", "# ", "\"", "? "] {
        check("MySQL", piece, |text| wire(Protocol::MySql, com_query(&format!("SELECT 'a'; {text}"))));
    }
}

#[test]
fn bodies_take_as_long_as_they_are() {
    let all: [(&str, &[&str]); 7] = [
        (
            "",
            &[
                "sk-",
                "SK",
                "eyJ",
                "dapi",
                "hf_",
                "ghp_",
                "Bearer ",
                "AKIA",
                "-----BEGIN PRIVATE KEY-----",
                "password=",
                "://u:",
                "1234 ",
                "redacted-",
                "machine a.b login c password ",
                "A_PASSWORD=\"",
                "{\"password\":",
            ],
        ),
        (
            "application/json",
            &[
                "{\"password\":",
                "[\"token\",",
                "{\"a\":[{\"logprob\":1,\"token\":\"a\"},",
                "{\"query\":\"query($a:String){a(password:$a)}\",\"variables\":{\"a\":",
                "\"?code=[redacted ",
            ],
        ),
        ("text/xml", &["<a password=\"", "<name>password</name><value>", "<![CDATA[", "<!--"]),
        ("application/yaml", &["a_password: |\n  b\n", "password: \""]),
        ("application/graphql", &["query($a:String=\"b\"){a(password:$a) "]),
        ("multipart/form-data; boundary=b", &["--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n"]),
        ("application/x-www-form-urlencoded", &["a=%7B%22password%22%3A&", "a=/?code=[redacted &"]),
    ];
    for (kind, pieces) in all {
        for piece in pieces {
            let fields = [("content-type", kind)];
            check(kind, piece, |text| call("/", &fields, &text, &[], ""));
        }
    }
    // One long key, below which there is much.
    check("JSON", "[],", |text| {
        let key = "\\u0061".repeat(text.len() / 6);
        call("/", &[], &format!("{{\"{key}\":[{text}1]}}"), &[], "")
    });
    let variables = |text: String| {
        let count = text.len() / 40;
        let each = |make: &dyn Fn(usize) -> String| (0..count).map(make).collect::<Vec<_>>().concat();
        let query = each(&|n| format!("$v{n}:String "));
        let given = each(&|n| format!("password:$v{n} "));
        let values = each(&|n| format!(",\"v{n}\":\"a\""));
        format!("{{\"query\":\"query({query}){{a({given})}}\",\"variables\":{{\"a\":1{values}}}}}")
    };
    check("JSON", "a", |text| call("/", &[("content-type", "application/json")], &variables(text), &[], ""));
}

#[test]
fn commands_and_many_messages_take_as_long_as_they_are() {
    check("Redis", "a", |text| {
        let count = text.len() / 40;
        let words: Vec<String> =
            (0..count).map(|n| format!("user:{n}:t{n}_tokens")).chain((0..count).map(|n| format!("{n}"))).collect();
        let words = ["EVAL".to_owned(), "s".to_owned(), count.to_string()].into_iter().chain(words);
        let words: Vec<String> = words.map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
        wire(Protocol::Redis, format!("*{}\r\n{}", words.len(), words.concat()).into_bytes())
    });
    check("PostgreSQL", "a", |text| {
        let mut all = wire(Protocol::Postgres, query("COPY u (password) FROM STDIN"));
        let Content::Wire(_, wire) = &mut all.content else { panic!() };
        let data = |n: usize| [b"d", &15_u32.to_be_bytes()[..], format!("abc{n:07}\n").as_bytes()].concat();
        let messages = (0..text.len() / 16).map(|n| Message { from: Side::Client, bytes: data(n) });
        wire.messages.extend(messages);
        all
    });
}
