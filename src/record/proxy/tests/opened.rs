//! Opened connections: HTTP/2, changes by an inspector, and programs that reject the certificate.

use bytes::Bytes;
use http::{Request, StatusCode, request, response};
use replay_base::budget::Budget;
use replay_base::limits::{HTTP2_CONNECTION_BYTES, MAX_HTTP2_STREAMS, MAX_OPENED_HEAD_BYTES};
use rustls_pki_types::ServerName;

use super::super::intercept_tls::{Rewriter, head_bytes};
use super::http2::{body, grpc, h2_crate};
use super::tls::{acceptor, async_server, block_on, connector};
use super::*;

/// Inspector that refuses paths with `no` and changes bodies to upper case. It delays the last byte
/// of each piece to the next one.
struct Capitals;

#[derive(Default)]
struct DelayingRewriter(Option<u8>);

impl Inspector for Capitals {
    fn request(&self, head: &mut request::Parts) -> Result<(), Refusal> {
        head.headers
            .insert("authorization", "real".parse().unwrap());
        if head.uri.path().contains("no") {
            Err(Refusal("not that".to_owned()))
        } else {
            Ok(())
        }
    }

    fn misfit(&self, misfit: Misfit) -> Refusal {
        Refusal(misfit.to_string())
    }

    fn answer(&self, head: &mut response::Parts) -> Result<Option<Box<dyn Rewriter>>, Refusal> {
        head.headers.insert("seen", "yes".parse().unwrap());
        Ok(Some(Box::new(DelayingRewriter::default())))
    }
}

impl Rewriter for DelayingRewriter {
    fn piece(&mut self, bytes: Bytes) -> Bytes {
        let mut all: Vec<u8> = self
            .0
            .take()
            .into_iter()
            .chain(bytes.to_ascii_uppercase())
            .collect();
        self.0 = all.pop();
        all.into()
    }

    fn rest(&mut self) -> Bytes {
        self.0.take().into_iter().collect()
    }
}

#[derive(Default)]
struct InspectingDoor(Mutex<Vec<Misfit>>, Condvar);

impl AccessPolicy for InspectingDoor {
    fn admits(&self, _: Transport, _: &Target, _: ProgramName) -> bool {
        true
    }

    fn may_ask(&self, _: &str) -> bool {
        true
    }

    fn leads_to(&self, _: Transport, _: &Target, _: IpAddr, _: ProgramName) -> bool {
        true
    }

    fn opens(&self, _: &Target, _: ProgramName) -> Option<Arc<dyn Inspector>> {
        Some(Arc::new(Capitals))
    }

    fn ended(&self, _: &Target, misfit: Misfit, _: ProgramName) -> Refusal {
        let refusal = Refusal(misfit.to_string());
        self.0.lock().unwrap().push(misfit);
        self.1.notify_all();
        refusal
    }
}

fn opening(server: &Server, real: &Authority) -> (Arc<InspectingDoor>, Setup) {
    let access = Arc::new(InspectingDoor::default());
    let behind = Some(Arc::clone(&access) as Arc<dyn AccessPolicy>);
    let setup = setup_behind(
        behind,
        Mode::Pass,
        server.address,
        real.pem().as_bytes(),
        Account::default(),
    );
    (access, setup)
}

#[test]
fn http2_requests_are_judged_individually() {
    let real = Arc::new(Authority::new().unwrap());
    let server = grpc(&real);
    let (access, setup) = opening(&server, &real);
    let got = block_on(async {
        let stream = tokio::net::TcpStream::connect(setup.address).await.unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let stream = connector(&setup.authority, &[b"h2"])
            .connect(name, stream)
            .await
            .unwrap();
        let (send, connection) = h2_crate::client::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        let mut got = Vec::new();
        let authority = server.address.to_string();
        for (authority, path) in [
            (&authority[..], "/yes"),
            (&authority[..], "/no"),
            ("api.example", "/yes"),
            (&authority[..], "/yes"),
        ] {
            let request = Request::post(format!("https://{authority}{path}"))
                .body(())
                .unwrap();
            let mut send = send.clone().ready().await.unwrap();
            let (response, mut up) = send.send_request(request, false).unwrap();
            let _ = up.send_data(Bytes::from_static(b"hello"), true);
            let (head, stream) = response.await.unwrap().into_parts();
            let (said, trailers) = body(stream).await;
            got.push((
                head.status,
                head.headers.contains_key("seen"),
                text(&said),
                trailers.len(),
            ));
        }
        got
    });
    let good = || (StatusCode::OK, true, "HELLOHELLO".to_owned(), 1);
    let refused = |why: &str| (StatusCode::FORBIDDEN, false, format!("{why}\n"), 0);
    let expected = [
        good(),
        refused("not that"),
        refused("the program asked for api.example"),
        good(),
    ];
    assert_eq!(got, expected);
    assert_eq!(*access.0.lock().unwrap(), []);
}

#[test]
fn body_is_rewritten_in_any_framing() {
    for (framing, said, expected) in [
        ("Content-Length: 5", "hello", "HELLO"),
        (
            "Transfer-Encoding: chunked",
            "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
            "1\r\nH\r\n3\r\nELL\r\n1\r\nO\r\n0\r\n\r\n",
        ),
    ] {
        let answer = format!("HTTP/1.1 200 OK\r\n{framing}\r\nConnection: close\r\n\r\n{said}");
        let server = Server::start(move |mut stream| {
            let asked = until(&mut stream, b"\r\n\r\n");
            assert!(
                text(&asked).contains("authorization: real"),
                "{}",
                text(&asked)
            );
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let (_, setup) = opening(&server, &Authority::new().unwrap());
        let asked = format!(
            "GET /yes HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            server.address
        );
        let got = text(&ask(setup.address, asked.as_bytes()));
        let (head, body) = got.split_once("\r\n\r\n").unwrap();
        // The chunk boundaries are not guaranteed.
        let letters = |text: &str| {
            text.chars()
                .filter(char::is_ascii_alphabetic)
                .collect::<String>()
        };
        assert!(head.contains(framing), "{head}");
        assert_eq!(letters(body), letters(expected), "{body}");
    }
}

#[test]
fn certificate_rejection_is_reported_as_misfit() {
    let real = Arc::new(Authority::new().unwrap());
    let server = grpc(&real);
    let (access, setup) = opening(&server, &real);
    let connected = block_on(async {
        let stream = tokio::net::TcpStream::connect(setup.address).await.unwrap();
        connector(&real, &[b"h2"])
            .connect(ServerName::try_from("127.0.0.1").unwrap(), stream)
            .await
            .is_ok()
    });
    assert!(!connected);
    // The alert may arrive after the connection is closed.
    let is_untold = |told: &mut Vec<Misfit>| told.is_empty();
    let (told, _) = access
        .1
        .wait_timeout_while(access.0.lock().unwrap(), PATIENCE, is_untold)
        .unwrap();
    assert_eq!(*told, [Misfit::Distrust]);
}

#[test]
fn judged_request_is_serialized_unambiguously() {
    for (asked, expected) in [
        (
            "POST /yes HTTP/1.1\r\nHost: HOST\r\nContent-Length: 10\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            "POST /yes HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\nauthorization: real\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        ),
        (
            "GET http://HOST/yes HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
            "GET /yes HTTP/1.1\r\nHost: HOST\r\nauthorization: real\r\n\r\n",
        ),
        ("GET /yes HTTP/1.1\r\nHost: HOST\r\n", ""),
        (
            "POST /yes HTTP/1.1\r\nHost: HOST\r\nContent-Length: 3\r\nTransfer-Encoding: \u{ff}, chunked\r\n\r\n",
            "",
        ),
        (
            "GET /yes HTTP/1.1\r\nHost: HOST\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n\r\n",
            "",
        ),
        ("GET /yes HTTP/1.1\r\nHost: 127.0.0.1:80@HOST\r\n\r\n", ""),
        ("GET /yes HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n", ""),
        (
            "GET http://127.0.0.1:1/yes HTTP/1.1\r\nHost: HOST\r\n\r\n",
            "",
        ),
    ] {
        let (say, said) = std::sync::mpsc::channel();
        let wanted = if expected.is_empty() {
            usize::MAX
        } else {
            expected.len()
        };
        let server = Server::start(move |mut stream| {
            let (mut got, mut piece) = (Vec::new(), [0; 4096]);
            while let Ok(count @ 1..) = stream.read(&mut piece) {
                got.extend_from_slice(&piece[..count]);
                if got.ends_with(b"\r\n\r\n") && got.len() >= wanted {
                    break;
                }
            }
            // A refused client has already left.
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            let _ = say.send(got);
        });
        let (_, setup) = opening(&server, &Authority::new().unwrap());
        let address = server.address.to_string();
        let mut stream = connect(setup.address);
        stream
            .write_all(asked.replace("HOST", &address).as_bytes())
            .unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(
            text(&said.recv_timeout(PATIENCE).unwrap()),
            expected.replace("HOST", &address),
            "{asked}"
        );
    }
}

#[test]
fn concurrent_http2_heads_are_charged_to_budget() {
    let real = Arc::new(Authority::new().unwrap());
    let acceptor = acceptor(&real, &[b"h2"]);
    let server = async_server(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let mut connection =
                h2_crate::server::handshake(acceptor.accept(stream).await.unwrap())
                    .await
                    .unwrap();
            let mut unanswered = Vec::new();
            while let Some(Ok(request)) = connection.accept().await {
                unanswered.push(request);
            }
        }
    });
    let authority = server.address.to_string();
    let asked = || {
        let request = Request::post(format!("https://{authority}/yes"));
        let with_fields =
            |request: request::Builder, at| request.header(format!("x-{at}"), "v".repeat(2000));
        (0..30).fold(request, with_fields).body(()).unwrap()
    };
    // Other memory: this connection, and the reserve for the next one.
    let besides = 2 * RECORDED_CONNECTION_BYTES
        + 2 * MAX_OPENED_HEAD_BYTES
        + 2 * HTTP2_CONNECTION_BYTES
        + MAX_HTTP2_STREAMS as usize * MAX_OPENED_HEAD_BYTES;
    let one = head_bytes(asked().uri(), asked().headers());
    let account = Budget::new((besides + 10 * one + one / 2) * 16 / 14).account();
    let access = Some(Arc::new(InspectingDoor::default()) as Arc<dyn AccessPolicy>);
    let setup = setup_behind(
        access,
        Mode::Pass,
        server.address,
        real.pem().as_bytes(),
        account,
    );
    let refused = block_on(async {
        let stream = tokio::net::TcpStream::connect(setup.address).await.unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let stream = connector(&setup.authority, &[b"h2"])
            .connect(name, stream)
            .await
            .unwrap();
        let (mut send, connection) = h2_crate::client::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        let (mut answers, mut bodies) = (JoinSet::new(), Vec::new());
        for _ in 0..40 {
            send = send.ready().await.unwrap();
            let (response, body) = send.send_request(asked(), false).unwrap();
            bodies.push(body);
            answers.spawn(async move { response.await.unwrap().status() });
        }
        let mut refused = Vec::new();
        while refused.len() < 30 {
            refused.push(answers.join_next().await.unwrap().unwrap());
        }
        refused
    });
    // The threads decide which ten requests get memory.
    assert_eq!(refused, [StatusCode::SERVICE_UNAVAILABLE; 30]);
}
