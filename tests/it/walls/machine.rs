//! The operator's home for commands: configuration without secrets, programs of PATH, and notes on
//! missing things.

use std::fs;

use pretty_assertions::assert_eq;
use replay_sandbox::Tier;
use serde_json::json;

use super::{SECRET, Setting, Walls, everywhere, give, make_tree};
use crate::tree::copy_program;

/// Files of the operator's home, with secrets in all of them.
const FILES: [(&str, &str); 11] = [
    (
        ".npmrc",
        "@acme:registry=https://ann:TOPSECRET@npm.acme.example/\n//npm.acme.example/:_authToken=TOPSECRET\n",
    ),
    (
        ".config/pip/pip.conf",
        "[global]\nindex-url = https://ann:TOPSECRET@pip.acme.example/simple\n",
    ),
    (
        ".cargo/config.toml",
        "[registries.acme]\nindex = 'sparse+https://cargo.acme.example/'\ntoken = 'TOPSECRET'\n",
    ),
    (
        ".m2/settings.xml",
        "<settings><servers><server><password>TOPSECRET</password></server></servers></settings>",
    ),
    (
        ".gradle/gradle.properties",
        "corpPassword=TOPSECRET\norg.gradle.parallel=true\n",
    ),
    (".netrc", "machine h login ann password TOPSECRET\n"),
    (
        ".docker/config.json",
        "{\"auths\": {\"h\": {\"auth\": \"TOPSECRET\"}}}",
    ),
    (".aws/credentials", "aws_secret_access_key = TOPSECRET\n"),
    (
        ".condarc",
        "channels:\n  - https://conda.acme.example/t/TOPSECRET/x\n",
    ),
    (".config/git/ignore", ".DS_Store\n"),
    (
        ".gitconfig",
        "[user]\nname = Ann\nemail = ann@acme.example\n[http]\nextraHeader = TOPSECRET\n[filter \"upper\"]\nclean = no-such-filter \
         %f\n[alias]\nx = !echo TOPSECRET\n",
    ),
];

fn with_home(setting: Setting, flags: &[&str]) -> Walls {
    with_variables(setting, flags, &[])
}

/// Like [`with_home`], with further variables; `~` in a value is the home.
fn with_variables(setting: Setting, flags: &[&str], variables: &[(&str, &str)]) -> Walls {
    let tree = make_tree(setting);
    for (path, text) in FILES {
        tree.file(format!("outside/home/{path}"), text);
    }
    tree.file("outside/home/nltk/words", "a\n");
    tree.file(
        "outside/home/.local/bin/deploy",
        format!("#!/bin/sh\n# {SECRET}\n"),
    );
    copy_program(
        "/usr/bin/true".as_ref(),
        &tree.path("outside/home/.local/bin/installed"),
    );
    let deploy = tree.path("outside/home/.local/bin/deploy");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(deploy, mode).unwrap();
    if let Some(owner) = setting.owner {
        give(&tree.path("outside"), owner);
    }
    let home = tree.text("outside/home");
    let path = format!("{home}/.local/bin:/usr/bin:/bin");
    let variables = variables.iter();
    let mut all: Vec<(&str, String)> = variables
        .map(|(name, value)| (*name, value.replace('~', &home)))
        .collect();
    all.extend([("HOME", home.clone()), ("PATH", path)]);
    let all: Vec<(&str, &str)> = all
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    Walls::on(tree, setting, flags, &all)
}

#[test]
fn configuration_has_no_secret() {
    everywhere(|setting| {
        let mut walls = with_home(setting, &[]);
        walls.fails("grep -rs TOPSECRET ~ || env | grep TOPSECRET");
        let text = walls.works(
            "cd ~; cat .npmrc .config/pip/pip.conf .cargo/config.toml .m2/settings.xml .gradle/gradle.properties .netrc .docker/config.json \
             .aws/credentials .condarc",
        );
        assert_eq!(
            text,
            "@acme:registry=https://npm.acme.example/\n[global]\nindex-url = https://pip.acme.example/simple\n[registries.acme]\nindex \
             = \"sparse+https://cargo.acme.example/\"\n<settings/>\norg.gradle.parallel=true\n{}\n"
        );
        walls.works(
            "echo own=1 >> ~/.npmrc; npm_config=$(cat ~/.npmrc); test \"${npm_config##*own}\" = =1",
        );
        walls.end();
    });
}

#[test]
fn git_of_operator_ignores_and_filters() {
    everywhere(|setting| {
        let mut walls = with_home(setting, &[]);
        walls.works(
            "git init -q . && touch .DS_Store && echo '*.bin filter=upper' > .gitattributes && git add . && git commit -qm x",
        );
        assert_eq!(
            walls.works("git log --format='%an <%ae>'; git ls-files"),
            "Ann <ann@acme.example>\n.gitattributes\nok.txt\n"
        );
        let added = walls.sh("echo x > a.bin; git add a.bin");
        assert_eq!(added.code, 128);
        assert!(
            added.stderr.starts_with(
                "replay: commands do not have no-such-filter, which .gitattributes asks for here; the operator can show it \
                 with --system\n"
            ),
            "{added:?}"
        );
        walls
            .works("git config user.name other || git -c user.name=own commit -qm y --allow-empty");
        walls.end();
    });
}

#[test]
fn programs_of_path_are_there_without_own_scripts() {
    everywhere(|setting| {
        let mut walls = with_home(setting, &[]);
        walls.works("installed");
        let lost = walls.sh("deploy");
        assert!([126, 127].contains(&lost.code), "{lost:?}");
        assert!(
            lost.text.contains(
                "[commands do not see ~/.local/bin/deploy, an own script of the operator's, which may hold secrets; the \
                 operator can show it (--system ~/.local/bin/deploy)]"
            ),
            "{lost:?}"
        );
        let again = walls.sh("deploy; nosuch");
        assert!(!again.text.contains("--system"), "{again:?}");
        let home = walls.beyond("home");
        walls.fails(&format!("cat {home}/.local/bin/deploy"));
        walls.fails(&format!("echo x > {home}/.local/bin/installed"));
        walls.end();
    });
}

#[test]
fn missing_login_is_told_once_to_failed_command() {
    everywhere(|setting| {
        let mut walls = with_home(setting, &[]);
        let note = "[commands have ~/.npmrc without the login in @acme:registry and 1 more: the operator can give it with \
                    --credential NAME=env:NAME --for 'https://npm.acme.example/**']";
        let good = walls.sh("cat ~/.npmrc");
        assert!(!good.text.contains("commands have"), "{good:?}");
        let unrelated = walls.sh("false");
        assert!(!unrelated.text.contains("commands have"), "{unrelated:?}");
        let reply = walls.try_run(json!({"command": "cat ~/.npmrc; false"}));
        assert!(reply.whole().contains(note), "{}", reply.0);
        assert_eq!(
            reply.result()["structuredContent"]["missing"],
            json!([{
                "what": "~/.npmrc",
                "without": ["the login in @acme:registry", "//npm.acme.example/:_authToken"],
                "flag": "--credential"
            }, {"what": "npm.acme.example", "flag": "--allow-host"}])
        );
        let again = walls.sh("cat ~/.npmrc; false");
        assert!(!again.text.contains("commands have"), "{again:?}");
        let place = walls.sh("echo \"no such file: $HOME/.cache/tool/x-1\"; false");
        assert!(
            place.text.contains(
                "is a private HOME: commands do not have the operator's ~/.cache/tool, and --system can show a directory]"
            ),
            "{place:?}"
        );
        walls.end();
    });
}

#[test]
fn variable_with_path_is_told_with_flags() {
    everywhere(|setting| {
        let data = [("NLTK_DATA", "~/nltk"), ("ACME_TOKEN", SECRET)];
        let mut walls = with_variables(setting, &[], &data);
        let lost = walls.sh("cat $NLTK_DATA/words");
        let note = "[commands do not have NLTK_DATA of the operator's environment, and do not see ~/nltk; the operator can give it \
                    (--env NLTK_DATA --system ~/nltk)]";
        assert!(lost.text.contains(note), "{lost:?}");
        assert!(!lost.text.contains("is outside"), "{lost:?}");
        let secret = walls.sh("printenv ACME_TOKEN");
        let note = "[commands do not have ACME_TOKEN of the operator's environment; the operator can give it (--credential \
                    ACME_TOKEN=env:ACME_TOKEN --for URL)]";
        assert!(secret.text.contains(note), "{secret:?}");
        walls.end();
        let flags = ["--env", "NLTK_DATA", "--system", "~/nltk"];
        let mut walls = with_variables(setting, &flags, &data);
        assert_eq!(walls.works("cat $NLTK_DATA/words"), "a\n");
        walls.end();
    });
}

#[test]
fn neighbour_of_directory_is_told() {
    everywhere(|setting| {
        let mut walls = with_home(setting, &[]);
        let lost = walls.sh("cat ../../../nosuch/x 2>/dev/null || echo none");
        assert_eq!(lost.stdout, "none\n");
        let dir = walls.tree.text("work");
        let note = format!(
            "[../../../nosuch/x (from {dir}) is outside: commands see the allowed directories, installed programs, /etc, HOME and /tmp; the \
             operator can allow a directory (--allow DIR)]"
        );
        assert!(lost.text.contains(&note), "{lost:?}");
        let inside = walls.sh("mkdir sub; cd sub && cat ../nosuch");
        assert!(!inside.text.contains("outside"), "{inside:?}");
        walls.end();
    });
}

#[test]
fn program_installed_in_home_is_found_behind_others() {
    everywhere(|setting| {
        let mut walls = with_home(setting, &[]);
        walls.works("mkdir -p ~/.local/bin; cp /usr/bin/true ~/.local/bin/mine; echo exit 1 > ~/.local/bin/ls; chmod +x ~/.local/bin/ls");
        walls.works("mine && ls");
        walls.end();
    });
}

#[test]
fn environment_none_hides_home() {
    everywhere(|setting| {
        let mut walls = with_home(setting, &["--environment", "none"]);
        for path in [".npmrc", ".gitconfig", ".netrc", ".config/git/ignore"] {
            walls.fails(&format!("test -e ~/{path}"));
        }
        walls.fails("installed");
        walls.end();
    });
}

#[test]
fn environment_full_shows_own_scripts() {
    everywhere(|setting| {
        let mut walls = with_home(setting, &["--environment", "full"]);
        walls.works("deploy");
        walls.end();
    });
}

#[test]
fn installed_packages_are_known() {
    if !std::path::Path::new("/var/lib/dpkg/status").exists() {
        return;
    }
    everywhere(|setting| {
        let mut walls = with_home(setting, &[]);
        assert_eq!(walls.works("dpkg-query -W -f '${Package}' bash"), "bash");
        walls.fails("echo x > /var/lib/dpkg/status");
        walls.end();
    });
}

/// The recipes of docs/services.md as an ordinary user, since a database server refuses root.
#[test]
fn recipes_of_services_run() {
    let text = include_str!("../../../docs/services.md");
    let recipes = text.split("```sh\n").skip(1);
    let recipes: Vec<&str> = recipes
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert_eq!(recipes.len(), 3);
    everywhere(|setting| {
        if setting.root() || setting.tier == Tier::Landlock {
            return;
        }
        let mut walls = with_home(setting, &[]);
        for recipe in &recipes {
            assert_eq!(walls.works(recipe).lines().last(), Some("42"), "{recipe}");
        }
    });
}
