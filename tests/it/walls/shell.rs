//! Section 6 of the escape catalogue: escapes that an agent could type in a shell, by number.
//! Escapes that need other system calls are in the battery.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use pretty_assertions::assert_eq;
use replay_sandbox::Tier;
use serde_json::json;

use crate::harness::Server;
use crate::tree::Tree;

use super::{
    SECRET, Walls, command_result, everywhere, fresh_tag, installed, launcher, processes_with_tag,
};

#[test]
fn git_does_not_wait_for_editor() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        walls.works("git init -q project");
        let ran = walls.sh("cd project && git -c user.name=a -c user.email=b commit --allow-empty");
        assert_eq!(ran.code, 1, "{setting:?}: {ran:?}");
        assert!(
            ran.stderr
                .contains("commands have no editor: give the text with -m, -F or --no-edit, or"),
            "{ran:?}"
        );
        walls.end();
    });
}

#[test]
fn e79_reading_outside_is_denied() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let secret = walls.beyond("secret");
        for command in [
            format!("cat '{secret}'"),
            format!("head -c 9 '{secret}'"),
            format!("cp '{secret}' stolen && cat stolen"),
            format!("ln -s '{secret}' alias; cat alias"),
            format!("ln '{secret}' twin && cat twin"),
            "cat ../outside/secret".to_owned(),
            format!("cat \"$(printf %s '{secret}' | base64 | base64 -d)\""),
            format!("cat '/proc/self/root{secret}'"),
            format!("cat '/proc/1/root{secret}'"),
            format!("cd '{}' && cat secret", walls.beyond("")),
            format!("exec 3<'{secret}'; cat <&3"),
            "head -c 100 /proc/1/environ".to_owned(),
            format!("tar cf - '{secret}' | tar xOf - | grep ."),
            format!("dd if='{secret}' status=none | grep ."),
            "cat /etc/shadow | grep .".to_owned(),
        ] {
            walls.fails(&command);
        }
        if installed("python3") {
            walls.fails(&format!("python3 -c 'print(open(\"{secret}\").read())'"));
        }
        walls.end();
    });
}

#[test]
fn e80_writing_outside_is_denied() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let new = walls.beyond("new");
        let secret = walls.beyond("secret");
        let docs = walls.tree.text("docs");
        for command in [
            format!("echo x > '{new}'"),
            format!("echo x >> '{secret}'"),
            format!("echo x | tee '{new}' && ! true"),
            format!("dd if=/dev/null of='{new}' status=none"),
            format!("cp ok.txt '{new}'"),
            format!("mv ok.txt '{new}'"),
            format!("ln -s / '{new}'"),
            format!("ln ok.txt '{new}'"),
            format!("mkdir '{new}'"),
            format!("rm '{secret}'"),
            format!("rmdir '{}'", walls.beyond("dir")),
            format!("truncate -s 0 '{secret}'"),
            format!("chmod 777 '{secret}'"),
            format!("touch '{secret}'"),
            format!("ln -s '{new}' out && echo x > out"),
            format!("echo x > '{docs}/new'"),
            format!("chmod 777 '{docs}/read.txt'"),
            format!("touch '{docs}/read.txt'"),
            format!("mv '{docs}/read.txt' ."),
            format!("ln '{docs}/read.txt' read && echo x >> read"),
        ] {
            walls.fails(&command);
        }
        if installed("git") {
            // In a private /tmp, the parent directories can be created. The test checks only that
            // no file appears outside.
            walls.sh(&format!("git init -q r && git clone -q r '{new}'"));
        }
        walls.end();
    });
}

#[test]
fn e80_temporary_directories_are_private() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let name = format!("replay-it-{}", fresh_tag());
        walls.works(&format!(
            "echo x > \"$TMPDIR/{name}\" && cat \"$TMPDIR/{name}\" && mktemp && echo x > \"$HOME/{name}\""
        ));
        for dir in ["/tmp", "/var/tmp", "/dev/shm"] {
            walls.sh(&format!("echo x > {dir}/{name}"));
            let path = std::path::Path::new(dir).join(&name);
            assert!(
                fs::symlink_metadata(&path).is_err(),
                "{setting:?}: {} was made",
                path.display()
            );
        }
        // The private directories exist as long as the server.
        walls.works(&format!("cat \"$TMPDIR/{name}\" \"$HOME/{name}\""));
        walls.end();
    });
}

#[test]
fn e81_working_directory_outside_is_refused() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let outside = walls.beyond("");
        walls.works(&format!("ln -s '{outside}' link; mkdir -p sub"));
        let work = walls.tree.text("work");
        for directory in [
            format!("{work}/../outside"),
            format!("{work}/link"),
            outside,
            format!("{work}/ok.txt"),
            format!("{work}/absent"),
        ] {
            let reply =
                walls.try_run(json!({"command": "cat secret", "workingDirectory": directory}));
            assert!(
                reply
                    .failure()
                    .is_some_and(|failure| failure.code.is_some()),
                "{directory}: {}",
                reply.0
            );
        }
        let reply =
            walls.try_run(json!({"command": "pwd", "workingDirectory": format!("{work}/sub")}));
        assert_eq!(command_result(&reply).stdout, format!("{work}/sub\n"));
        walls.end();
    });
}

#[test]
fn e81_swapped_working_directory_stays_inside() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let (dir, link) = (
            walls.tree.path("work/swap"),
            walls.tree.path("work/swapped"),
        );
        fs::create_dir(&dir).unwrap();
        std::os::unix::fs::symlink(walls.tree.path("outside"), &link).unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                while !over.load(Ordering::Relaxed) {
                    rustix::fs::renameat_with(rustix::fs::CWD, &dir, rustix::fs::CWD, &link, flags)
                        .unwrap();
                }
            });
            for _ in 0..40 {
                // Every reply is searched for the secret. The result of the call depends on timing.
                walls.try_run(
                    json!({"command": "cat secret; echo x > made", "workingDirectory": dir}),
                );
            }
            over.store(true, Ordering::Relaxed);
        });
        walls.end();
    });
}

#[test]
fn e82_e84_server_and_launcher_are_out_of_reach() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[("REPLAY_IT_MARK", SECRET)]);
        let server = walls.server.pid();
        let launcher = launcher(&walls.server);
        for pid in [
            format!("{server}"),
            format!("{launcher}"),
            "$PPID".to_owned(),
            "1".to_owned(),
        ] {
            for command in [
                format!("cat /proc/{pid}/environ | grep -a ."),
                format!("cat /proc/{pid}/maps | grep ."),
                format!("head -c 1 /proc/{pid}/mem"),
                format!("ls /proc/{pid}/root/"),
                format!("ls /proc/{pid}/cwd/"),
                format!("cat /proc/{pid}/fd/0"),
                format!(
                    "echo '{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{}}}}' > /proc/{pid}/fd/1"
                ),
            ] {
                // With namespaces, the supervisor and process 1 have the same root as the command.
                if command.starts_with("ls /proc/$PPID/root")
                    || command.starts_with("ls /proc/1/root")
                {
                    continue;
                }
                walls.fails(&command);
            }
        }
        for pid in [format!("{server}"), format!("{launcher}")] {
            for signal in ["9", "TERM", "STOP", "HUP", "0"] {
                walls.fails(&format!("kill -{signal} {pid}"));
            }
        }
        for signal in ["9", "TERM", "STOP", "HUP"] {
            // Process 1 of a PID namespace ignores signals from inside, without an error.
            walls.sh(&format!("kill -{signal} $PPID"));
        }
        if !setting.root() {
            let ended = walls.sh("kill -9 -1; echo unharmed");
            assert!(
                ["unharmed\n", ""].contains(&ended.stdout.as_str()),
                "{ended:?}"
            );
            walls.sh("pkill -9 -f replay; pkill -STOP -f replay");
        }
        assert!(walls.server.alive());
        walls.end();
    });
}

#[test]
fn e83_commands_inherit_no_descriptors() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        assert_eq!(
            walls.works("for fd in /proc/self/fd/*; do echo ${fd##*/}; done | sort -n | head -3"),
            "0\n1\n2\n"
        );
        assert_eq!(walls.works("readlink /proc/self/fd/0; cat"), "/dev/null\n");
        // A shell's descriptor for its script is above 9. No other one is open.
        for fd in 3..10 {
            walls.fails(&format!("cat <&{fd}"));
            walls.fails(&format!("echo x >&{fd}"));
        }
        walls.end();
    });
}

#[test]
fn launcher_inherits_no_descriptor_of_client() {
    let tree = Tree::new();
    tree.file("opened", "");
    let opening = ["sh", "-c", r#"exec 7<opened; exec "$@""#, "sh"];
    let allow = format!("{}:rw", tree.root().display());
    let mut server =
        Server::start_under(&tree, &opening, &["--allow", &allow]).opened("2025-11-25");
    let reply = server.call("execute_command", json!({ "command": "echo started" }));
    assert_eq!(command_result(&reply).stdout, "started\n");

    let opened = |pid: u32| {
        let links = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        let links = links.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
        links.filter(|link| link.ends_with("opened")).count()
    };
    let server_pid = server.pid().as_raw_pid().cast_unsigned();
    assert_eq!([server_pid, launcher(&server)].map(opened), [1, 0]);
}

#[test]
fn e90_environment_is_scrubbed() {
    everywhere(|setting| {
        let hidden = [
            "SSH_AUTH_SOCK",
            "DBUS_SESSION_BUS_ADDRESS",
            "BASH_ENV",
            "ENV",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "OPENAI_API_KEY",
            "DB_PASSWORD",
            "GIT_ASKPASS",
            "GIT_SSH_COMMAND",
            "XDG_RUNTIME_DIR",
            "LD_LIBRARY_PATH",
            "PYTHONSTARTUP",
            "NODE_OPTIONS",
            "REPLAY_IT_ANY",
        ];
        let variables: Vec<(&str, &str)> =
            hidden.iter().map(|name| (*name, "/TOPSECRET")).collect();
        let mut walls = Walls::start(setting, &[], &variables);
        let seen = walls.works("env");
        let names: Vec<&str> = seen
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, _)| name)
            .collect();
        assert_eq!(
            hidden
                .iter()
                .filter(|name| names.contains(name))
                .collect::<Vec<_>>(),
            Vec::<&&str>::new()
        );
        assert!(
            ["PATH", "HOME", "TMPDIR", "LANG"]
                .iter()
                .all(|name| names.contains(name)),
            "{seen}"
        );
        walls.end();
    });
}

#[test]
fn e91_commands_gain_no_privileges() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let status = walls.works("cat /proc/self/status");
        let field = |name: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap()
                .trim()
                .to_owned()
        };
        assert_eq!(
            (field("NoNewPrivs:"), field("Seccomp:")),
            ("1".to_owned(), "2".to_owned())
        );
        // CAP_CHOWN, CAP_DAC_OVERRIDE and CAP_FOWNER.
        let kept = if setting.root() {
            "000000000000000b"
        } else {
            "0000000000000000"
        };
        assert_eq!(
            (field("CapEff:"), field("CapPrm:")),
            (kept.to_owned(), kept.to_owned())
        );
        assert_eq!(
            (field("CapInh:"), field("CapAmb:")),
            ("0000000000000000".to_owned(), "0000000000000000".to_owned())
        );
        for command in [
            "sudo -n true",
            "su -c true nobody </dev/null",
            "newgrp </dev/null -c true",
            "setpriv --reuid=1 true",
        ] {
            if installed(command.split(' ').next().unwrap())
                && !(setting.root() && command.starts_with("newgrp"))
            {
                walls.fails(command);
            }
        }
        walls.end();
    });
}

#[test]
fn e92_namespaces_and_mounts_are_denied() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        walls.works("mkdir -p m");
        for command in [
            "unshare -U true",
            "unshare -Ur true",
            "unshare -Urm mount -t tmpfs none m",
            "unshare -m true",
            "unshare -n true",
            "mount -t tmpfs none m",
            "mount --bind / m",
            "mount -o remount,rw /",
            "umount /proc",
            "chroot . /bin/true",
            "nsenter -t 1 -m true",
        ] {
            walls.fails(command);
        }
        walls.end();
    });
}

#[test]
fn e94_network_is_denied() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &["--network", "none"], &[]);
        if installed("bash") {
            walls.fails(&format!("bash -c 'echo x > /dev/tcp/127.0.0.1/{port}'"));
            walls.fails(&format!("bash -c 'echo x > /dev/udp/127.0.0.1/{port}'"));
        }
        if installed("python3") {
            let connect =
                format!("import socket; socket.create_connection((\"127.0.0.1\", {port}), 2)");
            let ran = walls.sh(&format!("python3 -c '{connect}'"));
            assert_ne!(ran.code, 0);
            assert!(
                ran.text.contains("the command tried to use the network"),
                "{setting:?}: {}",
                ran.text
            );
        }
        assert!(
            listener.accept().is_err(),
            "{setting:?}: somebody connected"
        );
        walls.end();
    });
}

/// Files that programs outside the sandbox would run or obey.
#[test]
fn e95_planting_autorun_files_is_denied() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let plant = "mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; echo evil > .mcp.json; mkdir .claude; \
                     echo evil > .claude/settings.json; mkdir .codex; echo evil > .codex/config.toml; true";
        walls.sh(plant);
        let planted = [
            ".git/hooks/pre-commit",
            ".mcp.json",
            ".claude/settings.json",
            ".codex/config.toml",
        ];
        let there: Vec<&str> = planted
            .into_iter()
            .filter(|name| walls.tree.has(&format!("work/{name}")))
            .collect();
        // Landlock can only grant rights. The server names this gap at its start.
        let known = if setting.tier == Tier::Landlock {
            planted.to_vec()
        } else {
            Vec::new()
        };
        assert_eq!(there, known, "{setting:?}");
        walls.end();
    });
}

/// Planting in an existing repository, by renames and links.
#[test]
fn e95_planting_by_indirect_names_is_denied() {
    if !installed("git") {
        return;
    }
    everywhere(|setting| {
        if setting.tier == Tier::Landlock {
            return;
        }
        for detour in [
            "echo evil > .git/hooks/pre-commit",
            "mv .git old; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit",
            "rm -rf .git; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit",
            "mkdir -p new/hooks; echo evil > new/hooks/pre-commit; mv .git old; mv new .git",
            "mkdir -p new/hooks; echo evil > new/hooks/pre-commit; rm -rf .git/hooks; mv new/hooks .git/hooks",
            "mkdir -p n; echo evil > n/pre-commit; mv .git/hooks .git/h; ln -s ../n .git/hooks",
            "mkdir -p n/hooks; echo evil > n/hooks/pre-commit; mv .git g; ln -s n .git",
            "cd .git/hooks && echo evil > pre-commit",
            "(sleep 0.2; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit) & rm -rf .git; wait",
            "echo evil > .mcp.json; mv .mcp.json x; mv x .mcp.json; ln -sf x .mcp.json",
            "mkdir -p c; echo evil > c/settings.json; mv c .claude; ln -s c .claude",
        ] {
            let mut walls = Walls::start(setting, &[], &[]);
            walls.works("git init -q .");
            walls.sh(detour);
            let planted = [
                ".git/hooks/pre-commit",
                ".mcp.json",
                ".claude/settings.json",
            ];
            let there: Vec<&str> = planted
                .into_iter()
                .filter(|name| fs::metadata(walls.tree.path("work").join(name)).is_ok())
                .collect();
            assert_eq!(there, Vec::<&str>::new(), "{setting:?}: {detour}");
            walls.end();
        }
    });
}

#[test]
fn e83_background_and_terminal_inherit_no_descriptors() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let list =
            "for fd in /proc/$$/fd/*; do echo \"${fd##*/} $(readlink \"$fd\")\"; done > list";
        for arguments in [
            json!({"background": true}),
            json!({"tty": true}),
            json!({"tty": true, "background": true}),
        ] {
            let mut arguments = arguments;
            arguments["command"] = json!(list);
            let reply = walls.try_run(arguments.clone());
            let structured = reply.result()["structuredContent"].clone();
            if let Some(id) = structured["commandId"].as_str() {
                let follow = json!({"commandId": id, "waitSecs": 10});
                while walls.server.call("follow_command", follow.clone()).result()["structuredContent"]
                    ["running"]
                    == true
                {}
            }
            let listed = walls.tree.read("work/list");
            let kinds: Vec<&str> = listed
                .lines()
                .filter(|line| ["0 ", "1 ", "2 "].iter().any(|n| line.starts_with(n)))
                .collect();
            assert_eq!(kinds.len(), 3, "{setting:?}: {arguments}: {listed}");
            let more: Vec<&str> = listed
                .lines()
                .filter(|line| !["0 ", "1 ", "2 "].iter().any(|n| line.starts_with(n)))
                // Descriptors of the shell: the listing, the script's redirection, the pipe of a
                // substitution.
                .filter(|line| {
                    !line.contains(" /proc/") && !line.contains("pipe:") && !line.ends_with("/list")
                })
                // Shells keep copies of redirected descriptors, above 9.
                .filter(|line| !line.starts_with('1') || line.len() < 3)
                .collect();
            assert_eq!(
                more,
                Vec::<&str>::new(),
                "{setting:?}: {arguments}: {listed}"
            );
        }
        walls.end();
    });
}

#[test]
fn e95_git_works_with_protected_paths() {
    if !installed("git") {
        return;
    }
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &["--git-identity", "A <a@b>"], &[]);
        walls.works(
            "git init -q r && cd r && echo x > f && git add f && git commit -qm one && git log --oneline | grep one",
        );
        walls
            .works("git clone -q r s && cd s && git status --short && git checkout -qb side && git branch | grep side");
        walls.works(
            "git init -q . && git add ok.txt && git commit -qm two && git log --oneline | grep two",
        );
        walls.end();
        let mut walls = Walls::start(setting, &[], &[]);
        let commit =
            "git init -q r && git -C r -c user.useConfigOnly=true commit --allow-empty -qm one";
        let reply = walls.try_run(json!({"command": commit}));
        assert!(
            reply.all_texts()[0].contains("[commands have no git identity: give one with "),
            "{setting:?}: {}",
            reply.0
        );
        walls.end();
    });
}

#[test]
fn e96_operator_files_are_protected() {
    everywhere(|setting| {
        let tree = crate::tree::Tree::new();
        tree.file("work/ok.txt", "fine\n")
            .file("docs/read.txt", "readme\n")
            .dir("tmp");
        tree.file("outside/secret", SECRET)
            .file("work/policy.json", "{}\n")
            .file("work/own/audit.log", "one\n");
        if let Some(owner) = setting.owner {
            super::give(tree.root(), owner);
        }
        let (policy, own) = (tree.text("work/policy.json"), tree.text("work/own"));
        let mut walls = Walls::on(
            tree,
            setting,
            &["--protect", &policy, "--protect", &own],
            &[],
        );
        if setting.tier == Tier::Landlock {
            let reply = walls.try_run(json!({"command": "true"}));
            let failure = reply.failure().expect("a refusal");
            assert!(
                failure.message.contains("cannot be kept read-only"),
                "{}",
                failure.message
            );
            return;
        }
        for command in [
            "echo x > policy.json",
            "rm policy.json",
            "mv policy.json other",
            "mv ok.txt policy.json",
            "truncate -s 0 policy.json",
            "chmod 777 policy.json",
            "echo x >> own/audit.log",
            "rm -r own",
            "mv own other",
            "touch own/new",
            "ln policy.json twin && echo x >> twin",
        ] {
            walls.fails(command);
        }
        assert_eq!(walls.tree.read("work/policy.json"), "{}\n");
        assert_eq!(walls.tree.read("work/own/audit.log"), "one\n");
        walls.end();
    });
}

/// Inside the sandbox no namespaces can be created, so a second `replay` finds none.
#[test]
fn e97_commands_are_refused_without_sandbox() {
    everywhere(|setting| {
        let program = super::program();
        let binary = program.parent().unwrap().to_str().unwrap().to_owned();
        let mut walls = Walls::start(setting, &["--system", &binary], &[]);
        let secret = walls.beyond("secret");
        for mode in ["namespaces", "require"] {
            let command = format!(
                "'{}' call execute_command command=\"cat '{secret}'; echo x > '{}'\" --allow .:rw --sandbox {mode}",
                program.display(),
                walls.beyond("new")
            );
            let ran = walls.sh(&command);
            assert_ne!(ran.code, 0, "{setting:?}: {ran:?}");
        }
        let ran = walls.sh(&format!(
            "'{}' call execute_command command=true --allow .:rw --sandbox namespaces",
            program.display()
        ));
        assert!(ran.text.contains("--sandbox off"), "no remedy: {ran:?}");
        walls.end();
    });
}

#[test]
fn background_server_is_reached_from_next_call() {
    if !installed("python3") {
        return;
    }
    everywhere(|setting| {
        if setting.tier != Tier::Namespaces {
            return;
        }
        let mut walls = Walls::start(setting, &[], &[]);
        // Outside, this test listens on the same port, and is not reached either.
        let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        outside.set_nonblocking(true).unwrap();
        let port = outside.local_addr().unwrap().port();
        let serve = format!("exec python3 -u -m http.server --bind 127.0.0.1 {port}");
        let reply = walls.try_run(json!({"command": serve, "background": true}));
        let id = reply.result()["structuredContent"]["commandId"]
            .as_str()
            .unwrap()
            .to_owned();
        let until = Instant::now() + crate::harness::DEADLINE;
        let url = format!("http://127.0.0.1:{port}/ok.txt");
        let fetch =
            format!("python3 -c 'import urllib.request as u; print(u.urlopen(\"{url}\").read())'");
        while walls.sh(&fetch).stdout != "b'fine\\n'\n" {
            assert!(Instant::now() < until, "the server never answered");
        }
        assert!(outside.accept().is_err());
        let reply = walls.server.call(
            "follow_command",
            json!({"commandId": id, "end": true, "waitSecs": 5}),
        );
        assert_eq!(
            reply.result()["structuredContent"]["running"],
            false,
            "{}",
            reply.0
        );
        walls.end();
    });
}

#[test]
fn commands_of_two_servers_are_separate() {
    everywhere(|setting| {
        let (mut one, mut two) = (
            Walls::start(setting, &[], &[]),
            Walls::start(setting, &[], &[]),
        );
        let tag = fresh_tag();
        let reply = two
            .try_run(json!({"command": format!("echo up; exec sleep {tag}"), "background": true}));
        let id = reply.result()["structuredContent"]["commandId"].clone();
        two.server
            .call("follow_command", json!({"commandId": id, "until": "up"}));
        let theirs = processes_with_tag(&tag);
        assert_eq!(theirs.len(), 1, "{setting:?}");
        one.fails(&format!("kill -9 {}", theirs[0]));
        one.works("echo x > \"$TMPDIR/mine\"; echo x > \"$HOME/mine\"");
        two.fails("cat \"$TMPDIR/mine\" \"$HOME/mine\"");
        let work = one.tree.text("work/ok.txt");
        two.fails(&format!("cat '{work}'"));
        one.end();
        drop(one);
        assert_eq!(
            processes_with_tag(&tag),
            theirs,
            "the other server's command was ended"
        );
        two.end();
    });
}

/// The parents of an allowed directory below /tmp exist only in the view of commands. A command
/// must not move them away under later commands.
#[test]
fn path_to_allowed_directory_cannot_be_broken() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        for spoil in [
            "mv \"$PWD/..\" \"${PWD%/*/*}/moved\"",
            "up=${PWD%/*}; cd /; mv \"$up\" \"$up-moved\"; mkdir -p \"$up/work\"",
            "rmdir .. 2>/dev/null; mkdir ../new; rm -rf ../tmp; ls ..",
        ] {
            walls.sh(spoil);
            assert_eq!(
                walls.works("cat ok.txt 2>/dev/null || echo removed"),
                "fine\n",
                "{setting:?}: {spoil}"
            );
        }
        walls.end();
    });
}

#[test]
fn devices_and_proc_cannot_be_changed() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let full = || {
            let status = rustix::fs::stat("/dev/full").unwrap();
            (
                status.st_mode,
                status.st_uid,
                status.st_gid,
                status.st_mtime,
            )
        };
        let before = full();
        for command in [
            "chmod 600 /dev/full",
            "chown 65533 /dev/full",
            "chgrp 65533 /dev/full",
            "touch -d 2001-01-01 /dev/full",
            "chmod 400 /proc/cpuinfo",
            "chown 65533 /proc/cpuinfo",
        ] {
            walls.fails(command);
        }
        assert_eq!(full(), before, "{setting:?}");
        // They can still be used.
        walls.works(
            "echo x > /dev/null && head -c 1 /dev/zero | cat >/dev/null && ! echo x > /dev/full",
        );
        walls.end();
    });
}
