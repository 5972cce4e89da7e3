//! Requested tests that did not run, for each runner.

use pretty_assertions::assert_eq;

use super::*;
use std::path::PathBuf;

use crate::completeness_input::ProjectFacts;
use crate::model::Listed;
use crate::project::disk::tests::tree;
use crate::runners::{CargoTest, Go, Jest, Nextest, Pytest, Vitest};

const GO: &str =
    "package a\n\nfunc TestMain(m *testing.M) {}\nfunc TestA(t *testing.T) {}\nfunc helper() {}\n";

fn results(files: &[&str], tests: &[(&str, State)]) -> TestResults {
    let listed = |(id, state): &(&str, State)| Listed {
        id: (*id).to_owned(),
        state: *state,
        duration_ms: None,
    };
    TestResults {
        files: files.iter().map(|file| (*file).to_owned()).collect(),
        tests: tests.iter().map(listed).collect(),
        ..TestResults::default()
    }
}

fn missed_of(
    runner: &dyn Runner,
    selection: &TestSelection,
    is_filtered: bool,
    results: &TestResults,
) -> Vec<String> {
    let facts = ProjectFacts {
        go_package: "example.com/demo".to_owned(),
        ..ProjectFacts::default()
    };
    let evidence = Evidence {
        is_filtered,
        project: Path::new("/w"),
        facts: &facts,
        true_path: &|path| {
            (path == Path::new("/w/link.test.ts")).then(|| PathBuf::from("/w/src/true.test.ts"))
        },
        tree: &tree(&[
            ("/w/Cargo.toml", "[package]\nname = \"shop\"\n"),
            ("/w/a/a_test.go", GO),
            ("/w/tests/it.rs", ""),
            ("/w/src/text/glob.rs", ""),
            ("/w/benches/b.rs", ""),
        ]),
        by_package: false,
        results,
    };
    missed(runner, selection, &evidence)
}

fn targets(paths: &[&str]) -> TestSelection {
    let target = |path: &&str| {
        let (file, part) = path.split_at(path.find("::").unwrap_or(path.len()));
        let whole = NamedPath::whole(
            Path::new("/w").join(file.trim_end_matches('/')),
            file.ends_with('/'),
        );
        NamedPath {
            part: part.to_owned(),
            ..whole
        }
    };
    TestSelection::Targets(paths.iter().map(target).collect())
}

#[test]
fn named_file_not_collected_is_missed() {
    let ran = results(
        &[
            "src/a.test.ts",
            "/w/src/b.test.ts",
            "./x/../src/true.test.ts",
        ],
        &[],
    );
    let of = |paths: &[&str]| missed_of(&Vitest, &targets(paths), false, &ran);
    assert_eq!(
        of(&["src/a.test.ts", "src/b.test.ts", "link.test.ts", "src/"]),
        [""; 0]
    );
    assert_eq!(
        of(&["src/a.test.ts", "src/c.test.ts", "sr/", "src/a.test/"]),
        ["src/c.test.ts", "sr", "src/a.test"]
    );
    assert_eq!(
        missed_of(&Vitest, &TestSelection::All, false, &ran),
        [""; 0]
    );
}

#[test]
fn glob_matched_file_is_missed_only_if_test() {
    let matched = |name: &str| NamedPath {
        is_matched: true,
        ..NamedPath::whole(Path::new("/w").join(name), false)
    };
    let selection = TestSelection::Targets(vec![matched("helper.ts"), matched("b.spec.tsx")]);
    assert_eq!(
        missed_of(&Jest, &selection, false, &results(&[], &[])),
        ["b.spec.tsx"]
    );
}

#[test]
fn pytest_node_id_without_test_is_missed() {
    let ran = results(
        &["t.py"],
        &[
            ("t.py::A::x", State::Passed),
            ("t.py::y[1]", State::Skipped),
        ],
    );
    let of = |is_filtered| {
        missed_of(
            &Pytest,
            &targets(&["t.py::A", "t.py::y", "t.py::z", "u.py"]),
            is_filtered,
            &ran,
        )
    };
    assert_eq!(of(false), ["t.py::z", "u.py"]);
    assert_eq!(of(true), ["u.py"]);
}

#[test]
fn rust_file_without_tests_run_is_missed() {
    let selection = targets(&[
        "tests/it.rs",
        "tests/cli.rs",
        "src/text/glob.rs",
        "src/edit.rs",
        "src/lib.rs",
        "benches/b.rs",
    ]);
    let ran = results(
        &[],
        &[
            ("it (tests/it/main.rs) > a::b", State::Passed),
            ("shop (src/lib.rs) > text::glob::tests::x", State::Passed),
            ("shop (src/lib.rs) > reedit::x", State::Passed),
        ],
    );
    assert_eq!(
        missed_of(&CargoTest, &selection, false, &ran),
        ["tests/cli.rs", "src/edit.rs", "benches/b.rs"]
    );
    assert_eq!(missed_of(&CargoTest, &selection, true, &ran), [""; 0]);
    let ran = results(
        &[],
        &[
            ("shop::it a::b", State::Passed),
            ("shop edit::tests::x", State::Passed),
        ],
    );
    assert_eq!(
        missed_of(&Nextest, &selection, false, &ran),
        ["tests/cli.rs", "src/text/glob.rs", "benches/b.rs"]
    );
}

#[test]
fn go_file_without_declared_test_run_is_missed() {
    let selection = targets(&["a/a_test.go", "b/b_test.go", "c/", "a/"]);
    let ran = results(&[], &[("example.com/demo/a > TestA/sub/x", State::Passed)]);
    assert_eq!(
        missed_of(&Go, &selection, false, &ran),
        ["b/b_test.go", "c"]
    );
    // Another file of the package has run.
    let ran = results(&[], &[("example.com/demo/a > TestB", State::Passed)]);
    assert_eq!(
        missed_of(&Go, &targets(&["a/a_test.go"]), false, &ran),
        ["a/a_test.go"]
    );
}

#[test]
fn failed_test_not_rerun_is_missed() {
    let test = |id: &str, names: &[&str]| FailedTest {
        id: id.to_owned(),
        file: "a.ts".to_owned(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    let selection = TestSelection::Failed(vec![
        test("a.ts > x", &["x"]),
        test("a.ts > y", &["y"]),
        test("", &[]),
    ]);
    let ran = results(
        &["a.ts"],
        &[("a.ts > x", State::Failed), ("a.ts > y", State::Skipped)],
    );
    assert_eq!(missed_of(&Vitest, &selection, false, &ran), ["a.ts > y"]);
    assert_eq!(
        missed_of(&Vitest, &selection, false, &results(&[], &[])),
        ["a.ts > x", "a.ts > y", "a.ts"]
    );
}
