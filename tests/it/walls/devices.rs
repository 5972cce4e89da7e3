//! Devices of the machine for commands (`--device`), in a /dev of the test's own. Its nodes need no
//! driver: the kernel answers ENXIO to an open that nothing refuses.

use std::process::{Command, Output};

use pretty_assertions::assert_eq;
use replay_sandbox::Tier;
use serde_json::json;

use super::command_result;
use crate::harness::Server;
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

/// Makes a /dev with nodes of a GPU, and runs the program in the arguments.
const OWN_DEV: &str = "set -e; here=$PWD; mount -t tmpfs -o mode=755 none /mnt; cd /mnt; \
    for name in null zero full random urandom tty; do : > $name; mount --bind /dev/$name $name; done; \
    mkdir pts shm dri; mount --bind /dev/pts pts; ln -s pts/ptmx ptmx; ln -s nvidiactl link; \
    node() { mknod -m 666 \"$@\"; }; \
    node nvidiactl c 195 255; node nvidia0 c 195 0; node dri/renderD128 c 226 128; node dri/card0 c 226 0; \
    node memory c 1 1; node disk b 7 99; cd /; mount --move /mnt /dev; cd \"$here\"; exec \"$@\"";

/// Tries to open each path for reading and writing.
const OPEN: &str = "import errno, os, sys\n\
    for path in sys.argv[1:]:\n\
    \x20   try:\n\
    \x20       os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))\n\
    \x20       print('opened')\n\
    \x20   except OSError as error:\n\
    \x20       print(errno.errorcode[error.errno])\n";

/// Names a thread from another one, and lists all files of /proc that can be opened for writing.
/// Files that are covered by /dev/null, and links to descriptors, are none.
const WRITE_PROC: &str = "import os, stat, threading\n\
    done = threading.Event()\n\
    thread = threading.Thread(target=done.wait)\n\
    thread.start()\n\
    name = f'/proc/self/task/{thread.native_id}/comm'\n\
    def write():\n\
    \x20   with open(name, 'r+') as file:\n\
    \x20       file.write('named')\n\
    \x20   with open(name) as file:\n\
    \x20       return file.read().strip()\n\
    try:\n\
    \x20   print(write())\n\
    except OSError as error:\n\
    \x20   print(error.strerror)\n\
    writable = set()\n\
    for above, _, files in os.walk('/proc'):\n\
    \x20   for file in files:\n\
    \x20       path = os.path.join(above, file)\n\
    \x20       try:\n\
    \x20           if not stat.S_ISREG(os.lstat(path).st_mode):\n\
    \x20               continue\n\
    \x20           os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))\n\
    \x20           writable.add(path)\n\
    \x20       except OSError:\n\
    \x20           pass\n\
    own = f'/proc/{os.getpid()}/task/'\n\
    names = {f'{own}{task}/comm' for task in os.listdir(own)}\n\
    print(len(names), sorted(writable - names), len(writable & names))\n\
    done.set()\n";

/// The program with its arguments, below [`OWN_DEV`]. `None`, with a message, if private mounts are
/// not permitted.
fn beside_devices(arguments: &[&str]) -> Option<Vec<String>> {
    let permitted = Command::new("unshare")
        .args([
            "-m",
            "sh",
            "-c",
            "mount -t tmpfs none /mnt && mknod /mnt/x c 195 0",
        ])
        .output();
    if !permitted.is_ok_and(|output| output.status.success()) {
        let is_required = std::env::var_os("REPLAY_TEST_REQUIRE_SANDBOX").is_some();
        let is_root = rustix::process::geteuid().is_root();
        assert!(!(is_required && is_root), "private mounts are required");
        return None;
    }
    let line = [
        "unshare",
        "-m",
        "sh",
        "-c",
        OWN_DEV,
        "sh",
        env!("CARGO_BIN_EXE_replay"),
    ];
    let line = line.iter().chain(arguments);
    Some(line.map(|word| (*word).to_owned()).collect())
}

fn run(tree: &Tree, arguments: &[&str]) -> Option<Output> {
    let line = beside_devices(arguments)?;
    let mut command = Command::new(&line[0]);
    let output = command
        .args(&line[1..])
        .env("HOME", tree.path("home"))
        .current_dir(tree.path("work"))
        .output();
    Some(output.unwrap())
}

fn tree() -> Tree {
    let tree = Tree::new();
    tree.dir("work").dir("home");
    tree
}

fn server(tree: &Tree, tier: Tier, flags: &[&str]) -> Option<Server> {
    let work = format!("{}:rw", tree.text("work"));
    let usual = ["--mcp-server", "--allow", &work, "--sandbox", tier.as_str()];
    let line = beside_devices(&[&usual[..], flags].concat())?;
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let home = tree.text("home");
    Some(Server::start_program(tree, &line, &[("HOME", &home)]).opened(NEWEST_HANDSHAKE))
}

/// Runs a Python script as a command, and returns its output.
fn python(server: &mut Server, script: &str, arguments: &str) -> String {
    let command = format!("python3 -c \"$SCRIPT\" {arguments}");
    let command = format!("SCRIPT=$(cat <<'END'\n{script}END\n)\nexport SCRIPT\n{command}");
    let reply = server.call("execute_command", json!({"command": command}));
    command_result(&reply).stdout
}

/// Answers of the kernel to an open that reaches the driver, if there is one.
fn reached(answer: &str) -> bool {
    ["ENXIO", "opened"].contains(&answer)
}

#[test]
fn given_devices_are_opened_and_others_are_not() {
    let tree = tree();
    let paths = "/dev/nvidiactl /dev/nvidia0 /dev/dri/renderD128 /dev/dri/card0 /dev/memory";
    for (tier, absent) in [(Tier::Namespaces, "ENOENT"), (Tier::Landlock, "EACCES")] {
        for (flags, given) in [
            (&[][..], [false; 5]),
            (&["--device", "nvidia"], [true, true, false, false, false]),
            (
                &[
                    "--device", "nvidia", "--device", "dri", "--hide", "*.secret",
                ],
                [true, true, true, false, false],
            ),
            (
                &["--device", "/dev/nvidia0", "--undo", "off"],
                [false, true, false, false, false],
            ),
        ] {
            if tier == Tier::Landlock && flags.contains(&"--hide") {
                continue;
            }
            let Some(mut server) = server(&tree, tier, flags) else {
                return;
            };
            let said = python(&mut server, OPEN, paths);
            let answers: Vec<_> = said
                .lines()
                .map(|answer| if reached(answer) { "driver" } else { answer })
                .collect();
            let expected = given.map(|is_given| if is_given { "driver" } else { absent });
            assert_eq!(answers, expected, "{tier:?} {flags:?}");
        }
    }
}

#[test]
fn own_thread_names_are_only_writable_files_of_proc() {
    let tree = tree();
    for tier in [Tier::Namespaces, Tier::Landlock] {
        for (flags, expected) in [
            (&["--device", "nvidia"][..], "named\n2 [] 2\n"),
            (&["--device", "nvidia", "--undo", "off"], "named\n2 [] 2\n"),
            (&["--device", "dri"], "2 [] 0\n"),
        ] {
            let Some(mut server) = server(&tree, tier, flags) else {
                return;
            };
            let said = python(&mut server, WRITE_PROC, "");
            let refusal = ["Read-only file system\n", "Permission denied\n"];
            let said = refusal
                .iter()
                .find_map(|refusal| said.strip_prefix(refusal))
                .unwrap_or(&said);
            assert_eq!(said, expected, "{tier:?} {flags:?}");
        }
    }
}

#[test]
fn unseen_gpu_is_told_to_agent_and_operator() {
    const NOTE: &str = "devices: none; an NVIDIA GPU of the machine is not shown (--device nvidia); a GPU of the machine is \
                        not shown (--device dri)";
    let tree = tree();
    let Some(mut server) = server(&tree, Tier::Namespaces, &[]) else {
        return;
    };
    let reply = server.call("list_allowed_directories", json!({}));
    assert!(reply.whole().contains(NOTE), "{}", reply.whole());
    assert_eq!(
        reply.result()["structuredContent"]["devices"],
        json!({"nodes": [], "unseen": [
            {"what": "an NVIDIA GPU", "flag": "--device nvidia"},
            {"what": "a GPU", "flag": "--device dri"},
        ]})
    );
    let doctor = run(&tree, &["doctor", "--allow", "."]).unwrap();
    let said = String::from_utf8(doctor.stdout).unwrap();
    let found: Vec<_> = said
        .lines()
        .filter_map(|line| line.strip_prefix("-- device"))
        .map(str::trim)
        .collect();
    assert_eq!(
        found,
        [
            "this machine has an NVIDIA GPU, which commands do not see; --device nvidia gives it",
            "this machine has a GPU, which commands do not see; --device dri gives it",
        ]
    );
}

#[test]
fn given_devices_are_explained() {
    let tree = tree();
    let flags = [
        "sandbox", "explain", "--allow", ".:rw", "--device", "nvidia",
    ];
    let Some(output) = run(&tree, &flags) else {
        return;
    };
    let explained = String::from_utf8(output.stdout).unwrap();
    let nodes: Vec<_> = explained
        .lines()
        .skip_while(|line| !line.starts_with("devices of the machine"))
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.contains("/sys"))
        .collect();
    assert_eq!(
        nodes,
        [
            "devices of the machine, which no undo and no limit covers",
            "  --device nvidia          /dev/nvidiactl: read, write, ioctl",
            "  --device nvidia          /dev/nvidia0: read, write, ioctl",
            "  read-write               /proc/self/task/*/comm: names of their own threads",
            "  left out                 a GPU (--device dri gives it)",
        ]
    );
}

#[test]
fn given_devices_are_warned_of_at_start() {
    let tree = tree();
    let flags = ["--device", "nvidia", "--device", "/dev/nvidia0"];
    let Some(mut server) = server(&tree, Tier::Namespaces, &flags) else {
        return;
    };
    // Its reply comes after the walls are built.
    server.call("execute_command", json!({"command": ":"}));
    let warning = "commands use /dev/nvidiactl, /dev/nvidia0 (--device): a device leads into a driver of the kernel, \
                   which no undo and no limit covers";
    let said = server.stderr();
    assert_eq!(said.matches(warning).count(), 1, "{said}");
}

#[test]
fn unsafe_device_is_refused_at_start() {
    let tree = tree();
    for (flags, reason) in [
        (
            &["--device", "/dev/memory"][..],
            "--device `/dev/memory` gives memory and ports of the machine, which commands never get; leave it out",
        ),
        (
            &["--device", "/dev/disk"],
            "--device `/dev/disk` is a block device; only a character device can be given: leave it out",
        ),
        (
            &["--device", "/dev/link"],
            "--device `/dev/link` leads through a symbolic link, which can lead elsewhere later; give the device itself: \
             /dev/nvidiactl",
        ),
        (
            &["--device", "/dev/missing"],
            "--device `/dev/missing`: No such file or directory (os error 2); connect the device or load its driver, or \
             leave the flag out",
        ),
        (
            &["--device", "amd"],
            "--device amd: this machine has no /dev/kfd; load its driver, or leave the flag out",
        ),
        (
            &["--device", "nvidia", "--sandbox", "off"],
            "--device gives commands behind walls a device; without walls (--sandbox off) they can use all devices of the \
             server's user: leave --device out",
        ),
    ] {
        let line = [
            &["sandbox", "run", "--allow", "."][..],
            flags,
            &["--", "true"],
        ]
        .concat();
        let Some(output) = run(&tree, &line) else {
            return;
        };
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.trim_end(), format!("replay: {reason}"), "{flags:?}");
        assert!(!output.status.success());
    }
}

#[test]
fn attacks_hold_with_given_device() {
    let tree = tree();
    let Some(output) = run(&tree, &["sandbox", "probe", "--device", "nvidia"]) else {
        return;
    };
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
}
