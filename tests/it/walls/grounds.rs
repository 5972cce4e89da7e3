//! Private HOME and /tmp of other servers, below a directory that a server is allowed to use.

use pretty_assertions::assert_eq;
use replay_sandbox::Tier;
use serde_json::json;

use super::{SECRET, Setting, Walls, command_result, everywhere, program};
use crate::harness::Server;
use crate::schema::NEWEST_HANDSHAKE;

/// Starts a server that can write to the directory above the other server's private directories.
fn start_above(walls: &Walls, flags: &[&str]) -> Server {
    let setting = walls.setting;
    let (tmp, allow) = (
        walls.tree.text("tmp"),
        format!("{}:rw", walls.tree.text("tmp")),
    );
    let user = setting
        .owner
        .map(|(user, group)| (format!("--reuid={user}"), format!("--regid={group}")));
    let program = program();
    let mut line = Vec::new();
    if let Some((user, group)) = &user {
        line.extend(["setpriv", user, group, "--clear-groups", "--"]);
    }
    line.extend([program.to_str().unwrap(), "--mcp-server", "--allow", &allow]);
    line.extend(flags);
    Server::start_program(&walls.tree, &line, &[("TMPDIR", &tmp)]).opened(NEWEST_HANDSHAKE)
}

/// Checks that the private files of the other server cannot be found.
#[track_caller]
fn assert_hidden(server: &mut Server, walls: &Walls, setting: Setting) {
    let tmp = walls.tree.text("tmp");
    let grep = server.call("grep_files", json!({"directory": tmp, "regex": SECRET}));
    assert!(
        !grep.whole().contains("planted"),
        "{setting:?}: {}",
        grep.whole()
    );
    let glob = server.call(
        "glob_search",
        json!({"directory": tmp, "globs": ["**/planted", "**/home"], "includeHidden": true}),
    );
    assert!(
        !glob.whole().contains("scratch"),
        "{setting:?}: {}",
        glob.whole()
    );
    let outside = scratch_of(walls);
    for path in [
        outside.clone(),
        format!("{outside}/home"),
        format!("{outside}/home/planted"),
    ] {
        for tool in [
            "read_file",
            "list_directory",
            "get_file_info",
            "delete_file",
        ] {
            let reply = server.call(tool, json!({"path": path}));
            assert!(
                reply.failure().is_some() && !reply.whole().contains(SECRET),
                "{setting:?}: {tool} {path}"
            );
        }
        let reply = server.call(
            "write_file",
            json!({"path": format!("{path}/new"), "content": "x"}),
        );
        assert!(reply.failure().is_some(), "{setting:?}: {path}");
    }
}

/// Returns the private directory of the first server.
fn scratch_of(walls: &Walls) -> String {
    let mut entries = walkdir::WalkDir::new(walls.tree.path("tmp"))
        .into_iter()
        .map(Result::unwrap);
    let found = entries.find(|entry| {
        entry
            .file_name()
            .to_string_lossy()
            .starts_with("replay-scratch-")
    });
    let found = found.expect("the first server has no private directory below its TMPDIR");
    found.path().to_str().unwrap().to_owned()
}

#[test]
fn private_directories_of_other_servers_are_hidden() {
    everywhere(|setting| {
        let mut walls = Walls::start(setting, &[], &[]);
        let plant = format!(
            "echo {} | sed s/x// > ~/planted; cp ~/planted $TMPDIR/planted",
            "TOPxSECRET"
        );
        walls.works(&plant);
        let mut second = start_above(&walls, &["--sandbox", setting.tier.as_str()]);
        assert_hidden(&mut second, &walls, setting);
        let looked = second.call(
            "execute_command",
            json!({"command": "find . ; echo own > ~/own && cat ~/own"}),
        );
        if setting.tier == Tier::Landlock {
            // Landlock could only add rights.
            let failure = looked.failure().unwrap();
            assert!(
                failure
                    .message
                    .contains("has files of undo or of other servers' commands"),
                "{setting:?}: {failure:?}"
            );
            return;
        }
        let looked = command_result(&looked);
        assert!(
            !looked.stdout.contains("planted") && looked.stdout.ends_with("own\n"),
            "{setting:?}: {looked:?}"
        );
        // A later server and its commands do not see the first one either.
        let mut later = Walls::on(walls.tree, setting, &[], &[]);
        later.works(&plant);
        assert_hidden(&mut second, &later, setting);
        let found = command_result(&second.call(
            "execute_command",
            json!({"command": "find . -name planted"}),
        ));
        assert_eq!(found.stdout, "", "{setting:?}");
        for attempt in ["rm -r replay-*", "mv replay-* x", "rmdir replay-*"] {
            let ran = command_result(&second.call("execute_command", json!({"command": attempt})));
            assert_ne!(ran.code, 0, "{setting:?}: {attempt}: {ran:?}");
        }
        assert_eq!(later.works("cat ~/planted | wc -c"), "10\n", "{setting:?}");
    });
}
