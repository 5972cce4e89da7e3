//! Hints for the next step in replies of failed runs and checks.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{fake_vitest_in, open, structured};
use crate::tree::Tree;

/// Makes a stub of Python in a virtual environment of `project` that runs this script.
fn fake_python(tree: &Tree, project: &str, does: &str) {
    let python = format!("{project}/.venv/bin/python");
    tree.program(&python, format!("#!/bin/sh\n{does}\n"));
}

#[test]
fn hint_lists_projects_with_named_file_first() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    for number in 1..=9 {
        tree.file(format!("work/many/p{number}/pytest.ini"), "[pytest]\n");
    }
    fake_vitest_in(&tree, "work/many/web", &[], "exit 0");
    tree.file(
        "work/many/zoo/package.json",
        json!({"devDependencies": {"vitest": "5"}}).to_string(),
    );
    tree.file("work/many/zoo/test/cart.test.ts", "")
        .file("work/many/zoo/tsconfig.json", "{}");
    let named = server
        .call(
            "run_tests",
            json!({"cwd": "many", "testFiles": ["test/cart.test.ts"]}),
        )
        .failure()
        .unwrap();
    let (_, hint) = named.message.split_once("hint: ").unwrap();
    let rest: Vec<String> = (1..=6)
        .map(|number| format!("`many/p{number}` (pytest)"))
        .collect();
    assert_eq!(
        hint,
        format!(
            "give one of these as `cwd`: `many/zoo` (vitest), `many/web` (vitest), {} and 3 more",
            rest.join(", ")
        )
    );
    // A tool that is missing in the directory itself.
    let lacks = server.call("run_tests", json!({"runner": "vitest"}));
    assert_eq!(
        structured(&lacks)["hint"],
        "vitest is not here, but projects below have it: give one of these as `cwd`: `many/web`"
    );
    let lacks = server.call("type_check", json!({"checker": "tsc"}));
    assert_eq!(
        structured(&lacks)["hint"],
        "install it with `npm install -D typescript`; commands have no network here, so the operator must run it"
    );
}

#[test]
fn test_directory_is_not_a_project() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/app/tests/test_a.py", "")
        .file("work/app/tests/unit/test_b.py", "");
    fake_python(
        &tree,
        "work/app",
        "echo \"python: No module named pytest\" >&2\nexit 1",
    );
    let venv = tree.text("work/app/.venv");
    let install = format!(
        "install it with `{venv}/bin/pip install pytest`, or as the project documents it; \
         commands have no network here, so the operator must run it"
    );
    for cwd in ["app", "app/tests"] {
        let lacks = server.call("run_tests", json!({"cwd": cwd}));
        assert_eq!(structured(&lacks)["hint"], install, "{cwd}");
    }
    // A subdirectory with its own project.
    tree.file("work/app/plugin/setup.py", "")
        .file("work/app/plugin/test_c.py", "");
    let lacks = server.call("run_tests", json!({"cwd": "app"}));
    assert_eq!(structured(&lacks)["hint"], install);
}

#[test]
fn file_without_extension_is_guessed() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/pytest.ini", "[pytest]\n")
        .file("work/t/test_lists.py", "")
        .file("work/t/test_list.txt", "");
    for given in [
        "test_lists",
        "t/test_lists",
        "test_lists.pyx",
        "test_lits.py",
    ] {
        let failed = server
            .call("run_tests", json!({"testFiles": [given]}))
            .failure()
            .unwrap();
        assert!(
            failed
                .message
                .ends_with("did you mean `t/test_lists.py`? glob_search lists the files"),
            "{}",
            failed.message
        );
    }
}

#[test]
fn missing_pytest_plugin_is_reported() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/pytest.ini", "[pytest]\naddopts = --cov=x\n")
        .file("work/src/humanize/__init__.py", "");
    fake_python(
        &tree,
        "work",
        "echo 'python: error: unrecognized arguments: --cov=x' >&2\nexit 4",
    );
    let venv = tree.text("work/.venv");
    let install = |package: &str| {
        format!(
            "install it with `{venv}/bin/pip install {package}`, or as the project documents it; \
             commands have no network here, so the operator must run it"
        )
    };
    let reply = server.call("run_tests", json!({}));
    assert_eq!(structured(&reply)["status"], "config_error");
    assert!(
        reply
            .failure()
            .unwrap()
            .message
            .contains("unrecognized arguments: --cov=x")
    );
    let told = "the project's options (`addopts`) contain `--cov=x`, but its plugin pytest-cov is \
        not installed: ";
    assert_eq!(
        structured(&reply)["hint"],
        format!("{told}{}", install("pytest-cov"))
    );

    let events = |module: &str| {
        let message = format!("ModuleNotFoundError: No module named '{module}'");
        let mut events = vec![json!({"event": "run_start", "version": "9.0.1"})];
        for number in 1..=3 {
            events.push(json!({"event": "file_end", "file": format!("test_{number}.py"), "errors": [{"message": message}]}));
        }
        events.push(json!({"event": "end", "passed": false}));
        events
            .iter()
            .flat_map(|event| [event.to_string(), "\n".to_owned()])
            .collect::<String>()
    };
    tree.file("work/events", events("humanize"));
    fake_python(
        &tree,
        "work",
        "cat events >>\"$REPLAY_TEST_REPORT\"\nexit 2",
    );
    let reply = server.call("run_tests", json!({}));
    let hint = "`src/humanize` exists, but its directory is not in sys.path: set pytest's \
        `pythonpath` to `src` (pytest 7 and newer), or install the project: ";
    assert_eq!(
        structured(&reply)["hint"],
        format!("{hint}{}", install("-e ."))
    );
    // All have the same message.
    let (_, text) = reply
        .text()
        .split_once('\n')
        .map(|(head, text)| (head.to_owned(), text.to_owned()))
        .unwrap();
    let lines: Vec<&str> = text.lines().take(3).collect();
    assert_eq!(
        lines,
        [
            "ERROR test_1.py (collect)",
            "  ModuleNotFoundError: No module named 'humanize'",
            "  and 2 more with the same message: test_2.py, test_3.py"
        ]
    );
    assert_eq!(
        structured(&reply)["fileErrors"].as_array().map(Vec::len),
        Some(3)
    );
    tree.file("work/events", events("numpy"));
    assert!(
        structured(&server.call("run_tests", json!({})))
            .get("hint")
            .is_none()
    );
}

#[test]
fn mypy_failure_reason_is_reported() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file("work/mypy.ini", "[mypy]\n")
        .file("work/a.py", "f(1)\n");
    let said = "echo 'a.py:3: error: INTERNAL ERROR -- Please try using mypy master on GitHub:\nhttps://mypy\nversion: 2.4.1' >&2\n\
                echo 'Traceback (most recent call last):\n  File \"plug.py\", line 4, in hook\nValueError: broken'\n\
                echo 'a.py:3: : note: use --pdb to drop into pdb' >&2\nexit 2";
    fake_python(&tree, "work", said);
    let reply = server.call("type_check", json!({}));
    let report = structured(&reply);
    assert_eq!(report["status"], "config_error");
    assert_eq!(report["diagnostics"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        report["diagnostics"][0]["message"],
        "INTERNAL ERROR\n  Traceback (most recent call last):\n    File \"plug.py\", line 4, in hook\n  ValueError: broken"
    );
}
