//! Package manager caches that outlive the server (`--cache`).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;

use pretty_assertions::assert_eq;
use rustix::fs::{FlockOperation, flock};
use rustix::process::Pid;
use serde_json::json;

use super::{Setting, Walls, everywhere, give, installed, launcher, make_tree, start_server};
use crate::harness::{DEADLINE, ends_within};
use crate::tree::Tree;

/// Writes files into the caches of package managers.
const FILL: &str = "for dir in ~/.cache/pip $XDG_CACHE_HOME/go-build ~/.npm/_cacache ~/.cargo/registry/index ~/go/pkg/mod \
                    ~/.local/share/pnpm/store/v10; do mkdir -p $dir && echo kept > $dir/file || exit 1; done; \
                    echo kept > ~/.cargo/.package-cache; echo own > ~/own";
const LOOK: &str = "cat ~/.cache/pip/file ~/.cache/go-build/file ~/.npm/_cacache/file ~/.cargo/registry/index/file \
                    ~/go/pkg/mod/file ~/.local/share/pnpm/store/v10/file ~/.cargo/.package-cache; cat ~/own 2>/dev/null; true";

/// Starts a server with the usual cache and more flags.
fn with_cache(tree: Tree, setting: Setting, flags: &[&str]) -> Walls {
    let cache = tree.text("cache");
    Walls::on(tree, setting, &[&["--cache", &cache], flags].concat(), &[])
}

/// Ends a server, and waits for its launcher, which maintains the cache.
fn end_server(walls: Walls) -> Tree {
    let launcher = Pid::from_raw(launcher(&walls.server).cast_signed()).unwrap();
    drop(walls.server);
    assert!(ends_within(launcher, DEADLINE), "the launcher did not end");
    walls.tree
}

/// Returns the names of the caches that are not empty.
fn nonempty_caches(tree: &Tree) -> Vec<String> {
    let is_filled = |path: &Path| !path.is_dir() || fs::read_dir(path).unwrap().next().is_some();
    let entries = fs::read_dir(tree.path("cache/caches"))
        .unwrap()
        .map(|entry| entry.unwrap());
    let filled = entries.filter(|entry| is_filled(&entry.path()));
    let mut names: Vec<String> = filled
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Returns a command that fills a cache and sets its time of last use.
fn fill(name: &str, used: &str) -> String {
    format!(
        "mkdir {name} && head -c 700000 /dev/urandom > {name}/file && touch -d {used} {name}/file {name}"
    )
}

#[test]
fn cache_is_kept_for_next_server() {
    everywhere(|setting| {
        let mut walls = with_cache(make_tree(setting), setting, &[]);
        walls.works(FILL);
        let mut next = with_cache(end_server(walls), setting, &["--tools", "all"]);
        assert_eq!(next.works(LOOK), "kept\n".repeat(7), "{setting:?}");
        let file = next.tree.text("cache/caches/pip/file");
        let read = next.server.call("read_file", json!({"path": file}));
        assert_eq!(
            read.failure().unwrap().code,
            Some(-32001),
            "{setting:?}: {read:?}"
        );
        // Commands cannot reach the cache directory itself, nor its marker.
        next.fails(&format!("cat {}", next.tree.text("cache/CACHEDIR.TAG")));
        next.fails(&format!(
            "echo x > {}",
            next.tree.text("cache/caches/../CACHEDIR.TAG")
        ));
        let mode = fs::metadata(next.tree.path("cache"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o7777, 0o700, "{setting:?}");
        if installed("python3") {
            let code = "import os; print(open(os.path.expanduser('~/.npm/_cacache/file')).read())";
            let said = next.server.call("run_python_code", json!({"code": code}));
            assert_eq!(
                said.result()["structuredContent"]["stdout"],
                "kept\n\n",
                "{setting:?}: {said:?}"
            );
        }
        let background = json!({"command": "echo later > ~/.cache/pip/file", "background": true});
        let id = next.server.call("execute_command", background).result()["structuredContent"]["commandId"].clone();
        next.server
            .call("follow_command", json!({"commandId": id, "waitSecs": 10}));
        next.end();
        assert_eq!(
            end_server(next).read("cache/caches/pip/file"),
            "later\n",
            "{setting:?}"
        );
    });
}

#[test]
fn least_recently_used_cache_is_evicted_when_idle() {
    everywhere(|setting| {
        let small = ["--cache-mib", "1"];
        let mut walls = with_cache(make_tree(setting), setting, &[]);
        for (name, used) in [
            ("~/.cache/middle", "@2000000"),
            ("~/.npm/old", "@1000000"),
            ("~/.cache/new", "@3000000"),
        ] {
            walls.works(&fill(name, used));
        }
        walls.works("touch -d @1000000 ~/.npm/.");
        let (cache, tree) = (walls.tree.text("cache"), walls.tree);
        // A second server that uses the cache at the same time deletes nothing.
        let beside = start_server(
            &tree,
            setting,
            &["--cache", &cache, "--cache-mib", "1"],
            &[],
        )
        .opened(crate::schema::NEWEST_HANDSHAKE);
        let of_beside = Pid::from_raw(launcher(&beside).cast_signed()).unwrap();
        drop(beside);
        assert!(ends_within(of_beside, DEADLINE), "the launcher did not end");
        assert_eq!(
            nonempty_caches(&tree),
            [".npm", "middle", "new"],
            "{setting:?}"
        );
        let of_first = Pid::from_raw(launcher(&walls.server).cast_signed()).unwrap();
        drop(walls.server);
        assert!(ends_within(of_first, DEADLINE), "the launcher did not end");
        // Its supervisors, which share its lock, end a little later.
        let dir = fs::File::open(tree.path("cache")).unwrap();
        let (sender, locked) = channel();
        thread::spawn(move || sender.send(flock(dir, FlockOperation::LockExclusive)));
        assert_eq!(locked.recv_timeout(DEADLINE), Ok(Ok(())), "{setting:?}");
        assert_eq!(
            nonempty_caches(&tree),
            [".npm", "middle", "new"],
            "{setting:?}"
        );
        // At the start.
        let mut walls = with_cache(tree, setting, &small);
        assert_eq!(nonempty_caches(&walls.tree), ["new"], "{setting:?}");
        walls.works(&fill("~/.cache/newest", "@4000000"));
        // At the end.
        let tree = end_server(walls);
        assert_eq!(nonempty_caches(&tree), ["newest"], "{setting:?}");
        assert!(
            !fs::read_dir(tree.path("cache/gone")).is_ok_and(|mut left| left.next().is_some()),
            "{setting:?}"
        );
    });
}

#[test]
fn links_in_cache_are_not_followed() {
    everywhere(|setting| {
        let mut walls = with_cache(make_tree(setting), setting, &[]);
        let outside = walls.tree.text("outside");
        let plant = format!(
            "{} && ln -s {outside} ~/.cache/old/link && touch -h -d @1000000 ~/.cache/old/link ~/.cache/old && ln -s {outside} ~/.cache/link && \
             rm -r ~/.cache/.npm && ln -s {outside} ~/.cache/.npm && chmod 0 ~/.cache/old",
            fill("~/.cache/old", "@1000000"),
        );
        walls.works(&plant);
        walls.works(&fill("~/.cache/new", "@2000000"));
        // Entries that a command left without permissions do not prevent the next start.
        walls.works("chmod 0 ~/.cache/");
        let mut next = with_cache(end_server(walls), setting, &["--cache-mib", "1"]);
        next.works("echo kept > ~/.npm/file");
        next.end();
        assert_eq!(
            next.tree.read("cache/caches/.npm/file"),
            "kept\n",
            "{setting:?}"
        );
        assert!(!next.tree.path("cache/caches/old").exists(), "{setting:?}");
    });
}

#[test]
fn unsuitable_cache_directory_is_refused() {
    everywhere(|setting| {
        let tree = make_tree(setting);
        tree.file("full/file", "of somebody")
            .dir("open")
            .link(tree.path("tmp"), "link");
        fs::set_permissions(tree.path("open"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(tree.path("full"), fs::Permissions::from_mode(0o700)).unwrap();
        if let Some(owner) = setting.owner {
            give(&tree.path("full"), owner);
            give(&tree.path("open"), owner);
        }
        let (root, work) = (tree.root().display().to_string(), tree.text("work"));
        let both = |dir: &str| {
            format!(
                "--cache `{dir}` and the allowed directory `{work}` contain one another; move the \
                 cache, such as below ~/.cache"
            )
        };
        let of = |name: &str, reason: &str| {
            (
                tree.text(name),
                format!("--cache `{}`: {reason}", tree.text(name)),
            )
        };
        let cases = [
            (format!("{work}/cache"), both(&format!("{work}/cache"))),
            (root.clone(), both(&root)),
            of(
                "link",
                "it is a link or a file; give the path of a directory without links",
            ),
            of(
                "link/cache",
                "its path goes through a link or a file; give the path without links",
            ),
            of(
                "full",
                "it has other content; give a directory that is empty or does not exist",
            ),
            of(
                "open",
                "it belongs to another user or is open to others; make it your own, with mode 700",
            ),
        ];
        for (dir, reason) in cases {
            let mut server = start_server(&tree, setting, &["--cache", &dir], &[]);
            assert_eq!(server.wait_exit().code(), Some(2), "{setting:?}: {dir}");
            assert!(
                server.stderr().trim_end().ends_with(&reason),
                "{setting:?}: {}",
                server.stderr()
            );
        }
        assert!(
            !tree.path("work/cache").exists() && !tree.path("full/CACHEDIR.TAG").exists(),
            "{setting:?}"
        );
    });
}
