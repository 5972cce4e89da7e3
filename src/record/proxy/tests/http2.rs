use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use replay_base::budget::Budget;
use replay_base::limits::{HTTP2_CONNECTION_BYTES, MEMORY_STEP_BYTES, OVERTAKEN_MS};
use rustls_pki_types::ServerName;
use tokio::sync::oneshot;

use super::super::intercept_tls::head_bytes;
use super::tls::{acceptor, async_server, block_on, connector};
use super::*;
use crate::call::{BodyEnd, Content, HttpVersion};

/// Reads a whole body.
pub(super) async fn body(mut body: h2_crate::RecvStream) -> (Vec<u8>, HeaderMap) {
    let mut all = Vec::new();
    while let Some(Ok(data)) = body.data().await {
        let _ = body.flow_control().release_capacity(data.len());
        all.extend_from_slice(&data);
    }
    (
        all,
        body.trailers().await.ok().flatten().unwrap_or_default(),
    )
}

/// Starts a gRPC server over TLS that echoes each message twice, then sends a status.
pub(super) fn grpc(authority: &Arc<Authority>) -> Server {
    let acceptor = acceptor(authority, &[b"h2"]);
    async_server(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let Ok(mut connection) = h2_crate::server::handshake(stream).await else {
                return;
            };
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                tokio::spawn(async move {
                    let path = request.uri().path().to_owned();
                    let mut head = Response::new(());
                    head.headers_mut()
                        .insert("content-type", "application/grpc".parse().unwrap());
                    if path.ends_with("/Fail") {
                        head.headers_mut()
                            .insert("grpc-status", "5".parse().unwrap());
                        let _ = respond.send_response(head, true);
                        return;
                    }
                    // The head is sent before the request ends.
                    let mut down = respond.send_response(head, false).unwrap();
                    let mut up = request.into_body();
                    while let Some(Ok(data)) = up.data().await {
                        let _ = up.flow_control().release_capacity(data.len());
                        let twice = [data.as_ref(), data.as_ref()].concat();
                        super::super::h2::send(&mut down, Bytes::from(twice))
                            .await
                            .unwrap();
                    }
                    let trailers = HeaderMap::from_iter([(
                        "grpc-status".parse().unwrap(),
                        "0".parse().unwrap(),
                    )]);
                    down.send_trailers(trailers).unwrap();
                });
            }
        }
    })
}

pub(super) use ::h2 as h2_crate;

/// Makes one call with this body.
async fn call(
    send: &h2_crate::client::SendRequest<Bytes>,
    path: &str,
    message: &[u8],
) -> (StatusCode, HeaderMap, Vec<u8>, HeaderMap) {
    let request = Request::post(format!("https://api.example{path}"))
        .header("content-type", "application/grpc")
        .body(())
        .unwrap();
    let mut send = send.clone().ready().await.unwrap();
    let (response, mut up) = send.send_request(request, false).unwrap();
    // Concurrently, because the answer begins before the request ends.
    let asking = async {
        super::super::h2::send(&mut up, Bytes::copy_from_slice(message))
            .await
            .unwrap();
        up.send_data(Bytes::new(), true).unwrap();
    };
    let answering = async {
        let (head, stream) = response.await.unwrap().into_parts();
        (head, body(stream).await)
    };
    let ((), (head, (all, trailers))) = tokio::join!(asking, answering);
    (head.status, head.headers, all, trailers)
}

async fn open(setup: &Setup) -> h2_crate::client::SendRequest<Bytes> {
    let stream = tokio::net::TcpStream::connect(setup.address).await.unwrap();
    let stream = connector(&setup.authority, &[b"h2", b"http/1.1"])
        .connect(ServerName::try_from("api.example").unwrap(), stream)
        .await
        .unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (send, connection) = h2_crate::client::handshake(stream).await.unwrap();
    tokio::spawn(async move {
        let _ = connection.await;
    });
    send
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&[0], &(message.len() as u32).to_be_bytes()[..], message].concat()
}

#[test]
fn hundred_concurrent_grpc_streams_are_replayed() {
    let real = Arc::new(Authority::new().unwrap());
    let server = grpc(&real);
    let system = real.pem().as_bytes().to_vec();
    let (got, recorded) = record_and_replay(server, &system, |setup| {
        block_on(async {
            let send = open(setup).await;
            let mut calls = tokio::task::JoinSet::new();
            for at in 0..100_u32 {
                let send = send.clone();
                calls.spawn(async move {
                    (
                        at,
                        call(&send, "/shop.Shop/Twice", &framed(&at.to_be_bytes())).await,
                    )
                });
            }
            let mut got = calls.join_all().await;
            got.sort_by_key(|(at, _)| *at);
            let large = call(&send, "/shop.Shop/Large", &framed(&vec![5; 3_000_000])).await;
            let failed = call(&send, "/shop.Shop/Fail", &framed(b"")).await;
            let (status, head, all, trailers) = large;
            // Compare length and sum: a failed assertion would print millions of bytes.
            let sum = all.iter().map(|byte| u64::from(*byte)).sum::<u64>();
            (got, (status, head, (all.len(), sum), trailers), failed)
        })
    });
    for (at, (status, _, all, trailers)) in &got.0 {
        assert_eq!(
            (*status, all.as_slice()),
            (
                StatusCode::OK,
                framed(&at.to_be_bytes()).repeat(2).as_slice()
            )
        );
        assert_eq!(trailers["grpc-status"], "0");
    }
    assert_eq!(got.1.2.0, 2 * 3_000_005);
    assert_eq!(
        (got.2.1["grpc-status"].as_bytes(), got.2.2.len()),
        (&b"5"[..], 0)
    );
    assert_eq!(recorded.exchanges.len(), 102);
    let Content::Grpc(http) = &recorded.exchanges[0].content else {
        panic!("{:?}", recorded.exchanges[0])
    };
    assert_eq!(
        (http.request.version, http.request.authority.as_str()),
        (HttpVersion::Http2, "api.example")
    );
    assert_eq!(
        http.response.as_ref().unwrap().trailers,
        [("grpc-status".to_owned(), b"0".to_vec())]
    );
}

#[test]
fn bidirectional_grpc_stream_is_recorded() {
    let real = Arc::new(Authority::new().unwrap());
    let server = grpc(&real);
    let setup = setup(Mode::Record, server.address, real.pem().as_bytes());
    block_on(async {
        let send = open(&setup).await;
        let request = Request::post("https://api.example/shop.Shop/Chat")
            .header("content-type", "application/grpc")
            .body(())
            .unwrap();
        let (response, mut up) = send
            .ready()
            .await
            .unwrap()
            .send_request(request, false)
            .unwrap();
        let mut down = response.await.unwrap().into_body();
        for at in 0..3_u8 {
            up.send_data(Bytes::from(framed(&[at])), false).unwrap();
            let mut got = Vec::new();
            while got.len() < 12 {
                got.extend_from_slice(&down.data().await.unwrap().unwrap());
            }
            assert_eq!(got, framed(&[at]).repeat(2));
        }
        up.send_data(Bytes::new(), true).unwrap();
        assert!(down.data().await.is_none());
        assert_eq!(down.trailers().await.unwrap().unwrap()["grpc-status"], "0");
    });
    let recorded = setup.proxy.finish();
    let Content::Grpc(http) = &recorded.exchanges[0].content else {
        panic!("{:?}", recorded.exchanges)
    };
    assert_eq!(
        (
            http.request.body.len(),
            http.response.as_ref().unwrap().body.len()
        ),
        (18, 36)
    );
}

#[test]
fn unrecorded_grpc_call_is_unavailable() {
    let to: SocketAddr = "127.0.0.1:9".parse().unwrap();
    let ((status, head, all, _), report) = run_replay(Vec::new(), to, |setup| {
        block_on(async { call(&open_grpc(setup).await, "/shop.Shop/New", &framed(b"x")).await })
    });
    assert_eq!((status, all.len()), (StatusCode::OK, 0));
    assert_eq!(head["grpc-status"], "14");
    assert!(
        head["grpc-message"]
            .to_str()
            .unwrap()
            .starts_with("no recording answers this call"),
        "{head:?}"
    );
    assert_eq!(report.missed.len(), 1);
}

/// Connects with prior knowledge of HTTP/2, in plain text.
async fn open_grpc(setup: &Setup) -> h2_crate::client::SendRequest<Bytes> {
    let stream = tokio::net::TcpStream::connect(setup.address).await.unwrap();
    let (send, connection) = h2_crate::client::handshake(stream).await.unwrap();
    tokio::spawn(async move {
        let _ = connection.await;
    });
    send
}

#[test]
fn client_reset_is_forwarded_to_server() {
    let (gone, wait) = oneshot::channel::<()>();
    let gone = Arc::new(Mutex::new(Some(gone)));
    let server = async_server(move |stream| {
        let gone = Arc::clone(&gone);
        async move {
            let mut connection = h2_crate::server::handshake(stream).await.unwrap();
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                let gone = gone.lock().unwrap().take();
                tokio::spawn(async move {
                    let mut down = respond.send_response(Response::new(()), false).unwrap();
                    let _ = super::super::h2::send(&mut down, Bytes::from_static(b"first")).await;
                    let reset = std::future::poll_fn(|context| down.poll_reset(context)).await;
                    assert!(reset.is_ok());
                    if let Some(gone) = gone {
                        let _ = gone.send(());
                    }
                });
            }
        }
    });
    let setup = setup(Mode::Record, server.address, b"");
    block_on(async {
        let send = open_grpc(&setup).await;
        let request = Request::get("http://api.example/endless").body(()).unwrap();
        let (response, _) = send
            .clone()
            .ready()
            .await
            .unwrap()
            .send_request(request, true)
            .unwrap();
        let mut down = response.await.unwrap().into_body();
        assert_eq!(down.data().await.unwrap().unwrap(), "first");
        drop(down);
        wait.await.unwrap();
    });
    let recorded = setup.proxy.finish();
    let Content::Http(http) = &recorded.exchanges[0].content else {
        panic!("{:?}", recorded.exchanges)
    };
    let response = http.response.as_ref().unwrap();
    assert_eq!(response.body, b"first");
    assert_eq!(response.body_end, BodyEnd::CutOff);
}

/// Starts a server that answers `/slow` after it received `/next`.
fn slow() -> Server {
    let next = Arc::new(tokio::sync::Notify::new());
    async_server(move |stream| {
        let next = Arc::clone(&next);
        async move {
            let mut connection = h2_crate::server::handshake(stream).await.unwrap();
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                let next = Arc::clone(&next);
                tokio::spawn(async move {
                    match request.uri().path() {
                        "/slow" => next.notified().await,
                        _ => next.notify_one(),
                    }
                    let mut head = Response::new(());
                    head.headers_mut()
                        .insert("content-length", "4".parse().unwrap());
                    let mut down = respond.send_response(head, false).unwrap();
                    let _ = down.send_data(Bytes::from_static(b"late"), true);
                });
            }
        }
    })
}

/// Asks `/slow`, gives it up silently after `limit_ms`, and asks `/next`. Returns true if `/slow`
/// was answered in time, and both bodies.
fn overtake(setup: &Setup, limit_ms: u64) -> (bool, Vec<u8>, Vec<u8>) {
    let limit = Duration::from_millis(limit_ms);
    block_on(async {
        let send = open_grpc(setup).await;
        let ask = |mut ready: h2_crate::client::SendRequest<Bytes>, path: &str| {
            let request = Request::get(format!("http://api.example{path}"))
                .body(())
                .unwrap();
            ready.send_request(request, true).unwrap().0
        };
        let mut first = ask(send.clone().ready().await.unwrap(), "/slow");
        let in_time = tokio::time::timeout(limit, &mut first).await.ok();
        // Its stream is not reset.
        let next = ask(send.ready().await.unwrap(), "/next")
            .await
            .unwrap()
            .into_body();
        let next = body(next).await.0;
        let is_in_time = in_time.is_some();
        let late = match in_time {
            Some(response) => response,
            None => first.await,
        };
        (is_in_time, next, body(late.unwrap().into_body()).await.0)
    })
}

#[test]
fn late_response_is_replayed_after_next_request() {
    let server = slow();
    let to = server.address;
    // A proxy on a busy machine sees the first request late.
    let patient = |setup: &Setup| overtake(setup, 10 * OVERTAKEN_MS);
    let (got, recorded) = record_and_replay(server, b"", patient);
    assert_eq!(got, (false, b"late".to_vec(), b"late".to_vec()));
    assert_eq!(
        recorded
            .exchanges
            .iter()
            .filter(|call| call.abandoned())
            .count(),
        0
    );

    // The shortest wait that counts.
    let mut exchanges = recorded.exchanges;
    exchanges.sort_by_key(|call| call.sent_at);
    exchanges[0].sent_at = exchanges[1].sent_at - Duration::from_millis(OVERTAKEN_MS);
    let hasty = |setup: &Setup| overtake(setup, 2 * OVERTAKEN_MS);
    assert_eq!(run_replay(exchanges, to, hasty).0, got);
}

#[test]
fn recorded_http2_heads_are_charged_to_budget() {
    let real = Arc::new(Authority::new().unwrap());
    let acceptor = acceptor(&real, &[b"h2"]);
    let server = async_server(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let stream = acceptor.accept(stream).await.unwrap();
            let builder = h2_crate::server::Builder::new()
                .max_header_list_size(1 << 20)
                .handshake::<_, Bytes>(stream);
            let mut connection = builder.await.unwrap();
            let mut unanswered = Vec::new();
            while let Some(Ok(request)) = connection.accept().await {
                unanswered.push(request);
            }
        }
    });
    let authority = server.address.to_string();
    let asked = || {
        let request = Request::post(format!("https://{authority}/"));
        (0..60)
            .fold(request, |request, at| {
                request.header(format!("x-{at}"), "v".repeat(3000))
            })
            .body(())
            .unwrap()
    };
    // Other memory: this connection, and the reserve for the next one.
    let besides = 2 * RECORDED_CONNECTION_BYTES + 2 * HTTP2_CONNECTION_BYTES;
    let one = head_bytes(asked().uri(), asked().headers()).next_multiple_of(MEMORY_STEP_BYTES)
        - MEMORY_STEP_BYTES;
    let account = Budget::new((besides + 10 * one + one / 2) * 16 / 14).account();
    let setup = setup_within(Mode::Record, server.address, real.pem().as_bytes(), account);
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
        for _ in 0..20 {
            send = send.ready().await.unwrap();
            let (response, body) = send.send_request(asked(), false).unwrap();
            bodies.push(body);
            answers.spawn(async move { response.await.unwrap_err().reason() });
        }
        let mut refused = Vec::new();
        while refused.len() < 10 {
            refused.push(answers.join_next().await.unwrap().unwrap());
        }
        refused
    });
    assert_eq!(refused, [Some(h2_crate::Reason::REFUSED_STREAM); 10]);
    assert_eq!(setup.proxy.finish().notes, [Note::Crowded]);
}

/// Starts a server that answers with the last part of the path.
fn echo() -> Server {
    async_server(|stream| async move {
        let mut connection = h2_crate::server::handshake(stream).await.unwrap();
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            let id = request.uri().path().rsplit('/').next().unwrap().to_owned();
            let mut head = Response::new(());
            let length = id.len().into();
            head.headers_mut().insert("content-length", length);
            let mut down = respond.send_response(head, false).unwrap();
            let _ = down.send_data(Bytes::from(id), true);
        }
    })
}

/// Asks for an item by its id twice, and returns the bodies.
fn ask_for_item(setup: &Setup, id: &str) -> [String; 2] {
    block_on(async {
        let send = open_grpc(setup).await;
        let mut bodies = [String::new(), String::new()];
        for (method, text) in ["PUT", "GET"].into_iter().zip(&mut bodies) {
            let request = Request::builder()
                .method(method)
                .uri(format!("http://api.example/items/{id}"))
                .body(())
                .unwrap();
            let mut ready = send.clone().ready().await.unwrap();
            let response = ready.send_request(request, true).unwrap().0;
            let (bytes, _) = body(response.await.unwrap().into_body()).await;
            *text = String::from_utf8(bytes).unwrap();
        }
        bodies
    })
}

#[test]
fn own_id_comes_back_over_http2() {
    let [recorded, asked] = [
        "3f1c9a52-0d6e-4a7b-9c58-1b2d3e4f5a6b",
        "b7e0d4c1-9f3a-4e2b-8d6c-0a1b2c3d4e5f",
    ];
    let server = echo();
    let to = server.address;
    let ask = |id: &'static str| move |setup: &Setup| ask_for_item(setup, id);
    let (live, made) = record_and_replay(server, b"", ask(recorded));
    let (replayed, report) = run_replay(made.exchanges, to, ask(asked));
    assert_eq!(
        (live, replayed),
        (
            [recorded; 2].map(str::to_owned),
            [asked; 2].map(str::to_owned)
        )
    );
    assert_eq!((report.missed, report.unused), (vec![], vec![]));
}
