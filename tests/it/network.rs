//! Network rules, tested with the built program: allowed connections, blocked connections, and the
//! messages about them.
//!
//! All servers listen on the loopback device of a network namespace of the test and have names
//! there. Each test runs in both tiers; if the tests run as root, also as an unprivileged user.

mod credentials;
mod datagrams;
mod learning;
mod log;
mod replaying;
mod requests;
mod upstream_proxy;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use pretty_assertions::assert_eq;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::json;

use crate::harness::{DEADLINE, Server};
use crate::interception::{NOBODY, started_as_nobody};
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

#[derive(Clone, Copy, Debug)]
struct Setting {
    tier: &'static str,
    nobody: bool,
}

/// Result of a command.
#[derive(Debug, Default)]
struct CommandResult {
    out: String,
    err: String,
    /// Requests that reached the servers, in order.
    notes: Vec<String>,
    status: Option<i32>,
}

struct World {
    setting: Setting,
    program: PathBuf,
    tree: tempfile::TempDir,
}

/// Returns the options of unshare(1) that create a network and a mount namespace.
fn own_network() -> Vec<&'static str> {
    let mut options = vec!["--net", "--mount"];
    if !rustix::process::geteuid().is_root() {
        options.push("--map-root-user");
    }
    options
}

fn everywhere(test: impl Fn(&World)) {
    let can = Command::new("unshare")
        .args(own_network())
        .arg("true")
        .status()
        .is_ok_and(|status| status.success());
    assert!(
        can || std::env::var_os("REPLAY_TEST_REQUIRE_SANDBOX").is_none(),
        "networks are required"
    );
    for nobody in [false, true] {
        for tier in ["namespaces", "landlock"] {
            if can && (!nobody || rustix::process::geteuid().is_root()) {
                let setting = Setting { tier, nobody };
                #[expect(clippy::print_stdout, reason = "says where a test failed")]
                {
                    println!("--- {setting:?}");
                }
                test(&World::new(setting));
            }
        }
    }
}

impl World {
    fn new(setting: Setting) -> Self {
        let tree = tempfile::Builder::new()
            .prefix("replay-it-")
            .tempdir()
            .unwrap();
        fs::set_permissions(tree.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(
            tree.path().join("servers.py"),
            include_str!("network/servers.py"),
        )
        .unwrap();
        fs::write(
            tree.path().join("world.sh"),
            include_str!("network/world.sh"),
        )
        .unwrap();
        let work = tree.path().join("work");
        fs::create_dir(&work).unwrap();
        if setting.nobody {
            std::os::unix::fs::chown(&work, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let program = if setting.nobody {
            started_as_nobody(tree.path())
        } else {
            PathBuf::from(env!("CARGO_BIN_EXE_replay"))
        };
        Self {
            setting,
            program,
            tree,
        }
    }

    fn file(&self, name: &str, text: &str) {
        fs::write(self.tree.path().join("work").join(name), text).unwrap();
    }

    /// Runs a shell command under these rules.
    fn run(&self, flags: &[&str], line: &str) -> CommandResult {
        self.run_with(&["sandbox", "run", "--log-level", "warn"], flags, line)
    }

    /// Runs a shell command under these rules with another subcommand.
    fn run_with(&self, subcommand: &[&str], flags: &[&str], line: &str) -> CommandResult {
        self.run_in(&[], subcommand, flags, line)
    }

    /// Runs a shell command under these rules with more variables of the server.
    fn run_in(
        &self,
        variables: &[(&str, &str)],
        subcommand: &[&str],
        flags: &[&str],
        line: &str,
    ) -> CommandResult {
        for name in ["ready", "ready-too", "ready-proxies", "alive", "notes"] {
            let _ = fs::remove_file(self.tree.path().join(name));
        }
        let mut command = Command::new("unshare");
        command.envs(variables.iter().copied());
        let root = self.tree.path().join("root.pem");
        if root.exists() {
            command.env("SSL_CERT_FILE", root);
        }
        command
            .args(own_network())
            .arg("sh")
            .arg(self.tree.path().join("world.sh"))
            .arg(self.tree.path());
        command
            .arg(&self.program)
            .args(subcommand)
            .args(["--sandbox", self.setting.tier]);
        let work = self.tree.path().join("work");
        command
            .current_dir(&work)
            .arg("--allow")
            .arg(format!("{}:rw", work.display()));
        let ran = command
            .args(flags)
            .args(["--", "sh", "-c", line])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let notes = fs::read_to_string(self.tree.path().join("notes")).unwrap_or_default();
        let notes = notes.lines().map(str::to_owned).collect();
        CommandResult {
            out: text(&ran.stdout),
            err: text(&ran.stderr),
            notes,
            status: ran.status.code(),
        }
    }

    /// Starts a server in its own network namespace, which this script in the tree creates.
    /// Commands run in `work` below that tree.
    fn serve(&self, tree: &Tree, script: &str, flags: &[&str]) -> Server {
        for name in ["servers.py", "world.sh"] {
            fs::copy(self.tree.path().join(name), tree.path(name)).unwrap();
        }
        let (script, dir, allow) = (
            tree.text(script),
            tree.text(""),
            format!("{}:rw", tree.text("work")),
        );
        let wrapper = [&["unshare"], &own_network()[..], &["sh", &script, &dir]].concat();
        let own = ["--allow", &allow, "--sandbox", self.setting.tier];
        Server::start_under(tree, &wrapper, &[&own, flags].concat()).opened(NEWEST_HANDSHAKE)
    }
}

const RULES: [&str; 6] = [
    "--allow-host",
    "*.example.com",
    "--allow-host",
    "api.example.com:8080",
    "--deny-host",
    "evil.example.com",
];

#[test]
fn bypass_attempts_of_network_rules_fail() {
    everywhere(|world| {
        world.file("around.py", include_str!("network/around.py"));
        let ran = world.run(&RULES, "python3 around.py");
        assert_eq!(
            ran.out,
            include_str!("network/around.out"),
            "{:?}: {}",
            world.setting,
            ran.err
        );
        assert_eq!(
            ran.err,
            include_str!("network/around.err"),
            "{:?}",
            world.setting
        );
        let mut reached = ran.notes;
        reached.sort();
        let reached: String = reached.into_iter().map(|note| note + "\n").collect();
        assert_eq!(
            reached,
            include_str!("network/around.notes"),
            "{:?}",
            world.setting
        );
    });
}

/// Sends data that is not HTTP on connections, and exits before any reply.
const SEND_AND_EXIT: &str = "import os, socket
for _ in range(20):
    one = socket.create_connection(('api.example.com', 80), 10)
    one.sendall(b'anything\\n')
    one.detach()
os._exit(0)
";

#[test]
fn data_sent_before_exit_is_judged_by_rules() {
    everywhere(|world| {
        world.file("leave.py", SEND_AND_EXIT);
        let ran = world.run(&RULES, "python3 leave.py");
        let blocked = "replay: blocked: api.example.com:80, the program spoke neither TLS nor \
            HTTP, 20 times (python3); no rule is proposed for this target\n";
        assert_eq!(
            (ran.err.as_str(), ran.notes),
            (blocked, Vec::new()),
            "{:?}",
            world.setting
        );
    });
}

/// Connects to a host and a port, and prints the result.
const CONNECT: &str = "import socket, sys
def connect(host, port):
    try:
        socket.create_connection((host, port), 10).close()
        print('connected')
    except OSError as error:
        print(error.errno)
if len(sys.argv) > 1:
    connect(sys.argv[1], int(sys.argv[2]))
";

#[test]
fn blocked_connection_is_reported_by_every_command_tool() {
    everywhere(|world| {
        if world.setting.nobody {
            return;
        }
        let tree = Tree::new();
        tree.file("work/connect.py", CONNECT);
        let mut server = world.serve(
            &tree,
            "world.sh",
            &[&["--tools", "all"], &RULES[..]].concat(),
        );
        let told = |port: u16, by: &str| {
            format!(
                "blocked: example.org:{port} ({by}); the operator can allow it with --allow-host example.org:{port}"
            )
        };
        let line = |port: u16| {
            format!("python3 connect.py api.example.com 80; python3 connect.py example.org {port}")
        };
        let said = server.call("execute_command", json!({"command": line(1)}));
        assert_eq!(
            said.text(),
            format!("connected\n13\n[{}]\n[exit code: 0]", told(1, "python3"))
        );
        let data = |port: u16| {
            let place = format!("example.org:{port}");
            json!([{"target": place, "times": 1, "by": ["python3"], "rule": place}])
        };
        assert_eq!(said.result()["structuredContent"]["blocked"], data(1));
        let begun = server.call(
            "execute_command",
            json!({"command": line(2), "background": true}),
        );
        let id = begun.result()["structuredContent"]["commandId"].clone();
        let said = loop {
            let said = server.call("follow_command", json!({"commandId": id, "waitSecs": 20}));
            if said.result()["structuredContent"]["running"] == false {
                break said;
            }
        };
        assert!(
            said.text().contains(&told(2, "python3")),
            "{}",
            said.whole()
        );
        assert_eq!(said.result()["structuredContent"]["blocked"], data(2));
        let code = "from connect import connect\nconnect('api.example.com', 80)\nconnect('example.org', 3)";
        let code = format!("import sys; sys.path.insert(0, '.'); sys.argv = ['x']\n{code}");
        let said = server.call("run_python_code", json!({"code": code}));
        assert!(
            said.whole().contains(&told(3, "python3")) && said.whole().contains("connected"),
            "{}",
            said.whole()
        );
        assert_eq!(said.result()["structuredContent"]["blocked"], data(3));
        let again = server.call(
            "run_python_code",
            json!({"code": "connect('api.example.com', 80)"}),
        );
        assert!(!again.whole().contains("blocked"), "{}", again.whole());
        let all = "from connect import connect; [connect('example.org', port) for port in range(100, 120)]";
        let said = server.call(
            "execute_command",
            json!({"command": format!("python3 -c \"{all}\"")}),
        );
        let data = &said.result()["structuredContent"];
        assert_eq!(
            (
                data["blocked"].as_array().unwrap().len(),
                &data["blockedMore"]
            ),
            (16, &json!(4))
        );
        assert!(
            said.text()
                .contains("\n[blocked: 4 more, at other hosts]\n"),
            "{}",
            said.text()
        );
        let said = server.call(
            "execute_command",
            json!({"command": "echo $PIP_RETRIES $CARGO_NET_RETRY"}),
        );
        assert!(said.text().starts_with("1 1"), "{}", said.text());
        let listed = server.call("list_allowed_directories", json!({}));
        let rules: Vec<String> = RULES.chunks(2).map(|flag| flag.join(" ")).collect();
        let text = listed.result()["content"][1]["text"].as_str().unwrap();
        assert!(
            text.ends_with(&format!(" Network rules: {}.]", rules.join(", "))),
            "{text}"
        );
        assert_eq!(
            listed.result()["structuredContent"]["sandbox"]["network"],
            rules.join(", ")
        );
        tree.file("work/ask.py", REQUEST_BY_HOST);
        let line =
            "python3 ask.py api.example.com=api.example.com; python3 connect.py example.org 4";
        let said = server.call("keploy_mock_record", json!({"command": line}));
        assert_eq!(
            said.result()["structuredContent"]["success"],
            true,
            "{}",
            said.whole()
        );
        assert!(
            said.whole().contains(&told(4, "python3")),
            "{}",
            said.whole()
        );
    });
}

#[test]
fn allowed_connections_behave_as_without_rules() {
    everywhere(|world| {
        let other = rcgen::generate_simple_self_signed(["other.example.net".to_owned()]).unwrap();
        world.file("certificate.pem", &other.cert.pem());
        world.file("wire.py", include_str!("network/wire.py"));
        fs::write(
            world.tree.path().join("certificate.pem"),
            other.signing_key.serialize_pem() + &other.cert.pem(),
        )
        .unwrap();
        let ports = [8081, 8082, 8083, 8443].map(|port| format!("api.example.com:{port}"));
        let flags = ports
            .iter()
            .flat_map(|rule| ["--allow-host", rule])
            .chain(RULES)
            .collect::<Vec<_>>();
        let ran = world.run(&flags, "python3 wire.py certificate.pem");
        assert_eq!(
            ran.out,
            include_str!("network/wire.out"),
            "{:?}: {}",
            world.setting,
            ran.err
        );
        let end = "11.0.0.2:8082 300000 bytes after the end".to_owned();
        assert!(
            ran.notes.contains(&end),
            "{:?}: {:?}",
            world.setting,
            ran.notes
        );
    });
}

/// Runs as long as an allowed connection succeeds, and also tries a forbidden one.
const CONNECT_FOREVER: &str = "import socket
print('begun', flush=True)
while True:
    try:
        socket.create_connection(('11.0.0.3', 80), 10)
    except OSError:
        pass
    socket.create_connection(('api.example.com', 80), 10).close()
";

/// Returns the processes whose command line ends with this text, with their ancestors, the nearest
/// first.
fn process_ancestry(end: &str) -> Vec<i32> {
    let line = |pid: &str| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let ends = |pid: &String| {
        line(pid)
            .strip_suffix(b"\0")
            .is_some_and(|line| line.ends_with(end.as_bytes()) && line.starts_with(b"python3"))
    };
    let pids = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let Some(first) = pids.filter(|name| name.parse::<i32>().is_ok()).find(ends) else {
        return Vec::new();
    };
    let parent = |pid: &i32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        status
            .lines()
            .find_map(|line| line.strip_prefix("PPid:")?.trim().parse::<i32>().ok())
            .filter(|pid| *pid > 1)
    };
    std::iter::successors(first.parse().ok(), parent).collect()
}

#[test]
fn killed_supervisor_opens_no_forbidden_connection() {
    everywhere(|world| {
        if world.setting.nobody {
            return;
        }
        // The shell may have replaced itself by the program. Its ancestors are the supervisor, the
        // launcher and the server.
        for steps_from_server in [0, 2] {
            let tree = Tree::new();
            tree.file("work/keep.py", CONNECT_FOREVER);
            let mut server = world.serve(
                &tree,
                "world.sh",
                &[&["--tools", "command"], &RULES[..]].concat(),
            );
            let mark = tree.text("keep.mark");
            let begun = server.call(
                "execute_command",
                json!({"command": format!("exec python3 keep.py {mark}"), "background": true}),
            );
            assert_eq!(
                begun.result()["structuredContent"]["commandId"],
                "c1",
                "{}",
                begun.whole()
            );
            let notes = || fs::read_to_string(tree.path("notes")).unwrap_or_default();
            let until = Instant::now() + DEADLINE;
            let chain = loop {
                let chain = process_ancestry(&mark);
                if let Some(at) = chain
                    .iter()
                    .position(|pid| *pid == server.pid().as_raw_nonzero().get())
                {
                    break chain[..=at].to_vec();
                }
                assert!(Instant::now() < until, "{chain:?}");
            };
            let program =
                pidfd_open(Pid::from_raw(chain[0]).unwrap(), PidfdFlags::empty()).unwrap();
            let victim = Pid::from_raw(chain[chain.len() - 1 - steps_from_server]).unwrap();
            kill_process(victim, Signal::KILL).unwrap();
            let mut ended = [PollFd::new(&program, PollFlags::IN)];
            let patience = Timespec {
                tv_sec: 60,
                tv_nsec: 0,
            };
            assert_eq!(
                poll(&mut ended, Some(&patience)),
                Ok(1),
                "{:?} {steps_from_server}",
                world.setting
            );
            assert!(!notes().contains("11.0.0.3"), "{}", notes());
        }
    });
}

#[test]
fn thousand_connections_and_half_closes_pass() {
    everywhere(|world| {
        world.file("many.py", include_str!("network/many.py"));
        let ran = world.run(
            &[&RULES[..], &["--allow-host", "api.example.com:8081"]].concat(),
            "python3 many.py 1000",
        );
        let expected =
            "1000 at once\n300005 bytes after a half-close\nECONNRESET from a server that resets\n";
        assert_eq!(ran.out, expected, "{:?}: {}", world.setting, ran.err);
        assert_eq!(
            ran.notes
                .iter()
                .filter(|note| note.contains("GET /good"))
                .count(),
            900,
            "{:?}",
            world.setting
        );
        let blocked = "replay: blocked: example.org:80, 100 times (python3); the operator can allow it with --allow-host \
                       example.org\n";
        assert_eq!(ran.err, blocked, "{:?}", world.setting);
    });
}

/// Opens more connections than the limit, closes them all, then opens one.
const MANY_CONNECTIONS: &str = "import errno, socket
def connect():
    try:
        return socket.create_connection(('api.example.com', 8080))
    except OSError as error:
        return errno.errorcode[error.errno]
held = [connect() for _ in range(60)]
print([it for it in held if isinstance(it, str)], open('crowd.py').read()[:6])
del held
while connect() == 'ENOBUFS':
    pass
";

#[test]
fn connections_are_limited_by_open_files() {
    everywhere(|world| {
        world.file("crowd.py", MANY_CONNECTIONS);
        fs::write(world.tree.path().join("open-files"), "400").unwrap();
        let ran = world.run(&RULES, "python3 crowd.py");
        assert_eq!(
            ran.out,
            format!("{:?} import\n", ["ENOBUFS"; 10]).replace('"', "'"),
            "{:?}: {}",
            world.setting,
            ran.err
        );
        let told = "replay: blocked: api.example.com:8080, more than 50 connections at once, ";
        let lines: Vec<&str> = ran.err.lines().collect();
        assert!(
            matches!(lines[..], [line] if line.starts_with(told)),
            "{:?}: {}",
            world.setting,
            ran.err
        );
        assert_eq!(ran.status, Some(0));
    });
}

/// Requests a path of one host with the `Host` header of another.
const REQUEST_BY_HOST: &str = "import http.client, sys
def ask(host, said):
    try:
        one = http.client.HTTPConnection(host, 80, timeout=10)
        one.request('GET', '/good', headers={'Host': said})
        print(host, said, one.getresponse().status)
    except (OSError, http.client.HTTPException) as error:
        print(host, said, type(error).__name__)
for pair in sys.argv[1:]:
    ask(*pair.split('='))
";

#[test]
fn recorded_program_is_held_to_network_rules() {
    everywhere(|world| {
        world.file("ask.py", REQUEST_BY_HOST);
        let pairs = "api.example.com=api.example.com api.example.com=other.example.net example.org=example.org";
        let line = format!("python3 ask.py {pairs} meta.example.com=meta.example.com");
        let ran = world.run_with(&["calls", "record"], &RULES, &line);
        let expected = "api.example.com api.example.com 200\napi.example.com other.example.net 403\n\
                        example.org example.org PermissionError\nmeta.example.com meta.example.com PermissionError\n";
        assert_eq!(ran.out, expected, "{:?}: {}", world.setting, ran.err);
        assert_eq!(
            ran.notes,
            ["11.0.0.2:80 GET /good HTTP/1.1"],
            "{:?}",
            world.setting
        );
        let told: Vec<&str> = ran
            .err
            .lines()
            .filter(|line| line.contains("blocked") || line.contains("refused"))
            .collect();
        let expected = [
            "replay: blocked: api.example.com:80, the program asked for other.example.net \
             (python3); no rule is proposed for this target",
            "replay: blocked: example.org:80 (python3); the operator can allow it with --allow-host example.org",
            "replay: blocked: meta.example.com:80, it resolves to 169.254.169.254, which gives \
             the machine's credentials in a cloud (python3); no rule is proposed for this target",
        ];
        assert_eq!(told, expected, "{:?}: {}", world.setting, ran.err);
    });
}
