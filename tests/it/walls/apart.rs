//! Isolation between commands of one server, files that root's commands cannot read, and notes
//! about exceeded limits.

use std::fs;
use std::io::{BufRead as _, Read as _};
use std::path::PathBuf;

use pretty_assertions::assert_eq;
use replay_sandbox::Tier;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{Walls, children, everywhere, installed, launcher, program};

/// Fills System V shared memory segments without attaching them.
const UNATTACHED: &str = "import ctypes, time\n\
    c = ctypes.CDLL(None)\n\
    c.shmat.restype = ctypes.c_void_p\n\
    for i in range(20):\n    \
        number = c.shmget(0, 50_000_000, 0o1600)\n    \
        place = c.shmat(number, None, 0)\n    \
        ctypes.memset(place, 1, 50_000_000)\n    \
        c.shmdt(ctypes.c_void_p(place))\n\
    time.sleep(60)\n";

#[test]
fn system_v_objects_and_terminals_are_per_command() {
    everywhere(|setting| {
        if setting.tier != Tier::Namespaces || !installed("ipcmk") {
            return;
        }
        let mut walls = Walls::start(setting, &[], &[]);
        let makes = "ipcmk -M 4096; ipcmk -Q; ipcmk -S 1";
        let counts = "cat /proc/sysvipc/shm /proc/sysvipc/msg /proc/sysvipc/sem | wc -l";
        // One header line and one object per table.
        assert!(
            walls
                .works(&format!("{makes}; {counts}"))
                .ends_with("\n6\n"),
            "{setting:?}"
        );
        assert_eq!(walls.works(counts), "3\n", "{setting:?}");
        let arguments =
            json!({"command": format!("{makes}; tty; sleep 100"), "background": true, "tty": true});
        let started = walls.server.call("execute_command", arguments);
        let id = started.result()["structuredContent"]["commandId"].clone();
        let mut output = String::new();
        while !output.contains("/dev/pts/0") {
            let said = walls.server.call(
                "follow_command",
                json!({"commandId": id, "until": "/dev/pts/0"}),
            );
            output.push_str(
                said.result()["structuredContent"]["output"]
                    .as_str()
                    .unwrap(),
            );
        }
        assert_eq!(
            walls.works(&format!("ls /dev/pts; {counts}")),
            "ptmx\n3\n",
            "{setting:?}"
        );
        walls.end();
    });
}

#[test]
fn unattached_system_v_memory_counts() {
    everywhere(|setting| {
        if setting.tier != Tier::Namespaces || !installed("python3") {
            return;
        }
        let mut walls = Walls::start(setting, &["--limit-memory-bytes", "200000000"], &[]);
        fs::write(walls.tree.path("work/fill.py"), UNATTACHED).unwrap();
        let text = walls.sh("python3 fill.py").text;
        assert!(
            text.contains("more memory than allowed"),
            "{setting:?}: {text}"
        );
        walls.end();
    });
}

#[test]
fn exceeded_limit_is_named() {
    everywhere(|setting| {
        let mut walls = Walls::start(
            setting,
            &["--limit-cpu-secs", "1", "--limit-file-bytes", "1000000"],
            &[],
        );
        let told = |walls: &mut Walls, command: &str| {
            let text = walls.sh(command).text;
            let note = text
                .lines()
                .find(|line| line.contains("--limit-"))
                .unwrap_or(&text);
            note.to_owned()
        };
        for command in ["while :; do :; done", "(while :; do :; done); exit $?"] {
            let note = told(&mut walls, command);
            assert_eq!(
                note,
                "[the command was ended: a process used more CPU time than allowed; only the \
                 operator can raise the limit (--limit-cpu-secs)]",
                "{setting:?}: {command}"
            );
        }
        assert_eq!(
            told(&mut walls, "head -c 2000000 /dev/zero > large"),
            "[the command was ended: it wrote a larger file than allowed; only the operator can \
             raise the limit (--limit-file-bytes)]",
            "{setting:?}"
        );
        walls.end();
    });
}

#[test]
fn process_limit_is_reported_when_fork_fails() {
    everywhere(|setting| {
        let release = rustix::system::uname()
            .release()
            .to_string_lossy()
            .into_owned();
        let mut numbers = release
            .split('.')
            .map(|number| number.parse::<u32>().unwrap_or(0));
        let old = (numbers.next(), numbers.next()) < (Some(6), Some(14));
        if setting.tier != Tier::Namespaces || setting.root() && old {
            return;
        }
        let mut walls = Walls::start(setting, &["--limit-processes", "1000"], &[]);
        let note = "[a process could not be started: commands already run as many processes as \
            allowed; only the operator can raise the limit (--limit-processes)]";
        // bash retries a failed fork for 15 s, other shells give up.
        let text = walls
            .sh("sh -c 'for i in $(seq 1100); do sleep 100 & done'")
            .text;
        assert!(text.contains(note), "{setting:?}: {text}");
        let text = walls
            .sh("sh -c 'for i in $(seq 900); do sleep 100 & done'")
            .text;
        assert!(!text.contains(note), "{setting:?}: {text}");
        walls.end();
    });
}

/// Control group (cgroups(7)) with this much memory, in which the OOM killer acts as on a full
/// machine.
struct Container(PathBuf);

impl Container {
    /// Creates the control group. Returns `None` if this user cannot.
    fn of(bytes: u64) -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        own.lines().find_map(|line| {
            let (controllers, place) = line.split_once(':')?.1.split_once(':')?;
            let (root, most) = match controllers {
                "" => ("/sys/fs/cgroup", "memory.max"),
                "memory" => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                _ => return None,
            };
            let dir = PathBuf::from(format!("{root}{place}/replay-it-{}", std::process::id()));
            fs::create_dir(&dir).ok()?;
            let made = Self(dir);
            fs::write(made.0.join(most), bytes.to_string()).ok()?;
            Some(made)
        })
    }

    fn take(&self, pid: u32) {
        fs::write(self.0.join("cgroup.procs"), pid.to_string()).unwrap();
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn oom_killed_command_is_reported() {
    let Some(container) = Container::of(100_000_000) else {
        return;
    };
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let launcher = launcher(&walls.server);
        container.take(launcher);
        // The spare supervisor for the next command exists already.
        for pid in children(launcher) {
            container.take(pid);
        }
        // `tail` buffers a line until its end.
        let text = walls.sh("head -c 400000000 /dev/zero | tail").text;
        let note = "[the kernel ended a process: the machine, or the container of the server, is \
            out of memory; run less at the same time]";
        assert!(text.contains(note), "{setting:?}: {text}");
        walls.end();
    });
}

/// Runs `before` in a private mount namespace, then `inside` in the sandbox. Returns its output, or
/// `None` if this user cannot.
#[track_caller]
fn after(before: &str, inside: &str) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let program = program();
    let script = format!(
        "{before} && exec {} sandbox run --sandbox namespaces --allow .:rw -- sh -c '{inside}'",
        program.display()
    );
    let output = std::process::Command::new("unshare")
        .args(["-m", "--propagation", "private", "sh", "-c", &script])
        .current_dir(dir.path())
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    if err.contains("commands are refused") || err.contains("unshare:") {
        assert!(
            std::env::var_os("REPLAY_TEST_REQUIRE_SANDBOX").is_none(),
            "{err}"
        );
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{err}");
    Some(out.into_owned())
}

/// If the kernel cannot restrict the filesystem of /opt, the gap is reported.
#[test]
fn root_reads_only_world_readable_system_files() {
    let before = "mount -t tmpfs none /opt && umask 077 && echo TOPSECRET > /opt/secret && mkdir /opt/private && \
                  echo TOPSECRET > /opt/private/secret && echo public > /opt/public && chmod 644 /opt/public && chmod 755 /opt";
    let inside =
        "cat /opt/secret; cat /opt/private/secret; cat /opt/public; stat -c %u /opt/secret";
    assert_eq!(
        after(before, inside).unwrap_or("public\n65534\n".into()),
        "public\n65534\n"
    );
}

/// A file that only its group can read is not world-readable.
#[test]
fn root_reads_only_world_readable_etc_files() {
    let before = "e=$(mktemp -d) && cp /etc/passwd /etc/group $e && umask 027 && echo TOPSECRET > $e/secret && \
                  mkdir $e/private && echo TOPSECRET > $e/private/secret && chmod 644 $e/private/secret && echo public > $e/public && \
                  chmod 644 $e/public $e/passwd $e/group && chmod 755 $e && mount --bind $e /etc";
    let inside = "cat /etc/secret; cat /etc/private/secret; ls /etc/private; cat /etc/public; chmod 666 /etc/secret; \
                  chown 0 /etc/secret; rm /etc/public; echo x > /etc/new; mkdir /etc/dir; test -e /etc/new -o -e /etc/dir || \
                  getent passwd 0 | cut -d: -f6";
    assert_eq!(
        after(before, inside).unwrap_or("public\n/home/replay\n".into()),
        "public\n/home/replay\n"
    );
}

/// A mount that masks part of /proc, as in containers, prevents a new /proc in user namespaces.
/// This shows only when a command is started.
#[test]
fn sandbox_run_falls_back_to_second_tier_once() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs none /proc/sys && exec \"$0\" sandbox run --allow .:rw -- sh -c 'read line; echo $line >> ran'";
    let mut child = std::process::Command::new("unshare")
        .args(["-m", "--propagation", "private", "sh", "-c", script])
        .arg(program())
        .current_dir(dir.path())
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"once\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    if err.contains("commands are refused") || err.contains("unshare:") {
        assert!(
            std::env::var_os("REPLAY_TEST_REQUIRE_SANDBOX").is_none(),
            "{err}"
        );
        return;
    }
    assert_eq!((output.status.code(), &*err), (Some(0), ""));
    assert_eq!(
        std::fs::read_to_string(dir.path().join("ran")).unwrap(),
        "once\n"
    );
}

#[test]
fn sandbox_run_forwards_signals() {
    let (dir, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(program());
        command
            .args(arguments)
            .current_dir(dir.path())
            .env("XDG_STATE_HOME", state.path());
        command.stdout(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    let script = "for s in INT TERM HUP; do trap \"echo $s; exit 5\" $s; done; echo begun > made; echo begun; while :; do sleep 1; done";
    for (signal, name) in [
        (Signal::INT, "INT\n"),
        (Signal::TERM, "TERM\n"),
        (Signal::HUP, "HUP\n"),
    ] {
        let mut child = run(&[
            "sandbox", "run", "--allow", ".:rw", "--", "sh", "-c", script,
        ]);
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        let (mut begun, mut rest) = (String::new(), String::new());
        out.read_line(&mut begun).unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        out.read_to_string(&mut rest).unwrap();
        assert_eq!(
            (&*begun, &*rest, child.wait().unwrap().code()),
            ("begun\n", name, Some(5)),
            "{signal:?}"
        );
    }
    let changes = String::from_utf8(run(&["changes"]).wait_with_output().unwrap().stdout).unwrap();
    assert!(
        changes
            .lines()
            .next()
            .is_some_and(|line| line.contains("sh -c 'for s in INT TERM HUP")),
        "{changes}"
    );
}

#[test]
fn sandbox_run_takes_first_program_on_path() {
    let dir = tempfile::tempdir().unwrap();
    for (place, text) in [("a", "echo first\n"), ("b", "#!/bin/sh\necho second\n")] {
        let tool = dir.path().join(place).join("tool");
        std::fs::create_dir(tool.parent().unwrap()).unwrap();
        crate::tree::write_program(&tool, text);
    }
    let path = format!("PATH={0}/a:{0}/b:/usr/bin:/bin", dir.path().display());
    let mut command = std::process::Command::new(program());
    command
        .args([
            "sandbox", "run", "--allow", ".", "--env", &path, "--", "tool",
        ])
        .current_dir(dir.path());
    assert_eq!(
        String::from_utf8(command.output().unwrap().stdout).unwrap(),
        "first\n"
    );
}
