//! `run_tests` with stubs of Gradle, Maven, `CTest` and dotnet.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{counts, structured};
use crate::harness::Server;
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::{Tree, listing};

/// Starts a server without walls, whose commands find the programs in `bin`.
fn open(tree: &Tree) -> Server {
    let allow = format!("{}:rw", tree.dir("work").text("work"));
    let path = format!("{}:/usr/bin:/bin", tree.dir("bin").text("bin"));
    let line = [
        env!("CARGO_BIN_EXE_replay"),
        "--mcp-server",
        "--allow",
        &allow,
        "--tools",
        "files,tests",
        "--sandbox",
        "off",
        "--command-timeout-secs",
        "1",
    ];
    let variables = [("PATH", path.as_str())];
    Server::start_program(tree, &line, &variables).opened(NEWEST_HANDSHAKE)
}

/// Stub of Gradle that compiles until a file appears.
const GATED_GRADLE: &str = r#"#!/bin/sh
echo run >> runs
echo '> Task :app:compileJava'
until [ -e go ]; do sleep 0.01; done
cat >> "$REPLAY_TEST_REPORT" <<'EVENTS'
{"event":"run_start","version":"8.5"}
{"event":"test","file":"x.ATest","name":"a","state":"passed"}
EVENTS
echo 'BUILD SUCCESSFUL in 1s'
"#;

#[test]
fn equal_call_joins_run_that_builds() {
    let tree = Tree::new();
    let mut server = open(&tree);
    tree.file("work/build.gradle", "");
    tree.program("bin/gradle", GATED_GRADLE);
    // The time of the build does not count.
    let arguments = json!({"timeout": 1});
    let handed = server.call("run_tests", arguments.clone());
    assert_eq!(structured(&handed)["commandId"], "t1");
    let params =
        json!({"name": "run_tests", "arguments": arguments, "_meta": {"progressToken": "p"}});
    let id = server.send("tools/call", params);
    let message = server.recv()["params"]["message"].to_string();
    assert!(
        message.contains("building, :app:compileJava, "),
        "{message}"
    );
    tree.file("work/go", "");
    let joined = server.reply_to(&id);
    assert_eq!(counts(&joined), ("passed".to_owned(), [1, 0, 0]));
    assert_eq!(tree.read("work/runs"), "run\n");
}

/// Stub of Maven that writes the report of one class.
const MAVEN: &str = r#"#!/bin/sh
mkdir -p target/surefire-reports
echo '<testsuite name="x.ATest" tests="1"><testcase name="a" classname="x.ATest"/></testsuite>' \
    > target/surefire-reports/TEST-x.ATest.xml
echo '[INFO] Running x.ATest'
[ -e crash ] && exit 0
echo '[INFO] Tests run: 1, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s - in x.ATest'
echo '[INFO] BUILD SUCCESS'
"#;

#[test]
fn maven_report_from_before_does_not_count() {
    let tree = Tree::new();
    let mut server = open(&tree);
    tree.file("work/pom.xml", "<project/>");
    let class = "package x;\nclass ATest {}\n";
    tree.file("work/src/test/java/x/ATest.java", class);
    let stale =
        "<testsuite><testcase name=\"b\" classname=\"x.BTest\"><failure/></testcase></testsuite>";
    tree.file("work/target/surefire-reports/TEST-x.BTest.xml", stale);
    tree.program("bin/mvn", MAVEN);
    let passed = server.call("run_tests", json!({"testFiles": "ATest.java"}));
    assert_eq!(counts(&passed), ("passed".to_owned(), [1, 0, 0]));
    tree.file("work/crash", "");
    let crashed = server.call("run_tests", json!({}));
    assert_eq!(structured(&crashed)["status"], "crashed");
    assert_eq!(structured(&crashed)["unfinished"], json!(["x.ATest"]));
}

/// Stub of `CTest` with one test; that of `CMake` does nothing.
const CTEST: &str = r#"#!/bin/sh
[ "$1" = --version ] && exec echo 'ctest version 3.30.0'
echo "Test project $PWD"
echo '    Start 1: a'
echo '1/1 Test #1: a ......   Passed    0.01 sec'
echo 'Total Test time (real) =   0.01 sec'
"#;

#[test]
fn ctest_project_is_built_outside_of_it() {
    let tree = Tree::new();
    let mut server = open(&tree);
    tree.file("work/CMakeLists.txt", "enable_testing()\n");
    let cmake = "#!/bin/sh\n[ \"$1\" = -S ] && mkdir -p \"$4\"\nexit 0\n";
    tree.program("bin/cmake", cmake);
    tree.program("bin/ctest", CTEST);
    let before = listing(&tree.path("work"));
    let reply = server.call("run_tests", json!({}));
    assert_eq!(counts(&reply), ("passed".to_owned(), [1, 0, 0]));
    assert_eq!(structured(&reply)["runner"]["version"], "3.30.0");
    assert_eq!(listing(&tree.path("work")), before);
    let refused = server.call("run_tests", json!({"testFiles": "CMakeLists.txt"}));
    let message = refused.failure().unwrap().message;
    assert_eq!(
        message,
        "ctest knows no files of tests; `testFiles` may be one directory; give names of tests as \
         `filter` (a regular expression)"
    );
    // A project that is configured.
    let ignored = "set(CTEST_CUSTOM_TESTS_IGNORE\n  ${CTEST_CUSTOM_TESTS_IGNORE}\n  b \"c\"\n)\n";
    tree.file("work/build/CMakeCache.txt", "")
        .file("work/build/CTestTestfile.cmake", "")
        .file("work/build/CTestCustom.cmake", ignored);
    let reply = server.call("run_tests", json!({}));
    assert_eq!(counts(&reply), ("passed".to_owned(), [1, 0, 0]));
    let left_out = json!(["tests that the project ignores: b, c"]);
    assert_eq!(structured(&reply)["leftOut"], left_out);
}

/// Stub of dotnet that writes a report for each of two assemblies.
const DOTNET: &str = r#"#!/bin/sh
until [ "$1" = --results-directory ]; do shift; done
for name in A B; do
    echo "Test run for /p/$name.dll (.NETCoreApp,Version=v8.0)"
    cat > "$2/$name.trx" <<TRX
<TestRun><Results><UnitTestResult testId="1" testName="$name.x" outcome="Passed"/></Results>
<ResultSummary outcome="Completed"/></TestRun>
TRX
done
"#;

#[test]
fn dotnet_reports_of_all_assemblies_count() {
    let tree = Tree::new();
    let mut server = open(&tree);
    tree.file("work/Shop.sln", "");
    tree.program("bin/dotnet", DOTNET);
    let reply = server.call("run_tests", json!({}));
    assert_eq!(counts(&reply), ("passed".to_owned(), [2, 0, 0]));
}
