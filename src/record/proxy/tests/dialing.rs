use super::*;

/// A host with two addresses, of which one never answers.
#[derive(Default)]
struct HalfSilent {
    held: Mutex<Vec<Dialed>>,
}

impl Wires for HalfSilent {
    fn destination(&self, _accepted_local: SocketAddr, _peer: SocketAddr) -> Option<Attempt> {
        None
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
fn an_address_that_does_not_answer_does_not_keep_from_the_next_one() {
    let server = Server::start(|_| ());
    let authority = Arc::new(Authority::new().unwrap());
    let wires = Arc::new(HalfSilent::default());
    let proxy = start(Sockets::default(), wires, Mode::Pass, authority, b"", Account::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let hub = Arc::clone(&proxy.attempts.shared);
    let reach = |port: u16, is_good: fn(IpAddr) -> bool| {
        let target = Target { host: "both.example".to_owned(), port };
        let reached = runtime.block_on(hub.dial(&target, is_good));
        reached.map(|stream| stream.peer_addr().unwrap()).map_err(|error| error.raw_os_error())
    };
    assert_eq!(reach(server.address.port(), |_| true), Ok(server.address));
    assert_eq!(reach(server.address.port(), |_| false), Err(Some(libc::EACCES)));
    assert_eq!(reach(1, |address| address.is_ipv4()), Err(Some(libc::ECONNREFUSED)));
    proxy.finish();
}
