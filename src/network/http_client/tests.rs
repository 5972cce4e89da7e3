//! Requests to servers of the tests' own.

use std::net::TcpListener;
use std::thread::{JoinHandle, spawn};

use pretty_assertions::assert_eq;
use rcgen::generate_simple_self_signed;
use tokio_rustls::rustls::{ServerConfig, ServerConnection};

use super::*;

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
    let answer = ask(&target, None, QUESTION, Instant::now() + LONG).unwrap();
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
    let said = ask(&target, None, QUESTION, Instant::now() + LONG)
        .unwrap_err()
        .to_string();
    assert!(said.contains("onnection refused"), "{said}");
    let said = ask(&target, None, QUESTION, Instant::now())
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
    let said = ask(&target, None, QUESTION, Instant::now() + LONG)
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
    let answer = ask(&target, Some(&trust), QUESTION, Instant::now() + LONG).unwrap();
    assert_eq!((answer.status, answer.body), (200, b"ok".to_vec()));
    served.join().unwrap();
    let (second, target) = listener("https");
    let served = serve(second);
    let nobody = Trust::of(b"", "FLAG").unwrap();
    let said = ask(&target, Some(&nobody), QUESTION, Instant::now() + LONG)
        .unwrap_err()
        .to_string();
    assert!(said.contains("is not trusted: it is signed by"), "{said}");
    served.join().unwrap();
    let said = ask(&target, None, QUESTION, Instant::now() + LONG)
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
