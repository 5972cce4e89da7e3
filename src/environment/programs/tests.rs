//! Layouts of installers, as they were seen, and what commands get of each.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use pretty_assertions::assert_eq;

use super::*;

struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, below: &str) -> PathBuf {
        fs::canonicalize(self.dir.path()).unwrap().join(below)
    }

    fn program(&self, below: &str, text: &[u8]) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn link(&self, below: &str, to: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(to, path).unwrap();
    }

    /// Finds the programs of PATH entries below this home. Paths are shown below it.
    fn find(&self, path: &[&str], root: &str) -> [Vec<String>; 4] {
        let path: Vec<PathBuf> = path.iter().map(|below| self.path(below)).collect();
        let home = self.path("");
        let roots = [self.path(root)];
        let found = ProgramSearch {
            definitions: Definitions::embedded(),
            home: &home,
            path: &path,
            roots: &roots,
            toolchains: &[],
            with_scripts: false,
        }
        .find();
        let below = |path: &PathBuf| {
            let path = path.strip_prefix(&home).unwrap_or(path);
            path.to_str().unwrap().to_owned()
        };
        let system: Vec<PathBuf> = found.system.iter().map(|seen| seen.path.clone()).collect();
        [found.path, system, found.left_out, found.unseen]
            .map(|paths| paths.iter().map(below).collect())
    }
}

#[test]
fn binaries_and_links_are_shown() {
    let home = Home::new();
    home.program("go/bin/gopls", ELF);
    home.link("go/bin/other", "gopls");
    assert_eq!(
        home.find(&["go/bin", "missing"], "src"),
        [
            vec!["go/bin"],
            vec!["go/bin/gopls", "go/bin/other"],
            vec![],
            vec![]
        ]
    );
}

#[test]
fn own_script_is_left_out() {
    let home = Home::new();
    home.program(".local/bin/just", ELF);
    home.program(".local/bin/deploy", b"#!/bin/bash\nTOKEN=x\n");
    fs::write(home.path(".local/bin/notes.txt"), "x").unwrap();
    home.link(".local/bin/dangling", "/nowhere");
    assert_eq!(
        home.find(&[".local/bin"], "src"),
        [
            vec![".local/bin"],
            vec![".local/bin/just"],
            vec![".local/bin/deploy"],
            vec![]
        ]
    );
}

#[test]
fn tool_of_installer_brings_its_environment() {
    let home = Home::new();
    let tool = ".local/share/uv/tools/ruff";
    let python = ".local/share/uv/python/cpython-3.12";
    home.program(&format!("{python}/bin/python3.12"), ELF);
    home.link(&format!("{python}/bin/python3"), "python3.12");
    fs::create_dir_all(home.path(python).join("lib")).unwrap();
    home.link(
        &format!("{tool}/bin/python"),
        home.path(python).join("bin/python3.12").to_str().unwrap(),
    );
    let config = format!("home = {}/bin\n", home.path(python).display());
    fs::write(home.path(tool).join("pyvenv.cfg"), config).unwrap();
    let script = format!("#!{}/bin/python\nimport ruff\n", home.path(tool).display());
    home.program(&format!("{tool}/bin/ruff"), script.as_bytes());
    home.link(
        ".local/bin/ruff",
        home.path(tool).join("bin/ruff").to_str().unwrap(),
    );
    home.program(".local/bin/deploy", b"#!/bin/sh\n");
    let [path, system, ..] = home.find(&[".local/bin"], "src");
    assert_eq!(path, [".local/bin"]);
    let expected = [python, tool, ".local/bin/ruff"];
    assert_eq!(system[..], expected.map(str::to_owned));
}

#[test]
fn package_of_node_is_shown_with_its_modules() {
    let home = Home::new();
    home.program(
        ".npm-global/lib/node_modules/pnpm/bin/pnpm.cjs",
        b"#!/usr/bin/env node\n",
    );
    home.link(
        ".npm-global/bin/pnpm",
        "../lib/node_modules/pnpm/bin/pnpm.cjs",
    );
    assert_eq!(
        home.find(&[".npm-global/bin"], "src"),
        [
            vec![".npm-global/bin"],
            vec![".npm-global/lib/node_modules", ".npm-global/bin/pnpm"],
            vec![],
            vec![]
        ]
    );
}

#[test]
fn linked_entry_is_resolved() {
    let home = Home::new();
    let node = ".local/share/fnm/node-versions/v20/installation";
    home.program(&format!("{node}/bin/node"), ELF);
    fs::create_dir_all(home.path(node).join("lib")).unwrap();
    home.link("run/fnm_multishells/1", home.path(node).to_str().unwrap());
    let [path, system, ..] = home.find(&["run/fnm_multishells/1/bin"], "src");
    assert_eq!(path, [format!("{node}/bin")]);
    assert_eq!(system, [format!("{node}/lib"), format!("{node}/bin/node")]);
}

#[test]
fn project_of_somebody_is_not_package() {
    let home = Home::new();
    home.program("work/repo/bin/tool", ELF);
    home.program("work/repo/bin/script", b"#!/bin/sh\n");
    fs::create_dir_all(home.path("work/repo/lib")).unwrap();
    fs::create_dir_all(home.path("work/repo/.git")).unwrap();
    assert_eq!(
        home.find(&["work/repo/bin"], "src"),
        [
            vec!["work/repo/bin"],
            vec!["work/repo/bin/tool"],
            vec!["work/repo/bin/script"],
            vec![]
        ]
    );
}

#[test]
fn program_behind_allowed_directory_is_not_followed() {
    let home = Home::new();
    home.program("src/bin/tool", ELF);
    home.link("src/out", "../secret");
    home.program("secret/bin/tool", ELF);
    home.link("bin/inside", "../src/bin/tool");
    home.link("bin/through", "../src/out/bin/tool");
    assert_eq!(
        home.find(&["bin", "src/bin", ".ssh"], "src"),
        [vec!["bin", "src/bin"], vec![], vec![], vec![]]
    );
    // A link of links ends.
    home.link("bin/a", "b");
    home.link("bin/b", "a");
    assert_eq!(home.find(&["bin"], "src")[1], [""; 0]);
    // The entry itself is a link of somebody into the allowed directory.
    home.link("dot", "src/out/bin");
    assert_eq!(home.find(&["dot"], "src")[0], [""; 0]);
}

#[test]
fn directory_of_others_or_secrets_is_not_searched() {
    let home = Home::new();
    home.program(".ssh/bin/tool", ELF);
    home.program("open/tool", ELF);
    fs::set_permissions(home.path("open"), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(
        home.find(&[".ssh/bin", "open"], "src"),
        [
            vec![".ssh/bin", "open"],
            vec![],
            vec![],
            vec![".ssh/bin", "open"]
        ]
    );
}

#[test]
fn interpreter_is_read_of_first_lines() {
    let read = |text: &str| interpreter(text.as_bytes()).map(|path| path.display().to_string());
    assert_eq!(
        read("#! /usr/bin/env node\nx"),
        Some("/usr/bin/env".to_owned())
    );
    assert_eq!(
        read("#!/bin/sh\n'''exec' \"/a/b/python\" \"$0\" \"$@\"\n"),
        Some("/a/b/python".to_owned())
    );
    assert_eq!(read("#!\n"), None);
    assert_eq!(read("text"), None);
}

/// Everything that an attack found shown in an earlier state.
#[test]
fn places_beside_programs_are_not_shown() {
    let home = Home::new();
    for (path, text) in [
        ("code/private/deep/secret", ""),
        (".aws/lib/credentials", ""),
        ("secrets/sub/python3", ""),
        ("tools/notes.txt", ""),
        ("tools/lib/x", ""),
        ("app/.env", ""),
        ("modules/package.json", ""),
        ("venvs/a/pyvenv.cfg", "home = HOME/secrets/sub\n"),
        ("app/pyvenv.cfg", "home = /usr/bin\n"),
    ] {
        let path = home.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = text.replace("HOME/", home.path("").to_str().unwrap());
        fs::write(path, text).unwrap();
    }
    home.program("code/program", ELF);
    home.program(".aws/bin/tool", ELF);
    home.link("bin/private", "../.aws/bin/tool");
    home.link("bin/system", "/bin/true");
    home.program("tools/bin/deploy", b"#!/bin/sh\n");
    home.program("app/bin/tool", ELF);
    home.program("modules/node_modules/.bin/tool", b"#!/usr/bin/env node\n");
    home.program("venvs/a/bin/program", ELF);
    home.program("venvs/a/bin/postactivate", b"#!/bin/sh\nexport TOKEN=x\n");
    let python = format!("#!{}/bin/python\n", home.path("venvs/a").display());
    home.program("bin/own", python.as_bytes());
    let path = [
        "code",
        "bin",
        "tools/bin",
        "app/bin",
        "modules/node_modules/.bin",
        "venvs/a/bin",
    ];
    let [_, system, left_out, _] = home.find(&path, "src");
    let shown = ["code/program", "bin/system", "app/bin/tool", "venvs/a"];
    assert_eq!(system, shown);
    let mut left_out = left_out;
    left_out.sort();
    assert_eq!(
        left_out,
        [
            "bin/own",
            "modules/node_modules/.bin/tool",
            "tools/bin/deploy",
            "venvs/a/bin/postactivate"
        ]
    );
}
