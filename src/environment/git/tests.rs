//! Git's configuration as commands get it.

use std::fs;

use pretty_assertions::assert_eq;

use super::*;
use crate::definitions::Definitions;

/// Files of a home, and what commands get of them: path, text, keys left out, secrets missing.
fn files(files: &[(&str, &str)]) -> Vec<HomeFile> {
    let home = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let machine = Machine {
        definitions: Definitions::embedded(),
        home: home.path(),
        variable: &|_| None,
        is_own: &|_| true,
        is_visible: &|_| false,
        has_program: &|name| name == "git-media",
        stand_in: &|_| None,
    };
    let shown = home.path().to_str().unwrap();
    home_files(&machine)
        .into_iter()
        .map(|file| HomeFile {
            text: file.text.replace(shown, "HOME"),
            source: PathBuf::new(),
            ..file
        })
        .collect()
}

fn texts(files: &[HomeFile]) -> Vec<(&str, &str)> {
    let files = files.iter();
    files
        .map(|file| (file.path.as_str(), file.text.as_str()))
        .collect()
}

#[test]
fn harmless_settings_pass() {
    let all = files(&[
        (".config/git/config", "[pull]\nrebase = true\n"),
        (
            ".gitconfig",
            "[user]\nname = \"Ann \\\"A\\\"\"\nemail = ann@home.example\nsigningKey = x\n[core]\neditor = vim\nautocrlf = input\n\
                 [alias]\nst = status\nrm = !rm -rf\n[commit]\ngpgSign = true\n[credential]\nhelper = store\n\
                 [http \"https://h/\"]\nextraHeader = Authorization: SEKRET\n[url \"https://ann:SEKRET@h/\"]\ninsteadOf = \
                 gh:\n[url \"git@github.com:\"]\ninsteadOf = https://github.com/\n[safe]\ndirectory = /srv\n",
        ),
    ]);
    assert_eq!(
        texts(&all),
        [(
            ".gitconfig",
            "[pull]\n\trebase = \"true\"\n[user]\n\tname = \"Ann \\\"A\\\"\"\n\temail = \"ann@home.example\"\n[core]\n\tautocrlf \
             = \"input\"\n[alias]\n\tst = \"status\"\n\trm = \"!echo 'replay: commands do not have this \
             alias of the operator, since it runs a shell; give its commands themselves' >&2; false\"\n[url \"https://h/\"]\n\tinsteadof = \"gh:\"\n[safe]\n\tdirectory = \
             \"/srv\"\n"
        )]
    );
    assert_eq!(
        all[0].left_out,
        [
            "user.signingkey",
            "core.editor",
            "alias.rm",
            "commit.gpgsign",
            "credential.helper",
            "url.*.insteadof"
        ]
    );
    assert_eq!(
        all[0].missing.as_ref().unwrap().keys,
        ["http.*.extraheader", "the login in url.*"]
    );
}

#[test]
fn filter_without_its_program_fails_with_sentence() {
    let lfs = "[filter \"lfs\"]\nclean = git-lfs clean -- %f\nsmudge = git-lfs smudge -- %f\nprocess = git-lfs \
               filter-process\nrequired = true\n[filter \"media\"]\nclean = git-media clean\n";
    let fails = "echo 'replay: commands do not have git-lfs, which .gitattributes asks for here; the operator can show it \
                 with --system' >&2; false";
    assert_eq!(
        texts(&files(&[(".gitconfig", lfs)])),
        [(
            ".gitconfig",
            format!(
                "[filter \"lfs\"]\n\tclean = \"{fails}\"\n\tsmudge = \"cat\"\n\trequired = \"true\"\n[filter \
                 \"media\"]\n\tclean = \"git-media clean\"\n"
            )
            .as_str()
        )]
    );
}

#[test]
fn includes_and_ignore_files_are_copied() {
    let all = files(&[
        (
            ".gitconfig",
            "[core]\nexcludesFile = ~/.ignored\n[include]\npath = more\n[includeIf \"gitdir:~/work/\"]\npath = \
                 work.inc\n[include]\npath = .gitconfig\n",
        ),
        ("more", "[tag]\nsort = version:refname\n"),
        ("work.inc", "[user]\nemail = ann@work.example\n"),
        (".ignored", ".DS_Store\n"),
        (".config/git/attributes", "*.bin filter=upper\n"),
    ]);
    assert_eq!(
        texts(&all),
        [
            (".config/git/replay-1", ".DS_Store\n"),
            (
                ".config/git/replay-2",
                "[user]\n\temail = \"ann@work.example\"\n"
            ),
            (".config/git/attributes", "*.bin filter=upper\n"),
            (
                ".gitconfig",
                "[core]\n\texcludesfile = \"~/.config/git/replay-1\"\n[tag]\n\tsort = \"version:refname\"\n[includeIf \
                 \"gitdir:HOME/work/\"]\n\tpath = \"~/.config/git/replay-2\"\n"
            )
        ]
    );
}

/// Git reads the written text as the settings that it was written from.
#[test]
fn git_reads_written_text() {
    let home = tempfile::tempdir().unwrap();
    let value = "a \"b\" \\ c\td\ne # ; f ";
    let mut text = Text::default();
    text.add("alias", None, "one", value);
    text.add("url", Some("x \"y\" \\ z"), "insteadof", value);
    let path = home.path().join("config");
    fs::write(&path, &text.text).unwrap();
    let listed = std::process::Command::new("git")
        .args(["config", "--list", "--null", "--file"])
        .arg(&path)
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(listed.stdout).unwrap(),
        format!("alias.one\n{value}\0url.x \"y\" \\ z.insteadof\n{value}\0")
    );
}
