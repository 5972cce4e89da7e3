//! Noise in database calls: values that differ in each run.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};

use pretty_assertions::assert_eq;

use super::replay;
use crate::tree::Tree;

/// Starts a Redis server with fixed answers, for this many connections.
fn redis(connections: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(connections) {
            let mut stream = stream.unwrap();
            let mut command = [0; 1024];
            // The program sends a command and waits for the answer.
            while let Ok(1..) = stream.read(&mut command) {
                stream.write_all(b"+OK\r\n").unwrap();
            }
        }
    });
    address
}

/// Returns a Python program that takes a lock with this token, stores its purpose and prints the
/// answers.
fn program(address: SocketAddr, token: &str, purpose: &str) -> String {
    format!(
        "import socket\nserver = socket.create_connection(('{}', {}))\nfor words in (['SET', 'lock', '{token}', 'NX'], ['SET', \
         'for', '{purpose}']):\n    server.sendall(('*%d\\r\\n' % len(words) + ''.join('$%d\\r\\n%s\\r\\n' % (len(word), word) for \
         word in words)).encode())\n    print(server.recv(1024).decode().strip())\n",
        address.ip(),
        address.port()
    )
}

#[test]
fn redis_values_that_vary_become_noise() {
    let (tree, address) = (Tree::new(), redis(2));
    let tokens = ["4711-a", "4712-b", "4713-c"];
    for token in &tokens[..2] {
        tree.file("shop.py", program(address, token, "orders"));
        assert_eq!(
            replay(&tree, &["calls", "record", "--", "python3", "shop.py"]).status,
            0
        );
    }
    tree.file("shop.py", program(address, tokens[2], "orders"));
    let test = [
        "calls",
        "test",
        "--mock",
        "shop-redis",
        "--",
        "python3",
        "shop.py",
    ];
    let missed = replay(&tree, &test);
    let declare = "only values differ. If the program was changed, record again. If they change \
        in each run, add `noise: {req: [arg.2]}` below `name: mock-1`";
    assert!(
        missed.status == 1 && missed.err.contains(declare),
        "{}",
        missed.err
    );

    let written = replay(
        &tree,
        &["calls", "noise", "shop-redis", "shop-redis-2", "--write"],
    );
    let place = format!("Redis {address} SET lock ? NX");
    assert_eq!(
        (written.status, written.out, written.err.as_str()),
        (
            0,
            format!("{place}\targ.2\t{}\t{}\n", tokens[0], tokens[1]),
            "replay: noise of shop-redis and shop-redis-2: ./keploy/shop-redis/mocks.yaml, ./keploy/shop-redis-2/mocks.yaml\n"
        )
    );
    let latest = ["calls", "test", "--", "python3", "shop.py"];
    for (set, test) in [("shop-redis", &test[..]), ("shop-redis-2", &latest[..])] {
        let file = tree.read(&format!("keploy/{set}/mocks.yaml"));
        assert_eq!(
            file.matches("noise:\n    req:\n        - arg.2\n").count(),
            1,
            "{file}"
        );
        let tested = replay(&tree, test);
        assert_eq!(
            (tested.status, tested.out.as_str(), tested.err),
            (
                0,
                "+OK\n+OK\n",
                format!("replay: replayed 2 calls of {set}\n")
            )
        );
    }
    // All other values are still compared.
    tree.file("shop.py", program(address, tokens[2], "returns"));
    let missed = replay(&tree, &test);
    assert!(
        missed.status == 1 && missed.err.contains("SET for returns"),
        "{}",
        missed.err
    );
}
