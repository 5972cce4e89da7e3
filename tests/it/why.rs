//! `replay why`: the rule that decides about an access, and the flag that would allow it.

use std::process::Command;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::tree::Tree;

fn tree() -> Tree {
    let tree = Tree::new();
    tree.file("work/a.txt", "a")
        .file("docs/b.txt", "b")
        .file("outside/secret", "x")
        .dir("tmp");
    tree.dir("work/.git/hooks")
        .program("outside/bin/tool", "#!/bin/sh\n");
    tree
}

/// Runs `replay why` and returns the exit status and the output. `{}` stands for the tree.
fn why(tree: &Tree, asked: &[&str], flags: &[&str]) -> (i32, String) {
    let (work, docs) = (format!("{}:rw", tree.text("work")), tree.text("docs"));
    let output = Command::new(env!("CARGO_BIN_EXE_replay"))
        .arg("why")
        .args(asked)
        .args(["--allow", &work, "--allow", &docs])
        .args(flags)
        .env("XDG_STATE_HOME", tree.state())
        .env("TMPDIR", tree.path("tmp"))
        .env("HOME", tree.path("home"))
        .env(
            "PATH",
            format!("/usr/bin:/bin:{}", tree.text("outside/bin")),
        )
        .current_dir(tree.root())
        .output()
        .unwrap();
    let text =
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (
        output.status.code().unwrap(),
        text.replace(tree.root().to_str().unwrap(), "{}"),
    )
}

#[test]
fn path_in_cache_names_no_flag() {
    let tree = tree();
    tree.file("cache/pip/x", "x");
    let cache = tree.text("cache");
    let said = "denied: `{}/cache/pip/x` is outside the allowed directories\nnote: this is the \
        cache of commands (--cache): commands use it below their HOME, and tools cannot\n";
    for access in ["read", "write"] {
        assert_eq!(
            why(&tree, &[access, "cache/pip/x"], &["--cache", &cache]),
            (1, said.to_owned())
        );
    }
}

#[test]
fn path_of_home_names_narrow_flag() {
    let tree = tree();
    tree.file(
        "home/.npmrc",
        "save-exact=true\n//npm.acme.example/:_authToken=x\n",
    )
    .file("home/.m2/repository/x.jar", "x");
    let denied =
        |path: &str| format!("denied: `{{}}/home/{path}` is outside the allowed directories\n");
    for (path, flags, more) in [
        (
            ".npmrc",
            &[][..],
            "note: commands have it as ~/.npmrc: 1 value; secret: //npm.acme.example/:_authToken\n",
        ),
        (
            ".m2/repository/x.jar",
            &[],
            "what would allow it: --downloads maven\nwhat that allows, too: commands can read all of \
             `{}/home/.m2/repository`\n",
        ),
        (
            ".m2/repository/x.jar",
            &["--downloads", "maven"],
            "note: commands have its directory as ~/.m2/repository (--downloads maven)\n",
        ),
    ] {
        let asked = format!("home/{path}");
        assert_eq!(
            why(&tree, &["read", &asked], flags),
            (1, denied(path) + more)
        );
    }
}

#[test]
fn path_is_judged_by_policy() {
    let tree = tree();
    let cases: [(&[&str], &[&str], i32, &str); 10] = [
        (
            &["read", "work/a.txt"],
            &[],
            0,
            "allowed: it lies in the allowed directory `{}/work` (read-write)\n",
        ),
        (
            &["read", "work/none"],
            &[],
            0,
            "allowed: it lies in the allowed directory `{}/work` (read-write)\nnote: `{}/work/none` does not exist\n",
        ),
        (
            &["read", "outside/secret"],
            &[],
            1,
            "denied: `{}/outside/secret` is outside the allowed directories\nwhat would allow it: \
             --allow {}/outside\nwhat that allows, too: tools and commands can read everything in \
             `{}/outside`\n",
        ),
        (
            &["write", "outside/new/file"],
            &[],
            1,
            "denied: `{}/outside/new/file` is outside the allowed directories\nwhat would allow \
             it: --allow {}/outside:rw\nwhat that allows, too: tools and commands can read and \
             change everything in `{}/outside`\n",
        ),
        (
            &["write", "work/new/file"],
            &[],
            0,
            "allowed: it lies in the allowed directory `{}/work` (read-write)\n",
        ),
        (
            &["write", "docs/b.txt"],
            &[],
            1,
            "denied: `{}/docs/b.txt` is in a read-only directory\nwhat would allow it: --allow \
             {}/docs:rw\nwhat that allows, too: tools and commands can change everything in \
             `{}/docs`, except protected paths\n",
        ),
        (
            &["write", "work/.git/hooks/pre-commit"],
            &[],
            1,
            "denied: `{}/work/.git/hooks/pre-commit` is protected: `{}/work/.git/hooks` may not \
             be changed by file tools\nwhat would allow it: --unprotect {}/work/.git/hooks\nwhat \
             that allows, too: tools and commands can change everything at or below \
             `{}/work/.git/hooks`, which git obeys\n",
        ),
        (
            &["write", "work/a.txt"],
            &["--protect", "work/a.txt"],
            1,
            "denied: `{}/work/a.txt` is protected: `{}/work/a.txt` may not be changed by file \
             tools\nwhat would allow it: no --protect {}/work/a.txt\nwhat that allows, too: tools \
             and commands can change everything at or below `{}/work/a.txt`\n",
        ),
        (
            &["write", "work/sub/.envrc"],
            &["--freeze-autorun"],
            1,
            "denied: the parts that direnv runs cannot be changed (--freeze-autorun)\nwhat would \
             allow it: no --freeze-autorun\nwhat that allows, too: commands and tools can change \
             files that programs outside the walls run\n",
        ),
        (
            &["write", "work/package.json"],
            &["--freeze-autorun"],
            0,
            "allowed: it lies in the allowed directory `{}/work` (read-write)\nnote: the parts \
             that npm runs cannot be changed (--freeze-autorun)\n",
        ),
    ];
    for (asked, flags, status, text) in cases {
        assert_eq!(
            why(&tree, asked, flags),
            (status, text.to_owned()),
            "{asked:?}"
        );
    }
}

#[test]
fn connection_is_judged_by_network_rules() {
    let tree = tree();
    let by_rule = [
        "--allow-host",
        "*.example.org",
        "--allow-host",
        "GET https://api.example.com/v1/**",
        "--deny-host",
        "bad.example.org",
    ];
    let private = "note: if the name resolves to a private address, that address must be allowed, \
        too\n";
    let besides = |rule: &str| {
        format!(
            "what would allow it: --allow-host {rule}\nwhat that allows, too: commands, Python \
             sessions and tests can send {rule} everything that they can read\n"
        )
    };
    let own = format!(
        "denied: commands have a private loopback, which reaches servers that commands start, and \
         no server of this machine\n{}",
        besides("127.0.0.1:8000")
    );
    let system = rustix::system::uname();
    let machine = format!("{}:8000", system.nodename().to_str().unwrap());
    let cases: [(&str, &[&str], i32, String); 14] = [
        (&*machine, &[], 1, own.clone()),
        ("127.0.0.1:8000", &[], 1, own.clone()),
        ("localhost:8000", &[], 1, own.clone()),
        ("localhost:8000", &by_rule, 1, own),
        (
            "localhost:8000",
            &["--allow-host", "[::1]:8000"],
            0,
            "allowed: --allow-host '[::1]:8000'\n".to_owned(),
        ),
        (
            "a.example.org",
            &by_rule,
            0,
            format!("allowed: --allow-host '*.example.org'\n{private}"),
        ),
        (
            "b.example.net:443",
            &by_rule,
            1,
            format!(
                "denied: no --allow-host rule matches it\n{}",
                besides("b.example.net")
            ),
        ),
        (
            "b.example.net:22",
            &by_rule,
            1,
            format!(
                "denied: no --allow-host rule matches it\n{}",
                besides("b.example.net:22")
            ),
        ),
        (
            "bad.example.org",
            &by_rule,
            1,
            "denied: --deny-host bad.example.org\nwhat would allow it: no --deny-host \
             bad.example.org\nwhat that allows, too: everything else that this rule denies and \
             --allow-host allows\n"
                .to_owned(),
        ),
        (
            "https://api.example.com/v1/x",
            &by_rule,
            0,
            format!(
                "allowed: --allow-host 'GET https://api.example.com/v1/**', for GET\n{private}"
            ),
        ),
        (
            "https://api.example.com/v2",
            &by_rule,
            1,
            "denied: only some requests are allowed there (GET https://api.example.com/v1/**), \
             and GET of this path is not among them\nwhat would allow it: --allow-host 'GET \
             https://api.example.com/v2'\nwhat that allows, too: requests with this method to \
             this path, with any query\n"
                .to_owned(),
        ),
        (
            "a.example.org",
            &["--network", "none"],
            1,
            format!(
                "denied: commands have no network (--network none)\n{}",
                besides("a.example.org")
            ),
        ),
        (
            "192.0.2.1:80",
            &["--network", "host"],
            0,
            "allowed: commands have the system's network (--network host)\n".to_owned(),
        ),
        (
            "a.example.org",
            &["--sandbox", "off"],
            0,
            "allowed: commands run without walls (--sandbox off)\n".to_owned(),
        ),
    ];
    for (what, flags, status, text) in cases {
        assert_eq!(
            why(&tree, &["connect", what], flags),
            (status, text),
            "{what} {flags:?}"
        );
    }
    let (status, text) = why(&tree, &["connect", "ftp://a"], &[]);
    assert_eq!(
        (
            status,
            text.contains("`ftp://` is unknown; use one of tcp://, udp://, http:// and https://")
        ),
        (2, true),
        "{text}"
    );
}

#[test]
fn program_is_searched_on_path_of_commands() {
    let tree = tree();
    let (status, text) = why(&tree, &["run", "sh"], &[]);
    assert!(
        status == 0
            && text.starts_with("allowed: commands find `/")
            && text.ends_with("(the system's programs)\n"),
        "{text}"
    );
    assert_eq!(
        why(&tree, &["run", "no-such-program"], &[]),
        (
            1,
            "denied: the program `no-such-program` is neither on the PATH of commands nor on the \
             PATH of this shell\n"
                .to_owned()
        )
    );
    let (status, text) = why(&tree, &["run", "tool", "--json"], &[]);
    let answer: Value = serde_json::from_str(&text).unwrap();
    let expected = json!({
        "allowed": false,
        "rule": "commands do not see `{}/outside/bin/tool`",
        "flag": "--system {}/outside/bin/tool",
        "besides": "commands can read `{}/outside/bin/tool`, and secrets in it",
    });
    assert_eq!((status, answer), (1, expected));
}

#[test]
fn unix_socket_names_its_own_flag() {
    let tree = tree();
    let _listeners = ["outside/s", "docs/s"]
        .map(|at| std::os::unix::net::UnixListener::bind(tree.path(at)).unwrap());
    for access in ["read", "write", "connect"] {
        for at in ["outside/s", "docs/s"] {
            let (code, text) = why(&tree, &[access, at], &[]);
            assert_eq!(code, 1, "{text}");
            assert!(
                text.contains(&format!("what would allow it: --allow-socket {{}}/{at}\n")),
                "{text}"
            );
            let path = tree.text(at);
            let (code, text) = why(&tree, &[access, at], &["--allow-socket", &path]);
            assert_eq!(
                (code, text),
                (0, format!("allowed: --allow-socket {{}}/{at}\n"))
            );
        }
    }
    let (_, text) = why(&tree, &["read", "outside/secret"], &[]);
    assert!(
        text.ends_with(
            "has unix sockets; commands connect to none of them without \
            --allow-socket\n"
        ),
        "{text}"
    );
}
