//! Connections that the real server refuses: the program hears the same while it is recorded, and from the recording.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;

use pretty_assertions::assert_eq;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};

use super::{Upstream, client, replay};
use crate::tree::Tree;

/// Prints how connections to each address fail: of a socket that blocks, of one with a timeout, of one that does not block,
/// and of an event loop.
const CLIENT: &str = "import asyncio, errno, select, socket, sys
async def loop(address):
    await asyncio.open_connection(*address)
for word in sys.argv[1:]:
    host, port = word.rsplit(':', 1)
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    address = (host, int(port))
    told = []
    for timeout in (None, 20, 0):
        with socket.socket(family) as one:
            one.settimeout(timeout)
            code = one.connect_ex(address)
            if code == errno.EINPROGRESS:
                select.select([], [one], [], 20)
                code = one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            told.append(errno.errorcode.get(code, code))
    try:
        asyncio.run(loop(address))
        told.append('connected')
    except OSError as error:
        told.append(errno.errorcode[error.errno])
    print(*told)
";

/// A port that is taken and that nobody listens at.
fn nobody(at: &str) -> (OwnedFd, SocketAddr) {
    let at: SocketAddr = at.parse().unwrap();
    let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    bind(&socket, &at).unwrap();
    let address = TcpListener::from(socket.try_clone().unwrap()).local_addr().unwrap();
    (socket, address)
}

#[test]
fn a_refused_connection_is_refused_by_connect_and_so_from_the_recording() {
    let tree = Tree::new();
    let ((_four, four), (_six, six)) = (nobody("127.0.0.1:0"), nobody("[::1]:0"));
    let (four, six) = (four.to_string(), format!("::1:{}", six.port()));
    tree.file("ask.py", CLIENT);
    let refused = "ECONNREFUSED ECONNREFUSED ECONNREFUSED ECONNREFUSED\n".repeat(2);
    for isolation in ["seccomp", "strict"] {
        let recorded =
            replay(&tree, &["calls", "record", "--isolation", isolation, "--", "python3", "ask.py", &four, &six]);
        assert_eq!((recorded.status, recorded.out.as_str()), (0, refused.as_str()), "{isolation}: {}", recorded.err);
        assert!(recorded.err.contains("recorded 8 calls"), "{}", recorded.err);
        let tested =
            replay(&tree, &["calls", "test", "--isolation", isolation, "--", "python3", "ask.py", &four, &six]);
        assert_eq!((tested.status, tested.out.as_str()), (0, refused.as_str()), "{isolation}: {}", tested.err);
        assert!(tested.err.starts_with("replay: replayed 8 calls of "), "{}", tested.err);
    }
}

#[test]
fn what_was_refused_comes_from_the_recording_whoever_listens_now() {
    let tree = Tree::new();
    let (held, address) = nobody("127.0.0.1:0");
    tree.file("shop.py", client(&[format!("http://{address}/a")]));
    let recorded = replay(&tree, &["calls", "record", "--", "python3", "shop.py"]);
    assert_eq!((recorded.status, recorded.out.as_str()), (0, "URLError\n"), "{}", recorded.err);
    let set = recorded.err.split("calls").next().unwrap();
    assert_eq!(set, "replay: recorded 1 ", "{}", recorded.err);
    rustix::net::listen(&held, 4).unwrap();
    let tested = replay(&tree, &["calls", "test", "--", "python3", "shop.py"]);
    assert_eq!((tested.status, tested.out.as_str()), (0, "URLError\n"), "{}", tested.err);
}

#[test]
fn a_server_that_was_never_recorded_and_would_speak_first_is_missed_and_refused() {
    let (tree, upstream) = (Tree::new(), Upstream::start());
    tree.file("shop.py", client(&[upstream.url() + "/a"]));
    assert_eq!(replay(&tree, &["calls", "record", "--", "python3", "shop.py"]).status, 0);
    tree.file("ask.py", CLIENT);
    let tested = replay(&tree, &["calls", "test", "--", "python3", "ask.py", "192.0.2.7:3306"]);
    assert_eq!(
        (tested.status, tested.out.as_str()),
        (1, "ECONNREFUSED ECONNREFUSED ECONNREFUSED ECONNREFUSED\n"),
        "{}",
        tested.err
    );
    let missed =
        "replay: missed: a connection whose server speaks first (192.0.2.7:3306): nothing of this kind was recorded\n";
    assert_eq!(tested.err.matches(missed).count(), 4, "{}", tested.err);
}
