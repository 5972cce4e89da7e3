//! Changes that are hard to record, such as writes through open descriptors: each is recorded or
//! refused.

use std::fs;
use std::path::Path;
use std::process::Command;

use pretty_assertions::assert_eq;
use rustix::fs::{XattrFlags, getxattr, setxattr};
use serde_json::{Value, json};

use super::commands::{TIERS, run, snapshot, start};
use super::refusal;
use crate::harness::Server;
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

/// Runs a cell and returns the notes about its changes.
fn cell(server: &mut Server, code: &str) -> Value {
    let reply = server.call("run_python_code", json!({"code": code}));
    let told = &reply.result()["structuredContent"];
    assert_eq!(told.get("error"), None, "{code}");
    told["notes"].clone()
}

fn undo(server: &mut Server, call: u64) {
    server
        .call("undo_changes", json!({"calls": [call]}))
        .texts();
}

#[test]
fn open_descriptor_is_tracked_for_each_cell() {
    for tier in TIERS {
        let tree = Tree::new();
        tree.file("work/a", "before").file("work/log", "one\n");
        let mut server = start(&tree, tier);
        let root = tree.path("work");
        let open = "import sqlite3, mmap\n\
                    a = open('a', 'r+b', buffering=0); m = mmap.mmap(a.fileno(), 0); log = open('log', 'a')\n\
                    db = sqlite3.connect('q.db'); db.execute('create table t(a)'); db.execute('insert into t values(1)'); db.commit()";
        cell(&mut server, open);
        for (code, file) in [
            ("_ = a.write(b'changed')", "a"),
            ("m[0:2] = b'MM'", "a"),
            ("_ = log.write('two'); log.flush()", "log"),
            ("_ = db.execute('delete from t'); db.commit()", "q.db"),
        ] {
            let before = snapshot(&root);
            let told = cell(&mut server, code);
            let told = told[0].as_str().unwrap();
            let (what, call) = told.split_once(": undo with call ").unwrap();
            assert_eq!(what, format!("changed: edited {file}"), "{tier}: {code}");
            undo(&mut server, call.parse().unwrap());
            assert_eq!(snapshot(&root), before, "{tier}: {code}");
        }
        assert_eq!(cell(&mut server, "1 + 1"), Value::Null, "{tier}");
    }
}

#[test]
fn mapping_without_descriptor_is_tracked_for_each_cell() {
    for tier in TIERS {
        let tree = Tree::new();
        tree.file("work/a", "before");
        let mut server = start(&tree, tier);
        let map = "import ctypes, os\n\
                   libc = ctypes.CDLL(None); libc.mmap.restype = ctypes.c_void_p\n\
                   fd = os.open('a', os.O_RDWR); at = libc.mmap(None, 6, 3, 1, fd, ctypes.c_long(0)); os.close(fd)";
        cell(&mut server, map);
        for text in ["one", "two"] {
            let told = cell(
                &mut server,
                &format!("ctypes.memmove(at, b'{text}', 3); None"),
            );
            let told = told[0].as_str().unwrap();
            let (what, call) = told.split_once(": undo with call ").unwrap();
            assert_eq!(what, "changed: edited a", "{tier}: {text}");
            undo(&mut server, call.parse().unwrap());
            assert_eq!(
                fs::read_to_string(tree.path("work/a")).unwrap(),
                "before",
                "{tier}: {text}"
            );
        }
    }
}

#[test]
fn descriptor_of_single_thread_is_tracked_for_each_cell() {
    for tier in TIERS {
        let tree = Tree::new();
        tree.file("work/a", "before");
        let mut server = start(&tree, tier);
        let hold = "import ctypes, os, threading\n\
                    wanted, ready = threading.Event(), threading.Event()\n\
                    def hold():\n    \
                        assert ctypes.CDLL(None).unshare(0x400) == 0 # CLONE_FILES\n    \
                        fd = os.open('a', os.O_WRONLY)\n    \
                        ready.set(); wanted.wait(); os.write(fd, b'thread'); ready.set()\n\
                    threading.Thread(target=hold).start()\n\
                    assert ready.wait(30); ready.clear()";
        cell(&mut server, hold);
        let told = cell(&mut server, "wanted.set(); assert ready.wait(30)");
        let changed = json!(["changed: edited a: undo with call 2"]);
        assert_eq!(told, changed, "{tier}");
        undo(&mut server, 2);
        let content = fs::read_to_string(tree.path("work/a")).unwrap();
        assert_eq!(content, "before", "{tier}");
    }
}

#[test]
fn descriptor_of_deleted_name_is_reported() {
    for tier in TIERS {
        let tree = Tree::new();
        tree.file("work/a", "before");
        let mut server = start(&tree, tier);
        cell(
            &mut server,
            "import os; os.link('a', 'b'); fd = os.open('a', os.O_WRONLY); os.unlink('a')",
        );
        let told = cell(&mut server, "_ = os.write(fd, b'through')");
        let lost = "not kept for undo: a program holds a file open whose name was deleted; undo \
                    cannot restore what it writes there";
        assert_eq!(told, json!([lost]), "{tier}");
    }
}

#[test]
fn changes_in_deleted_directory_fail_as_without_undo() {
    const LINE: &str = "mkdir d; cd d; rmdir ../d; touch x; mkdir y; ln -s a z; exit 0";
    for tier in TIERS {
        let tree = Tree::new();
        tree.dir("work");
        let mut server = start(&tree, tier);
        let reply = server.call("execute_command", json!({"command": LINE}));
        let missing = "No such file or directory";
        let errors = format!(
            "touch: cannot touch 'x': {missing}\n\
             mkdir: cannot create directory \u{2018}y\u{2019}: {missing}\n\
             ln: failed to create symbolic link 'z': {missing}\n"
        );
        assert_eq!(
            reply.result()["structuredContent"]["stderr"],
            errors,
            "{tier}"
        );
    }
}

#[test]
fn links_to_outside_cannot_evade_undo() {
    for tier in TIERS {
        let tree = Tree::new();
        tree.file("work/a", "a")
            .file("work/b", "b")
            .file("work/d/c", "c");
        let root = tree.path("work");
        let before = snapshot(&root);
        let mut server = start(&tree, tier);
        for (line, changed) in [
            (
                "ln b \"$TMPDIR/b\" || ln -s \"$TMPDIR\" l; rm -f l; echo evil >\"$TMPDIR/b\"; cp b c; rm c",
                Value::Null,
            ),
            (
                "mv a \"$TMPDIR/a\"; echo evil >\"$TMPDIR/a\"",
                json!({"call": 2, "deleted": 1}),
            ),
            (
                "mv d \"$TMPDIR/d\"; rm -r \"$TMPDIR/d\"",
                json!({"call": 4, "deleted": 2}),
            ),
            (
                "echo n >\"$TMPDIR/n\"; ln \"$TMPDIR/n\" n || mv \"$TMPDIR/n\" n",
                json!({"call": 6, "created": 1}),
            ),
        ] {
            assert_eq!(
                run(&mut server, line).unwrap_or_default(),
                changed,
                "{tier}: {line}"
            );
            if let Some(call) = changed["call"].as_u64() {
                undo(&mut server, call);
            }
            assert_eq!(snapshot(&root), before, "{tier}: {line}");
        }
    }
}

/// A name below a descriptor in procfs means the descriptor of the caller, never that of the
/// supervisor with the same number.
#[test]
fn names_below_procfs_descriptors_are_undone() {
    const NUMBERS: std::ops::Range<usize> = 10..100;
    let code = "import os\n\
                for i in range(30): os.mkdir(f'other/{i}'); open(f'other/{i}/x', 'w')\n\
                dir = os.open('dir', os.O_RDONLY)\n\
                os.symlink('/proc/self/fd', 'link')\n\
                for i in range(10, 100):\n    \
                    os.dup2(dir, i); os.unlink(f'/proc/self/fd/{i}/{i}')\n    \
                    open(f'link/{i}/new{i}', 'w')\n\
                open('/proc/self/cwd/a', 'w').write('changed')";
    for tier in TIERS {
        let tree = Tree::new();
        tree.file("work/a", "a")
            .dir("work/other")
            .file("work/p.py", code);
        for number in NUMBERS {
            tree.file(format!("work/dir/{number}"), "");
        }
        let root = tree.path("work");
        let before = snapshot(&root);
        let mut server = start(&tree, tier);
        let changed = json!({"call": 1, "edited": 1, "created": 31 + NUMBERS.len(), "deleted": NUMBERS.len()});
        assert_eq!(run(&mut server, "python3 p.py"), Some(changed), "{tier}");
        undo(&mut server, 1);
        assert_eq!(snapshot(&root), before, "{tier}");
    }
}

#[test]
fn odd_paths_are_undone_or_refused() {
    // 265 is linkat, 94 lchown, 198 lremovexattr, 87 unlink; 0x400 follows a link.
    let code = "import ctypes, os\n\
                call = ctypes.CDLL(None, use_errno=True).syscall\n\
                def errno(*args): return call(*args) and ctypes.get_errno()\n\
                text = ctypes.c_char_p\n\
                os.symlink('dir', 'link'); os.unlink('a')\n\
                print(errno(265, -100, text(b'link'), -100, text(b'x'), 0x400))\n\
                print(errno(265, -100, text(b'dir/.'), -100, text(b'x'), 0))\n\
                print(errno(94, text(b'dir/.'), 65534, -1), errno(198, text(b'link/'), text(b'user.a')))\n\
                start = [int(line.split('-')[0], 16) for line in open('/proc/self/maps') if '[vvar]' in line][0]\n\
                name = ctypes.string_at(start + 0x28)\n\
                if name: open(name, 'w').close(); print(errno(87, ctypes.c_void_p(start + 0x28)))\n\
                else: print(14)";
    for tier in TIERS {
        let tree = Tree::new();
        tree.file("work/a", "a")
            .dir("work/dir")
            .file("work/p.py", code);
        let root = tree.path("work");
        let dir = root.join("dir");
        setxattr(&dir, "user.a", b"1", XattrFlags::empty()).unwrap();
        let before = snapshot(&root);
        let mut server = start(&tree, tier);
        let reply = server.call("execute_command", json!({"command": "python3 p.py"}));
        let output = &reply.result()["structuredContent"]["stdout"];
        assert_eq!(output, "1\n1\n0 0\n14\n", "{tier}");
        undo(&mut server, 1);
        assert_eq!(snapshot(&root), before, "{tier}");
        let mut attribute = [0; 2];
        assert_eq!(getxattr(&dir, "user.a", &mut attribute), Ok(1), "{tier}");
    }
}

#[test]
fn change_at_too_long_path_is_refused() {
    for tier in TIERS {
        let tree = Tree::new();
        tree.file("work/a", "a");
        let mut server = start(&tree, tier);
        let code = "import os\nfor _ in range(30): os.mkdir('n' * 200); os.chdir('n' * 200)";
        let reply = server.call(
            "execute_command",
            json!({"command": format!("python3 -c \"{code}\" 2>&1 || true")}),
        );
        let told = reply.text();
        assert!(
            told.contains("finding the place of a change: File name too long"),
            "{tier}: {told}"
        );
        assert!(
            told.contains("OSError: [Errno 5] Input/output error"),
            "{tier}: {told}"
        );
    }
}

#[test]
fn sparse_tebibyte_file_is_saved_by_its_data() {
    let tree = Tree::new();
    tree.file("work/large", "begin");
    let large = fs::File::options()
        .write(true)
        .open(tree.path("work/large"))
        .unwrap();
    large.set_len(1 << 40).unwrap();
    let mut server = start(&tree, TIERS[0]);
    assert_eq!(
        run(&mut server, "exec 9<>large; touch -d 2001-01-01 large").unwrap()["touched"],
        1
    );
    let write = "printf end | dd of=large bs=1 seek=1099511627770 conv=notrunc 2>/dev/null";
    assert_eq!(
        run(&mut server, write),
        Some(json!({"call": 2, "edited": 1}))
    );
    undo(&mut server, 2);
    assert_eq!(
        run(
            &mut server,
            "tail -c 6 large | tr -d '\\0' | wc -c | grep -qx 0 || echo x >wrong"
        ),
        None
    );
}

/// Maximum depth of a path.
const LEVELS: usize = 1000;

#[test]
fn tree_of_maximum_depth_blocks_only_its_undo() {
    let tree = Tree::new();
    tree.file("work/a", "a");
    let mut deep = tree.path("work/e");
    for _ in 0..LEVELS {
        fs::create_dir(&deep).unwrap();
        deep.push("e");
    }
    let mut server = start(&tree, TIERS[0]);
    assert_eq!(
        run(&mut server, "rm -r e; rm a"),
        Some(json!({"call": 1, "deleted": LEVELS + 1}))
    );
    let refused = refusal(&server.call("undo_changes", json!({"calls": [1]})));
    assert!(
        refused.contains("directories deep, and nothing was undone: undo the rest by its paths"),
        "{refused}"
    );
    server
        .call("undo_changes", json!({"calls": [1], "paths": ["a"]}))
        .texts();
    assert_eq!(tree.read("work/a"), "a");
    // Directories that the command made are removed at any depth, from the store as well.
    let code = format!("import os\nfor _ in range({LEVELS}): os.mkdir('d'); os.chdir('d')");
    let mut changed = run(&mut server, &format!("python3 -c \"{code}\"")).unwrap();
    let outside = changed.as_object_mut().unwrap().remove("outside").unwrap();
    assert_eq!(
        outside["changed"][0]["what"],
        json!(["too much to be looked through"])
    );
    assert_eq!(changed, json!({"call": 3, "created": 1}));
    undo(&mut server, 3);
    assert!(!tree.has("work/d"));
}

#[test]
fn undo_works_with_128_descriptors() {
    let tree = Tree::new();
    for file in 0..300 {
        tree.file(format!("work/t/{file}/x"), file.to_string());
    }
    let before = snapshot(&tree.path("work"));
    let allowed = format!("{}:rw", tree.text("work"));
    let server = env!("CARGO_BIN_EXE_replay");
    let script = "ulimit -n 128; exec \"$@\"";
    let line = [
        "sh",
        "-c",
        script,
        "sh",
        server,
        "--mcp-server",
        "--allow",
        &allowed,
        "--tools",
        "files,command",
    ];
    let mut server = Server::start_program(&tree, &line, &[]).opened(NEWEST_HANDSHAKE);
    assert_eq!(
        run(&mut server, "rm -r t"),
        Some(json!({"call": 1, "deleted": 601}))
    );
    undo(&mut server, 1);
    assert_eq!(snapshot(&tree.path("work")), before);
}

/// Returns true if this user can mount in a namespace.
pub(super) fn can_mount() -> bool {
    let probe = Command::new("unshare")
        .args(["-m", "mount", "-t", "tmpfs", "none", "/mnt"])
        .output();
    probe.is_ok_and(|output| output.status.success())
}

pub(super) fn with_mounts(tree: &Tree, mounts: &str, more: &[&str]) -> Server {
    let allowed = format!("{}:rw", tree.text("work"));
    let script = format!(
        "set -e; cd '{}'; {mounts}; exec \"$@\"",
        tree.root().display()
    );
    let server = [
        env!("CARGO_BIN_EXE_replay"),
        "--mcp-server",
        "--allow",
        &allowed,
        "--tools",
        "files,command",
    ];
    let line = [
        &["unshare", "-m", "sh", "-c", &script, "sh"][..],
        &server,
        more,
    ]
    .concat();
    Server::start_program(tree, &line, &[]).opened(NEWEST_HANDSHAKE)
}

#[test]
fn full_disk_refuses_change_or_reports_gap() {
    if !can_mount() {
        return;
    }
    for full in ["refuse", "drop"] {
        let tree = Tree::new();
        tree.file("work/large", vec![b'x'; 8 << 20])
            .file("work/small", "small")
            .dir("state");
        let mut server = with_mounts(
            &tree,
            "mkdir -p in; mount -t tmpfs -o size=64m none in; mkdir in/w; cp -a work/. in/w; mount -t tmpfs -o size=4m none state; \
             export XDG_STATE_HOME=$PWD/state; mount --bind in/w work",
            &["--undo-full", full],
        );
        let line = "echo more | dd of=large conv=notrunc 2>&1 | grep -o 'No space.*'; rm small; head -c 5 large; ls";
        let reply = server.call("execute_command", json!({"command": line}));
        let told = reply.text();
        let (large, small) = if full == "refuse" {
            ("xxxxx", "No space left")
        } else {
            ("more", "not kept for undo")
        };
        assert!(
            told.contains(large) && told.contains(small),
            "{full}: {told}"
        );
        let refused = told.contains(
            "not kept for undo: a change was refused, since it could not be undone: journal: ",
        );
        assert_eq!(refused, full == "refuse", "{told}");
        assert!(
            reply.result()["structuredContent"]["changed"]["call"].is_u64(),
            "{full}: {told}"
        );
    }
}

#[test]
fn undo_crosses_filesystems_and_mounts() {
    if !can_mount() {
        return;
    }
    let tree = Tree::new();
    tree.file("work/t/u/a", "a")
        .file("work/t/b", "b")
        .dir("work/m")
        .dir("work/bound")
        .dir("elsewhere");
    tree.hard_link("work/t/b", "work/t/b2")
        .link("b", "work/t/l");
    let mut server = with_mounts(
        &tree,
        "mount -t tmpfs none work/m; mount --bind elsewhere work/bound",
        &[],
    );
    let seen = "find . ! -type d -printf '%p %m %n %T@ %l ' -exec sh -c '[ -L \"$0\" ] && echo || md5sum <\"$0\"' {} \\; | sort";
    let seen = |server: &mut Server| {
        server
            .call("execute_command", json!({"command": seen}))
            .text()
    };
    let mut number = 0;
    let mut steps = vec![seen(&mut server)];
    for line in [
        "cp -a t bound/t; cp -a t m/t",
        "mv t m/t2; mv m/t t; echo x >>m/t2/b",
        "mv bound/t m/t3; mv m/t2 bound/t4",
    ] {
        number += 1;
        assert_eq!(run(&mut server, line).unwrap()["call"], number, "{line}");
        steps.push(seen(&mut server));
    }
    for step in steps.iter().rev().skip(1) {
        let call = number;
        number -= 1;
        undo(&mut server, call);
        assert_eq!(&seen(&mut server), step, "call {call} undone");
    }
    assert!(
        Path::new(&tree.path("elsewhere"))
            .read_dir()
            .unwrap()
            .next()
            .is_none()
    );
}
