//! Tests of the notes on failed commands.

use pretty_assertions::assert_eq;
use replay_environment::Definitions;

use super::*;

#[test]
fn missing_program_is_told_once() {
    let things = MissingThings {
        scripts: vec!["~/.local/bin/deploy".to_owned()],
        hints: Definitions::embedded().hints().cloned().collect(),
        ..MissingThings::default()
    };
    let machine = MissingOfMachine::new(things, Tier::Namespaces);
    let told = |code, text: &str| machine.notes(code, &[text], None);
    let none: [String; 0] = [];
    assert_eq!(told(0, "ok"), none);
    assert_eq!(told(1, "error: spawn x EACCES"), none);
    assert_eq!(told(0, "bash: other: command not found\n"), none);
    assert_eq!(
        told(0, "bash: deploy: command not found\n"),
        [
            "commands do not see ~/.local/bin/deploy, an own script of the operator's, which may hold secrets; the \
             operator can show it (--system ~/.local/bin/deploy)"
        ]
    );
    assert_eq!(
        told(127, ""),
        [
            "of the operator's PATH commands do not see everything in ~/.local/bin: own scripts, and directories \
             outside the home; --system shows a file or directory"
        ]
    );
    assert_eq!(told(127, ""), none);
    let docker = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock.";
    assert_eq!(told(0, docker), none);
    assert_eq!(
        told(1, docker),
        [
            "commands have no Docker, since its socket makes root of the machine: start the service itself in the \
             command (`pg_ctl`, `mariadbd`, `redis-server`); the operator can allow one that runs (--allow-host \
             127.0.0.1:5432)"
        ]
    );
    assert_eq!(told(1, docker), none);
}

#[test]
fn lost_program_is_named() {
    for (line, name) in [
        ("bash: line 1: x: command not found", Some("x")),
        ("sh: 1: x: not found", Some("x")),
        ("make: *** [Makefile:2: all] Error 127", Some("")),
        ("Error: spawn nosuch ENOENT", Some("nosuch")),
        ("bash: line 1: bin/x: not found", None),
        ("404: page not found here", None),
        ("Error 1", None),
        ("open x: ENOENT", None),
    ] {
        assert_eq!(lost_program(line), name, "{line}");
    }
}

#[test]
fn path_outside_is_told_once_for_its_place() {
    let things = MissingThings {
        visible: vec!["/usr".into(), "/src".into(), "/tmp".into()],
        writable: vec!["/src".into(), "/tmp".into()],
        ..MissingThings::default()
    };
    let machine = MissingOfMachine::new(things, Tier::Namespaces);
    let told = |text: &str| machine.notes(1, &[text], None);
    let none: [String; 0] = [];
    for inside in [
        "cat: /src/nosuch: No such file or directory",
        "/bin/sh: 1: /src/x: Permission denied",
        "cat: nosuch: No such file or directory",
        "listening on /var/run/x",
        "ERROR: https://x.example/simple/six/: No such file or directory (404)",
    ] {
        assert_eq!(told(inside), none, "{inside}");
    }
    let outside = "/var/log/syslog is outside: commands see the allowed directories, installed programs, /etc, HOME \
                   and /tmp; the operator can allow a directory (--allow DIR)";
    assert_eq!(
        told("FileNotFoundError: [Errno 2] No such file or directory: '/var/log/syslog'"),
        [outside]
    );
    assert_eq!(
        told("cat: /var/log/syslog: No such file or directory"),
        none
    );
    let up = "../x is read-only for commands: they write to read-write directories, HOME and /tmp; the operator can \
              allow one (--allow DIR:rw)";
    assert_eq!(told("/bin/bash: line 1: ../x: Read-only file system"), [up]);
    let node = told("Error: EROFS: read-only file system, open '/home/me/f.txt'");
    assert!(
        node[0].starts_with("/home/me/f.txt is read-only"),
        "{node:?}"
    );
    assert_eq!(
        told("/usr/bin/touch: cannot touch '/usr/x': Read-only file system"),
        [
            "/usr/x is read-only for commands: they write to read-write directories, HOME and /tmp; the operator \
             can allow one (--allow DIR:rw)"
        ]
    );
    assert_eq!(
        told("ls: cannot access '/dev/kvm': No such file or directory"),
        ["commands have no device /dev/kvm; the operator can give one (--device /dev/kvm)"]
    );
    let of_line = |line: &str, place: &str| {
        let text = format!("cat: /{place}/x: No such file or directory");
        let command = FinishedCommand {
            line,
            output: &[&text],
            ..FinishedCommand::default()
        };
        machine.of(command).len()
    };
    assert_eq!(of_line("cat /a/x | tail", "a"), 1);
    assert_eq!(of_line("cat /b/x || true", "b"), 1);
    assert_eq!(of_line("cat /c/x; true", "c"), 0);
}

/// Returns the notes on a command that runs in /src/app.
fn notes_of(machine: &MissingOfMachine, line: &str, exit_code: i32, output: &str) -> Vec<String> {
    let command = FinishedCommand {
        line,
        exit_code,
        output: &[output],
        directory: Some(Path::new("/src/app")),
        ..FinishedCommand::default()
    };
    machine
        .of(command)
        .into_iter()
        .map(|(note, _)| note)
        .collect()
}

#[test]
fn relative_path_to_outside_is_told() {
    let outside = |shown: &str| {
        format!(
            "{shown} is outside: commands see the allowed directories, installed programs, /etc, HOME and /tmp; the \
             operator can allow a directory (--allow DIR)"
        )
    };
    for (line, code, output, shown) in [
        (
            "cat ../x",
            1,
            "cat: ../x: No such file or directory",
            "../x (from /src/app)",
        ),
        (
            "make",
            2,
            "Makefile:1: ../x: No such file or directory",
            "../x (from /src/app)",
        ),
        ("cat ../x 2>/dev/null", 1, "", "../x (from /src/app)"),
        ("ls ../x 2>/dev/null; true", 0, "", "../x (from /src/app)"),
        (
            "cat ../x || true",
            0,
            "cat: ../x: No such file or directory",
            "../x (from /src/app)",
        ),
        (
            "cd sub && cat ../../x",
            1,
            "",
            "../../x (from /src/app/sub)",
        ),
        (
            "test -f ../x.json && echo y",
            1,
            "",
            "../x.json (from /src/app)",
        ),
        ("ls ..", 0, "app", ".. (from /src/app)"),
        ("ls /src/x", 2, "", "/src/x"),
        (
            "node lib/a.js",
            1,
            "Error: Cannot find module '../../x'\nRequire stack:\n- /src/app/lib/a.js\n",
            "../../x (from /src/app/lib)",
        ),
    ] {
        let things = MissingThings {
            visible: vec!["/usr".into(), "/src/app".into()],
            ..MissingThings::default()
        };
        let machine = MissingOfMachine::new(things, Tier::Namespaces);
        assert_eq!(
            notes_of(&machine, line, code, output),
            [outside(shown)],
            "{line}"
        );
        assert_eq!(notes_of(&machine, line, code, output), [""; 0], "{line}");
    }
}

#[test]
fn later_place_outside_is_told_in_short() {
    let things = MissingThings {
        visible: vec!["/src/app".into()],
        ..MissingThings::default()
    };
    let machine = MissingOfMachine::new(things, Tier::Namespaces);
    assert_eq!(notes_of(&machine, "cat ../x", 1, "").len(), 1);
    assert_eq!(
        notes_of(&machine, "cat ../y/z", 1, ""),
        ["../y/z (from /src/app) is outside, too (--allow DIR)"]
    );
    assert_eq!(notes_of(&machine, "cat ../y/a", 1, ""), [""; 0]);
}

#[test]
fn relative_path_inside_is_not_told() {
    let things = MissingThings {
        visible: vec!["/usr".into(), "/src/app".into()],
        ..MissingThings::default()
    };
    let machine = MissingOfMachine::new(things, Tier::Namespaces);
    for (line, code, output) in [
        (
            "cd sub && cat ../x",
            1,
            "cat: ../x: No such file or directory",
        ),
        (
            "cd a; cd b; cat ../../x",
            1,
            "cat: ../../x: No such file or directory",
        ),
        ("echo ../x", 0, "../x"),
        ("grep -r \"from '../x'\" .", 1, ""),
        ("curl /api/users", 1, ""),
        ("node a.js", 1, "Error: Cannot find module '../x'"),
        (
            "node lib/a.js",
            1,
            "Error: Cannot find module '../x'\nRequire stack:\n- /src/app/lib/a.js\n",
        ),
    ] {
        assert_eq!(notes_of(&machine, line, code, output), [""; 0], "{line}");
    }
}

#[test]
fn variable_of_operator_is_told_once() {
    let variable = |name: &str, unseen: &[&str], flags: &str| UnsetVariable {
        name: name.to_owned(),
        unseen: unseen.iter().map(|&path| path.to_owned()).collect(),
        flags: Some(flags.to_owned()),
    };
    for (line, code, output) in [
        (
            "ls $NLTK_DATA/x",
            2,
            "ls: cannot access '/x': No such file or directory",
        ),
        ("ls $NLTK_DATA", 0, "a b"),
        ("printenv NLTK_DATA", 1, ""),
        ("python3 x.py", 1, "KeyError: 'NLTK_DATA'"),
        (
            "python3 x.py",
            1,
            "Resource words not found.\nPlease use the NLTK Downloader",
        ),
    ] {
        let things = MissingThings {
            visible: vec!["/usr".into(), "/src".into()],
            variables: vec![
                variable("NLTK_DATA", &["~/nltk"], "--env NLTK_DATA --system ~/nltk"),
                variable("OTHER", &[], "--env OTHER"),
            ],
            ..MissingThings::default()
        };
        let machine = MissingOfMachine::new(things, Tier::Namespaces);
        let note = "commands do not have NLTK_DATA of the operator's environment, and do not see ~/nltk; the operator can \
                    give it (--env NLTK_DATA --system ~/nltk)";
        assert_eq!(notes_of(&machine, line, code, output), [note], "{line}");
    }
}

#[test]
fn variable_of_project_file_is_told_at_login() {
    let things = MissingThings {
        expanding: vec![".npmrc".to_owned()],
        given: vec!["HOST".to_owned()],
        ..MissingThings::default()
    };
    let machine = MissingOfMachine::new(things, Tier::Namespaces);
    let file = |name: &str| {
        let text = "registry=https://${HOST}/\n//h/:_authToken=${NPM_TOKEN}\n";
        (name == ".npmrc").then(|| text.to_owned())
    };
    let told = |exit_code, output: &str| {
        let command = FinishedCommand {
            exit_code,
            output: &[output],
            project_file: Some(&file),
            ..FinishedCommand::default()
        };
        let found = machine.of(command).into_iter();
        found.map(|(note, _)| note).collect::<Vec<_>>()
    };
    assert_eq!(told(1, "1 test failed"), [""; 0]);
    assert_eq!(told(0, "npm error code E401"), [""; 0]);
    assert_eq!(
        told(1, "npm error code E401"),
        [
            ".npmrc of the project reads NPM_TOKEN, which commands do not have; the operator can give a stand-in \
             (--credential NPM_TOKEN=env:NPM_TOKEN --for 'https://HOST/**'), or pass it (--env NPM_TOKEN)"
        ]
    );
    assert_eq!(told(1, "npm error code E401"), [""; 0]);
}

#[test]
fn program_that_is_nowhere_is_told_once() {
    let things = MissingThings {
        visible: vec!["/usr".into()],
        scripts: vec!["~/bin/deploy".to_owned()],
        ..MissingThings::default()
    };
    let machine = MissingOfMachine::new(things, Tier::Namespaces);
    let lost = "bash: line 1: htop: command not found";
    assert_eq!(
        notes_of(&machine, "htop", 127, lost),
        [
            "commands do not find htop, and have the operator's PATH: install it in the project or HOME, or the operator \
             can install it, or show one elsewhere (--system FILE)"
        ]
    );
    assert_eq!(notes_of(&machine, "htop", 127, lost), [""; 0]);
    assert_eq!(
        notes_of(&machine, "which deploy", 1, ""),
        [
            "commands do not see ~/bin/deploy, an own script of the operator's, which may hold secrets; the operator can \
             show it (--system ~/bin/deploy)"
        ]
    );
}

#[test]
fn hints_of_quiet_failures_are_told() {
    let things = MissingThings {
        hints: Definitions::embedded().hints().cloned().collect(),
        ..MissingThings::default()
    };
    let machine = MissingOfMachine::new(things, Tier::Namespaces);
    let loopback = "127.0.0.1 of commands is their own: a server of the machine is not there; the operator can allow one \
                    (--allow-host 127.0.0.1:PORT)";
    assert_eq!(notes_of(&machine, "curl -s x.example", 7, ""), [""; 0]);
    assert_eq!(
        notes_of(&machine, "curl -s localhost:3000", 7, ""),
        [loopback]
    );
    let sockets = "commands cannot ask the kernel for its list of connections: /proc/net/tcp has those of commands, and \
                   the ones of the machine are not there";
    let netlink = "State\nCannot open netlink socket: Protocol not supported";
    assert_eq!(notes_of(&machine, "ss -ltn", 0, netlink), [sockets]);
    let refused = "the walls refuse mounts, namespaces, the kernel's log, clocks, owners, and processes that are not of \
                   the command: no flag allows it";
    let unshare = "unshare: unshare failed: Operation not permitted";
    assert_eq!(notes_of(&machine, "unshare -r id", 1, unshare), [refused]);
}

#[test]
fn long_path_is_shortened_in_note() {
    let things = MissingThings {
        visible: vec!["/src".into()],
        ..MissingThings::default()
    };
    let machine = MissingOfMachine::new(things, Tier::Namespaces);
    let output = format!("cat: /{}: No such file or directory", "x".repeat(3000));
    let [note] = &machine.notes(1, &[&output], None)[..] else {
        panic!("no single note")
    };
    assert!(note.contains("x… is outside: "), "{} bytes", note.len());
    assert!(note.len() < 500, "{} bytes", note.len());
}
