//! Ordinary programs under interception, which behave as without it.

use std::io::Read as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::channel;

use pretty_assertions::assert_eq;
use replay_sandbox::exec::{Exit, Intercepted};
use replay_sandbox::{Dial, Network, Tier};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{NAMED, Proxy, Setting, everywhere, handle_messages, installed, permit_all, variable};
use crate::harness::DEADLINE;

const PYTHON: &str = "/usr/bin/python3";
const NODE: &str = "/usr/bin/node";

fn localhost_addr(port: u16) -> SocketAddr {
    SocketAddr::from((NAMED, port))
}

#[track_caller]
fn to(list: &[&str]) -> Vec<SocketAddr> {
    list.iter()
        .map(|address| address.parse().unwrap())
        .collect()
}

#[test]
fn curl_is_redirected_by_address_and_name() {
    everywhere(|net| {
        let ran = net.works("curl -sS http://192.0.2.7:8080/x");
        assert_eq!(
            (ran.out.as_str(), ran.flows),
            ("to=192.0.2.7:8080", to(&["192.0.2.7:8080"])),
            "{:?}",
            net.setting
        );
        let ran = net.works("curl -sS http://api.example.test/x");
        assert_eq!(
            (ran.out.as_str(), ran.flows),
            ("to=198.18.0.7:80", vec![localhost_addr(80)]),
            "{:?}",
            net.setting
        );
        assert!(
            ran.names.contains(&"api.example.test".to_owned()),
            "{:?}",
            ran.names
        );
        let ran = net.works("curl -sS --tcp-fastopen http://192.0.2.7:81/");
        assert_eq!(ran.out, "to=192.0.2.7:81", "{:?}", net.setting);
    });
}

#[test]
fn curl_is_redirected_over_ipv6() {
    everywhere(|net| {
        let line = "curl -sS 'http://[2001:db8::5]:8080/' && curl -sS 'http://[::1]:5432/' && \
                    curl -sS 'http://[::ffff:192.0.2.9]:90/' && curl -sS --interface ::1 'http://[2001:db8::6]:91/'";
        let ran = net.works(line);
        let wanted = [
            "[2001:db8::5]:8080",
            "[::1]:5432",
            "192.0.2.9:90",
            "[2001:db8::6]:91",
        ];
        assert_eq!(ran.flows, to(&wanted), "{:?}", net.setting);
        assert_eq!(ran.out, wanted.map(|to| format!("to={to}")).concat());
    });
}

#[test]
fn concurrent_connections_keep_their_targets() {
    everywhere(|net| {
        let ran = net
            .works("seq 1 40 | xargs -P 8 -I{} sh -c 'echo $(curl -sS http://192.0.2.{}:80{}/)'");
        let mut got: Vec<&str> = ran.out.lines().collect();
        got.sort_unstable();
        let mut wanted: Vec<String> = (1..=40).map(|n| format!("to=192.0.2.{n}:80{n}")).collect();
        wanted.sort_unstable();
        assert_eq!(got, wanted, "{:?}", net.setting);
        assert_eq!(ran.counts.flows, 40);
    });
}

#[test]
fn python_sockets_and_resolver_are_redirected() {
    if !installed(PYTHON) {
        return;
    }
    everywhere(|net| {
        std::fs::write(net.work.join("all.py"), include_str!("all.py")).unwrap();
        let ran = net.works(&format!("{PYTHON} all.py"));
        let all = include_str!("all.out");
        // A process without fetchable descriptors can only send messages over the sockets that the
        // supervisor holds.
        let bare = net.setting.restricted
            && (net.setting.tier, net.setting.network) == (Tier::Landlock, Network::None);
        let wanted = match all.split_once("b'here'") {
            Some((before, _)) if bare => format!("{before}no messages over pairs\n"),
            _ => all.to_owned(),
        };
        assert_eq!(ran.out, wanted, "{:?}: {}", net.setting, ran.err);
    });
}

#[test]
fn restricted_setting_refuses_pidfd_getfd() {
    if !installed(PYTHON) {
        return;
    }
    everywhere(|net| {
        let script = "import ctypes, errno\nc = ctypes.CDLL(None, use_errno=True)\n\
                      c.syscall(438, -1, 0, 0)\nprint(errno.errorcode[ctypes.get_errno()])";
        std::fs::write(net.work.join("fetch.py"), script).unwrap();
        let wanted = if net.setting.restricted {
            "EPERM\n"
        } else {
            "EBADF\n"
        };
        let ran = net.works(&format!("{PYTHON} fetch.py"));
        assert!(
            [wanted, "EPERM\n"].contains(&ran.out.as_str()),
            "{:?}: {ran:?}",
            net.setting
        );
        // The sandbox itself may refuse the call; without a sandbox only the interception does.
        if net.setting.tier == Tier::Off {
            assert_eq!(ran.out, wanted, "{:?}", net.setting);
        }
    });
}

#[test]
fn five_hundred_concurrent_connections_succeed() {
    if !installed(PYTHON) {
        return;
    }
    everywhere(|net| {
        std::fs::write(net.work.join("many.py"), include_str!("many.py")).unwrap();
        let ran = net.works(&format!("{PYTHON} many.py 500"));
        assert_eq!(
            (ran.out.as_str(), ran.counts.flows),
            ("500\n", 500),
            "{:?}: {}",
            net.setting,
            ran.err
        );
    });
}

#[test]
fn node_http_fetch_and_dns_are_redirected() {
    if !installed(NODE) {
        return;
    }
    everywhere(|net| {
        std::fs::write(net.work.join("all.js"), include_str!("all.js")).unwrap();
        let ran = net.works(&format!("{NODE} all.js"));
        assert_eq!(
            ran.out,
            include_str!("all.js.out"),
            "{:?}: {}",
            net.setting,
            ran.err
        );
    });
}

#[test]
fn static_program_sees_its_requested_peer() {
    everywhere(|net| {
        if !net.compile("client", include_str!("client.c")) {
            return;
        }
        let ran = net.works("./client 192.0.2.77 7070");
        assert_eq!(
            ran.out, "peer 192.0.2.77:7070\nto=192.0.2.77:7070\n",
            "{:?}",
            net.setting
        );
    });
}

#[test]
fn only_own_loopback_servers_are_reached_directly() {
    if !installed(PYTHON) {
        return;
    }
    everywhere(|net| {
        std::fs::write(net.work.join("own.py"), include_str!("own.py")).unwrap();
        let ran = net.works(&format!("{PYTHON} own.py"));
        assert_eq!(
            ran.out, "own own own\nto own udp\nafter to\n",
            "{:?}: {}",
            net.setting, ran.err
        );
        assert_eq!(
            (ran.counts.own, ran.counts.flows),
            (3, 2),
            "{:?}",
            net.setting
        );
    });
}

#[test]
fn datagrams_are_refused_and_counted() {
    if !installed(PYTHON) {
        return;
    }
    everywhere(|net| {
        let script = "import socket\n\
                      s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n\
                      for f in (lambda: s.sendto(b'x',('192.0.2.1',443)), lambda: s.sendmsg([b'x'],[],0,('192.0.2.1',443)),\n\
                       lambda: s.connect(('192.0.2.1',443)), lambda: s.sendto(b'x',('127.0.0.1',514))):\n\
                      \x20 try: print(f())\n\
                      \x20 except OSError as e: print(e.errno)\n";
        std::fs::write(net.work.join("udp.py"), script).unwrap();
        let ran = net.works(&format!("{PYTHON} udp.py"));
        assert_eq!(ran.out, "101\n101\n101\n101\n", "{:?}", net.setting);
        assert_eq!(
            (
                ran.counts.datagrams_refused,
                ran.counts.datagram_connects_refused
            ),
            (3, 1),
            "{:?}",
            net.setting
        );
    });
}

#[test]
fn end_of_stream_reaches_both_sides() {
    // The supervisor keeps no descriptors of connected sockets.
    if !installed(PYTHON) {
        return;
    }
    everywhere(|net| {
        let script = "import socket,time\ns=socket.create_connection(('192.0.2.1',9))\ns.close()\nprint('closed')\n\
                      t=socket.create_connection(('192.0.2.1',10)); t.settimeout(50); print(t.recv(10))";
        std::fs::write(net.work.join("end.py"), script).unwrap();
        let (mut ended, mut thread) = (None, None);
        let (outcome, _) = net.run(
            &format!("{PYTHON} end.py"),
            &Intercepted::default(),
            &mut |mut interception| {
                let sockets = interception.sockets().unwrap();
                let interception = Arc::new(interception);
                permit_all(&interception);
                let (tell, heard) = std::sync::mpsc::channel();
                ended = Some(heard);
                thread = Some(std::thread::spawn(move || {
                    let listener = TcpListener::from(sockets.tcp_4);
                    listener.set_nonblocking(false).unwrap();
                    let (mut first, peer) = listener.accept().unwrap();
                    assert_eq!(
                        interception
                            .destination(first.local_addr().unwrap(), peer)
                            .map(|flow| flow.to),
                        to(&["192.0.2.1:9"]).pop()
                    );
                    // Each destination is returned only once.
                    assert_eq!(
                        interception.destination(first.local_addr().unwrap(), peer),
                        None
                    );
                    first.set_read_timeout(Some(super::LONG)).unwrap();
                    tell.send(first.read(&mut [0; 8]).unwrap()).unwrap();
                    drop(listener.accept().unwrap());
                }));
            },
        );
        let outcome = outcome.unwrap();
        assert_eq!(ended.unwrap().recv().unwrap(), 0, "{:?}", net.setting);
        thread.unwrap().join().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&outcome.stdout.bytes),
            "closed\nb''\n",
            "{:?}",
            net.setting
        );
    });
}

#[test]
fn server_dials_only_allowed_targets() {
    everywhere(|net| {
        // A listener of the host, which a separate network namespace cannot reach.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        for dial in [Dial::Wanted, Dial::Never] {
            let mut dialed = None;
            let how = Intercepted {
                dial,
                ..Intercepted::default()
            };
            let (outcome, _) = net.run(
                "until [ -e dialed ]; do sleep 0.01; done; rm dialed",
                &how,
                &mut |interception| {
                    let (tell, told) = channel();
                    let interception = Arc::new(interception);
                    permit_all(&interception);
                    interception.dial(at, move |socket| tell.send(socket).unwrap());
                    dialed = Some(told.recv_timeout(DEADLINE).unwrap().and_then(|socket| {
                        let mut ready = [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::OUT)];
                        poll(
                            &mut ready,
                            Some(&Timespec {
                                tv_sec: 60,
                                tv_nsec: 0,
                            }),
                        )
                        .unwrap();
                        TcpStream::from(socket)
                            .take_error()
                            .unwrap()
                            .map_or(Ok(()), Err)
                    }));
                    std::fs::write(net.work.join("dialed"), "").unwrap();
                },
            );
            assert_eq!(outcome.unwrap().exit, Exit::Code(0));
            let got = dialed
                .unwrap()
                .map_err(|error| error.raw_os_error().unwrap_or(0));
            let Setting { tier, network, .. } = net.setting;
            let wanted = match (tier, network) {
                _ if dial == Dial::Never => Err(libc::EACCES),
                (Tier::Off, _) | (_, Network::Host) => Ok(()),
                (Tier::Namespaces, Network::Loopback) => Err(libc::ECONNREFUSED),
                _ => Err(libc::EACCES),
            };
            assert_eq!(got, wanted, "{:?}", net.setting);
        }
    });
}

#[test]
fn loopback_connection_is_dialed_ahead() {
    if !installed(PYTHON) {
        return;
    }
    everywhere(|net| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap();
        let script = "import socket,sys\nfor host, port in (('127.0.0.1', sys.argv[1]), ('192.0.2.1', 9)):\n    s=socket.socket()\n    \
                      print(s.connect_ex((host, int(port))))";
        std::fs::write(net.work.join("ahead.py"), script).unwrap();
        let (tell, told) = channel();
        let how = Intercepted {
            dial: Dial::Ahead,
            ..Intercepted::default()
        };
        let mut kept = None;
        let (outcome, _) = net.run(
            &format!("{PYTHON} ahead.py {}", here.port()),
            &how,
            &mut |interception| {
                let interception = Arc::new(interception);
                let (tell, inside) = (tell.clone(), Arc::downgrade(&interception));
                interception.on_flow(move |flow, dialed| {
                    let peer = dialed.map(|socket| TcpStream::from(socket).peer_addr().unwrap());
                    tell.send((flow.to, peer)).unwrap();
                    // A connection with a pending decision has no dialed socket.
                    if let (None, Some(interception)) = (peer, inside.upgrade()) {
                        interception.decide(flow.mark, Some(libc::EACCES)).unwrap();
                    }
                });
                handle_messages(&interception);
                kept = Some(interception);
            },
        );
        let outcome = outcome.unwrap();
        let is_of_system = net.setting.tier == Tier::Off || net.setting.network == Network::Host;
        let (first, peer) = if is_of_system {
            (0, Some(here))
        } else {
            (libc::EACCES, None)
        };
        let seen: Vec<_> = told.try_iter().collect();
        assert_eq!(
            seen,
            [(here, peer), (to(&["192.0.2.1:9"])[0], None)],
            "{:?}",
            net.setting
        );
        let out = String::from_utf8_lossy(&outcome.stdout.bytes);
        assert_eq!(
            out,
            format!("{first}\n{}\n", libc::EACCES),
            "{:?}",
            net.setting
        );
    });
}

#[test]
fn variables_and_certificates_are_installed() {
    let bundle = "/etc/ssl/certs/ca-certificates.crt";
    everywhere(|net| {
        let environment = [variable("SSL_CERT_FILE", "/x/y")];
        let how = Intercepted {
            environment: &environment,
            certificates: Some(b"MERGED\n"),
            ..Intercepted::default()
        };
        // Without a sandbox, root could overwrite the file of the host.
        let write = if net.setting.tier == Tier::Off {
            ":".to_owned()
        } else {
            format!("(echo x >{bundle}) 2>&1")
        };
        let ran = net.sh_with(
            &format!("echo $SSL_CERT_FILE; head -c 7 {bundle}; {write}"),
            &how,
        );
        if net.setting.tier == Tier::Namespaces && installed(bundle) {
            assert!(
                ran.out
                    .starts_with("/x/y\nMERGED\n/bin/sh: 1: cannot create"),
                "{:?}: {ran:?}",
                net.setting
            );
        } else {
            assert!(
                ran.out.starts_with("/x/y\n") && !ran.out.contains("MERGED"),
                "{ran:?}"
            );
        }
        // The next command finds the original file.
        if installed(bundle) && net.setting.tier != Tier::Off {
            assert!(
                !net.works(&format!("head -c 7 {bundle}"))
                    .out
                    .contains("MERGED")
            );
        }
    });
}

#[test]
fn given_streams_are_passed_through() {
    everywhere(|net| {
        let (read, write) = rustix::pipe::pipe().unwrap();
        let null = std::fs::File::open("/dev/null").unwrap();
        let streams = Some([null.as_fd(), write.as_fd(), write.as_fd()]);
        let how = Intercepted {
            streams,
            ..Intercepted::default()
        };
        let mut proxy = None;
        let line = "cat; curl -sS http://192.0.2.1/";
        let (outcome, _) = net.run(line, &how, &mut |interception| {
            proxy = Some(Proxy::start(interception));
        });
        assert_eq!(outcome.unwrap().stdout.bytes, b"");
        drop(write);
        let mut out = String::new();
        std::fs::File::from(read).read_to_string(&mut out).unwrap();
        assert_eq!(out, "to=192.0.2.1:80");
        proxy.unwrap().end();
    });
}
