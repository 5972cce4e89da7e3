//! DNS lookups of unknown names.

use pretty_assertions::assert_eq;

use super::{replay, run};
use crate::tree::Tree;

/// Prints the error code of each failed lookup, as returned by getaddrinfo(3).
const LOOK_UP: &str = "import socket
for name in ('nothing.invalid', 'nothing.example.invalid'):
    try:
        print(socket.getaddrinfo(name, 80))
    except socket.gaierror as error:
        print(error.errno)
";

#[test]
fn unknown_host_fails_as_without_recording() {
    let tree = Tree::new();
    tree.file("look.py", LOOK_UP);
    let plain = run(&tree, &["python3", "look.py"], |_| {});
    for isolation in ["seccomp", "strict"] {
        for action in ["record", "test"] {
            let ended = replay(
                &tree,
                &[
                    "calls",
                    action,
                    "--isolation",
                    isolation,
                    "--",
                    "python3",
                    "look.py",
                ],
            );
            assert_eq!(
                (ended.status, &ended.out),
                (0, &plain.out),
                "{action}, {isolation}: {}",
                ended.err
            );
        }
    }
}
