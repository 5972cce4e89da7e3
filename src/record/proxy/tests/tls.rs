use std::sync::atomic::AtomicUsize;

use replay_base::budget::Account;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::*;

#[derive(Debug)]
struct LeafResolver(Arc<Authority>);

impl ResolvesServerCert for LeafResolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.leaf(hello.server_name().unwrap_or("127.0.0.1")).ok()
    }
}

pub(super) fn acceptor(authority: &Arc<Authority>, protocols: &[&[u8]]) -> TlsAcceptor {
    let mut config = ServerConfig::builder_with_provider(authority.provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(LeafResolver(Arc::clone(authority))));
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

/// Returns a client that trusts only this authority.
pub(super) fn connector(authority: &Authority, protocols: &[&[u8]]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap())
        .unwrap();
    let mut config = ClientConfig::builder_with_provider(authority.provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    TlsConnector::from(Arc::new(config))
}

pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async { timeout(PATIENCE, future).await.expect("in time") })
}

/// Starts an asynchronous server with one thread per connection.
pub(super) fn async_server<F>(
    serve: impl Fn(tokio::net::TcpStream) -> F + Send + Sync + 'static,
) -> Server
where
    F: Future<Output = ()> + Send + 'static,
{
    Server::start(move |stream| {
        stream.set_nonblocking(true).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let stream = tokio::net::TcpStream::from_std(stream).unwrap();
            let _ = timeout(PATIENCE, serve(stream)).await;
        });
    })
}

/// Starts a TLS server that answers one request per connection.
fn https(authority: &Arc<Authority>) -> Server {
    let acceptor = acceptor(authority, &[b"http/1.1"]);
    async_server(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else {
                return;
            };
            let mut seen = [0; 1024];
            let _ = stream.read(&mut seen).await;
            let _ = stream
                .write_all(
                    b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret",
                )
                .await;
            let _ = stream.shutdown().await;
        }
    })
}

async fn get(to: SocketAddr, connector: &TlsConnector) -> io::Result<String> {
    let stream = tokio::net::TcpStream::connect(to).await?;
    let mut stream = connector
        .connect(ServerName::try_from("api.example").unwrap(), stream)
        .await?;
    stream
        .write_all(b"GET /s HTTP/1.1\r\nHost: api.example\r\n\r\n")
        .await?;
    let mut got = String::new();
    stream.read_to_string(&mut got).await?;
    Ok(got)
}

/// Starts a server that greets, begins TLS when it is asked to, and answers one line.
fn start_tls_server(authority: &Arc<Authority>) -> Server {
    let acceptor = acceptor(authority, &[]);
    async_server(move |mut stream| {
        let acceptor = acceptor.clone();
        async move {
            let mut seen = [0; 64];
            let _ = stream.write_all(b"220 ready\r\n").await;
            let _ = stream.read(&mut seen).await;
            let _ = stream.write_all(b"220 go ahead\r\n").await;
            let Ok(mut stream) = acceptor.accept(stream).await else {
                return;
            };
            let length = stream.read(&mut seen).await.unwrap_or(0);
            let _ = stream.write_all(&[b"250 ", &seen[..length]].concat()).await;
            let _ = stream.read(&mut seen).await;
        }
    })
}

/// Returns what the server says in plain text, and then encrypted.
async fn start_tls(to: SocketAddr, connector: &TlsConnector) -> io::Result<[String; 3]> {
    let mut stream = tokio::net::TcpStream::connect(to).await?;
    let mut seen = [0; 64];
    let mut said = [const { String::new() }; 3];
    let length = stream.read(&mut seen).await?;
    said[0] = text(&seen[..length]);
    stream.write_all(b"STARTTLS\r\n").await?;
    let length = stream.read(&mut seen).await?;
    said[1] = text(&seen[..length]);
    let name = ServerName::try_from("mail.example").unwrap();
    let mut stream = connector.connect(name, stream).await?;
    stream.write_all(b"EHLO me\r\n").await?;
    let length = stream.read(&mut seen).await?;
    said[2] = text(&seen[..length]);
    Ok(said)
}

#[test]
fn tls_inside_unknown_protocol_is_recorded_and_replayed() {
    let real = Arc::new(Authority::new().unwrap());
    let server = start_tls_server(&real);
    let system = real.pem().as_bytes().to_vec();
    let (got, recorded) = record_and_replay(server, &system, |setup| {
        block_on(start_tls(setup.address, &connector(&setup.authority, &[]))).unwrap()
    });
    let expected = ["220 ready\r\n", "220 go ahead\r\n", "250 EHLO me\r\n"];
    assert_eq!(got, expected);
    assert_eq!(recorded.exchanges.len(), 3);
    assert_eq!(recorded.notes, vec![]);
}

/// `SSLRequest` and `StartupMessage` of `PostgreSQL`, and the answer to a login.
const POSTGRES_TLS: &[u8] = b"\0\0\0\x08\x04\xd2\x16\x2f";
const POSTGRES_STARTUP: &[u8] = b"\0\0\0\x10\0\x03\0\0user\0a\0\0";
const POSTGRES_READY: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";

/// Starts a server of `PostgreSQL` that offers TLS and lets anyone in without.
fn start_postgres() -> Server {
    async_server(|mut stream| async move {
        let mut seen = [0; 64];
        let length = stream.read(&mut seen).await.unwrap_or(0);
        let answer: &[u8] = match &seen[..length] {
            POSTGRES_TLS => b"S",
            POSTGRES_STARTUP => POSTGRES_READY,
            _ => b"",
        };
        let _ = stream.write_all(answer).await;
        let _ = stream.read(&mut seen).await;
    })
}

async fn log_in_encrypted(to: SocketAddr, connector: &TlsConnector) -> io::Result<Vec<u8>> {
    let mut stream = tokio::net::TcpStream::connect(to).await?;
    let mut said = vec![0; 1 + POSTGRES_READY.len()];
    stream.write_all(POSTGRES_TLS).await?;
    stream.read_exact(&mut said[..1]).await?;
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let mut stream = connector.connect(name, stream).await?;
    stream.write_all(POSTGRES_STARTUP).await?;
    stream.read_exact(&mut said[1..]).await?;
    Ok(said)
}

#[test]
fn encryption_of_postgres_on_this_machine_ends_at_recorder() {
    let (got, recorded) = record_and_replay(start_postgres(), &[], |setup| {
        let connector = connector(&setup.authority, &[]);
        block_on(log_in_encrypted(setup.address, &connector)).unwrap()
    });
    assert_eq!(got, [b"S", POSTGRES_READY].concat());
    let kept = recorded.exchanges.iter().map(|call| call.tls);
    assert_eq!(kept.collect::<Vec<_>>(), [true]);
    assert_eq!(recorded.notes, vec![]);
}

#[test]
fn ssh_passes_unrecorded_with_note() {
    let server = Server::start(|mut stream| {
        stream.write_all(b"SSH-2.0-server\r\n").unwrap();
        let said = until(&mut stream, b"\n");
        stream.write_all(&said).unwrap();
    });
    let setup = setup(Mode::Record, server.address, b"");
    let mut stream = connect(setup.address);
    stream.write_all(b"SSH-2.0-client\r\n").unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    let recorded = setup.proxy.finish();
    assert_eq!(text(&got), "SSH-2.0-server\r\nSSH-2.0-client\r\n");
    assert_eq!(recorded.exchanges, []);
    let notes: Vec<_> = recorded.notes.iter().map(ToString::to_string).collect();
    let address = server.address;
    let note = "encrypted connections reached the server, but were not recorded: \
                SSH encrypts with keys of its own";
    assert_eq!(notes, [format!("{address}: {note}")]);
}

#[test]
fn tls_call_is_recorded_and_replayed() {
    let real = Arc::new(Authority::new().unwrap());
    let server = https(&real);
    let system = real.pem().as_bytes().to_vec();
    let (got, recorded) = record_and_replay(server, &system, |setup| {
        block_on(get(
            setup.address,
            &connector(&setup.authority, &[b"h2", b"http/1.1"]),
        ))
        .unwrap()
    });
    assert!(got.ends_with("\r\n\r\nsecret"), "{got}");
    assert_eq!(
        (recorded.exchanges.len(), recorded.exchanges[0].tls),
        (1, true)
    );
    assert_eq!(recorded.notes, vec![]);
}

#[test]
fn untrusted_server_is_refused_and_replayed() {
    let server = https(&Arc::new(Authority::new().unwrap()));
    let (got, recorded) = record_and_replay(server, b"", |setup| {
        block_on(get(setup.address, &connector(&setup.authority, &[])))
            .map_err(|error| error.to_string())
    });
    assert_eq!(got.unwrap_err(), "received fatal alert: BadCertificate");
    assert_eq!(recorded.counts.refused, 1);
    let [Note::Certificate { reason, .. }] = recorded.notes.as_slice() else {
        panic!("{:?}", recorded.notes)
    };
    assert!(reason.contains("authority"), "{reason}");
}

/// Returns an acceptor with a self-signed CA certificate, as from `openssl req -x509`, and its PEM.
/// Negative `days` make it expired.
fn own_certificate(days: i64) -> (TlsAcceptor, Vec<u8>) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["api.example".to_owned()]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let now = std::time::SystemTime::now();
    let day = Duration::from_hours(24);
    params.not_before = (now - day * 10).into();
    params.not_after = if days < 0 { now - day } else { now + day }.into();
    let certificate = params.self_signed(&key).unwrap();
    let config = ServerConfig::builder_with_provider(Authority::new().unwrap().provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            rustls_pki_types::PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        )
        .unwrap();
    (
        TlsAcceptor::from(Arc::new(config)),
        certificate.pem().into_bytes(),
    )
}

/// Returns the reason for refusing a server that is requested by this name, if it is refused.
fn refused(acceptor: TlsAcceptor, system: &[u8], name: &'static str) -> Option<String> {
    let server = async_server(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else {
                return;
            };
            let _ = stream.read(&mut [0; 1024]).await;
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                .await;
            let _ = stream.shutdown().await;
        }
    });
    let setup = setup(Mode::Record, server.address, system);
    let connector = connector(&setup.authority, &[]);
    let got = block_on(async {
        let stream = tokio::net::TcpStream::connect(setup.address).await?;
        let mut stream = connector
            .connect(ServerName::try_from(name).unwrap(), stream)
            .await?;
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            .await?;
        stream.read_to_end(&mut Vec::new()).await
    });
    let recorded = setup.proxy.finish();
    assert_eq!(got.is_ok(), recorded.notes.is_empty());
    let [Note::Certificate { reason, .. }] = recorded.notes.as_slice() else {
        return None;
    };
    Some(reason.clone())
}

#[test]
fn self_signed_certificate_is_checked_fully() {
    let (acceptor, pem) = own_certificate(1);
    assert_eq!(refused(acceptor.clone(), &pem, "api.example"), None);
    let other = refused(acceptor.clone(), &pem, "other.example");
    assert_eq!(
        other.as_deref(),
        Some("it is for another name than `other.example`")
    );
    let (_, another) = own_certificate(1);
    let stranger = "it is self-signed, and this system does not trust it; `SSL_CERT_FILE=FILE \
        replay calls record ...` adds the certificates in a file";
    assert_eq!(
        refused(acceptor, &another, "api.example").as_deref(),
        Some(stranger)
    );
    let (expired, pem) = own_certificate(-1);
    assert_eq!(
        refused(expired, &pem, "api.example").as_deref(),
        Some("it has expired")
    );
}

#[test]
fn pinning_client_passes_unseen_after_first_failure() {
    let real = Arc::new(Authority::new().unwrap());
    let server = https(&real);
    let setup = setup(Mode::Record, server.address, real.pem().as_bytes());
    let pinned = connector(&real, &[]);
    let first = block_on(get(setup.address, &pinned));
    assert!(first.is_err(), "{first:?}");
    // The program may reconnect before its alert was read.
    let passed = (0..1000).find_map(|_| block_on(get(setup.address, &pinned)).ok());
    assert!(passed.unwrap().ends_with("secret"));
    let recorded = setup.proxy.finish();
    assert_eq!(recorded.exchanges, vec![]);
    assert_eq!(recorded.counts.opaque, 1);
}

#[test]
fn hangup_in_handshake_keeps_target_trusted() {
    let real = Arc::new(Authority::new().unwrap());
    let server = https(&real);
    let system = real.pem().as_bytes().to_vec();
    let (got, recorded) = record_and_replay(server, &system, |setup| {
        let trusting = connector(&setup.authority, &[]);
        block_on(async {
            let first = get(setup.address, &trusting).await.unwrap();
            let other = tokio::net::TcpStream::connect(setup.address).await.unwrap();
            tokio::select! {
                biased;
                _ = trusting.connect(ServerName::try_from("api.example").unwrap(), other) => {}
                // The client has begun a handshake and leaves.
                () = std::future::ready(()) => {}
            }
            first + &get(setup.address, &trusting).await.unwrap()
        })
    });
    assert_eq!(got.matches("secret").count(), 2, "{got}");
    assert_eq!((recorded.exchanges.len(), recorded.notes), (2, vec![]));
}

#[test]
fn panic_ends_only_its_connection() {
    struct Panics(AtomicUsize, SocketAddr);
    impl Wires for Panics {
        fn destination(&self, _: SocketAddr, _: SocketAddr) -> Option<Attempt> {
            assert!(
                self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst) > 0,
                "the first one fails"
            );
            Some(Attempt {
                key: 0,
                to: self.1,
                by: ProgramName::default(),
                caller: Caller::default(),
            })
        }
        fn dial(&self, to: SocketAddr, done: Dialed) {
            Net::default().dial(to, done);
        }
        fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
            Net::default().resolve(name)
        }
    }
    let server = Server::start(|mut stream| {
        until(&mut stream, b"?");
        std::io::Write::write_all(&mut stream, b"!").unwrap();
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    let wires = Arc::new(Panics(AtomicUsize::new(0), server.address));
    let authority = Arc::new(Authority::new().unwrap());
    let sockets = Sockets {
        tcp: vec![listener],
        ..Sockets::default()
    };
    let proxy = start(
        sockets,
        wires,
        Mode::Record,
        authority,
        b"",
        Account::default(),
    );
    assert_eq!(ask_or_nothing(to), b"");
    assert_eq!(ask_or_nothing(to), b"!");
    let recorded = proxy.finish();
    assert_eq!((recorded.counts.panics, recorded.exchanges.len()), (1, 1));
}

fn ask_or_nothing(to: SocketAddr) -> Vec<u8> {
    use std::io::{Read as _, Write as _};
    let mut stream = connect(to);
    let _ = stream.write_all(b"?");
    let mut got = Vec::new();
    let _ = stream.read_to_end(&mut got);
    got
}

#[test]
fn fake_addresses_lead_to_named_servers() {
    let server = Server::start(|mut stream| {
        until(&mut stream, b"?");
        std::io::Write::write_all(&mut stream, b"!").unwrap();
    });
    let ask = |name: &str, to: SocketAddr| {
        let mut query = vec![0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            query.push(label.len() as u8);
            query.extend(label.bytes());
        }
        query.extend([0, 0, 1, 0, 1]);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.send_to(&query, to).unwrap();
        let mut answer = [0; 512];
        let count = socket.recv(&mut answer).unwrap();
        answer[..count].to_vec()
    };
    let run = |mode: Mode| {
        let (listener, datagrams) = (
            TcpListener::bind("127.0.0.1:0").unwrap(),
            UdpSocket::bind("127.0.0.1:0").unwrap(),
        );
        let (address, names) = (
            listener.local_addr().unwrap(),
            datagrams.local_addr().unwrap(),
        );
        let net = Arc::new(Net {
            hosts: HashMap::from([("db.example", vec![IpAddr::from([127, 0, 0, 1])])]),
            ..Net::default()
        });
        let sockets = Sockets {
            tcp: vec![listener],
            udp: vec![datagrams],
            ..Sockets::default()
        };
        let authority = Arc::new(Authority::new().unwrap());
        let proxy = start(
            sockets,
            Arc::clone(&net) as Arc<dyn Wires>,
            mode,
            authority,
            b"",
            Account::default(),
        );
        let known = ask("db.example", names);
        let unknown = ask("no.example", names);
        let local = ask("localhost", names);
        assert_eq!(known.len(), 12 + 16 + 16, "{known:?}");
        let fake: [u8; 4] = known[known.len() - 4..].try_into().unwrap();
        assert_eq!(fake[0], 198);
        assert_eq!(
            (unknown[3] & 15, &local[local.len() - 4..]),
            (3, &[127, 0, 0, 1][..])
        );
        net.routes
            .lock()
            .unwrap()
            .insert(address, SocketAddr::from((fake, server.address.port())));
        let got = ask_or_nothing(address);
        (got, proxy.finish())
    };
    let (got, recorded) = run(Mode::Record);
    assert_eq!(got, b"!");
    let seen: Vec<_> = recorded
        .exchanges
        .iter()
        .map(|exchange| exchange.target.to_string())
        .collect();
    assert_eq!(
        seen,
        [
            ":53",
            ":53",
            &format!("db.example:{}", server.address.port())
        ]
    );
    let replay = replay_of(recorded.exchanges);
    let (got, _) = run(Mode::Replay {
        replay: Arc::clone(&replay),
        on_miss: OnMiss::Fail,
    });
    assert_eq!(got, b"!");
    let report = replay.book.report();
    assert_eq!(
        (report.replayed, report.missed, report.unused),
        (3, vec![], vec![])
    );
}
