//! Tests of the runners' command lines.

use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;

use super::*;
use crate::changes::{AffectedTests, GitChanges};
use crate::command::{RunInputs, RunPlan, line};
use crate::project::disk::tests::tree;
use crate::project::files::NamedPath;
use crate::project::script::TestScript;
use crate::selection::{FailedTest, TestSelection};

fn file(path: &str) -> NamedPath {
    NamedPath::whole(PathBuf::from(path), false)
}

fn argv(runner: &dyn Runner, selection: &TestSelection, filter: Option<&str>) -> String {
    argv_in(runner, &[], selection, filter)
}

fn argv_in(
    runner: &dyn Runner,
    files: &[(&'static str, &'static str)],
    selection: &TestSelection,
    filter: Option<&str>,
) -> String {
    plan(
        runner,
        "x",
        files,
        selection,
        filter,
        &TestScript::default(),
    )
    .argv
    .join(" ")
}

fn plan(
    runner: &dyn Runner,
    program: &str,
    files: &[(&'static str, &'static str)],
    selection: &TestSelection,
    filter: Option<&str>,
    script: &TestScript,
) -> RunPlan {
    let wanted = RunInputs {
        program: &[program.to_owned()],
        project: Path::new("/w"),
        tree: &tree(files),
        place: "/tmp/r",
        tmp: "/tmp",
        selection,
        by_package: false,
        filter,
        script,
    };
    runner.plan(&wanted).unwrap()
}

fn failed(file: &str, names: &[&str]) -> FailedTest {
    FailedTest {
        id: names.join("::"),
        file: file.to_owned(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
    }
}

#[test]
fn vitest_command_has_reporter_without_coverage() {
    const START: &str = "x run --reporter=/tmp/r/replay-vitest.mjs --reporter=default --includeTaskLocation \
        --coverage.enabled=false";
    let vitest = |selection: &TestSelection, filter| argv(&Vitest, selection, filter);
    assert_eq!(vitest(&TestSelection::All, None), START);
    assert_eq!(
        vitest(&TestSelection::Changed, Some("a b")),
        format!("{START} --changed --testNamePattern=a b")
    );
    let targets = TestSelection::Targets(vec![
        file("/w/src/a.test.ts"),
        NamedPath::whole("/w/packages/b".into(), true),
    ]);
    assert_eq!(
        vitest(&targets, None),
        format!("{START} src/a.test.ts packages/b/")
    );
    assert_eq!(
        vitest(
            &TestSelection::Targets(vec![NamedPath::whole("/w".into(), true)]),
            None
        ),
        START
    );
    let again = TestSelection::Failed(vec![
        failed("a.ts", &["sum", "adds (1+1)"]),
        failed("a.ts", &["x"]),
    ]);
    assert_eq!(
        vitest(&again, None),
        format!("{START} --testNamePattern=^ ?(?:sum(?: >)? adds \\(1\\+1\\)|x)$ a.ts")
    );
    // A file that did not load has no test names.
    let whole = TestSelection::Failed(vec![failed("a.ts", &["x"]), failed("-b.ts", &[])]);
    assert_eq!(vitest(&whole, None), format!("{START} ./-b.ts a.ts"));
}

#[test]
fn jest_command_has_paths_not_patterns() {
    const START: &str = "x --reporters=/tmp/r/replay-jest.cjs --reporters=default --testLocationInResults --coverage=false";
    let files = TestSelection::Targets(vec![file("/w/a.test.js")]);
    assert_eq!(
        argv(&Jest, &files, None),
        format!("{START} --runTestsByPath a.test.js")
    );
    let dir = TestSelection::Targets(vec![NamedPath::whole("/w/a.b".into(), true)]);
    assert_eq!(
        argv(&Jest, &dir, Some("x")),
        format!("{START} --testNamePattern=x a\\.b/")
    );
}

#[test]
fn unittest_and_django_commands_name_node_ids() {
    let again = TestSelection::Failed(vec![failed("tests/test_a.py", &["T", "test_y"])]);
    let tox = [("/w/tox.ini", "python -m unittest discover -v -s tests\n")];
    assert_eq!(
        argv_in(&Unittest, &tox, &again, Some("a b")),
        "x -s tests -ka b tests/test_a.py::T::test_y"
    );
    assert_eq!(
        argv(&Django, &again, None),
        "x test --noinput --testrunner=replay_unittest.DjangoRunner tests/test_a.py::T::test_y"
    );
}

#[test]
fn pytest_command_keeps_project_unchanged() {
    const START: &str = "x -p replay_pytest --continue-on-collection-errors --color=no -o cache_dir=/tmp/r/pytest-cache --rootdir=/w";
    let part = TestSelection::Targets(vec![NamedPath {
        part: "::T::test_x".to_owned(),
        ..file("/w/tests/test_a.py")
    }]);
    assert_eq!(
        argv(&Pytest, &part, Some("not slow")),
        format!("{START} -knot slow tests/test_a.py::T::test_x")
    );
    let again = TestSelection::Failed(vec![failed("t.py", &["T", "test_y[1]"])]);
    assert_eq!(
        argv(&Pytest, &again, None),
        format!("{START} t.py::T::test_y[1]")
    );
    let plan = plan(
        &Pytest,
        "python3",
        &[],
        &TestSelection::All,
        Some("it's"),
        &TestScript::default(),
    );
    assert_eq!(
        line(&plan),
        "exec env REPLAY_TEST_REPORT=/tmp/r/report PYTHONPYCACHEPREFIX=/tmp/python-cache \
         PYTHONDONTWRITEBYTECODE='' PYTHONPATH=/tmp/r\"${PYTHONPATH:+:$PYTHONPATH}\" python3 -p replay_pytest --continue-on-collection-errors \
         --color=no -o cache_dir=/tmp/r/pytest-cache --rootdir=/w '-kit'\\''s'"
    );
}

#[test]
fn cargo_command_selects_target_or_module() {
    let files = [
        ("/w/Cargo.toml", "[workspace]\n"),
        ("/w/a/Cargo.toml", "[package]\nname = \"a\"\n"),
        ("/w/b/Cargo.toml", "[package]\nname = \"b\"\n"),
        ("/w/a/src/x/y.rs", ""),
        ("/w/b/src/z.rs", ""),
        ("/w/a/tests/it.rs", ""),
    ];
    let cargo = |named: &[&str], filter| {
        let targets = TestSelection::Targets(named.iter().map(|path| file(path)).collect());
        argv_in(
            &CargoTest,
            &files,
            if named.is_empty() {
                &TestSelection::All
            } else {
                &targets
            },
            filter,
        )
    };
    assert_eq!(
        cargo(&[], Some("glob")),
        "x test --no-fail-fast --color=never --workspace -- glob"
    );
    assert_eq!(
        cargo(&["/w/a/src/x/y.rs", "/w/b/src/z.rs"], None),
        "x test --no-fail-fast --color=never --package=a --package=b -- x::y z"
    );
    assert_eq!(
        cargo(&["/w/a/src/x.rs", "/w/a/tests/it.rs"], None),
        "x test --no-fail-fast --color=never --package=a --test=it --lib --bins"
    );
    let again = TestSelection::Failed(vec![failed("a", &["m", "t"]), failed("a", &["u"])]);
    // A test name is never parsed as an option.
    let option = TestSelection::Failed(vec![failed("a", &["--list"]), failed("a", &["u"])]);
    assert_eq!(
        argv(&CargoTest, &option, None),
        "x test --no-fail-fast --color=never -- --exact u"
    );
    assert_eq!(
        argv(&CargoTest, &again, None),
        "x test --no-fail-fast --color=never -- --exact m::t u"
    );
    assert_eq!(
        argv(&Nextest, &again, None),
        "x nextest run --profile=replay --tool-config-file=replay:/tmp/r/nextest.toml --no-fail-fast --color=never \
         --filterset=test(=m::t) + test(=u)"
    );
}

#[test]
fn go_command_selects_packages() {
    let targets = TestSelection::Targets(vec![
        file("/w/a/x_test.go"),
        NamedPath::whole("/w/b".into(), true),
        file("/w/y_test.go"),
    ]);
    assert_eq!(
        argv(&Go, &targets, Some("^A$")),
        "x test -json -run=^A$ . ./a ./b/..."
    );
    let again = TestSelection::Failed(vec![
        failed("m/a", &["TestA", "sub"]),
        failed("m/a", &["TestA", "b"]),
    ]);
    assert_eq!(argv(&Go, &again, None), "x test -json -run=^(?:TestA)$ m/a");
    assert_eq!(argv(&Go, &TestSelection::All, None), "x test -json ./...");
}

/// Files of a project of two modules.
const JVM: [(&str, &str); 5] = [
    ("/w/pom.xml", ""),
    ("/w/a/pom.xml", ""),
    ("/w/a/build.gradle", ""),
    (
        "/w/a/src/test/java/x/ATest.java",
        "package x;\nclass ATest {}\n",
    ),
    ("/w/a/src/test/java/BTest.kt", "class BTest\n"),
];

#[test]
fn gradle_command_selects_modules_classes_and_methods() {
    const START: &str = "x --init-script=/tmp/r/replay.gradle --no-daemon --continue --console=plain \
        -Dorg.gradle.configuration-cache=false -Dorg.gradle.unsafe.configuration-cache=false \
        -Dorg.gradle.unsafe.isolated-projects=false -Dorg.gradle.logging.level=lifecycle";
    let of = |selection: &TestSelection, filter| {
        let argv = argv_in(&Gradle, &JVM, selection, filter);
        argv.strip_prefix(START).unwrap().to_owned()
    };
    assert_eq!(of(&TestSelection::All, Some("*x")), " test --tests=*x");
    let module = TestSelection::Targets(vec![NamedPath::whole("/w/a".into(), true)]);
    assert_eq!(of(&module, None), " a:test");
    let dir = TestSelection::Targets(vec![NamedPath::whole("/w/a/src".into(), true)]);
    assert_eq!(
        of(&dir, Some("t*")),
        " test --tests=BTest.t* --tests=x.ATest.t*"
    );
    let again = TestSelection::Failed(vec![
        failed("x.ATest", &["one()"]),
        failed("x.BTest", &["two(int)[1]"]),
        failed("x.CTest", &[]),
    ]);
    assert_eq!(
        of(&again, None),
        " test --tests=x.ATest --tests=x.BTest --tests=x.CTest"
    );
    let again = TestSelection::Failed(vec![failed("x.ATest", &["one()"])]);
    assert_eq!(of(&again, None), " test --tests=x.ATest.one");
    // A file that was not compiled.
    let again = TestSelection::Failed(vec![failed("a/src/x/A.java", &[])]);
    assert_eq!(of(&again, None), " test");
}

#[test]
fn maven_command_selects_modules_classes_and_methods() {
    let of = |selection: &TestSelection, filter| {
        let argv = argv_in(&Maven, &JVM, selection, filter);
        let argv = argv.strip_prefix("x -V -B -ntp -fae").unwrap();
        argv.strip_suffix("-DtrimStackTrace=false test")
            .unwrap()
            .trim()
            .to_owned()
    };
    let none = "-Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false";
    assert_eq!(of(&TestSelection::All, None), "");
    let module = TestSelection::Targets(vec![NamedPath::whole("/w/a".into(), true)]);
    assert_eq!(of(&module, None), "-pl a -am");
    let named = TestSelection::Targets(vec![file("/w/a/src/test/java/x/ATest.java")]);
    assert_eq!(of(&named, Some("t*")), format!("-Dtest=x.ATest#t* {none}"));
    let again = TestSelection::Failed(vec![failed("x.ATest", &["one"]), failed("", &["x.BTest"])]);
    assert_eq!(
        of(&again, None),
        format!("-Dtest=x.ATest#one,x.BTest {none}")
    );
}

#[test]
fn ctest_command_uses_build_directory() {
    let built = [
        ("/w/CMakeLists.txt", ""),
        ("/w/out/x/CMakeCache.txt", ""),
        ("/w/out/x/CTestTestfile.cmake", ""),
        ("/w/out/y/CTestTestfile.cmake", ""),
    ];
    let words = |files, selection: &TestSelection, filter| {
        let argv = plan(
            &Ctest,
            "x",
            files,
            selection,
            filter,
            &TestScript::default(),
        )
        .argv;
        argv[4..].join(" ")
    };
    let rest = "--output-junit /tmp/r/report --no-tests=error";
    assert_eq!(
        words(&built, &TestSelection::All, Some("a")),
        format!("out/x  {rest} -R a")
    );
    let dir = TestSelection::Targets(vec![NamedPath::whole("/w/sub".into(), true)]);
    assert_eq!(words(&[], &dir, None), format!("/tmp/ctest-w sub {rest}"));
    let again = TestSelection::Failed(vec![failed("", &["a.b"]), failed("", &["c"])]);
    assert_eq!(
        words(&built, &again, None),
        format!("out/x  {rest} -R ^(a\\.b|c)$")
    );
}

#[test]
fn dotnet_command_selects_projects_and_classes() {
    let files = [
        ("/w/a/a.csproj", ""),
        (
            "/w/a/CartTests.cs",
            "using Xunit;\nnamespace Shop.Tests;\nclass CartTests { }\n",
        ),
    ];
    let of = |selection: &TestSelection, filter| {
        let argv = argv_in(&Dotnet, &files, selection, filter);
        let rest = " --logger trx --blame --results-directory /tmp/r -nodeReuse:false \
            -p:UseSharedCompilation=false";
        argv.strip_prefix("x test")
            .unwrap()
            .strip_suffix(rest)
            .unwrap()
            .to_owned()
    };
    assert_eq!(of(&TestSelection::All, Some("Cart")), " --filter Cart");
    let dir = TestSelection::Targets(vec![NamedPath::whole("/w/a".into(), true)]);
    assert_eq!(of(&dir, None), " a");
    let named = TestSelection::Targets(vec![file("/w/a/CartTests.cs")]);
    let class = "FullyQualifiedName~Shop.Tests.CartTests.";
    assert_eq!(
        of(&named, Some("Adds")),
        format!(" --filter ({class})&(Adds)")
    );
    let again = TestSelection::Failed(vec![failed("Shop.CartTests", &["Counts(items: 2)"])]);
    assert_eq!(
        of(&again, None),
        " --filter FullyQualifiedName=Shop.CartTests.Counts"
    );
}

#[test]
fn command_applies_test_script_settings() {
    let environment = vec![("MODE".to_owned(), "a b".to_owned())];
    let (node, options) = (vec!["--x".to_owned()], vec!["--config=e2e.ts".to_owned()]);
    let script = TestScript {
        environment,
        node,
        options,
        paths: Vec::new(),
        unheeded: None,
    };
    for (runner, begins) in [
        (&Vitest as &dyn Runner, "run --config=e2e.ts --reporter="),
        (&Jest, "--config=e2e.ts --reporters="),
    ] {
        let line = line(&plan(
            runner,
            "node",
            &[],
            &TestSelection::All,
            None,
            &script,
        ));
        let begins =
            format!("exec env MODE='a b' REPLAY_TEST_REPORT=/tmp/r/report node --x {begins}");
        assert!(line.starts_with(&begins), "{line}");
    }
}

#[test]
fn changed_files_select_tests_by_name_or_package() {
    let files = [
        "/w/p/core.py",
        "/w/p/shop/__init__.py",
        "/w/p/tests/test_a.py",
        "/w/p/tests/conftest.py",
        "/w/q/b.py",
    ]
    .map(PathBuf::from);
    let gone = ["/w/p/old.py", "/w/p/tests/test_old.py"].map(PathBuf::from);
    let data = PathBuf::from("/w/p/data.json");
    let changed = GitChanges {
        files: [&files[..], std::slice::from_ref(&data)].concat(),
        gone: gone.to_vec(),
    };
    let found = Pytest.affected(Path::new("/w/p"), &changed).unwrap();
    let expected = AffectedTests {
        targets: [
            NamedPath::whole("/w/p/tests".into(), true),
            NamedPath::whole("/w/p/tests/test_a.py".into(), false),
        ]
        .into(),
        globs: vec![
            (
                "**/{test_old,old_test,test_old_*}.py".to_owned(),
                gone[0].clone(),
            ),
            (
                "**/{test_core,core_test,test_core_*}.py".to_owned(),
                files[0].clone(),
            ),
            (
                "**/{test_shop,shop_test,test_shop_*}.py".to_owned(),
                files[1].clone(),
            ),
        ],
        by_package: false,
        unknown: vec![gone[1].clone(), data],
    };
    assert_eq!(found, expected);
    let files = ["/w/a/x.go", "/w/a/notes.md", "/w/go.sum"].map(PathBuf::from);
    let found = Go
        .affected(
            Path::new("/w"),
            &GitChanges {
                files: files.to_vec(),
                gone: Vec::new(),
            },
        )
        .unwrap();
    assert_eq!(
        found.targets,
        [NamedPath::whole("/w/a/x.go".into(), false)].into()
    );
    assert_eq!(found.unknown, files[1..]);
}

#[test]
fn rspec_command_reruns_by_full_description() {
    let begins = "x -r /tmp/r/replay_rspec.rb --format ReplayFormatter --out /dev/null \
                  --format progress --no-color --no-fail-fast";
    let targets = TestSelection::Targets(vec![file("/w/spec/a_spec.rb")]);
    assert_eq!(
        argv(&Rspec, &targets, Some("adds")),
        format!("{begins} --example adds spec/a_spec.rb")
    );
    let failures = vec![failed("spec/a_spec.rb", &["Calc", "#add", "a+b"])];
    assert_eq!(
        argv(&Rspec, &TestSelection::Failed(failures), None),
        format!("{begins} --example-matches \\A(?:Calc ?#add ?(?:a\\+b)?)\\z spec/a_spec.rb")
    );
}

#[test]
fn phpunit_command_selects_files_by_class() {
    let begins = "x --log-junit /tmp/r/report --log-teamcity php://stderr --colors=never \
                  --do-not-cache-result --no-coverage --no-logging";
    let config = [("/w/phpunit.xml.dist", ""), ("/w/tests/ATest.php", "")];
    let all = |files: &[(&'static str, &'static str)]| {
        argv_in(&Phpunit, files, &TestSelection::All, None)
    };
    assert_eq!(all(&config), begins);
    assert_eq!(all(&config[1..]), format!("{begins} tests"));
    let two = [file("/w/tests/a/ATest.php"), file("/w/tests/BTest.php")];
    assert_eq!(
        argv(
            &Phpunit,
            &TestSelection::Targets(two.to_vec()),
            Some("adds")
        ),
        format!("{begins} --filter /^(?=(?:.*\\\\)?(?:ATest::|BTest::)).*(?:adds)/i tests")
    );
    let failures = vec![failed(
        "tests/ATest.php",
        &["App\\ATest", "testX with data set \"a/b\""],
    )];
    assert_eq!(
        argv(&Phpunit, &TestSelection::Failed(failures), None),
        format!(
            "{begins} --filter /^(?=(?:.*\\\\)?(?:App\\\\ATest::testX with data set \"a\\/b\"$))/ \
             tests/ATest.php"
        )
    );
}

#[test]
fn phpunit_directory_beside_file_is_refused() {
    let targets = vec![
        file("/w/tests/ATest.php"),
        NamedPath::whole("/w/tests/b".into(), true),
    ];
    let wanted = RunInputs {
        program: &[],
        project: Path::new("/w"),
        tree: &tree(&[]),
        place: "/tmp/r",
        tmp: "/tmp",
        selection: &TestSelection::Targets(targets),
        by_package: false,
        filter: None,
        script: &TestScript::default(),
    };
    let refused = Phpunit.plan(&wanted).unwrap_err().to_string();
    assert_eq!(
        refused,
        "PHPUnit runs one directory in a call; give `testFiles` one directory, or only files"
    );
}

#[test]
fn bun_and_deno_commands_apply_script_and_filter() {
    let script = TestScript {
        options: vec!["--allow-read".to_owned()],
        ..TestScript::default()
    };
    let of = |runner: &dyn Runner, selection: &TestSelection, filter| {
        plan(runner, "x", &[], selection, filter, &script)
            .argv
            .join(" ")
    };
    let targets = TestSelection::Targets(vec![file("/w/src/a.test.ts")]);
    let failures = TestSelection::Failed(vec![failed("src/a.test.ts", &["a/b", "c"])]);
    let bun = "x test --allow-read --no-coverage --reporter=junit \
               --reporter-outfile=/tmp/r/report";
    assert_eq!(
        of(&Bun, &targets, Some("adds")),
        format!("{bun} --test-name-pattern=adds ./src/a.test.ts")
    );
    assert_eq!(
        of(&Bun, &failures, None),
        format!("{bun} --test-name-pattern=^ ?(?:a/b(?: >)? c)$ ./src/a.test.ts")
    );
    let deno = "x test --allow-read --junit-path=/tmp/r/report";
    assert_eq!(
        of(&Deno, &targets, Some("adds")),
        format!("{deno} --filter=adds src/a.test.ts")
    );
    assert_eq!(
        of(&Deno, &failures, None),
        format!("{deno} --filter=/^(?:a\\/b|a\\/b > c)$/ src/a.test.ts")
    );
}

#[test]
fn changed_source_selects_tests_of_its_name() {
    let globs = |runner: &dyn Runner, path: &str| {
        let changed = GitChanges {
            files: vec![path.into(), "/w/data.json".into()],
            gone: Vec::new(),
        };
        let found = runner.affected(Path::new("/w"), &changed).unwrap();
        assert_eq!(found.unknown, [PathBuf::from("/w/data.json")]);
        let globs: Vec<String> = found.globs.into_iter().map(|(glob, _)| glob).collect();
        globs.join(" ")
    };
    let scripts = "{js,jsx,ts,tsx,mjs,mts,cjs,cts}";
    assert_eq!(globs(&Rspec, "/w/lib/calc.rb"), "**/calc_spec.rb");
    assert_eq!(globs(&Phpunit, "/w/src/Calc.php"), "**/CalcTest.php");
    for runner in [&Bun as &dyn Runner, &Deno] {
        let expected = format!("**/calc{{.,_}}{{test,spec}}.{scripts}");
        assert_eq!(globs(runner, "/w/src/calc.ts"), expected);
    }
    assert_eq!(Jest.affected(Path::new("/w"), &GitChanges::default()), None);
}
