//! `type_check`.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{open, structured};
use crate::tree::Tree;

/// Makes a stub of tsc that records its arguments and prints this text.
fn fake_tsc(tree: &Tree, said: &str, code: i32) {
    tree.file(
        "work/node_modules/typescript/package.json",
        r#"{"version": "5.9.3", "bin": {"tsc": "./bin/tsc"}}"#,
    );
    tree.file(
        "work/node_modules/typescript/bin/tsc",
        format!(
            "require('fs').writeFileSync('arguments', process.argv.slice(2).join(' '));\n\
             process.stdout.write({});\nprocess.exitCode = {code};\n",
            json!(said)
        ),
    );
}

#[test]
fn tsc_checks_project_and_shows_requested_files() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    let root = tree.text("work");
    tree.file(
        "work/tsconfig.json",
        "{ // strict\n \"compilerOptions\": {\"strict\": true}, }",
    );
    tree.file("work/src/a.ts", "")
        .file("work/src/b.ts", "")
        .file("work/src/c.ts", "")
        .file("work/other.ts", "");
    fake_tsc(
        &tree,
        &format!(
            "src/a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.\n  More of it.\n\
             src/b.ts(2,1): error TS2304: Cannot find name 'x'.\n\
             {root}/node_modules/typescript/lib/lib.d.ts\n{root}/src/a.ts\n{root}/src/b.ts\n"
        ),
        2,
    );
    let reply = server.call("type_check", json!({}));
    if structured(&reply)["status"] == "missing_tool" {
        // No Node.js on this machine.
        return;
    }
    let report = structured(&reply);
    assert_eq!(
        (&report["status"], &report["summary"]),
        (&json!("errors"), &json!({"errors": 2, "warnings": 0}))
    );
    assert_eq!(
        (&report["filesChecked"], &report["tool"]["version"]),
        (&json!(2), &json!("5.9.3"))
    );
    assert!(reply.result().get("isError").is_none());
    let arguments = tree.read("work/arguments");
    assert!(
        arguments.starts_with("-p . --noEmit --incremental --tsBuildInfoFile "),
        "{arguments}"
    );

    let some = server.call("type_check", json!({"files": ["src/a*.ts", "other.ts"]}));
    let report = structured(&some);
    assert_eq!(
        report["summary"],
        json!({"errors": 1, "warnings": 0, "hiddenOutsideScope": 1})
    );
    assert_eq!(report["diagnostics"][0]["line"], 1);
    assert_eq!(
        (&report["status"], &report["notChecked"]),
        (&json!("errors"), &json!(["other.ts"]))
    );
    assert!(
        some.text().contains("\nNOT CHECKED other.ts"),
        "{}",
        some.text()
    );
    let clean = server.call("type_check", json!({"files": ["src/c.ts"]}));
    assert_eq!(structured(&clean)["status"], "incomplete");
    // A file that suppresses all its errors has not been found to be clean.
    tree.file("work/src/b.ts", "// @ts-nocheck\n")
        .file("work/src/a.ts", "");
    fake_tsc(&tree, &format!("{root}/src/a.ts\n{root}/src/b.ts\n"), 0);
    let quiet = server.call("type_check", json!({"files": ["src/a.ts", "src/b.ts"]}));
    let report = structured(&quiet);
    assert_eq!(
        (&report["status"], &report["notChecked"]),
        (&json!("incomplete"), &json!(["src/b.ts"]))
    );
    assert!(
        quiet
            .text()
            .contains("[`src/b.ts` is not checked: the file has `@ts-nocheck`]"),
        "{}",
        quiet.text()
    );

    // Without -b, tsc does not check a project with references and reports no error.
    tree.file(
        "work/tsconfig.json",
        "{\"files\": [], \"references\": [{\"path\": \"./src\"}]}",
    );
    server.call("type_check", json!({}));
    let arguments = tree.read("work/arguments");
    assert_eq!(arguments, "-b --force --noEmit --pretty false --listFiles");
}

#[test]
fn mypy_cache_is_per_project() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    let mut cache = |project: &str| {
        let python = format!("work/{project}/.venv/bin/python");
        tree.file(format!("work/{project}/mypy.ini"), "[mypy]\n")
            .file(format!("work/{project}/a.py"), "x = 1\n");
        tree.program(
            &python,
            "#!/bin/sh\necho Success: no issues found in 1 source file\n",
        );
        let reply = server.call("type_check", json!({"cwd": project}));
        let report = structured(&reply);
        assert_eq!(report["status"], "clean", "{}", reply.text());
        let words = report["tool"]["command"].as_array().unwrap().clone();
        words
            .iter()
            .find_map(|word| {
                word.as_str()?
                    .strip_prefix("--cache-dir=")
                    .map(str::to_owned)
            })
            .unwrap()
    };
    let [one, other, again] = ["one", "other", "one"].map(&mut cache);
    assert_ne!(one, other);
    assert_eq!(one, again);
}

#[test]
fn only_installed_checker_is_chosen() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/a.py", "x = 1\n")
        .file("work/plain/b.py", "");
    let failed = server.call("type_check", json!({})).failure().unwrap();
    let hint = "hint: give the project's directory as `cwd`, or name the checker with `checker`: `tsc`, `deno`, \
                `eslint`, `cargo`, `go`, `mypy`, `pyright`, `pyrefly`, `ty`, `ruff`, `maven`, `dotnet`";
    assert!(failed.message.ends_with(hint), "{}", failed.message);
    for program in ["python", "mypy"] {
        let path = format!("work/.venv/bin/{program}");
        tree.program(
            &path,
            "#!/bin/sh\necho Success: no issues found in 1 source file\n",
        );
    }
    let reply = server.call("type_check", json!({"cwd": "plain"}));
    let report = structured(&reply);
    assert_eq!(
        (&report["status"], &report["tool"]["name"]),
        (&json!("clean"), &json!("mypy"))
    );
    assert_eq!(report["tool"]["cwd"], tree.text("work/plain"));
    let told = "[mypy: the project names no checker, and this is the only one installed]";
    assert!(reply.text().contains(told), "{}", reply.text());
    // A suggested checker gives way to an installed one. Of two suggested ones, none is the only
    // one.
    tree.file("work/pyproject.toml", "")
        .file("work/.venv/bin/pyright", "");
    let both = server.call("type_check", json!({}));
    assert!(
        both.text().contains("[mypy: a Python project]"),
        "{}",
        both.text()
    );
    std::fs::remove_file(tree.path("work/.venv/bin/mypy")).unwrap();
    let other = server.call("type_check", json!({}));
    assert_eq!(structured(&other)["tool"]["name"], "pyright");
    assert!(
        other
            .all_texts()
            .concat()
            .contains("[pyright: the project names no checker"),
        "{}",
        other.all_texts().concat()
    );
}

#[test]
fn undeclared_rust_module_is_reported_unchecked() {
    let tree = Tree::new();
    let Some(mut server) = super::runners::cargo_server(&tree) else {
        return;
    };
    tree.file("work/Cargo.toml", super::runners::CARGO)
        .file("work/src/lib.rs", "mod used;\n");
    tree.file("work/src/used.rs", "")
        .file("work/src/orphan.rs", "fn broken() -> u8 { \"no\" }\n");
    let reply = server.call(
        "type_check",
        json!({"files": ["src/lib.rs", "src/used.rs"]}),
    );
    assert_eq!(structured(&reply)["status"], "clean", "{}", reply.text());
    let reply = server.call("type_check", json!({"files": "src/*.rs"}));
    let report = structured(&reply);
    assert_eq!(
        (&report["status"], &report["notChecked"]),
        (&json!("incomplete"), &json!(["src/orphan.rs"]))
    );
}

#[test]
fn missing_checker_has_install_hint() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    assert_eq!(server.call("type_check", json!({})).code(), -32002);
    tree.file("work/tsconfig.json", "{}");
    let failed = server
        .call("type_check", json!({}))
        .failure()
        .unwrap()
        .message;
    assert!(
        failed.contains("hint: install it with `npm install -D typescript`"),
        "{failed}"
    );
}
