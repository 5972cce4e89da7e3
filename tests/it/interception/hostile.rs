//! Hostile commands: no race or trick sends an unintercepted packet.

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;

use pretty_assertions::assert_eq;
use replay_files::journal::Changes;
use replay_sandbox::exec::{ExecError, Exit, Intercepted};
use replay_sandbox::{Network, Tier};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_reuseport;
use rustix::net::{
    AddressFamily, RecvFlags, SocketFlags, SocketType, accept, bind, getsockname, listen, recv,
    socket_with,
};

use super::everywhere;

#[test]
fn socket_cannot_bind_to_other_device() {
    everywhere(|net| {
        if !net.compile("undo", include_str!("undo.c")) {
            return;
        }
        let ran = net.works("./undo");
        // Without another device, the socket is bound to none, unless the supervisor has to create
        // it.
        let device = if net.setting.is_shared() || net.setting.restricted {
            "lo"
        } else {
            ""
        };
        let wanted = format!("{device} EPERM EPERM\n");
        let rest = "raw EPERM\nmptcp EPROTONOSUPPORT\nfast EOPNOTSUPP EOPNOTSUPP\npktinfo ENETUNREACH\nuring EPERM\n";
        assert_eq!(
            ran.out,
            format!("{wanted}{wanted}{rest}"),
            "{:?}",
            net.setting
        );
        assert_eq!(ran.flows, vec![], "{:?}", net.setting);
    });
}

#[test]
fn address_race_reaches_no_other_host() {
    everywhere(|net| {
        if !net.compile("race", include_str!("race.c")) {
            return;
        }
        // Listeners on the loopback device of the host, which must be unreachable for the command.
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        for socket in [tcp.set_nonblocking(true), udp.set_nonblocking(true)] {
            socket.unwrap();
        }
        let (tcp_at, udp_at) = (tcp.local_addr().unwrap(), udp.local_addr().unwrap());
        let ran = net.works(&format!("./race {} {}", tcp_at.port(), udp_at.port()));
        // A value read during a concurrent write may mix both versions.
        let known = |to: &std::net::SocketAddr| {
            ["127.0.0.1", "192.0.2.1"].contains(&to.ip().to_string().as_str())
        };
        assert_eq!(
            ran.flows.iter().find(|to| !known(to)),
            None,
            "{:?}",
            net.setting
        );
        // Every attempt is a redirected or an own connection, and the server is notified of all of
        // them.
        assert_eq!(
            ran.counts.flows + ran.counts.own,
            150,
            "{:?}: {ran:?}",
            net.setting
        );
        let mut came = [0; 64];
        // Without a network, racing attempts fail as well.
        let strict = net.setting.tier == Tier::Landlock && net.setting.network == Network::None;
        if net.setting.is_quiet() || strict || !net.setting.is_shared() {
            assert_eq!(
                udp.recv_from(&mut came).map_err(|error| error.kind()),
                Err(std::io::ErrorKind::WouldBlock)
            );
        }
        if net.setting.tier != Tier::Off {
            // Landlock, or a separate network namespace.
            assert_eq!(
                tcp.accept().map(drop).map_err(|error| error.kind()),
                Err(std::io::ErrorKind::WouldBlock)
            );
        }
    });
}

#[test]
fn shared_port_does_not_reach_host_service() {
    everywhere(|net| {
        let (tcp, udp) = (
            shared_port(SocketType::STREAM),
            shared_port(SocketType::DGRAM),
        );
        let ports = [&tcp, &udp].map(|socket| {
            SocketAddr::try_from(getsockname(socket).unwrap())
                .unwrap()
                .port()
        });
        std::fs::write(net.work.join("reach.py"), include_str!("reach.py")).unwrap();
        let ran = net.works(&format!(
            "/usr/bin/python3 reach.py {} {}",
            ports[0], ports[1]
        ));
        let led = |to: &str| format!("to={to}:{}\n", ports[0]);
        let shared = if net.setting.is_shared() {
            led("127.0.0.1")
        } else {
            "own\n".to_owned()
        };
        let wanted = [
            led("127.0.0.1"),
            led("127.0.0.1"),
            led("127.0.0.1"),
            led("127.0.0.1"),
            shared,
        ]
        .concat();
        let own = "own\nown\nown\n101\n101\n101\nown\nown\nown\n";
        assert_eq!(
            ran.out,
            format!("{wanted}{own}"),
            "{:?}: {}",
            net.setting,
            ran.err
        );
        let mut came = [0; 64];
        assert_eq!(
            recv(&udp, &mut came[..], RecvFlags::empty()).map(|(_, length)| length),
            Err(Errno::AGAIN)
        );
        assert_eq!(
            accept(&tcp).map(drop),
            Err(Errno::AGAIN),
            "{:?}",
            net.setting
        );
    });
}

/// Opens a socket on the loopback device of the host, with a port that others may share.
fn shared_port(kind: SocketType) -> OwnedFd {
    let socket = socket_with(
        AddressFamily::INET,
        kind,
        SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    set_socket_reuseport(&socket, true).unwrap();
    bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    if kind == SocketType::STREAM {
        listen(&socket, 8).unwrap();
    }
    socket
}

#[test]
fn disconnected_datagram_socket_cannot_send_elsewhere() {
    everywhere(|net| {
        std::fs::write(net.work.join("forget.py"), include_str!("forget.py")).unwrap();
        let ran = net.works("/usr/bin/python3 forget.py");
        let wanted = "EPERM EPERM EPERM EPERM EPERM\nENETUNREACH\none\ntwo\n198.18.0.7\n";
        assert_eq!(ran.out, wanted, "{:?}: {}", net.setting, ran.err);
    });
}

#[test]
fn second_supervisor_is_refused_with_message() {
    everywhere(|net| {
        if net.setting.tier != Tier::Off || net.setting.nobody {
            return;
        }
        // Installs a second seccomp listener, as a supervisor inside the command would.
        let ran = net.sh(
            "exec python3 -c 'import ctypes,errno,os\nseccomp=317 if os.uname().machine==\"x86_64\" else 277\nc=ctypes.CDLL(None,use_errno=True)\n\
                          print(c.syscall(seccomp,1,8,None),errno.errorcode[ctypes.get_errno()])'",
        );
        if ran.exit == Exit::Code(0) {
            assert_eq!(ran.out, "-1 EBUSY\n");
        }
    });
}

#[test]
fn connections_fail_when_server_is_gone() {
    everywhere(|net| {
        let line = "curl -sS http://192.0.2.1/ >/dev/null 2>&1; echo $?";
        let (outcome, _) = net.run(line, &Intercepted::default(), &mut drop);
        let outcome = outcome.unwrap();
        assert_eq!(
            String::from_utf8_lossy(&outcome.stdout.bytes),
            "7\n",
            "{:?}",
            net.setting
        );
    });
}

#[test]
fn command_that_cannot_start_fails_immediately() {
    everywhere(|net| {
        std::fs::remove_dir_all(&net.work).unwrap();
        std::fs::create_dir(&net.work).unwrap();
        let moved = net.work.with_extension("moved");
        let at = super::place(&net.work);
        std::fs::rename(&net.work, &moved).unwrap();
        std::fs::create_dir(&net.work).unwrap();
        let command = replay_sandbox::exec::Command {
            changes: &Changes::none(),
            line: "true",
            dir: at,
            terminal: None,
            path: None,
        };
        let (running, cancel) = (
            replay_sandbox::exec::Slots::new(1),
            replay_base::cancel::CancelToken::new(),
        );
        let foreground = super::foreground(&net.launcher, &running, &cancel);
        let refused = foreground.run_intercepted(
            &command,
            &Intercepted::default(),
            &mut |_| None,
            &mut |_, _| {},
        );
        assert!(
            matches!(refused, Err(ExecError::Refused { .. })),
            "{:?}: {refused:?}",
            net.setting
        );
    });
}
