//! Choice of the proxy, and handshakes with scripted proxies.

use std::io::{self, Read, Write};

use pretty_assertions::assert_eq;

use super::*;

/// Returns the proxies of these variables.
fn proxies(set: &[(&str, &str)]) -> Result<Option<UpstreamProxy>, ProxySettingError> {
    let variable = |name: &str| {
        let found = set.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    UpstreamProxy::new(ProxySettings::from_variables(variable), || None)
}

/// Returns the URL of the proxy for a destination, or `direct`.
fn way(set: &[(&str, &str)], host: &str, port: u16) -> String {
    let proxies = proxies(set).unwrap();
    let server = proxies.as_ref().and_then(|proxies| proxies.of(host, port));
    server.map_or_else(|| "direct".to_owned(), ToString::to_string)
}

#[test]
fn port_selects_variable() {
    let both = [("HTTP_PROXY", "http://a:1"), ("HTTPS_PROXY", "http://b:2")];
    assert_eq!(way(&both, "h.example", 80), "http://a:1");
    assert_eq!(way(&both, "h.example", 443), "http://b:2");
    assert_eq!(way(&both, "db.example", 5432), "http://b:2");
    let all = [("ALL_PROXY", "socks5h://c:3"), ("HTTP_PROXY", "a:1")];
    assert_eq!(way(&all, "h.example", 80), "http://a:1");
    assert_eq!(way(&all, "h.example", 22), "socks5://c:3");
    assert_eq!(way(&both[..1], "h.example", 443), "direct");
    assert_eq!(way(&[], "h.example", 443), "direct");
}

#[test]
fn empty_variable_does_not_hide_other_spelling() {
    let set = [("HTTPS_PROXY", ""), ("https_proxy", "http://b:2")];
    assert_eq!(way(&set, "h.example", 443), "http://b:2");
    let cgi = [("REQUEST_METHOD", "GET"), ("HTTPS_PROXY", "http://b:2")];
    assert_eq!(way(&cgi, "h.example", 443), "http://b:2");
}

#[test]
fn default_port_follows_scheme() {
    for (typed, shown) in [
        ("http://p.example", "http://p.example:80"),
        ("HTTPS://P.example/", "https://p.example:443"),
        ("socks5://p.example", "socks5://p.example:1080"),
        ("http://[::1]:3128", "http://[::1]:3128"),
        ("http://me:secret@p.example:3128", "http://p.example:3128"),
    ] {
        assert_eq!(way(&[("ALL_PROXY", typed)], "h.example", 443), shown);
    }
}

#[test]
fn exceptions_are_reached_directly() {
    let no = "one.example, *.wild.example .dot.example port.example:8443,10.0.0.0/8 192.0.2.7:99,[2001:db8::1]:5,CASE.example";
    let set = [("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", no)];
    let is_direct = |host: &str, port: u16| way(&set, host, port) == "direct";
    for (host, port) in [
        ("one.example", 443),
        ("below.one.example", 5432),
        ("a.wild.example", 443),
        ("a.dot.example", 443),
        ("port.example", 8443),
        ("10.1.2.3", 5432),
        ("192.0.2.7", 99),
        ("2001:db8::1", 5),
        ("case.example", 443),
        ("localhost", 443),
        ("127.9.9.9", 8080),
        ("::1", 443),
        ("169.254.169.254", 443),
        ("fe80::1", 443),
    ] {
        assert!(is_direct(host, port), "{host}:{port}");
    }
    for (host, port) in [
        ("none.example", 443),
        ("port.example", 443),
        ("192.0.2.7", 98),
        ("2001:db8::1", 6),
        ("11.0.0.1", 5432),
        ("wild.example.org", 443),
    ] {
        assert!(!is_direct(host, port), "{host}:{port}");
    }
    let none = [("HTTPS_PROXY", "http://p:1"), ("no_proxy", "*")];
    assert_eq!(way(&none, "h.example", 443), "direct");
}

#[test]
fn unusable_url_is_refused_without_showing_it() {
    for (url, why) in [
        (
            "socks4://p:1",
            "SOCKS4 is not supported; name a socks5:// or http:// proxy",
        ),
        (
            "ftp://p:1",
            "a proxy must begin with http://, https:// or socks5://",
        ),
        (
            "http://wpad/proxy.pac",
            "PAC files are not supported; name the proxy that the file chooses",
        ),
        (
            "http://me:se@cret@p:1",
            "it is no URL of a proxy, such as http://proxy.example:3128; special characters of a \
             user and password must be percent-encoded",
        ),
    ] {
        let said = proxies(&[("HTTPS_PROXY", url)]).unwrap_err().to_string();
        assert_eq!(said, format!("HTTPS_PROXY: {why}"));
    }
}

#[test]
fn password_is_never_shown() {
    let set = [("HTTPS_PROXY", "http://me:SEKRET@p.example:3128")];
    let proxies = proxies(&set).unwrap().unwrap();
    assert_eq!(proxies.to_string(), "http://p.example:3128 (HTTPS_PROXY)");
    let server = proxies.of("h.example", 443).unwrap();
    let shown = format!("{proxies:?} {server:?} {:?}", proxies.settings);
    assert!(!shown.contains("SEKRET"), "{shown}");
}

#[test]
fn proxy_is_known_by_name_and_address() {
    let set = [("ALL_PROXY", "http://proxy.example:3128")];
    let proxies = proxies(&set).unwrap().unwrap();
    assert!(proxies.at_name("PROXY.example.", 3128).is_some());
    assert!(proxies.at_name("proxy.example", 80).is_none());
    let address: IpAddr = "10.1.2.3".parse().unwrap();
    assert!(proxies.at_address(address, 3128).is_none());
    proxies
        .servers()
        .for_each(|server| server.set_addresses(vec![address]));
    assert!(proxies.at_address(address, 3128).is_some());
    assert!(
        proxies
            .at_address("::ffff:10.1.2.3".parse().unwrap(), 3128)
            .is_some()
    );
    assert!(proxies.at_address(address, 3129).is_none());
}

#[test]
fn proxy_variables_end_in_proxy() {
    let is = |name: &str| is_proxy_variable(OsStr::new(name));
    for name in [
        "HTTPS_PROXY",
        "no_proxy",
        "npm_config_https_proxy",
        "FTP_PROXY",
    ] {
        assert!(is(name), "{name}");
    }
    for name in ["GOPROXY", "PROXY", "HTTP_PROXY_AUTH", ""] {
        assert!(!is(name), "{name}");
    }
}

/// A proxy that answers from a script, byte by byte, and records what it receives.
struct Scripted<'a> {
    answers: &'a [u8],
    received: Vec<u8>,
}

impl Read for Scripted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = buffer.len().min(1);
        self.answers.read(&mut buffer[..count])
    }
}

impl Write for Scripted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.received.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns what a proxy receives, and the bytes that it has left or the error.
fn shake(proxy: &str, host: &str, answers: &[u8]) -> (Vec<u8>, Result<Vec<u8>, String>) {
    let proxies = proxies(&[("HTTPS_PROXY", proxy)]).unwrap().unwrap();
    let server = proxies.of(host, 443).unwrap();
    let mut stream = Scripted {
        answers,
        received: Vec::new(),
    };
    let result = Handshake::new(server, host, 443).run(&mut stream);
    let left = stream.answers.to_vec();
    (
        stream.received,
        result.map(|()| left).map_err(|error| error.to_string()),
    )
}

#[test]
fn connect_leaves_bytes_behind_head() {
    let (asked, left) = shake(
        "http://p:1",
        "inner.test",
        b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.0 200 OK\r\nA: b\r\n\r\nhello",
    );
    let expected = "CONNECT inner.test:443 HTTP/1.1\r\nHost: inner.test:443\r\n\r\n";
    assert_eq!((asked, left), (expected.into(), Ok(b"hello".to_vec())));
    let (asked, left) = shake(
        "http://me:p%40ss@p:1",
        "2001:db8::1",
        b"HTTP/1.1 299 Yes\r\n\r\n",
    );
    let expected = "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\
                    Proxy-Authorization: Basic bWU6cEBzcw==\r\n\r\n";
    assert_eq!((asked, left), (expected.into(), Ok(Vec::new())));
}

#[test]
fn socks_asks_for_name_or_address() {
    let accepted = b"\x05\0\0\x01\x7f\0\0\x01\0\x50left";
    let (asked, left) = shake(
        "socks5://p:1",
        "inner.test",
        &[b"\x05\0", &accepted[..]].concat(),
    );
    let expected = [b"\x05\x01\0", &b"\x05\x01\0\x03\x0ainner.test\x01\xbb"[..]].concat();
    assert_eq!((asked, left), (expected, Ok(b"left".to_vec())));
    let (asked, left) = shake(
        "socks5h://me:pass@p:1",
        "11.0.0.2",
        b"\x05\x02\x01\0\x05\0\0\x03\x04name\0\x50",
    );
    let expected = [
        &b"\x05\x02\0\x02"[..],
        b"\x01\x02me\x04pass",
        b"\x05\x01\0\x01\x0b\0\0\x02\x01\xbb",
    ];
    assert_eq!((asked, left), (expected.concat(), Ok(Vec::new())));
}

#[test]
fn refusals_name_next_step() {
    let corrects = "the operator can correct HTTPS_PROXY, or leave the proxy out with \
                    --upstream-proxy off";
    let long = format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(17_000)).into_bytes();
    let cases: [(&str, &[u8], &str, String); 12] = [
        (
            "http://p:1",
            b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=x\r\n\r\n",
            "says 407",
            "the operator's HTTPS_PROXY needs a user and password".to_owned(),
        ),
        (
            "http://me:bad@p:1",
            b"HTTP/1.1 407 No\r\n\r\n",
            "says 407",
            "it does not accept the user and password of the operator's HTTPS_PROXY".to_owned(),
        ),
        (
            "http://p:1",
            b"HTTP/1.1 407 No\r\nProxy-Authenticate: Negotiate\r\nProxy-Authenticate: NTLM\r\n\r\n",
            "says 407",
            "it wants Negotiate or NTLM, which is not supported; the operator can run px or cntlm \
             on this machine, and name that in HTTPS_PROXY"
                .to_owned(),
        ),
        (
            "http://p:1",
            b"HTTP/1.1 403 No\r\n\r\n",
            "says 403",
            "it does not allow this host".to_owned(),
        ),
        (
            "http://p:1",
            b"HTTP/1.1 502 No\r\n\r\n",
            "says 502",
            "it cannot reach the host".to_owned(),
        ),
        (
            "http://p:1",
            b"SSH-2.0-x\r\n",
            "gives no valid answer",
            format!("it may be no proxy, or one of another kind; {corrects}"),
        ),
        (
            "http://p:1",
            &long,
            "gives no valid answer",
            format!("it may be no proxy, or one of another kind; {corrects}"),
        ),
        (
            "http://p:1",
            b"HTTP/1.1 2",
            "gives no answer",
            format!("it closed the connection; {corrects}"),
        ),
        (
            "socks5://p:1",
            b"\x05\xff",
            "refuses the login",
            "the operator's HTTPS_PROXY needs a user and password".to_owned(),
        ),
        (
            "socks5://me:bad@p:1",
            b"\x05\x02\x01\x01",
            "refuses the login",
            "it does not accept the user and password of the operator's HTTPS_PROXY".to_owned(),
        ),
        (
            "socks5://p:1",
            b"\x05\0\x05\x04\0\x01",
            "says `host unreachable`",
            "it cannot reach the host".to_owned(),
        ),
        (
            "socks5://p:1",
            b"HTTP/1.1 400",
            "gives no valid answer",
            format!("it may be no proxy, or one of another kind; {corrects}"),
        ),
    ];
    for (proxy, answers, answer, advice) in cases {
        let said = format!("the proxy p:1 {answer} to inner.test:443; {advice}");
        assert_eq!(shake(proxy, "inner.test", answers).1, Err(said));
    }
    let name = "x".repeat(256);
    let said = format!(
        "the proxy p:1 is not asked for a connection to {name}:443; the name of the host is longer \
         than 255 bytes"
    );
    assert_eq!(shake("socks5://p:1", &name, b"\x05\0").1, Err(said));
}
