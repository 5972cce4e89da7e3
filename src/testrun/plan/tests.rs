//! What each runner is told.

use std::path::PathBuf;

use pretty_assertions::assert_eq;

use super::*;

fn file(path: &str) -> Target {
    Target::whole(PathBuf::from(path), false)
}

fn argv(runner: TestRunner, which: &Which, filter: Option<&str>) -> String {
    argv_of(runner, which, &[], filter, false)
}

fn argv_of(runner: TestRunner, which: &Which, cargo: &[CargoPart], filter: Option<&str>, is_workspace: bool) -> String {
    let wanted = Wanted {
        runner,
        program: vec!["x".to_owned()],
        project: Path::new("/w"),
        place: "/tmp/r",
        tmp: "/tmp",
        which,
        cargo,
        filter,
        is_workspace,
        script: &Script::default(),
    };
    plan(&wanted).argv.join(" ")
}

fn failed(file: &str, names: &[&str]) -> FailedTest {
    FailedTest {
        id: names.join("::"),
        file: file.to_owned(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
    }
}

#[test]
fn vitest_gets_its_reporter_and_no_coverage() {
    const START: &str = "x run --reporter=/tmp/r/replay-vitest.mjs --reporter=default --includeTaskLocation \
        --coverage.enabled=false";
    let vitest = |which: &Which, filter| argv(TestRunner::Vitest, which, filter);
    assert_eq!(vitest(&Which::All, None), START);
    assert_eq!(vitest(&Which::Changed, Some("a b")), format!("{START} --changed --testNamePattern=a b"));
    let targets = Which::Targets(vec![file("/w/src/a.test.ts"), Target::whole("/w/packages/b".into(), true)]);
    assert_eq!(vitest(&targets, None), format!("{START} src/a.test.ts packages/b/"));
    assert_eq!(vitest(&Which::Targets(vec![Target::whole("/w".into(), true)]), None), START);
    let again = Which::Failed(vec![failed("a.ts", &["sum", "adds (1+1)"]), failed("a.ts", &["x"])]);
    assert_eq!(vitest(&again, None), format!("{START} --testNamePattern=^ ?(?:sum(?: >)? adds \\(1\\+1\\)|x)$ a.ts"));
    // A file that did not load has no names to ask for.
    let whole = Which::Failed(vec![failed("a.ts", &["x"]), failed("-b.ts", &[])]);
    assert_eq!(vitest(&whole, None), format!("{START} ./-b.ts a.ts"));
}

#[test]
fn jest_is_given_paths_not_patterns() {
    const START: &str =
        "x --reporters=/tmp/r/replay-jest.cjs --reporters=default --testLocationInResults --coverage=false";
    let files = Which::Targets(vec![file("/w/a.test.js")]);
    assert_eq!(argv(TestRunner::Jest, &files, None), format!("{START} --runTestsByPath a.test.js"));
    let dir = Which::Targets(vec![Target::whole("/w/a.b".into(), true)]);
    assert_eq!(argv(TestRunner::Jest, &dir, Some("x")), format!("{START} --testNamePattern=x a\\.b/"));
}

#[test]
fn pytest_leaves_the_project_as_it_is() {
    const START: &str =
        "x -p replay_pytest --continue-on-collection-errors --color=no -o cache_dir=/tmp/r/pytest-cache --rootdir=/w";
    let part = Which::Targets(vec![Target { part: "::T::test_x".to_owned(), ..file("/w/tests/test_a.py") }]);
    assert_eq!(
        argv(TestRunner::Pytest, &part, Some("not slow")),
        format!("{START} -knot slow tests/test_a.py::T::test_x")
    );
    let again = Which::Failed(vec![failed("t.py", &["T", "test_y[1]"])]);
    assert_eq!(argv(TestRunner::Pytest, &again, None), format!("{START} t.py::T::test_y[1]"));
    let wanted = Wanted {
        runner: TestRunner::Pytest,
        program: vec!["python3".to_owned()],
        project: Path::new("/w"),
        place: "/tmp/r",
        tmp: "/tmp",
        which: &Which::All,
        cargo: &[],
        filter: Some("it's"),
        is_workspace: false,
        script: &Script::default(),
    };
    assert_eq!(
        line(&plan(&wanted)),
        "exec env REPLAY_TEST_REPORT=/tmp/r/report PYTHONPYCACHEPREFIX=/tmp/python-cache \
         PYTHONPATH=/tmp/r\"${PYTHONPATH:+:$PYTHONPATH}\" python3 -p replay_pytest --continue-on-collection-errors \
         --color=no -o cache_dir=/tmp/r/pytest-cache --rootdir=/w '-kit'\\''s'"
    );
}

#[test]
fn a_file_of_rust_is_a_target_or_a_module() {
    let part = |package: &str, what| CargoPart { package: package.to_owned(), what };
    let of = ["tests/it/main.rs", "tests/cli.rs", "src/text/glob.rs", "src/edit/mod.rs", "src/lib.rs", "build.rs"];
    assert_eq!(
        of.map(cargo_targets),
        [
            CargoTargets::Test("it".to_owned()),
            CargoTargets::Test("cli".to_owned()),
            CargoTargets::Module("text::glob".to_owned()),
            CargoTargets::Module("edit".to_owned()),
            CargoTargets::All,
            CargoTargets::All,
        ]
    );
    let cargo = |parts: &[CargoPart], filter| argv_of(TestRunner::CargoTest, &Which::All, parts, filter, true);
    assert_eq!(cargo(&[], Some("glob")), "x test --no-fail-fast --color=never --workspace -- glob");
    assert_eq!(
        cargo(&[part("a", cargo_targets("src/x/y.rs")), part("b", cargo_targets("src/z.rs"))], None),
        "x test --no-fail-fast --color=never --package=a --package=b -- x::y z"
    );
    assert_eq!(
        cargo(&[part("a", cargo_targets("src/x.rs")), part("a", cargo_targets("tests/it.rs"))], None),
        "x test --no-fail-fast --color=never --package=a --test=it --lib --bins"
    );
    let again = Which::Failed(vec![failed("a", &["m", "t"]), failed("a", &["u"])]);
    // No name of a test is an option.
    let option = Which::Failed(vec![failed("a", &["--list"]), failed("a", &["u"])]);
    assert_eq!(argv(TestRunner::CargoTest, &option, None), "x test --no-fail-fast --color=never -- --exact u");
    assert_eq!(argv(TestRunner::CargoTest, &again, None), "x test --no-fail-fast --color=never -- --exact m::t u");
    assert_eq!(
        argv(TestRunner::Nextest, &again, None),
        "x nextest run --profile=replay --tool-config-file=replay:/tmp/r/nextest.toml --no-fail-fast --color=never \
         --filterset=test(=m::t) + test(=u)"
    );
}

#[test]
fn go_tests_packages() {
    let targets =
        Which::Targets(vec![file("/w/a/x_test.go"), Target::whole("/w/b".into(), true), file("/w/y_test.go")]);
    assert_eq!(argv(TestRunner::Go, &targets, Some("^A$")), "x test -json -run=^A$ . ./a ./b/...");
    let again = Which::Failed(vec![failed("m/a", &["TestA", "sub"]), failed("m/a", &["TestA", "b"])]);
    assert_eq!(argv(TestRunner::Go, &again, None), "x test -json -run=^(?:TestA)$ m/a");
    assert_eq!(argv(TestRunner::Go, &Which::All, None), "x test -json ./...");
}

#[test]
fn what_the_test_script_says_is_done() {
    let environment = vec![("MODE".to_owned(), "a b".to_owned())];
    let script = Script { environment, config: Some("e2e.ts".to_owned()), unheeded: Vec::new() };
    let wanted = |runner| Wanted {
        runner,
        program: vec!["x".to_owned()],
        project: Path::new("/w"),
        place: "/tmp/r",
        tmp: "/tmp",
        which: &Which::All,
        cargo: &[],
        filter: None,
        is_workspace: false,
        script: &script,
    };
    for runner in [TestRunner::Vitest, TestRunner::Jest] {
        let line = line(&plan(&wanted(runner)));
        assert!(line.starts_with("exec env MODE='a b' REPLAY_TEST_REPORT=/tmp/r/report x "), "{line}");
        assert!(line.contains(" --config=e2e.ts"), "{line}");
    }
}
