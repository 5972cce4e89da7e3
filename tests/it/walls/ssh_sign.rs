//! `--ssh-sign`: the operator's ssh-agent signs for git, and grants no other use of its keys.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::time::Instant;

use super::*;
use crate::harness::DEADLINE;

/// Agent outside the sandbox, run by the user of the server.
struct Agent(Child, String);

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts an agent with one key, whose private part is stored nowhere else.
fn agent(tree: &Tree, setting: Setting) -> Agent {
    let socket = tree.text("agent/socket");
    let as_owner = |program: &str| {
        let mut command = Command::new(program);
        command
            .current_dir(tree.root())
            .env("SSH_AUTH_SOCK", &socket)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some((user, group)) = setting.owner {
            command.uid(user).gid(group);
        }
        command
    };
    let agent = Agent(
        as_owner("ssh-agent")
            .args(["-D", "-a", &socket])
            .spawn()
            .unwrap(),
        socket.clone(),
    );
    let until = Instant::now() + DEADLINE;
    while std::os::unix::net::UnixStream::connect(&socket).is_err() {
        assert!(Instant::now() < until, "the ssh-agent does not listen");
        std::thread::yield_now();
    }
    let key = tree.text("agent/key");
    assert!(
        as_owner("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f", &key])
            .status()
            .unwrap()
            .success()
    );
    assert!(
        as_owner("ssh-add")
            .args(["-q", &key])
            .status()
            .unwrap()
            .success()
    );
    fs::remove_file(&key).unwrap();
    agent
}

fn make_tree(setting: Setting) -> Tree {
    let tree = Tree::new();
    tree.file("work/ok.txt", "fine\n")
        .file("docs/read.txt", "readme\n")
        .dir("tmp")
        .dir("agent")
        .dir("outside");
    if let Some(owner) = setting.owner {
        give(tree.root(), owner);
    }
    tree
}

const FLAGS: [&str; 3] = ["--ssh-sign", "--git-identity", "a <a@b>"];

#[test]
fn ssh_agent_signs_only_commits() {
    for setting in settings()
        .into_iter()
        .filter(|setting| setting.tier == Tier::Namespaces)
    {
        let tree = make_tree(setting);
        let agent = agent(&tree, setting);
        let mut walls = Walls::on(tree, setting, &FLAGS, &[("SSH_AUTH_SOCK", &agent.1)]);
        walls.works("git init -q && git commit -qS --allow-empty -m signed");
        walls.works("ssh-add -L > key.pub && (printf 'a@b '; cat key.pub) > allowed");
        walls.works("git -c gpg.ssh.allowedSignersFile=allowed verify-commit HEAD");
        // Another signature namespace, login signatures, and requests that change the agent.
        walls.fails("echo text | ssh-keygen -Y sign -f key.pub -n file");
        walls.fails("ssh-add -T key.pub");
        walls.fails("ssh-keygen -q -t ed25519 -N '' -f own && ssh-add own");
        walls.fails("ssh-add -D");
        walls.works("test $(ssh-add -L | wc -l) = 1");
        // Silent or flooding connections do not affect others.
        let flood = "import os, socket\nmany = [socket.socket(socket.AF_UNIX) for _ in range(40)]\n\
                     [one.connect(os.environ['SSH_AUTH_SOCK']) for one in many]\n\
                     many[0].sendall(b'\\xff' * 4)\nassert many[0].recv(9) == b''\n";
        walls.tree.file("work/flood.py", flood);
        walls.works("python3 flood.py && ssh-add -L");
        walls.end();
    }
}

#[test]
fn ssh_sign_without_agent_is_refused() {
    for setting in settings() {
        let tree = make_tree(setting);
        let dead = tree.text("agent/socket");
        let refused = |variables: &[(&str, &str)]| {
            let mut server =
                start_server(&tree, setting, &FLAGS, variables).opened(NEWEST_HANDSHAKE);
            server
                .call("execute_command", json!({"command": "true"}))
                .whole()
        };
        let words = refused(&[("SSH_AUTH_SOCK", &dead)]);
        let expected = if setting.tier == Tier::Landlock {
            "--ssh-sign needs unix sockets, which this tier does not have; leave it out".to_owned()
        } else {
            format!("--ssh-sign: the ssh-agent at `{dead}` (SSH_AUTH_SOCK)")
        };
        assert!(words.contains(&expected), "{words}");
    }
    let mut command = Command::new(program());
    let done = command
        .args(["--mcp-server", "--ssh-sign"])
        .env_remove("SSH_AUTH_SOCK")
        .output()
        .unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(
        said.contains("--ssh-sign: the variable SSH_AUTH_SOCK names no socket of an ssh-agent"),
        "{said}"
    );
    assert!(!done.status.success());
}
