//! Downloads of the operator: crates, Go modules and caches of package managers.

use pretty_assertions::assert_eq;
use replay_sandbox::Tier;
use serde_json::json;

use super::{SECRET, Setting, Walls, everywhere, give, make_tree, refusal};
use crate::tree::Tree;

const CRATES: &str = "index.crates.io-1949cf8c6b5b557f";

/// Starts a server whose operator has a home with toolchains outside. Flags name it as `{home}`. A
/// change there fails the test.
fn with_home(setting: Setting, flags: &[&str]) -> Walls {
    let tree = make_tree(setting);
    let cargo = "outside/home/.cargo";
    tree.file(format!("{cargo}/bin/cargo"), "#!/bin/sh\n")
        .file(format!("{cargo}/credentials.toml"), SECRET);
    for (name, text) in [(CRATES, "of all\n"), ("private-0123456789abcdef", SECRET)] {
        tree.file(format!("{cargo}/registry/index/{name}/config.json"), text);
        tree.file(format!("{cargo}/registry/cache/{name}/a-1.0.0.crate"), text);
        tree.file(format!("{cargo}/registry/src/{name}/a-1.0.0/lib.rs"), text);
    }
    tree.file(
        "outside/home/go/pkg/mod/example.org/m@v1.0.0/m.go",
        "package m\n",
    )
    .file("outside/home/go/x", SECRET);
    if let Some(owner) = setting.owner {
        give(&tree.path("outside"), owner);
    }
    let home = tree.text("outside/home");
    let path = format!("{home}/.cargo/bin:/usr/bin:/bin");
    let flags: Vec<String> = flags
        .iter()
        .map(|flag| flag.replace("{home}", &home))
        .collect();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    Walls::on(tree, setting, &flags, &[("HOME", &home), ("PATH", &path)])
}

#[test]
fn downloads_of_cargo_and_go_are_read_only() {
    everywhere(|setting| {
        let mut walls = with_home(setting, &[]);
        let home = walls.beyond("home");
        assert_eq!(
            walls.works("echo $GOMODCACHE; cat $GOMODCACHE/*/*/m.go"),
            format!("{home}/go/pkg/mod\npackage m\n")
        );
        walls.fails("echo x > $GOMODCACHE/x");
        walls.fails("rm -r $GOMODCACHE/example.org");
        let seen = walls.works(
            "cd ${CARGO_HOME-~/.cargo}/registry; cat index/*/config.json cache/*/a-1.0.0.crate",
        );
        assert_eq!(seen, "of all\nof all\n", "{setting:?}");
        walls.fails("echo x > ${CARGO_HOME-~/.cargo}/registry/index/*/x");
        for hidden in [
            "credentials.toml",
            "registry/src/*/*/lib.rs",
            "registry/index/private*",
            "../go/x",
        ] {
            walls.fails(&format!(
                "grep -s . {home}/.cargo/{hidden} || grep -s . $CARGO_HOME/{hidden}"
            ));
        }
        walls.end();
    });
}

#[test]
fn downloads_through_agent_writable_link_are_hidden() {
    everywhere(|setting| {
        let tree = make_tree(setting);
        tree.file("outside/kept/x", SECRET)
            .dir("outside/home")
            .dir("work/pkg");
        // ~/go is the allowed directory, in which an agent made a link.
        std::os::unix::fs::symlink(tree.path("work"), tree.path("outside/home/go")).unwrap();
        std::os::unix::fs::symlink(tree.path("outside/kept"), tree.path("work/pkg/mod")).unwrap();
        if let Some(owner) = setting.owner {
            give(&tree.path("outside"), owner);
        }
        let home = tree.text("outside/home");
        let mut walls = Walls::on(
            tree,
            setting,
            &[],
            &[("HOME", &home), ("PATH", "/usr/bin:/bin")],
        );
        let kept = walls.beyond("kept");
        walls.fails(&format!("cat {kept}/x"));
        walls.fails(&format!("cat {home}/go/pkg/mod/x"));
        walls.end();
    });
}

#[test]
fn cargo_home_keeps_path_and_writes_are_private() {
    for flags in [&[][..], &["--network", "host"], &["--no-toolchain-caches"]] {
        everywhere(|setting| {
            let mut walls = with_home(setting, flags);
            let home = walls.beyond("home");
            let told = walls
                .works("echo $CARGO_HOME $CARGO_INSTALL_ROOT; echo $CARGO_NET_OFFLINE $GOMODCACHE");
            let downloads = if flags.is_empty() {
                format!("true {home}/go/pkg/mod")
            } else {
                String::new()
            };
            if setting.tier == Tier::Landlock {
                assert_eq!(told, format!("\n{downloads}\n"), "{flags:?}");
                return;
            }
            assert_eq!(
                told,
                format!("{home}/.cargo /home/replay/.cargo\n{downloads}\n"),
                "{flags:?}"
            );
            walls.works("mkdir -p $CARGO_HOME/registry/src/x && echo unpacked > $CARGO_HOME/registry/src/x/lib.rs");
            assert_eq!(
                walls.works("cat ~/.cargo/registry/src/x/lib.rs"),
                "unpacked\n"
            );
            walls.fails("echo x > $CARGO_HOME/bin/cargo");
            walls.end();
        });
    }
}

#[test]
fn operator_flags_override_cargo_home() {
    let said = [
        (["--env", "CARGO_HOME=/tmp/c"], "/tmp/c"),
        (["--system", "{home}/.cargo"], "none"),
        (["--home", "read-only"], "none"),
    ];
    for (flags, expected) in said {
        everywhere(|setting| {
            let mut walls = with_home(setting, &flags);
            let told = walls.works("echo ${CARGO_HOME-none} ${CARGO_INSTALL_ROOT-none}");
            assert_eq!(told, format!("{expected} none\n"), "{setting:?} {flags:?}");
            walls.end();
        });
    }
}

#[test]
fn project_programs_are_on_path() {
    everywhere(|setting| {
        let mut walls = Walls::on(
            of_projects(setting),
            setting,
            &[],
            &[("PATH", "/usr/bin:/bin")],
        );
        let work = walls.tree.text("work");
        let (node, venv) = (
            format!("{work}/web/node_modules/.bin"),
            format!("{work}/.venv/bin"),
        );
        let home = walls.works("printf $HOME");
        let of_home = format!("{home}/.local/bin");
        let path =
            |walls: &mut Walls, dir: &str| walls.works(&format!("cd {work}/{dir}; echo $PATH"));
        assert_eq!(
            path(&mut walls, "web/src"),
            format!("{venv}:/usr/bin:/bin:{of_home}\n"),
            "it is where the call says that counts"
        );
        let mut start = |dir: &str| {
            let arguments = serde_json::json!({"command": "echo $PATH; tool", "workingDirectory": format!("{work}/{dir}")});
            super::command_result(&walls.try_run(arguments)).stdout
        };
        assert_eq!(
            start("web/src"),
            format!("{node}:{venv}:/usr/bin:/bin:{of_home}\nof node\n")
        );
        assert_eq!(
            start("lib"),
            format!("{venv}:/usr/bin:/bin:{of_home}\nof python\n")
        );
        walls.end();
    });
}

/// Makes a Node project inside a Python project.
fn of_projects(setting: Setting) -> Tree {
    let tree = make_tree(setting);
    tree.dir("work/web/src")
        .dir("work/lib")
        .file("work/.venv/bin/python", "");
    for (program, of) in [
        ("work/web/node_modules/.bin/tool", "node"),
        ("work/.venv/bin/tool", "python"),
    ] {
        tree.program(program, format!("#!/bin/sh\necho of {of}\n"));
    }
    if let Some(owner) = setting.owner {
        give(&tree.path("work"), owner);
    }
    tree
}

/// Starts a server whose operator has caches of npm and Maven.
fn with_caches(setting: Setting, flags: &[&str]) -> Walls {
    let tree = make_tree(setting);
    let cache = "outside/home/.npm/_cacache";
    for (name, host, hash, content) in [
        ("public", "registry.npmjs.org", "AQID", "01/02/03"),
        ("private", "npm.acme.example", "BAUG", "04/05/06"),
    ] {
        let url = format!("https://{host}/x");
        let entry = json!({"key": format!("make-fetch-happen:request-cache:{url}"), "integrity": format!("sha512-{hash}"),
            "metadata": {"url": url}});
        tree.file(
            format!("{cache}/index-v5/aa/bb/{name}"),
            format!("\n0\t{entry}"),
        );
        tree.file(format!("{cache}/content-v2/sha512/{content}"), name);
    }
    tree.file("outside/home/.m2/repository/com/acme/x.jar", "jar\n")
        .file("outside/home/.m2/settings-security.xml", SECRET);
    if let Some(owner) = setting.owner {
        give(&tree.path("outside"), owner);
    }
    let home = tree.text("outside/home");
    Walls::on(
        tree,
        setting,
        flags,
        &[("HOME", &home), ("PATH", "/usr/bin:/bin")],
    )
}

#[test]
fn asked_caches_are_layers_without_private_entries() {
    everywhere(|setting| {
        if setting.tier != Tier::Namespaces {
            return;
        }
        let mut walls = with_caches(setting, &["--downloads", "npm,maven"]);
        let seen = "cd; find .npm .m2/repository -type f | sort; cat .m2/repository/com/acme/x.jar";
        assert_eq!(
            walls.works(seen),
            ".m2/repository/com/acme/x.jar\n.npm/_cacache/content-v2/sha512/01/02/03\n\
             .npm/_cacache/index-v5/aa/bb/public\njar\n"
        );
        let home = walls.beyond("home");
        walls.fails(&format!("cat {home}/.m2/repository/com/acme/x.jar"));
        let modes =
            walls.works("cd; stat -c %a .npm/_cacache .npm/_cacache/index-v5 .m2/repository");
        assert_eq!(modes, "755\n755\n755\n");
        // Changes are of the commands. A private entry does not come back with its directory.
        walls.works(
            "cd ~/.npm/_cacache && rm -r index-v5/aa && mkdir -p index-v5/aa/bb && test -z \"$(ls index-v5/aa/bb)\" && \
             echo own > content-v2/sha512/01/02/03 && mv content-v2/sha512/01/02/03 content-v2/x",
        );
        assert_eq!(walls.works("cat ~/.npm/_cacache/content-v2/x"), "own\n");
        walls.works("touch ~/.m2/repository/com/acme/x.jar; rm -r ~/.m2/repository/com");
        // Neither directory of the layer is in their reach.
        walls.fails("ls -d /tmp/../layers ~/../layers $TMPDIR/../layers");
        walls.end();
    });
}

#[test]
fn cache_of_home_behind_link_is_shown() {
    everywhere(|setting| {
        if setting.tier != Tier::Namespaces {
            return;
        }
        let tree = make_tree(setting);
        tree.file("outside/real/.m2/repository/x.jar", "jar\n");
        std::os::unix::fs::symlink(tree.path("outside/real"), tree.path("outside/home")).unwrap();
        if let Some(owner) = setting.owner {
            give(&tree.path("outside"), owner);
        }
        let home = tree.text("outside/home");
        let variables = [("HOME", home.as_str()), ("PATH", "/usr/bin:/bin")];
        let mut walls = Walls::on(tree, setting, &["--downloads", "maven"], &variables);
        assert_eq!(walls.works("cat ~/.m2/repository/x.jar"), "jar\n");
        walls.end();
    });
}

#[test]
fn unseen_cache_is_told_to_failed_command() {
    everywhere(|setting| {
        let mut walls = with_caches(setting, &[]);
        let failed = walls.sh("ls -A ~/.npm ~/.m2; echo 'npm error code ENOTCACHED' >&2; exit 1");
        let note = "[commands do not see the operator's npm packages; the operator can show them (--downloads npm)]";
        assert!(failed.text.contains(note), "{failed:?}");
        let again = walls.sh("echo 'npm error code ENOTCACHED' >&2; exit 1");
        assert!(!again.text.contains("--downloads"), "{again:?}");
        walls.end();
    });
}

#[test]
fn downloads_without_private_home_are_refused() {
    let tree = Tree::new();
    tree.dir("work").dir("home/.m2/repository/own");
    let cache = tree.text("cache");
    let repository = tree.text("home/.m2/repository");
    for (flags, expected) in [
        (
            &["--downloads", "npm,cargo"][..],
            "--downloads `cargo` is unknown; it can be go, npm, pnpm, uv, maven, gradle, go-build, nuget, hf",
        ),
        (
            &["--downloads", "npm", "--cache", &cache],
            "--downloads shows your caches, and --cache keeps those of commands, at the same places; leave \
             one of them out",
        ),
        (
            &["--downloads", "npm", "--home", "read-only"],
            "--downloads needs the private HOME of commands; leave out --sandbox off and --home read-only",
        ),
        (
            &["--downloads", "maven", "--sandbox", "landlock"],
            "--downloads needs the namespaces tier, and --sandbox landlock selects another tier; leave the \
             flag out",
        ),
        (
            &[
                "--downloads",
                "maven",
                "--allow",
                &format!("{repository}/own"),
            ],
            &format!(
                "--downloads maven: `{repository}` holds an allowed directory or is in one, where an agent \
                 can change it; leave maven out"
            ),
        ),
    ] {
        assert_eq!(refusal(&tree, flags), format!("replay: {expected}\n"));
    }
}
