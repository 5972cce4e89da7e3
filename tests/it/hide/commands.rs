//! Access to hidden paths by commands, background commands and Python, as root and as another user.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, lchown};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{REFUSAL, SECRET};
use crate::harness::Server;
use crate::interception::started_as_nobody;
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

const USER: u32 = 4242;
const HIDDEN: [&str; 8] = [
    "--hide",
    ".env",
    "--hide",
    "keys/",
    "--hide",
    "cfg/prod/*.key",
    "--hide",
    "*.pem",
];

fn tree() -> Tree {
    let tree = Tree::new();
    fs::set_permissions(tree.root(), fs::Permissions::from_mode(0o755)).unwrap();
    let script = format!("#!/bin/sh\necho {SECRET}\n");
    for name in [
        "work/sub/.env",
        "work/keys/deep/k.txt",
        "work/cfg/prod/x.key",
        "work/real-target",
        "work/sub/ro/.env",
    ] {
        tree.file(name, SECRET);
    }
    tree.file("work/.env", script)
        .file("work/notes.txt", "plain\n")
        .dir("tmp")
        .dir("outside");
    tree.hard_link("work/.env", "work/other-name")
        .link("real-target", "work/linked.pem")
        .link(".env", "work/to-env");
    fs::set_permissions(tree.path("work/.env"), fs::Permissions::from_mode(0o755)).unwrap();
    tree
}

/// Starts a server with commands over the tree, as this user or as another one.
fn start(tree: &Tree, as_other: bool, more: &[&str]) -> Server {
    let allowed = format!("{}:rw", tree.text("work"));
    let copy = tree.text("replay");
    let [user, group] = ["reuid", "regid"].map(|name| format!("--{name}={USER}"));
    let program = if as_other {
        for root in [tree.path("work"), tree.path("tmp"), tree.state().to_owned()] {
            for entry in walkdir::WalkDir::new(root) {
                lchown(entry.unwrap().path(), Some(USER), Some(USER)).unwrap();
            }
        }
        started_as_nobody(tree.root());
        vec!["setpriv", &user, &group, "--clear-groups", "--", &copy]
    } else {
        vec![env!("CARGO_BIN_EXE_replay")]
    };
    let line = [
        "--mcp-server",
        "--allow",
        &allowed,
        "--sandbox",
        "namespaces",
        "--network",
        "none",
    ];
    let line = [&program[..], &line, &HIDDEN, more].concat();
    Server::start_program(tree, &line, &[("TMPDIR", &tree.text("tmp"))]).opened(NEWEST_HANDSHAKE)
}

fn as_each_user(test: impl Fn(bool)) {
    test(false);
    if rustix::process::geteuid().is_root() {
        test(true);
    }
}

/// Python program that prints the files it can open with direct system calls.
const CALLS: &str = r#"
import ctypes, mmap, os, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
# Numbers below 424 differ between x86_64 and aarch64.
OPENAT, NAME_TO_HANDLE, OPEN_BY_HANDLE, RENAMEAT2 = [257, 303, 304, 316] if os.uname().machine == "x86_64" else [56, 264, 265, 276]
def shows(way, get):
    try: print(way, get())
    except OSError as error: print(way, error.errno)
def opened(fd):
    try: return os.read(fd, 100)
    finally: os.close(fd)
def call(*arguments):
    value = libc.syscall(*arguments)
    if value < 0: raise OSError(ctypes.get_errno(), "")
    return value
for names in ["RDONLY", "RDWR", "WRONLY", "RDWR CREAT", "PATH", "RDONLY NOFOLLOW", "WRONLY TRUNC"]:
    shows(names, lambda: opened(os.open(".env", sum(getattr(os, "O_" + name) for name in names.split()))))
shows("mmap", lambda: mmap.mmap(os.open("other-name", os.O_RDONLY), 0, prot=mmap.PROT_READ).read())
directory = os.open("cfg", os.O_RDONLY)
shows("openat", lambda: opened(os.open("prod/x.key", os.O_RDONLY, dir_fd=directory)))
shows("path handle", lambda: opened(os.open(f"/proc/self/fd/{os.open('.env', os.O_PATH)}", os.O_RDONLY)))
shows("cwd", lambda: (os.chdir("keys/deep"), opened(os.open("k.txt", os.O_RDONLY)))[1])
os.chdir("../..")
shows("proc cwd", lambda: opened(os.open("/proc/self/cwd/.env", os.O_RDONLY)))
shows("proc root", lambda: opened(os.open(f"/proc/thread-self/root{os.getcwd()}/.env", os.O_RDONLY)))
shows("supervisor", lambda: opened(os.open(f"/proc/1/root{os.getcwd()}/.env", os.O_RDONLY)))
shows("supervisor's memory", lambda: opened(os.open("/proc/1/mem", os.O_RDONLY)))
how = (ctypes.c_uint64 * 3)(0, 0, 0)
shows("openat2", lambda: opened(call(437, -100, b".env", ctypes.byref(how), 24)))
handle = ctypes.create_string_buffer(136); handle[0] = 128
mount = ctypes.c_int()
def by_handle():
    call(NAME_TO_HANDLE, -100, b".env", handle, ctypes.byref(mount), 0)
    return opened(call(OPEN_BY_HANDLE, directory, handle, os.O_RDONLY))
shows("handle", by_handle)
shows("ring", lambda: call(425, 8, ctypes.create_string_buffer(120)))
shows("domain", lambda: call(444, 0, 0, 1))
shows("link", lambda: os.link(".env", "linked"))
shows("rename", lambda: os.rename("sub/.env", "seen"))
shows("exchange", lambda: call(RENAMEAT2, -100, b"notes.txt", -100, b"sub/.env", 2))
shows("parent", lambda: os.rename("cfg", "cfg2"))
shows("grandparent", lambda: os.rename("cfg/prod", "prod"))
name = ctypes.create_string_buffer(b"notes.txt", 16)
stop = []
def flips():
    while not stop: name.raw = b".env".ljust(16, b"\0"); name.raw = b"notes.txt".ljust(16, b"\0")
other = threading.Thread(target=flips); other.start()
seen = set()
for _ in range(3000):
    fd = libc.syscall(OPENAT, -100, name, os.O_RDONLY)
    if fd >= 0: seen.add(opened(fd))
stop.append(1); other.join()
print("race", seen <= {b"plain\n"})
"#;

#[test]
fn command_cannot_read_hidden_files() {
    as_each_user(|as_other| {
        let tree = tree();
        tree.file("work/calls.py", CALLS);
        let mut server = start(&tree, as_other, &[]);
        let ways = [
            "cat .env",
            "cat other-name",
            "cat to-env",
            "cat linked.pem",
            "cat real-target",
            "cat keys/deep/k.txt",
            "ls keys",
            "cat cfg/prod/x.key",
            "cat sub/../sub/./.env",
            "cp .env copy && cat copy",
            "cp -r sub copies; cat copies/.env",
            "cp -al sub links; cat links/.env",
            "ln .env hard; cat hard",
            "ln -s .env soft; cat soft",
            "mv .env moved; cat moved",
            "mv sub sub2; cat sub2/.env; mv sub2 sub",
            "mv keys open; cat open/deep/k.txt",
            "mv cfg/prod seen; cat seen/x.key",
            "mv cfg seen; cat seen/prod/x.key",
            "tar cf - . 2>/dev/null | tr -d '\\0' | grep -a s3cr3t; tar cf /dev/null sub",
            "dd if=.env 2>&1",
            "grep -r s3cr3t . 2>/dev/null",
            "cat < .env",
            "exec 3<.env && cat <&3",
            "exec 3<>.env; cat <&3",
            "./.env",
            "sh .env",
            ". ./.env",
            "LD_PRELOAD=$PWD/.env /bin/true",
            "cd keys/deep && cat k.txt",
            "cd sub && cat .env",
            "cat /proc/self/cwd/.env",
            "cat /proc/$$/cwd/.env",
            "cat /proc/1/cwd/.env /proc/1/root$PWD/.env 2>&1; cat .env",
            "mkfifo f; (cat .env > f) & cat f; wait; rm f",
            "rm -f x; ln -s x y; mv -f notes.txt x; ln -sf .env x; cat y; rm x y; echo plain > notes.txt",
            "git init -q . && git add -A; git -c user.name=a -c user.email=a@b commit -qm x; git stash -u; git show HEAD:.env; rm -rf .git",
            "echo mine > sub/new.pem; cat sub/new.pem",
            "diff .env /dev/null",
            "python3 -c 'print(open(\".env\").read())'",
            "timeout 20 strace -f cat .env 2>/dev/null; cat .env",
            "base64 .env; xxd .env; od -c .env; head -c 9 .env; sort .env; sed -n p .env; awk 1 .env",
            "python3 calls.py",
        ];
        for way in ways {
            let reply = server.call("execute_command", json!({"command": way, "timeout": 60}));
            let whole = reply.whole();
            assert!(
                !whole.contains(SECRET) && whole.contains(REFUSAL),
                "{way} ({as_other}): {whole}"
            );
        }
        let told = server
            .call(
                "execute_command",
                json!({"command": "cat .env; cat .env; cat .env"}),
            )
            .whole();
        // Once in the text, and once in the structured content.
        assert_eq!(told.matches(REFUSAL).count(), 2, "{told}");
        for hidden in [".env", "sub/.env", "keys/deep/k.txt", "cfg/prod/x.key"] {
            assert!(tree.has(&format!("work/{hidden}")), "{hidden}");
        }
    });
}

#[test]
fn bracket_name_is_hidden_from_commands() {
    as_each_user(|as_other| {
        let tree = tree();
        tree.file("work/app/[slug]/.key", SECRET)
            .file("work/app/{prod}", SECRET)
            .dir("work/app/[later]");
        let hidden = ["app/[slug]/.key", "app/{prod}", "app/[later]/x"]
            .map(|pattern| ["--hide", pattern])
            .concat();
        let mut server = start(
            &tree,
            as_other,
            &[&hidden[..], &["--tools", "files,command,python"]].concat(),
        );
        tree.file("work/app/[later]/x", SECRET);
        for path in ["app/[slug]/.key", "app/{prod}", "app/[later]/x"] {
            let told = server
                .call(
                    "execute_command",
                    json!({"command": format!("cat '{path}'")}),
                )
                .whole();
            assert!(
                told.contains(REFUSAL) && !told.contains(SECRET),
                "{path} ({as_other}): {told}"
            );
            let told = server
                .call(
                    "run_python_code",
                    json!({"code": format!("open('{path}').read()")}),
                )
                .whole();
            assert!(
                told.contains("Permission denied") && !told.contains(SECRET),
                "{path} ({as_other}): {told}"
            );
        }
        let told = server
            .call(
                "execute_command",
                json!({"command": "mv 'app/[slug]' seen; mv app seen"}),
            )
            .whole();
        assert!(
            told.contains(REFUSAL) && !tree.has("work/seen"),
            "({as_other}): {told}"
        );
    });
}

#[test]
fn supervised_opens_match_kernel_behaviour() {
    as_each_user(|as_other| {
        let tree = tree();
        tree.file("work/calls.py", CALLS);
        let mut server = start(&tree, as_other, &[]);
        let told = server
            .call(
                "execute_command",
                json!({"command": "python3 calls.py", "timeout": 60}),
            )
            .text();
        let lines: Vec<&str> = told
            .lines()
            .take_while(|line| !line.starts_with('['))
            .collect();
        let expected = [
            "RDONLY 13",
            "RDWR 13",
            "WRONLY 13",
            "RDWR CREAT 13",
            "PATH 9",
            "RDONLY NOFOLLOW 13",
            "WRONLY TRUNC 13",
            "mmap 13",
            "openat 13",
            "path handle 13",
            "cwd 13",
            "proc cwd 13",
            "proc root 13",
            "supervisor 13",
            "supervisor's memory 13",
            "openat2 38",
            "handle 1",
            "ring 1",
            "domain 95",
            "link 13",
            "rename 13",
            "exchange 13",
            "parent 13",
            "grandparent 13",
            "race True",
        ];
        assert_eq!(lines, expected, "{told}");
    });
}

#[test]
fn visible_files_open_as_without_hide() {
    let ways = "cat notes.txt; echo x >> notes.txt; cat < notes.txt; mkfifo f; (echo late > f) & cat f; rm f; cat <(echo pipe)\n\
                umask 027; : > made; stat -c %a made; rm made; ln -s nowhere link; echo q > link; cat nowhere; rm link nowhere\n\
                head -1 /proc/self/status; head -1 /proc/thread-self/comm; cat /dev/fd/0 < notes.txt; cat no/x notes.txt/x no 2>&1\n\
                (ulimit -n 5; cat notes.txt notes.txt 2>&1 | tail -1); mkdir d; mv d e; rmdir e; mv notes.txt n; ln n m; mv n notes.txt; rm m\n\
                python3 -c 'import os,signal\nsignal.signal(14,lambda *a: print(\"rung\"))\nsignal.alarm(1)\nos.mkfifo(\"f\")\n\
                try: signal.siginterrupt(14,True); os.open(\"f\",0)\nexcept InterruptedError: print(\"no\")' & sleep 2; : > f; wait; rm f\n\
                mkdir -p t/u v; tar cf t.tar t; tar xpf t.tar -C v; echo $?; python3 -c 'import os; os.close(os.open(\"v/t\", os.O_PATH))'; rm -r t v t.tar\n\
                timeout 1 cat < /dev/zero > /dev/null; echo $?; mkfifo g; timeout 1 cat g; echo $?; rm g; cat /dev/tty 2>&1; true";
    as_each_user(|as_other| {
        let tree = tree();
        let mut with = start(&tree, as_other, &[]);
        let arguments = json!({"command": ways, "timeout": 60});
        let one = with.call("execute_command", arguments.clone()).text();
        drop(with);
        let tree = self::tree();
        let allowed = format!("{}:rw", tree.text("work"));
        let mut without = Server::open(
            &tree,
            NEWEST_HANDSHAKE,
            &["--allow", &allowed, "--network", "none"],
        );
        assert_eq!(one, without.call("execute_command", arguments).text());
    });
}

#[test]
fn command_cannot_create_hidden_names() {
    as_each_user(|as_other| {
        let tree = tree();
        fs::remove_dir_all(tree.path("work/cfg")).unwrap();
        let mut server = start(&tree, as_other, &[]);
        let ways = [
            "echo x > new.pem",
            "touch sub/new.pem",
            "python3 -c 'open(\"new.pem\", \"w+\")'",
            "ln notes.txt new.pem",
            "mv notes.txt new.pem",
            "ln -s notes.txt sub/new.pem",
            "ln -s sub/new.pem l; echo x > l; rm l",
            "mkdir d; mv d sub/keys; rmdir d",
            "ln -s sub cfg",
            "ln -s . l; mv l cfg; rm l",
            "mkdir -p d/prod; mv d cfg; rm -r d",
            "mkdir cfg; mv cfg sub/; rmdir cfg",
            "mkdir -p cfg/prod; mv cfg/prod cfg/y; rm -r cfg",
            "mkdir -p cfg/x; mv cfg/x cfg/prod; rm -r cfg",
        ];
        for way in ways {
            let reply = server
                .call("execute_command", json!({"command": way, "timeout": 60}))
                .whole();
            assert!(reply.contains(REFUSAL), "{way} ({as_other}): {reply}");
        }
        for name in [
            "new.pem",
            "sub/new.pem",
            "sub/keys",
            "sub/cfg",
            "cfg",
            "l",
            "d",
        ] {
            assert!(!tree.has(&format!("work/{name}")), "{name}");
        }
    });
}

/// Holds a file lease until `served` exists. Creates `broken` when the lease is broken.
const HOLDS_LEASE: &str = r#"
import fcntl, os, signal, sys, time
os.chdir(sys.argv[1])
file = open("leased.txt", "r+")
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
fcntl.fcntl(file, 1024, fcntl.F_WRLCK)
print("held", flush=True)
signal.sigtimedwait([signal.SIGIO], 30)
open("broken", "w").close()
until = time.monotonic() + 20
while not os.path.exists("served"):
    if time.monotonic() > until: sys.exit("nothing was served meanwhile")
    time.sleep(0.01)
"#;

#[test]
fn file_lease_delays_only_opens_of_file() {
    use std::io::BufRead as _;
    let tree = tree();
    tree.file("work/leased.txt", "leased\n");
    let mut server = start(&tree, false, &[]);
    let mut holder = std::process::Command::new("python3")
        .args(["-c", HOLDS_LEASE, &tree.text("work")])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    std::io::BufReader::new(holder.stdout.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    assert_eq!(said, "held\n");
    let command =
        "cat leased.txt & until [ -e broken ]; do :; done; cat notes.txt; mkdir served; wait";
    let told = server
        .call(
            "execute_command",
            json!({"command": command, "timeout": 60}),
        )
        .text();
    assert!(holder.wait().unwrap().success(), "{told}");
    assert!(told.starts_with("plain\nleased\n"), "{told}");
}

#[test]
fn hidden_file_added_during_command_stays_hidden() {
    as_each_user(|as_other| {
        let tree = tree();
        fs::remove_file(tree.path("work/.env")).unwrap();
        let mut server = start(&tree, as_other, &["--tools", "files,command,python"]);
        let session = "import os, subprocess, mmap\nseen = b''";
        server
            .call("run_python_code", json!({"code": session}))
            .text();
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, from, to) = (
            Arc::clone(&stop),
            tree.path("outside/new"),
            tree.path("work/.env"),
        );
        let operator = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                fs::write(&from, SECRET).unwrap();
                fs::set_permissions(&from, fs::Permissions::from_mode(0o644)).unwrap();
                fs::rename(&from, &to).unwrap();
            }
        });
        let polls = "for i in $(seq 150); do cat .env 2>/dev/null; done; true";
        let mut replies = vec![
            server.call("execute_command", json!({"command": polls, "timeout": 60})),
            server.call(
                "execute_command",
                json!({"command": polls, "timeout": 60, "dryRun": true}),
            ),
            server.call(
                "execute_command",
                json!({"command": polls, "background": true}),
            ),
        ];
        let id = replies[2].result()["structuredContent"]["commandId"].clone();
        replies.push(server.call("follow_command", json!({"commandId": id, "waitSecs": 60})));
        let cell = "for i in range(200):\n  for get in (lambda: open('.env','rb').read(), lambda: os.read(os.open('.env',0),99), \
                    lambda: subprocess.run(['cat','.env'],capture_output=True).stdout if i % 50 == 0 else b''):\n    try: seen += get()\n    \
                    except OSError: pass\nprint(seen)";
        replies.push(server.call("run_python_code", json!({"code": cell})));
        stop.store(true, Ordering::Relaxed);
        operator.join().unwrap();
        for (at, reply) in replies.iter().enumerate() {
            assert!(
                !reply.whole().contains(SECRET),
                "{at} ({as_other}): {}",
                reply.whole()
            );
        }
        for told in [&replies[0], &replies[1], &replies[4]] {
            assert!(told.whole().contains(REFUSAL), "{}", told.whole());
        }
    });
}

#[test]
fn second_mount_of_hidden_directory_is_hidden() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let tree = tree();
    tree.dir("work/again");
    let (work, program) = (tree.text("work"), env!("CARGO_BIN_EXE_replay"));
    let script = format!(
        "mount --bind {work}/keys {work}/again && exec {program} --mcp-server --allow {work}:rw --sandbox namespaces --hide keys --hide .env"
    );
    let line = ["unshare", "--mount", "sh", "-c", &script];
    let mut server = Server::start_program(&tree, &line, &[("TMPDIR", &tree.text("tmp"))])
        .opened(NEWEST_HANDSHAKE);
    for reply in [
        server.call("read_file", json!({"path": "again/deep/k.txt"})),
        server.call(
            "execute_command",
            json!({"command": "cat again/deep/k.txt"}),
        ),
    ] {
        assert!(
            reply.whole().contains(REFUSAL) && !reply.whole().contains(SECRET),
            "{}",
            reply.whole()
        );
    }
}

#[test]
fn hide_with_commands_requires_namespaces_tier() {
    let tree = tree();
    let allowed = format!("{}:rw", tree.text("work"));
    for tier in ["landlock", "off"] {
        let mut server = Server::start(
            &tree,
            &["--allow", &allowed, "--sandbox", tier, "--hide", ".env"],
        );
        assert!(!server.wait_exit().success());
        let said = "for commands --hide needs the namespaces tier, and ";
        assert!(
            server.stderr().contains(said) && server.stderr().contains("(--tools files)"),
            "{}",
            server.stderr()
        );
    }
}

#[test]
fn tracked_hidden_files_are_reported_at_start() {
    let tree = tree();
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(arguments)
            .current_dir(tree.path("work"))
            .env("HOME", tree.root());
        assert!(git.output().unwrap().status.success(), "{arguments:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "sub/.env"]);
    let mut server = start(&tree, false, &[]);
    server.call("execute_command", json!({"command": "true"}));
    let told = format!(
        "`{}` is hidden, but committed to git",
        tree.text("work/sub/.env")
    );
    assert!(server.stderr().contains(&told), "{}", server.stderr());
}

#[test]
fn test_runs_and_logs_omit_hidden_files() {
    as_each_user(|as_other| {
        let tree = tree();
        let inner = tree.text("work/sub");
        let mut server = start(
            &tree,
            as_other,
            &["--allow", &inner, "--tools", "files,command,tests"],
        );
        let report = "<testsuite><testcase name=\"a\" time=\"0\"/></testsuite>";
        let command = format!(
            "cat .env other-name keys/deep/k.txt sub/.env; cp .env r.xml || echo '{report}' > r.xml"
        );
        let run = server.call("run_tests", json!({"command": command, "report": "r.xml"}));
        let said = run.whole();
        assert!(
            said.contains(REFUSAL) && said.contains("1 passed") && !said.contains(SECRET),
            "{said}"
        );
        let uri = "replay://logs/run_tests-1.log";
        let read = server
            .request("resources/read", json!({"uri": uri}))
            .whole();
        assert!(
            read.contains("Permission denied") && !read.contains(SECRET),
            "{read}"
        );
        let page = server.call("read_file", json!({"path": uri})).whole();
        assert!(
            page.contains("Permission denied") && !page.contains(SECRET),
            "{page}"
        );
        let reads = json!({"command": "true", "report": ".env"});
        assert!(!server.call("run_tests", reads).whole().contains(SECRET));
    });
}
