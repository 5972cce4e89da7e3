//! The sandbox: attack battery, attempts of a shell, killed processes and everyday work, through
//! the built program.
//!
//! Each test runs in both tiers; if the tests run as root, also as an unprivileged user. An
//! unavailable tier is reported and skipped, unless `REPLAY_TEST_REQUIRE_SANDBOX` is set.

mod apart;
mod audit;
mod autorun;
mod battery;
mod cache;
mod cgroup;
mod devices;
mod downloads;
mod endings;
mod everyday;
mod floods;
mod git_directories;
mod grounds;
mod handed_over;
mod linked_git;
mod machine;
mod mounts;
mod neighbours;
mod outside;
mod places;
mod ports;
mod protected;
mod refusals;
mod shell;
mod ssh_sign;
mod unix_sockets;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use replay_sandbox::Tier;
use serde_json::{Value, json};
use walkdir::WalkDir;

use crate::harness::{Reply, Server};
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::{Fingerprint, Tree, copy_program};

/// Content that a command must never be able to read.
const SECRET: &str = "TOPSECRET";
/// Unprivileged user: `nobody`.
const NOBODY: (u32, u32) = (65534, 65534);

/// Tier and user with which a test runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Setting {
    tier: Tier,
    /// User that the server runs as, if not the user of the tests.
    owner: Option<(u32, u32)>,
}

impl Setting {
    /// Returns true if commands run as root.
    fn root(self) -> bool {
        self.owner.is_none() && rustix::process::geteuid().is_root()
    }
}

/// Returns all available settings.
fn settings() -> Vec<Setting> {
    let owners: &[Option<(u32, u32)>] = if rustix::process::geteuid().is_root() {
        &[None, Some(NOBODY)]
    } else {
        &[None]
    };
    let all = owners.iter().flat_map(|owner| {
        [Tier::Namespaces, Tier::Landlock].map(|tier| Setting {
            tier,
            owner: *owner,
        })
    });
    all.filter(|setting| is_available(*setting)).collect()
}

/// Returns true if this tier is available. The result is cached.
fn is_available(setting: Setting) -> bool {
    static KNOWN: Mutex<Vec<(Setting, bool)>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap();
    if let Some((_, stands)) = known.iter().find(|(other, _)| *other == setting) {
        return *stands;
    }
    let mut walls = Walls::start(setting, &[], &[]);
    let reply = walls.try_run(json!({"command": "true"}));
    let stands = reply.failure().is_none();
    if !stands {
        #[expect(clippy::print_stderr, reason = "a tier that is left out is said")]
        {
            eprintln!("skipped: {setting:?}: {}", reply.whole());
        }
        assert!(
            std::env::var_os("REPLAY_TEST_REQUIRE_SANDBOX").is_none(),
            "{setting:?} is required: {}",
            reply.whole()
        );
    }
    known.push((setting, stands));
    stands
}

/// Runs a test in every setting.
fn everywhere(test: impl Fn(Setting)) {
    for setting in settings() {
        #[expect(clippy::print_stdout, reason = "says where a test failed")]
        {
            println!("--- {setting:?}");
        }
        test(setting);
    }
}

/// Returns a path of this program that every user can reach.
fn program() -> PathBuf {
    static COPY: OnceLock<tempfile::TempDir> = OnceLock::new();
    let built = Path::new(env!("CARGO_BIN_EXE_replay"));
    let open = |path: &Path| {
        fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o5 == 0o5)
    };
    if built
        .ancestors()
        .filter(|path| !path.as_os_str().is_empty())
        .all(open)
    {
        return built.to_owned();
    }
    let dir = COPY.get_or_init(|| {
        let dir = tempfile::Builder::new()
            .prefix("replay-it-")
            .tempdir()
            .unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        copy_program(built, &dir.path().join("replay"));
        dir
    });
    dir.path().join("replay")
}

/// Result of a command.
#[derive(Clone, Debug)]
struct CommandResult {
    stdout: String,
    stderr: String,
    code: i64,
    /// Text of the reply, with notes.
    text: String,
}

/// Server with a writable directory `work`, a read-only one `docs`, and `outside` beyond them.
struct Walls {
    tree: Tree,
    server: Server,
    outside: Fingerprint,
    docs: Fingerprint,
    setting: Setting,
}

impl Walls {
    /// Starts a server on the usual tree, with more flags and variables.
    fn start(setting: Setting, flags: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::on(make_tree(setting), setting, flags, variables)
    }

    /// Starts a server on a tree that was made before.
    fn on(tree: Tree, setting: Setting, flags: &[&str], variables: &[(&str, &str)]) -> Self {
        let server = serve(&tree, setting, flags, variables);
        let (outside, docs) = (tree.fingerprint("outside"), tree.fingerprint("docs"));
        Self {
            tree,
            server,
            outside,
            docs,
            setting,
        }
    }

    /// Calls `execute_command`, which may fail.
    fn try_run(&mut self, arguments: Value) -> Reply {
        let reply = self.server.call("execute_command", arguments);
        assert!(
            !reply.whole().contains(SECRET),
            "the secret is in the reply: {}",
            reply.0
        );
        reply
    }

    /// Runs a command to its end.
    #[track_caller]
    fn sh(&mut self, command: &str) -> CommandResult {
        command_result(&self.try_run(json!({"command": command})))
    }

    /// Runs a command that must exit with 0, and returns its standard output.
    #[track_caller]
    fn works(&mut self, command: &str) -> String {
        let ran = self.sh(command);
        assert_eq!(ran.code, 0, "{:?}: {command}: {ran:?}", self.setting);
        ran.stdout
    }

    /// Runs a command that must not exit with 0, whatever its message.
    #[track_caller]
    fn fails(&mut self, command: &str) {
        let ran = self.sh(command);
        assert_ne!(ran.code, 0, "{:?}: {command}: {ran:?}", self.setting);
    }

    /// Returns the path of an entry outside.
    fn beyond(&self, name: &str) -> String {
        self.tree.text(&format!("outside/{name}"))
    }

    /// Checks that the outside is unchanged and that the server still answers.
    #[track_caller]
    fn end(&mut self) {
        assert_eq!(self.works("echo still here"), "still here\n");
        assert_eq!(
            self.outside,
            self.tree.fingerprint("outside"),
            "{:?}: something changed outside",
            self.setting
        );
        assert_eq!(
            self.docs,
            self.tree.fingerprint("docs"),
            "{:?}: something read-only changed",
            self.setting
        );
    }
}

/// Makes the usual tree, owned by the user of the server.
fn make_tree(setting: Setting) -> Tree {
    let tree = Tree::new();
    tree.file("work/ok.txt", "fine\n")
        .file("docs/read.txt", "readme\n")
        .dir("tmp");
    tree.file("outside/secret", SECRET).dir("outside/dir");
    if let Some(owner) = setting.owner {
        give(tree.root(), owner);
    }
    tree
}

/// Starts a server on the usual directories of a tree.
fn serve(tree: &Tree, setting: Setting, flags: &[&str], variables: &[(&str, &str)]) -> Server {
    let mut server = start_server(tree, setting, flags, variables).opened(NEWEST_HANDSHAKE);
    // An unknown method is answered only after the sandbox is ready.
    let id = server.send("walls", json!({}));
    server.reply_to(&id);
    server
}

/// Starts a server on the usual directories of a tree, before any message.
fn start_server(
    tree: &Tree,
    setting: Setting,
    flags: &[&str],
    variables: &[(&str, &str)],
) -> Server {
    let (work, docs, tmp) = (
        format!("{}:rw", tree.text("work")),
        tree.text("docs"),
        tree.text("tmp"),
    );
    let user = setting
        .owner
        .map(|(user, group)| (format!("--reuid={user}"), format!("--regid={group}")));
    let program = program();
    let mut line = Vec::new();
    if let Some((user, group)) = &user {
        line.extend(["setpriv", user, group, "--clear-groups", "--"]);
    }
    line.extend([
        program.to_str().unwrap(),
        "--mcp-server",
        "--allow",
        &work,
        "--allow",
        &docs,
    ]);
    line.extend(["--sandbox", setting.tier.as_str()]);
    line.extend(flags);
    let variables: Vec<_> = [("TMPDIR", tmp.as_str())]
        .into_iter()
        .chain(variables.iter().copied())
        .collect();
    Server::start_program(tree, &line, &variables)
}

/// Returns the command result in a reply.
#[track_caller]
fn command_result(reply: &Reply) -> CommandResult {
    let structured = &reply.result()["structuredContent"];
    let text = |name: &str| {
        structured[name]
            .as_str()
            .unwrap_or_else(|| panic!("no {name}: {}", reply.0))
            .to_owned()
    };
    let code = structured["exitCode"]
        .as_i64()
        .unwrap_or_else(|| panic!("no exit code: {}", reply.0));
    CommandResult {
        stdout: text("stdout"),
        stderr: text("stderr"),
        code,
        text: reply.all_texts().join("\n"),
    }
}

/// Changes the owner of a directory and of everything below it.
fn give(dir: &Path, owner: (u32, u32)) {
    for entry in WalkDir::new(dir) {
        std::os::unix::fs::lchown(entry.unwrap().path(), Some(owner.0), Some(owner.1)).unwrap();
    }
}

/// Returns what `replay sandbox run` prints on stderr with these flags, in a tree with a `home`.
fn refusal(tree: &Tree, flags: &[&str]) -> String {
    let output = Command::new(program())
        .current_dir(tree.path("work"))
        .env("HOME", tree.path("home"))
        .args(["sandbox", "run", "--allow", ".:rw"])
        .args(flags)
        .args(["--", "true"])
        .output()
        .unwrap();
    assert!(!output.status.success(), "{flags:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Returns the processes with this text among their arguments, except this one and zombies.
fn processes_with_tag(tag: &str) -> Vec<u32> {
    let own = std::process::id();
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter(|pid| *pid != own)
        .filter(|pid| {
            let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            arguments
                .windows(tag.len())
                .any(|window| window == tag.as_bytes())
                && is_alive(*pid)
        })
        .collect()
}

fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next())
        .is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Returns the launcher of a server.
fn launcher(server: &Server) -> u32 {
    let is_launcher = |pid: &u32| {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        arguments
            .split(|byte| *byte == 0)
            .any(|argument| argument == replay_sandbox::LAUNCHER_ARGUMENT.as_bytes())
    };
    children(server.pid().as_raw_pid().cast_unsigned())
        .into_iter()
        .find(is_launcher)
        .expect("a launcher")
}

/// Returns the children of a process, those of each thread oldest first.
fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let lines = threads
        .map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    lines
        .flat_map(|line| {
            line.split_whitespace()
                .map(|pid| pid.parse().unwrap())
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Returns a text that is in no other test's arguments.
pub fn fresh_tag() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(
        "7{:07}{:06}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// Returns true if a program is installed.
fn installed(program: &str) -> bool {
    Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output()
        .is_ok_and(|output| output.status.success())
}
