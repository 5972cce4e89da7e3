//! Requests to servers of the tests' own.

use std::net::TcpListener;
use std::sync::Arc;
use std::thread::{JoinHandle, spawn};

use pretty_assertions::assert_eq;
use rcgen::generate_simple_self_signed;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ServerConfig, ServerConnection};

use super::*;
use crate::upstream_proxy::{ProxySetting, ProxySettings};

const LONG: Duration = Duration::from_mins(1);
const QUESTION: Question<'static> = Question {
    method: "POST",
    headers: "A: b\r\n",
    body: b"body",
};
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A listener, and the URL of a path of it.
fn listener(scheme: &str) -> (TcpListener, HttpTarget) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!(
        "{scheme}://localhost:{}/path",
        listener.local_addr().unwrap().port()
    );
    let target = HttpTarget {
        host: "127.0.0.1".to_owned(),
        ..HttpTarget::parse(&url).unwrap()
    };
    (listener, target)
}

fn until_its_body(stream: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    let mut piece = [0; 1024];
    while !bytes.ends_with(b"\r\n\r\nbody") {
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "the request ends too early");
        bytes.extend_from_slice(&piece[..count]);
    }
    String::from_utf8(bytes).unwrap()
}

fn serve(listener: TcpListener, answer: &'static [u8]) -> JoinHandle<String> {
    spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let request = until_its_body(&mut stream);
        stream.write_all(answer).unwrap();
        request
    })
}

#[test]
fn request_asks_to_close_connection() {
    let (listener, target) = listener("http");
    let served = serve(listener, ANSWER);
    let answer = ask(&target, None, None, QUESTION, Instant::now() + LONG).unwrap();
    assert_eq!(
        answer,
        HttpResponse {
            status: 200,
            retry_after: None,
            body: b"ok".to_vec()
        }
    );
    let expected = format!(
        "POST /path HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: 4\r\nA: b\r\n\r\nbody",
        target.authority()
    );
    assert_eq!(served.join().unwrap(), expected);
}

#[test]
fn deadline_applies_to_silent_and_slow_servers() {
    let (silent, target) = listener("http");
    let said = ask(
        &target,
        None,
        None,
        QUESTION,
        Instant::now() + Duration::from_millis(30),
    )
    .unwrap_err()
    .to_string();
    assert_eq!(
        said,
        format!(
            "`{}` does not answer: the request took too long",
            target.authority()
        )
    );
    drop(silent);
    let said = ask(&target, None, None, QUESTION, Instant::now() + LONG)
        .unwrap_err()
        .to_string();
    assert!(said.contains("onnection refused"), "{said}");
    let said = ask(&target, None, None, QUESTION, Instant::now())
        .unwrap_err()
        .to_string();
    assert_eq!(
        said,
        format!(
            "`{}` does not answer: the request took too long",
            target.authority()
        )
    );
}

#[test]
fn truncated_answer_is_error() {
    let (listener, target) = listener("http");
    let served = serve(listener, b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok");
    let said = ask(&target, None, None, QUESTION, Instant::now() + LONG)
        .unwrap_err()
        .to_string();
    let authority = target.authority();
    assert_eq!(
        said,
        format!(
            "`{authority}` answers with something that is not HTTP/1: its body ends after 2 of 3 bytes"
        )
    );
    served.join().unwrap();
}

#[test]
fn untrusted_tls_server_is_rejected() {
    let own = generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = rustls_pki_types::PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let serve = |listener: TcpListener| {
        let config = Arc::clone(&config);
        spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
            let mut piece = [0; 1024];
            if stream.read(&mut piece).is_ok() {
                stream.write_all(ANSWER).unwrap();
            }
        })
    };
    let (first, target) = listener("https");
    let served = serve(first);
    let trust = Trust::of(own.cert.pem().as_bytes(), "FLAG").unwrap();
    let answer = ask(&target, Some(&trust), None, QUESTION, Instant::now() + LONG).unwrap();
    assert_eq!((answer.status, answer.body), (200, b"ok".to_vec()));
    served.join().unwrap();
    let (second, target) = listener("https");
    let served = serve(second);
    let nobody = Trust::of(b"", "FLAG").unwrap();
    let said = ask(
        &target,
        Some(&nobody),
        None,
        QUESTION,
        Instant::now() + LONG,
    )
    .unwrap_err()
    .to_string();
    assert!(said.contains("is not trusted: it is signed by"), "{said}");
    served.join().unwrap();
    let said = ask(&target, None, None, QUESTION, Instant::now() + LONG)
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("onnection refused")
            || said.contains(
                "no certificate authorities are \
            installed"
            ),
        "{said}"
    );
}

/// Returns the proxy at the address of this listener.
fn proxy_at(listener: &TcpListener, scheme: &str) -> UpstreamProxy {
    let setting = ProxySetting {
        name: "ALL_PROXY".to_owned(),
        url: format!("{scheme}://me:pass@{}", listener.local_addr().unwrap()),
    };
    let settings = ProxySettings::default().with_proxy(setting);
    UpstreamProxy::new(settings, || None).unwrap().unwrap()
}

#[test]
fn plain_request_is_forwarded_by_proxy() {
    let (listener, _) = listener("http");
    let proxy = proxy_at(&listener, "http");
    let target = HttpTarget::parse("http://inner.test:4318/path").unwrap();
    let served = serve(listener, ANSWER);
    let answer = ask(&target, None, Some(&proxy), QUESTION, Instant::now() + LONG).unwrap();
    assert_eq!((answer.status, answer.body), (200, b"ok".to_vec()));
    let expected = "POST http://inner.test:4318/path HTTP/1.1\r\nHost: inner.test:4318\r\n\
                    Connection: close\r\nContent-Length: 4\r\n\
                    Proxy-Authorization: Basic bWU6cGFzcw==\r\nA: b\r\n\r\nbody";
    assert_eq!(served.join().unwrap(), expected);
}

#[test]
fn refusal_of_proxy_is_error() {
    let target = HttpTarget::parse("http://inner.test:4318/path").unwrap();
    let (plain, _) = listener("http");
    let proxy = proxy_at(&plain, "http");
    let address = plain.local_addr().unwrap();
    let served = serve(plain, b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n");
    let ask = |target: &HttpTarget, proxy| {
        let asked = ask(target, None, Some(proxy), QUESTION, Instant::now() + LONG);
        asked.unwrap_err().to_string()
    };
    let expected = format!(
        "the proxy {address} says 407 to inner.test:4318; it does not accept the user and password \
         of the operator's ALL_PROXY"
    );
    assert_eq!(ask(&target, &proxy), expected);
    served.join().unwrap();
    let (tunnel, _) = listener("http");
    let proxy = proxy_at(&tunnel, "http");
    let address = tunnel.local_addr().unwrap();
    let served = spawn(move || {
        let (mut stream, _) = tunnel.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        stream.write_all(b"HTTP/1.1 403 No\r\n\r\n").unwrap();
        String::from_utf8(head).unwrap()
    });
    let target = HttpTarget::parse("https://inner.test/").unwrap();
    let expected =
        format!("the proxy {address} says 403 to inner.test:443; it does not allow this host");
    assert_eq!(ask(&target, &proxy), expected);
    let asked = "CONNECT inner.test:443 HTTP/1.1\r\nHost: inner.test:443\r\n\
                 Proxy-Authorization: Basic bWU6cGFzcw==\r\n\r\n";
    assert_eq!(served.join().unwrap(), asked);
}
