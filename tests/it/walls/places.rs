//! Allowed directories at paths that the sandbox's mounts also use.

use std::process::Command;

use pretty_assertions::assert_eq;
use replay_sandbox::Tier;
use serde_json::json;

use super::{Setting, Walls, everywhere, installed, program};

/// Runs a shell in the first of the allowed directories and returns its standard output.
#[track_caller]
fn run(setting: Setting, allow: &str, command: &str) -> String {
    let mut line = vec![];
    if let Some((user, group)) = setting.owner {
        line.extend([
            "setpriv".into(),
            format!("--reuid={user}"),
            format!("--regid={group}"),
            "--clear-groups".into(),
        ]);
    }
    line.push(program().to_str().unwrap().to_owned());
    line.extend(
        [
            "sandbox",
            "run",
            "--allow",
            allow,
            "--sandbox",
            setting.tier.as_str(),
        ]
        .map(Into::into),
    );
    line.extend(["--", "sh", "-c", command].map(Into::into));
    let output = Command::new(&line[0]).args(&line[1..]).output().unwrap();
    assert!(output.status.success(), "{setting:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn allowed_directory_in_dev_shm_is_real() {
    everywhere(|setting| {
        let Ok(dir) = tempfile::tempdir_in("/dev/shm") else {
            return;
        };
        std::fs::write(dir.path().join("file"), "x").unwrap();
        if let Some((user, group)) = setting.owner {
            std::os::unix::fs::chown(dir.path(), Some(user), Some(group)).unwrap();
        }
        let allow = format!("{}:rw", dir.path().display());
        assert_eq!(run(setting, &allow, "cat file && echo x > new"), "x");
        assert!(dir.path().join("new").exists());
    });
}

#[test]
fn allowed_directory_in_var_tmp_is_real() {
    everywhere(|setting| {
        let Ok(dir) = tempfile::tempdir_in("/var/tmp") else {
            return;
        };
        std::fs::write(dir.path().join("file"), "x").unwrap();
        if let Some((user, group)) = setting.owner {
            std::os::unix::fs::chown(dir.path(), Some(user), Some(group)).unwrap();
        }
        let allow = format!("{}:rw", dir.path().display());
        assert_eq!(run(setting, &allow, "cat file && echo x > new"), "x");
        assert!(dir.path().join("new").exists());
    });
}

/// Runs in a mount namespace of the test, with other directories at these paths.
#[test]
fn view_setup_writes_no_allowed_directory() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    everywhere(|setting| {
        if setting
            != (Setting {
                tier: Tier::Namespaces,
                owner: None,
            })
        {
            return;
        }
        let tree = tempfile::tempdir().unwrap();
        for name in ["etc", "run"] {
            std::fs::create_dir(tree.path().join(name)).unwrap();
        }
        std::fs::write(
            tree.path().join("etc/resolv.conf"),
            "nameserver 127.0.0.1\n",
        )
        .unwrap();
        let (tree, program) = (tree.path().display(), program());
        let script = format!(
            "set -e; cp /etc/passwd /etc/group {tree}/etc/; cp /etc/passwd {tree}/before; mount --bind {tree}/etc /etc; mount --bind {tree}/run /run; \
             for dir in /etc /run; do {} sandbox run --allow $dir:rw --sandbox namespaces -- true; done; \
             cat /etc/resolv.conf; ls /run; cmp /etc/passwd {tree}/before",
            program.display()
        );
        let output = Command::new("unshare")
            .args(["--mount", "sh", "-c", &script])
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "nameserver 127.0.0.1\n",
            "{output:?}"
        );
    });
}

#[test]
fn system_home_lookup_gives_private_home() {
    everywhere(|setting| {
        if setting.tier != Tier::Namespaces {
            return;
        }
        let mut walls = Walls::start(setting, &[], &[]);
        let home = walls.works("echo $HOME").trim().to_owned();
        assert_eq!(
            walls.works("getent passwd $(id -u) | cut -d: -f6,7"),
            format!("{home}:/bin/sh\n"),
            "{setting:?}"
        );
        assert_eq!(
            walls.works("getent passwd | grep -c ^root:"),
            "1\n",
            "{setting:?}"
        );
        if installed("python3") {
            let ask = "import os, pwd; print(pwd.getpwuid(os.getuid()).pw_dir)";
            assert_eq!(
                walls.works(&format!("python3 -c '{ask}'")),
                format!("{home}\n"),
                "{setting:?}"
            );
        }
        if installed("java") {
            let told = walls.sh("java -XshowSettings:properties -version");
            assert!(
                told.stderr.contains(&format!("user.home = {home}\n")),
                "{setting:?}: {told:?}"
            );
        }
        walls.fails("echo x >> /etc/passwd");
        walls.end();
    });
}

/// A system link on the path of an allowed directory is trusted: it lies beside the directory, out
/// of the agent's reach.
#[test]
fn directory_allowed_through_link_has_both_names() {
    everywhere(|setting| {
        // Below /tmp, which is private for commands, and elsewhere.
        for place in ["/tmp", "/var/tmp"] {
            let Ok(dir) = tempfile::tempdir_in(place) else {
                return;
            };
            let (real, link) = (dir.path().join("real/project"), dir.path().join("link"));
            std::fs::create_dir_all(&real).unwrap();
            std::fs::write(real.join("file"), "x").unwrap();
            std::os::unix::fs::symlink("real", &link).unwrap();
            super::give(dir.path(), setting.owner.unwrap_or((0, 0)));
            std::fs::set_permissions(
                dir.path(),
                std::os::unix::fs::PermissionsExt::from_mode(0o755),
            )
            .unwrap();
            for allowed in [link.join("project"), link] {
                let allow = format!("{}:rw", allowed.display());
                let here = allowed.canonicalize().unwrap();
                let file = if here == real { "file" } else { "project/file" };
                let command = format!(
                    "pwd -P; cat {}/{file}; cd {}; cat {file}; rm {file}; echo -n x > {file}",
                    here.display(),
                    allowed.display()
                );
                assert_eq!(
                    run(setting, &allow, &command),
                    format!("{}\nxx", here.display()),
                    "{allow}"
                );
            }
        }
    });
}

#[test]
fn removed_allowed_directory_is_reported() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let work = walls.tree.text("work");
        let gone = format!(
            "the allowed directory `{work}` was removed or replaced after the server \
             started\nhint: ask the operator to restart the server, which opens the directory anew"
        );
        for is_made_again in [false, true] {
            let _ = std::fs::remove_dir_all(&work);
            if is_made_again {
                walls.tree.file("work/ok.txt", "another\n");
            }
            let path = format!("{work}/ok.txt");
            for (tool, arguments) in [
                ("read_file", json!({"path": path})),
                ("write_file", json!({"path": path, "content": ""})),
                ("list_directory", json!({"path": work})),
                ("execute_command", json!({"command": "true"})),
            ] {
                let reply = walls.server.call(tool, arguments);
                let failure = reply
                    .failure()
                    .map(|failure| (failure.code, failure.message));
                assert_eq!(
                    failure,
                    Some((Some(-32002), gone.clone())),
                    "{setting:?}: {tool}"
                );
            }
        }
    });
}
