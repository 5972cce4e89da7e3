//! The spare interpreter, started in advance for the next session: which sessions take it.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{open, reply_data, result};
use crate::harness::{DEADLINE, Server};
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

/// Returns the process ids of the spare interpreters in this tree's directory.
fn spares(tree: &Tree) -> Vec<u64> {
    let of = |process: std::fs::DirEntry| {
        let number = process.file_name().to_str()?.parse().ok()?;
        let words = std::fs::read(process.path().join("cmdline")).ok()?;
        let is_here = std::fs::read_link(process.path().join("cwd")).ok()? == tree.path("work");
        (is_here && words.ends_with(b"\0spare\0")).then_some(number)
    };
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(of)
        .collect()
}

/// Waits until there is a spare interpreter that is not among these.
fn wait_for_spare(tree: &Tree, known: &[u64]) -> u64 {
    let until = Instant::now() + DEADLINE;
    loop {
        if let Some(new) = spares(tree)
            .into_iter()
            .find(|number| !known.contains(number))
        {
            return new;
        }
        assert!(Instant::now() < until, "no interpreter waits");
        std::thread::yield_now();
    }
}

fn wait_until_gone(number: u64) {
    let until = Instant::now() + DEADLINE;
    while std::path::Path::new(&format!("/proc/{number}")).exists() {
        assert!(Instant::now() < until, "process {number} is still there");
        std::thread::yield_now();
    }
}

/// Creates a session and returns its process id in the host's namespace. Without a sandbox, cells
/// see the same id.
fn create_session(server: &mut Server, arguments: Value) -> u64 {
    let name = arguments["session_id"].clone();
    assert_eq!(
        reply_data(&server.call("create_session", arguments))["status"],
        "created"
    );
    let health = reply_data(&server.call("get_kernel_health", json!({"session_id": name})));
    health["pid"].as_u64().unwrap()
}

#[test]
fn session_takes_spare_and_new_spare_starts() {
    let tree = Tree::new();
    let mut server = open(&tree, &["--sandbox", "off"]);
    let first = wait_for_spare(&tree, &[]);
    let asked = Instant::now();
    assert_eq!(
        create_session(&mut server, json!({"session_id": "a"})),
        first
    );
    let health = reply_data(&server.call("get_kernel_health", json!({"session_id": "a"})));
    let uptime = Duration::from_secs_f64(health["uptime"].as_f64().unwrap());
    assert!(
        uptime <= asked.elapsed(),
        "it counts from when it became the session's: {health}"
    );
    let second = wait_for_spare(&tree, &[first]);
    assert_eq!(
        result(&mut server, "import os; os.getpid()"),
        second.to_string(),
        "the session that is always there"
    );
    // A killed spare is not handed out.
    let third = wait_for_spare(&tree, &[first, second]);
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(third as i32).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    wait_until_gone(third);
    let fresh = create_session(&mut server, json!({"session_id": "b"}));
    assert!(![first, second, third].contains(&fresh));
    let fourth = wait_for_spare(&tree, &[first, second, third, fresh]);
    server.close_stdin();
    assert!(server.wait_exit().success());
    wait_until_gone(fourth);
}

#[test]
fn session_with_other_settings_takes_no_spare() {
    let tree = Tree::new();
    tree.dir("work/below");
    let mut server = open(&tree, &["--sandbox", "off"]);
    let first = wait_for_spare(&tree, &[]);
    let own = json!({"session_id": "env", "environment": ["A=1"]});
    assert!(
        create_session(&mut server, own) != first,
        "its environment is read when an interpreter starts"
    );
    let where_it_is = "import os, sys; os.getcwd(), os.environ.get('PWD'), sys.path[0]";
    let below = json!({"session_id": "below", "working_directory": "below"});
    let (expected, number) = (tree.text("work/below"), create_session(&mut server, below));
    let cell = json!({"session_id": "below", "code": where_it_is});
    let there = reply_data(&server.call("run_python_code", cell))["result"]
        .as_str()
        .unwrap()
        .replace('\'', "");
    assert_eq!(
        there,
        format!("({expected}, {expected}, )"),
        "whichever it was: {number}"
    );
}

/// Starts a server whose `python3` is looked up in this PATH.
fn server_with_path(tree: &Tree, path: &str) -> Server {
    tree.dir("work/below");
    let allow = format!("{}:rw", tree.text("work"));
    let line = [
        env!("CARGO_BIN_EXE_replay"),
        "--mcp-server",
        "--allow",
        &allow,
        "--tools",
        "python",
        "--sandbox",
        "off",
    ];
    Server::start_program(tree, &line, &[("PATH", path)]).opened(NEWEST_HANDSHAKE)
}

fn program(tree: &Tree, path: &str, text: &str) {
    tree.file(path, text);
    std::fs::set_permissions(tree.path(path), PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn interpreter_wrapper_is_asked_each_time() {
    let tree = Tree::new();
    // Like a version manager: it chooses the version, and puts its own directory first in PATH.
    program(
        &tree,
        "shims/python3",
        "#!/bin/sh\nPATH=/usr/bin:$PATH exec /usr/bin/python3 \"$@\"\n",
    );
    let mut server = server_with_path(&tree, &format!("{}:/usr/bin:/bin", tree.text("shims")));
    let first = wait_for_spare(&tree, &[]);
    let below = create_session(
        &mut server,
        json!({"session_id": "below", "working_directory": "below"}),
    );
    assert!(below != first);
    wait_until_gone(first);
    // There is no spare when no session could take it.
    let here = create_session(&mut server, json!({"session_id": "here"}));
    assert!(here != first);
    assert_eq!(spares(&tree), Vec::<u64>::new());
}

/// Stub of pyenv: finds the interpreter of a version (`pyenv help version-file`).
const PYENV: &str = r#"#!/bin/sh
shift 2
file=$PYENV_ROOT/version place=$PWD
while [ -n "$place" ]; do
  [ -f "$place/.python-version" ] && file=$place/.python-version && break
  place=${place%/*}
done
export PYENV_DIR="$PWD" PYENV_VERSION="${PYENV_VERSION:-$(cat "$file")}"
PATH=$PYENV_ROOT/versions/$PYENV_VERSION/bin:$PATH exec "$PYENV_ROOT/versions/$PYENV_VERSION/bin/python3" "$@"
"#;

/// Makes a pyenv with two versions, of which it starts the first. Returns a PATH with its shims.
fn pyenv(tree: &Tree) -> String {
    let root = tree.text("pyenv");
    let shim = format!(
        "#!/bin/sh\nprogram=\"${{0##*/}}\"\n\nexport PYENV_ROOT=\"{root}\"\n\
         exec \"{root}/libexec/pyenv\" exec \"$program\" \"$@\"\n"
    );
    program(tree, "pyenv/shims/python3", &shim);
    program(tree, "pyenv/libexec/pyenv", PYENV);
    program(tree, "pyenv/libexec/pyenv-exec", "#!/bin/sh\n");
    for version in ["3.1", "3.2"] {
        tree.dir(format!("pyenv/versions/{version}/bin"));
        let link = tree.path(format!("pyenv/versions/{version}/bin/python3"));
        std::os::unix::fs::symlink("/usr/bin/python3", link).unwrap();
    }
    tree.file("pyenv/version", "3.1\n");
    format!("{root}/shims:/usr/bin:/bin")
}

/// Creates sessions in a directory until one takes the spare interpreter. Returns all process ids
/// known by then.
fn take_spare(server: &mut Server, tree: &Tree, directory: &str) -> Vec<u64> {
    let mut known = Vec::new();
    let until = Instant::now() + DEADLINE;
    loop {
        let first = wait_for_spare(tree, &known);
        let name = format!("before-{}", known.len());
        let own = create_session(
            server,
            json!({"session_id": name, "working_directory": directory}),
        );
        known.extend([first, own]);
        if own == first {
            return known;
        }
        // A file as new as the interpreter cannot be shown to be unchanged since its start.
        assert!(Instant::now() < until, "none is taken");
    }
}

#[test]
fn spare_is_used_for_same_pyenv_version() {
    let tree = Tree::new();
    let path = pyenv(&tree);
    tree.file("work/other/.python-version", "3.2\n");
    let mut server = server_with_path(&tree, &path);
    let mut known = take_spare(&mut server, &tree, "below");
    let asked = json!({"session_id": format!("before-{}", known.len() - 2), "code": "import os; os.environ['PYENV_DIR']"});
    let there = reply_data(&server.call("run_python_code", asked))["result"].clone();
    assert_eq!(there, json!(format!("'{}'", tree.text("work/below"))));
    // That directory selects another version, and later every directory does.
    known.push(wait_for_spare(&tree, &known));
    let other = create_session(
        &mut server,
        json!({"session_id": "other", "working_directory": "other"}),
    );
    assert!(!known.contains(&other));
    let asked = json!({"session_id": "other", "code": "import sys; sys.executable"});
    let there = reply_data(&server.call("run_python_code", asked))["result"].clone();
    assert_eq!(
        there,
        json!(format!("'{}'", tree.text("pyenv/versions/3.2/bin/python3")))
    );
    known.push(other);
    known.push(wait_for_spare(&tree, &known));
    std::fs::write(tree.path("pyenv/version"), "3.2\n").unwrap();
    let later = create_session(
        &mut server,
        json!({"session_id": "later", "working_directory": "below"}),
    );
    assert!(!known.contains(&later));
    // Hooks of pyenv can do anything.
    let tree = Tree::new();
    let path = pyenv(&tree);
    tree.file(
        "pyenv/pyenv.d/exec/own.bash",
        "PYENV_COMMAND_PATH=/usr/bin/python3\n",
    );
    let text = PYENV.replace("export ", "export PYENV_HOOK_PATH=$PYENV_ROOT/pyenv.d ");
    program(&tree, "pyenv/libexec/pyenv", &text);
    let mut server = server_with_path(&tree, &path);
    let first = wait_for_spare(&tree, &[]);
    assert!(create_session(&mut server, json!({"session_id": "a"})) != first);
    assert_eq!(spares(&tree), Vec::<u64>::new());
}

/// Writes a module into the tree, a virtual environment, for every version of the interpreter.
fn add_module(tree: &Tree, name: &str, text: &str) {
    for minor in 8..20 {
        // Writes an existing file in place.
        tree.file(format!("lib/python3.{minor}/site-packages/{name}"), text);
    }
}

/// Change to a tree.
type TreeChange<'a> = &'a dyn Fn(&Tree);

#[test]
fn outdated_spare_is_ended() {
    let settings = "home = /usr/bin\n";
    let link = |tree: &Tree, name: &str| {
        tree.dir(name);
        std::os::unix::fs::symlink("/usr/bin/python3", tree.path(name).join("python3")).unwrap();
    };
    let nothing: TreeChange<'_> = &|_| ();
    let cases: [(&str, TreeChange<'_>, TreeChange<'_>); 6] = [
        ("a nearer one", nothing, &|tree| {
            program(
                tree,
                "nearer/python3",
                "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n",
            );
        }),
        ("a link to the same, nearer", nothing, &|tree| {
            link(tree, "nearer");
        }),
        ("a broken one, nearer", nothing, &|tree| {
            program(tree, "nearer/python3", "#!/nowhere/python\n");
        }),
        (
            "what is read at each start",
            &|tree| add_module(tree, "own.pth", "/a\n"),
            &|tree| {
                add_module(tree, "own.pth", "/b\n");
            },
        ),
        (
            "what that imports",
            &|tree| {
                add_module(tree, "own.py", "a = 1\n");
                add_module(tree, "own.pth", "import own\n");
            },
            &|tree| add_module(tree, "own.py", "a = 2\n"),
        ),
        ("the settings of an environment", nothing, &|tree| {
            let more = format!("{settings}include-system-site-packages = true\n");
            std::fs::write(tree.path("pyvenv.cfg"), more).unwrap();
        }),
    ];
    for (what, before, change) in cases {
        let tree = Tree::new();
        tree.file("pyvenv.cfg", settings);
        link(&tree, "near");
        before(&tree);
        let path = format!(
            "{}:{}:/usr/bin:/bin",
            tree.text("nearer"),
            tree.text("near")
        );
        let mut server = server_with_path(&tree, &path);
        let known = take_spare(&mut server, &tree, ".");
        let second = wait_for_spare(&tree, &known);
        change(&tree);
        assert!(
            create_session(&mut server, json!({"session_id": "changed"})) != second,
            "{what}"
        );
        wait_until_gone(second);
    }
}

#[test]
fn spare_is_absent_when_not_allowed() {
    let tree = Tree::new();
    let mut server = open(&tree, &["--sandbox", "off", "--no-python-spare"]);
    assert_eq!(result(&mut server, "1 + 1"), "2");
    assert_eq!(spares(&tree), Vec::<u64>::new());
    // Nor if the session limit allows no other session.
    let tree = Tree::new();
    let mut server = open(&tree, &["--sandbox", "off", "--max-python-sessions", "1"]);
    let first = wait_for_spare(&tree, &[]);
    assert_eq!(
        result(&mut server, "import os; os.getpid()"),
        first.to_string()
    );
    assert_eq!(spares(&tree), [first]);
    let tree = Tree::new();
    drop(open(&tree, &["--tools", "files"]));
    assert_eq!(spares(&tree), Vec::<u64>::new());
}

#[test]
fn spare_session_is_sandboxed() {
    for tier in super::endings::TIERS {
        let tree = Tree::new();
        tree.file("secret", "outside");
        let mut server = open(&tree, &["--sandbox", tier]);
        if !super::endings::tier_is_available(&mut server) {
            continue;
        }
        // The first session took the spare from the start. This one takes the next spare or starts
        // its own interpreter.
        assert_eq!(
            reply_data(&server.call("create_session", json!({"session_id": "a"})))["status"],
            "created",
            "{tier}"
        );
        let code = format!("open({:?}).read()", tree.text("secret"));
        let ran =
            reply_data(&server.call("run_python_code", json!({"session_id": "a", "code": code})));
        let expected = if tier == "off" {
            Value::Null
        } else {
            json!(true)
        };
        let refused = ran["error"]["name"]
            .as_str()
            .map(|name| ["PermissionError", "FileNotFoundError"].contains(&name));
        assert_eq!(
            refused.map_or(Value::Null, Value::Bool),
            expected,
            "{tier}: {ran}"
        );
    }
}
