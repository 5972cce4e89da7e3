//! A statically linked Go program, with its own resolver and TLS library, in every isolation, as
//! root and as another user.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use pretty_assertions::assert_eq;

use super::{Ended, REPLAY, run};
use crate::tree::Tree;

/// Go installation paths of Debian and of the upstream packages.
const PLACES: [&str; 2] = ["/usr/bin/go", "/usr/local/go/bin/go"];

/// Builds the program without cgo, as `ask`. Returns false if Go is not installed.
fn is_built(tree: &Tree) -> bool {
    let Some(go) = PLACES.into_iter().find(|place| Path::new(place).exists()) else {
        return false;
    };
    let cache = tempfile::tempdir().unwrap();
    tree.file("ask.go", include_str!("ask.go"));
    let mut build = Command::new(go);
    build
        .args(["build", "-o", "ask", "ask.go"])
        .current_dir(tree.root());
    build
        .env("CGO_ENABLED", "0")
        .env("GO111MODULE", "off")
        .env("GOCACHE", cache.path())
        .env("HOME", cache.path());
    let built = build.output().unwrap();
    assert!(built.status.success(), "{built:?}");
    true
}

#[test]
fn static_go_program_replays_in_every_isolation() {
    let tree = Tree::new();
    if !is_built(&tree) {
        return;
    }
    let certificate = tree.path("certificate.pem");
    let trusts = format!("SSL_CERT_FILE={}", certificate.display());
    let owners = if rustix::process::geteuid().is_root() {
        &[None, Some(65_534)][..]
    } else {
        &[None]
    };
    for owner in owners {
        let user = owner.map(|user: u32| user.to_string()).unwrap_or_default();
        let change = [
            "setpriv",
            "--reuid",
            &user,
            "--regid",
            &user,
            "--clear-groups",
        ];
        let before = if owner.is_some() { &change[..] } else { &[] };
        if let Some(user) = *owner {
            std::os::unix::fs::chown(tree.root(), Some(user), Some(user)).unwrap();
        }
        for isolation in ["seccomp", "strict", "env"] {
            let mut server = Command::new(tree.path("ask"));
            server
                .arg("serve")
                .arg(&certificate)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped());
            let mut server = server.spawn().unwrap();
            let mut line = String::new();
            BufReader::new(server.stdout.take().unwrap())
                .read_line(&mut line)
                .unwrap();
            let to: Vec<&str> = line.split_whitespace().collect();
            let sets = format!("sets-{user}-{isolation}");
            let calls = |action: &str| -> Ended {
                let how = [
                    "env",
                    &trusts,
                    REPLAY,
                    "calls",
                    action,
                    "--path",
                    &sets,
                    "--isolation",
                    isolation,
                    "--",
                    "./ask",
                ];
                run(&tree, &[before, &how, &to].concat(), |_| {})
            };
            let recorded = calls("record");
            // End of stdin shuts the server down.
            drop(server.stdin.take());
            server.wait().unwrap();
            assert_eq!(recorded.status, 0, "{isolation} as `{user}`: {recorded:?}");
            let seen = [
                "HTTP/1.1 /again {\"a\": 1}<nil>",
                "HTTP/2.0 /many/7?a=b {\"a\": 1}<nil>",
            ];
            assert!(
                seen.iter().all(|seen| recorded.out.contains(seen)),
                "{isolation} as `{user}`: {recorded:?}"
            );
            let tested = calls("test");
            assert_eq!(
                (tested.status, &tested.out),
                (0, &recorded.out),
                "{isolation} as `{user}`: {}",
                tested.err
            );
        }
    }
}
