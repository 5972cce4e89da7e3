use replay_base::budget::{Budget, Share};
use replay_base::limits::UPSTREAM_CONNECT_MS;

use super::*;

/// A host with two addresses, one of which never answers.
#[derive(Default)]
struct HalfSilent {
    held: Mutex<Vec<Dialed>>,
    decided: Mutex<Vec<(u64, Option<i32>)>>,
    is_decided: Condvar,
}

impl Wires for HalfSilent {
    fn destination(&self, _accepted_local: SocketAddr, _peer: SocketAddr) -> Option<Attempt> {
        None
    }

    fn decide(&self, key: u64, errno: Option<i32>) {
        self.decided.lock().unwrap().push((key, errno));
        self.is_decided.notify_all();
    }

    fn dial(&self, to: SocketAddr, done: Dialed) {
        if to.is_ipv6() {
            self.held.lock().unwrap().push(done);
        } else {
            done(connecting(to));
        }
    }

    fn resolve(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(vec![Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()])
    }
}

#[test]
fn dial_tries_next_address_after_silent_one() {
    let server = Server::start(|_| ());
    let authority = Arc::new(Authority::new().unwrap());
    let wires = Arc::new(HalfSilent::default());
    let proxy = start(
        Sockets::default(),
        wires,
        Mode::Pass,
        authority,
        b"",
        Account::default(),
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let hub = Arc::clone(&proxy.attempts.shared);
    let reach = |port: u16, is_good: fn(IpAddr) -> bool| {
        let target = Target {
            host: "both.example".to_owned(),
            port,
        };
        let reached = runtime.block_on(hub.dial(&target, Share::default(), is_good));
        reached
            .map(|stream| stream.bottom().peer_addr().unwrap())
            .map_err(|error| error.raw_os_error())
    };
    assert_eq!(reach(server.address.port(), |_| true), Ok(server.address));
    assert_eq!(
        reach(server.address.port(), |_| false),
        Err(Some(libc::EACCES))
    );
    assert_eq!(
        reach(1, |address| address.is_ipv4()),
        Err(Some(libc::ECONNREFUSED))
    );
    proxy.finish();
}

#[test]
fn abandoned_attempt_cancels_its_dial() {
    let authority = Arc::new(Authority::new().unwrap());
    let (wires, account) = (
        Arc::new(HalfSilent::default()),
        Budget::with_descriptors(1 << 20, 2).account(),
    );
    let on = Arc::clone(&wires) as Arc<dyn Wires>;
    let proxy = start(
        Sockets::default(),
        on,
        Mode::Pass,
        authority,
        b"",
        account.clone(),
    );
    let silent = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), 80);
    let ask = |key| {
        let attempt = Attempt {
            key,
            to: silent,
            by: ProgramName::default(),
            caller: Caller::default(),
        };
        proxy
            .attempts
            .decide_attempt(proxy.runtime(), attempt, None);
    };
    let decided = |count: usize| {
        let is_early = |decided: &mut Vec<(u64, Option<i32>)>| decided.len() < count;
        let short = Duration::from_millis(UPSTREAM_CONNECT_MS / 2);
        wires
            .is_decided
            .wait_timeout_while(wires.decided.lock().unwrap(), short, is_early)
            .unwrap()
            .0
            .clone()
    };
    ask(1);
    ask(2);
    let no_room = (2, Some(libc::ENOBUFS));
    assert_eq!(decided(1), [no_room]);
    proxy.attempts.forget_attempt(1);
    assert_eq!(decided(2), [no_room, (1, Some(libc::ETIMEDOUT))]);
    assert!(account.descriptors(2).is_ok());
    proxy.finish();
}

#[test]
fn ended_connections_release_descriptors() {
    let server =
        Server::start(|mut stream| drop(io::copy(&mut stream.try_clone().unwrap(), &mut stream)));
    let account = Budget::with_descriptors(64 << 20, 6).account();
    let setup = setup_within(Mode::Record, server.address, b"", account);
    let echoed = |stream: &mut TcpStream| {
        let mut got = [0; 4];
        stream
            .write_all(b"ping")
            .and_then(|()| stream.read_exact(&mut got))
            .is_ok()
    };
    let mut streams: Vec<_> = (0..4).map(|_| connect(setup.address)).collect();
    let held: Vec<_> = streams.iter_mut().map(echoed).collect();
    assert_eq!(held, [true, true, true, false]);
    streams.clear();
    let until = std::time::Instant::now() + PATIENCE;
    while !echoed(&mut connect(setup.address)) {
        assert!(std::time::Instant::now() < until);
    }
    let recorded = setup.proxy.finish();
    assert_eq!(
        (recorded.notes, recorded.counts.refused),
        (vec![Note::Many(3)], 0)
    );
}

#[test]
fn bulk_data_passes_through_shared_pipes() {
    let server =
        Server::start(|mut stream| drop(io::copy(&mut stream.try_clone().unwrap(), &mut stream)));
    let setup = setup_within(Mode::Pass, server.address, b"", Account::default());
    let sent: Vec<u8> = (0..4 << 20).map(|at: u32| (at / 3) as u8).collect();
    for _ in 0..3 {
        let mut stream = connect(setup.address);
        let mut out = stream.try_clone().unwrap();
        let got = thread::scope(|scope| {
            scope.spawn(|| {
                out.write_all(&sent)
                    .and_then(|()| out.shutdown(std::net::Shutdown::Write))
            });
            let mut got = Vec::new();
            stream.read_to_end(&mut got).map(|_| got)
        });
        assert!(got.unwrap() == sent);
    }
}
