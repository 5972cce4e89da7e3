//! Cookies, and what of them is shown elsewhere.

use pretty_assertions::assert_eq;

use super::*;

#[test]
fn a_cookie_is_the_same_wherever_it_is_shown() {
    const SID: &str = "s3cr3t-1-abcdef0123456789";
    const OTHER: &str = "redacted-965b42bec7d5b7f0";
    let wire = |protocol, bytes: String| {
        let mut exchange = call("/", &[], "", &[], "");
        let messages = vec![Message { from: Side::Client, bytes: bytes.into_bytes() }];
        exchange.content = Content::Wire(protocol, Wire { messages, session: false });
        exchange
    };
    let gives = [
        ("Set-Cookie", &*format!("sid={SID}; Path=/; HttpOnly")),
        ("Set-Cookie", "theme=dark; Path=/"),
        ("Set-Cookie", "csrftoken=ab12cd34"),
        ("Set-Cookie", "cart=s%3Aabcdef0123456789%2B"),
    ];
    let body = "csrfmiddlewaretoken=ab12cd34&lang=de&cart=abcdef";
    let length = body.len().to_string();
    let mut run = vec![
        call("/login", &[], "", &gives, "{}"),
        call(
            &format!("/s/{SID}?ref={SID}&cart=s%3Aabcdef0123456789%2B&theme=dark"),
            &[
                ("Cookie", &format!("sid={SID}; theme=dark; lang=de")),
                ("X-CSRFToken", "ab12cd34"),
                ("Accept-Language", "de"),
                ("Content-Length", &length),
            ],
            body,
            &[],
            "",
        ),
        call("/", &[], &format!(r#"{{"viewer":"{SID}","cart":"s:abcdef0123456789+","theme":"dark"}}"#), &[], SID),
        wire(Protocol::Redis, format!("*2\r\n$3\r\nGET\r\n$33\r\nsession:{SID}\r\n")),
        wire(Protocol::Postgres, format!("Q\0\0\0\x33select '{SID}', 'ab12cd34'\0")),
    ];
    for call in &mut run[1..] {
        call.sent_at += Duration::from_secs(1);
    }
    exchanges(&mut run);
    let once = run.clone();
    exchanges(&mut run);
    assert_eq!(run, once);
    let cart = "redacted-d14fd1a84317ee";
    let mut expected = [
        format!("Set-Cookie: sid={OTHER}; Path=/; HttpOnly"),
        "Set-Cookie: theme=dark; Path=/".to_owned(),
        "Set-Cookie: csrftoken=redacted-0349".to_owned(),
        format!("Set-Cookie: cart={cart}"),
    ];
    assert_eq!(told(&run[0]).1, expected);
    let body = "csrfmiddlewaretoken=redacted-0349&lang=de&cart=abcdef".to_owned();
    expected = [
        format!("Cookie: sid={OTHER}; theme=dark; lang=de"),
        "X-CSRFToken: [redacted 0349]".to_owned(),
        "Accept-Language: de".to_owned(),
        format!("Content-Length: {}", body.len()),
    ];
    let path = format!("/s/{OTHER}?ref={OTHER}&cart={cart}&theme=dark");
    assert_eq!(told(&run[1]), (path, expected.to_vec(), body, String::new()));
    let (_, _, body, answer) = told(&run[2]);
    assert_eq!(body, format!(r#"{{"viewer":"{OTHER}","cart":"{cart}","theme":"dark"}}"#));
    assert_eq!(answer, OTHER);
    let text = |exchange: &Exchange| {
        let Content::Wire(_, wire) = &exchange.content else { panic!() };
        String::from_utf8(wire.messages[0].bytes.clone()).unwrap()
    };
    assert_eq!(text(&run[3]), format!("*2\r\n$3\r\nGET\r\n$33\r\nsession:{OTHER}\r\n"));
    // What stands for a short one is longer, and so is what is told beside it.
    assert_eq!(text(&run[4]), format!("Q\0\0\0\x38select '{OTHER}', 'redacted-0349'\0"));
}

#[test]
fn a_cookie_that_is_a_setting_stays() {
    let cases = [
        ("theme=dark", "theme=dark"),
        ("lang=de; locale=en-US; on=1", "lang=de; locale=en-US; on=1"),
        ("seen=2026-01-02T03:04:05Z", "seen=2026-01-02T03:04:05Z"),
        ("prefs=%7B%22theme%22%3A%22dark%22%2C%22n%22%3A12%7D", "prefs=%7B%22theme%22%3A%22dark%22%2C%22n%22%3A12%7D"),
        ("me=%7B%22password%22%3A%22abc%22%7D", "me=redacted-ebab351dff7e96506e48178"),
        (
            "connect.sid=a; auth=b; XSRF-TOKEN=c",
            "connect.sid=redacted-ca97; auth=redacted-3e23; XSRF-TOKEN=redacted-2e7d",
        ),
        ("author=bob; sidebar=open", "author=bob; sidebar=open"),
        ("id=0123456789abcdef", "id=redacted-9f9f511"),
        ("id=\"ab12cd34\"", "id=\"redacted-0349\""),
    ];
    for (cookies, expected) in cases {
        let mut get = call("/", &[("Cookie", cookies)], "", &[], "");
        exchange(&mut get);
        assert_eq!(told(&get).1, [format!("Cookie: {expected}")]);
    }
}

#[test]
fn a_short_cookie_is_the_same_in_what_is_said_to_databases() {
    const OTHER: &str = "redacted-0349";
    let said = |protocol, of: &dyn Fn(&str) -> Vec<u8>| {
        let kept = |cookie: &str| {
            let mut exchange = call("/", &[], "", &[], "");
            let messages = vec![Message { from: Side::Client, bytes: of(cookie) }];
            exchange.content = Content::Wire(protocol, Wire { messages, session: false });
            exchange.sent_at += Duration::from_secs(1);
            exchange
        };
        let mut run = vec![call("/login", &[], "", &[("Set-Cookie", "csrftoken=ab12cd34")], ""), kept("ab12cd34")];
        exchanges(&mut run);
        assert_eq!(run[1], kept(OTHER));
    };
    said(Protocol::Redis, &|cookie| forms::resp(&format!("GET csrf:{cookie}")));
    said(Protocol::MySql, &|cookie| forms::com_query(&format!("SELECT 1 FROM s WHERE id = '{cookie}'")));
    let framed = |kind: &[u8], body: &[u8]| [kind, &(body.len() as u32 + 4).to_be_bytes(), body].concat();
    said(Protocol::Postgres, &|cookie| framed(b"P", format!("s\0SELECT '{cookie}'\0\0\0").as_bytes()));
    said(Protocol::Postgres, &|cookie| {
        let value = [&(cookie.len() as u32).to_be_bytes()[..], cookie.as_bytes()].concat();
        framed(b"B", &[&b"\0SELECT $1\0\0\0\0\x02\xff\xff\xff\xff"[..], &value, b"\0\0"].concat())
    });
}
