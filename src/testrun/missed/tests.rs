//! What was asked for and did not run, by runner.

use pretty_assertions::assert_eq;

use super::*;
use crate::testrun::model::Listed;

const GO: &str = "package a\n\nfunc TestMain(m *testing.M) {}\nfunc TestA(t *testing.T) {}\nfunc helper() {}\n";

fn parsed(files: &[&str], tests: &[(&str, State)]) -> Parsed {
    let listed = |(id, state): &(&str, State)| Listed { id: (*id).to_owned(), state: *state, duration_ms: None };
    Parsed {
        files: files.iter().map(|file| (*file).to_owned()).collect(),
        tests: tests.iter().map(listed).collect(),
        ..Parsed::default()
    }
}

fn missed_of(runner: TestRunner, which: &Which, is_filtered: bool, parsed: &Parsed) -> Vec<String> {
    let cargo_part = |target: &Target| {
        let what = super::super::plan::cargo_targets(&target.below(Path::new("/w")));
        Some(CargoPart { package: "shop".to_owned(), what })
    };
    let asked = Asked {
        runner,
        which,
        is_filtered,
        project: Path::new("/w"),
        go_package: "example.com/demo",
        true_path: &|path| (path == Path::new("/w/link.test.ts")).then(|| PathBuf::from("/w/src/true.test.ts")),
        text: &|_| Some(GO.to_owned()),
        cargo_part: &cargo_part,
    };
    missed(&asked, parsed)
}

fn targets(paths: &[&str]) -> Which {
    let target = |path: &&str| {
        let (file, part) = path.split_at(path.find("::").unwrap_or(path.len()));
        let whole = Target::whole(Path::new("/w").join(file.trim_end_matches('/')), file.ends_with('/'));
        Target { part: part.to_owned(), ..whole }
    };
    Which::Targets(paths.iter().map(target).collect())
}

#[test]
fn files_are_compared_with_those_that_the_runner_took_up() {
    let ran = parsed(&["src/a.test.ts", "/w/src/b.test.ts", "./x/../src/true.test.ts"], &[]);
    let of = |paths: &[&str]| missed_of(TestRunner::Vitest, &targets(paths), false, &ran);
    assert_eq!(of(&["src/a.test.ts", "src/b.test.ts", "link.test.ts", "src/"]), [""; 0]);
    assert_eq!(of(&["src/a.test.ts", "src/c.test.ts", "sr/", "src/a.test/"]), ["src/c.test.ts", "sr", "src/a.test"]);
    assert_eq!(missed_of(TestRunner::Vitest, &Which::All, false, &ran), [""; 0]);
}

#[test]
fn of_what_a_glob_matches_only_tests_are_missed() {
    let matched = |name: &str| Target { is_matched: true, ..Target::whole(Path::new("/w").join(name), false) };
    let which = Which::Targets(vec![matched("helper.ts"), matched("b.spec.tsx")]);
    assert_eq!(missed_of(TestRunner::Jest, &which, false, &parsed(&[], &[])), ["b.spec.tsx"]);
}

#[test]
fn parts_of_files_are_compared_by_node_id() {
    let ran = parsed(&["t.py"], &[("t.py::A::x", State::Passed), ("t.py::y[1]", State::Skipped)]);
    let of = |is_filtered| {
        missed_of(TestRunner::Pytest, &targets(&["t.py::A", "t.py::y", "t.py::z", "u.py"]), is_filtered, &ran)
    };
    assert_eq!(of(false), ["t.py::z", "u.py"]);
    assert_eq!(of(true), ["u.py"]);
}

#[test]
fn files_of_rust_are_programs_or_modules() {
    let which =
        targets(&["tests/it.rs", "tests/cli.rs", "src/text/glob.rs", "src/edit.rs", "src/lib.rs", "benches/b.rs"]);
    let ran = parsed(
        &[],
        &[
            ("it (tests/it/main.rs) > a::b", State::Passed),
            ("shop (src/lib.rs) > text::glob::tests::x", State::Passed),
            ("shop (src/lib.rs) > reedit::x", State::Passed),
        ],
    );
    assert_eq!(missed_of(TestRunner::CargoTest, &which, false, &ran), ["tests/cli.rs", "src/edit.rs", "benches/b.rs"]);
    assert_eq!(missed_of(TestRunner::CargoTest, &which, true, &ran), [""; 0]);
    let ran = parsed(&[], &[("shop::it a::b", State::Passed), ("shop edit::tests::x", State::Passed)]);
    assert_eq!(
        missed_of(TestRunner::Nextest, &which, false, &ran),
        ["tests/cli.rs", "src/text/glob.rs", "benches/b.rs"]
    );
}

#[test]
fn files_of_go_are_packages_and_what_they_declare() {
    let which = targets(&["a/a_test.go", "b/b_test.go", "c/", "a/"]);
    let ran = parsed(&[], &[("example.com/demo/a > TestA/sub/x", State::Passed)]);
    assert_eq!(missed_of(TestRunner::Go, &which, false, &ran), ["b/b_test.go", "c"]);
    // Another file of the package has run.
    let ran = parsed(&[], &[("example.com/demo/a > TestB", State::Passed)]);
    assert_eq!(missed_of(TestRunner::Go, &targets(&["a/a_test.go"]), false, &ran), ["a/a_test.go"]);
}

#[test]
fn tests_that_were_to_run_again_are_compared_by_id() {
    let test = |id: &str, names: &[&str]| FailedTest {
        id: id.to_owned(),
        file: "a.ts".to_owned(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    let which = Which::Failed(vec![test("a.ts > x", &["x"]), test("a.ts > y", &["y"]), test("", &[])]);
    let ran = parsed(&["a.ts"], &[("a.ts > x", State::Failed), ("a.ts > y", State::Skipped)]);
    assert_eq!(missed_of(TestRunner::Vitest, &which, false, &ran), ["a.ts > y"]);
    assert_eq!(missed_of(TestRunner::Vitest, &which, false, &parsed(&[], &[])), ["a.ts > x", "a.ts > y", "a.ts"]);
}
