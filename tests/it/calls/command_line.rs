//! Subcommands of `replay calls`.

use pretty_assertions::assert_eq;
use replay_base::limits::MIN_BODY_APART_BYTES;

use super::refused::closed_port;
use super::{REPLAY, Upstream, client, replay, run};
use crate::tree::Tree;

/// Requested paths, in order.
const ASKED: [&str; 4] = ["/a", "/a", "/b?x=1&y=2", "/a"];
const ANSWERS: &str = "{\"n\":1,\"path\":\"/a\"}\n{\"n\":2,\"path\":\"/a\"}\n{\"n\":3,\"path\":\"/b?x=1&y=2\"}\n{\"n\":4,\"path\":\"/a\"}\n";

fn urls(upstream: &Upstream, paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| upstream.url() + path).collect()
}

#[test]
fn recorded_answers_are_replayed_in_order() {
    let (tree, mut upstream) = (Tree::new(), Upstream::start());
    tree.file("shop.py", client(&urls(&upstream, &ASKED)));
    let recorded = replay(&tree, &["calls", "record", "--", "python3", "shop.py"]);
    assert_eq!(
        (recorded.status, recorded.out.as_str()),
        (0, ANSWERS),
        "{}",
        recorded.err
    );
    assert_eq!(
        recorded.err,
        "replay: recorded 4 calls (HTTP) as shop-http: ./keploy/shop-http/mocks.yaml\n"
    );
    let listed = replay(&tree, &["calls", "list"]);
    let columns: Vec<&str> = listed.out.trim_end().split('\t').collect();
    assert_eq!(
        (columns[0], columns[2], columns.len()),
        ("shop-http", "4 calls", 3),
        "{listed:?}"
    );
    upstream.stop();
    for (isolation, more) in [("seccomp", "replay: isolation: seccomp\n"), ("strict", "")] {
        let tested = replay(
            &tree,
            &[
                "calls",
                "test",
                "--isolation",
                isolation,
                "--",
                "python3",
                "shop.py",
            ],
        );
        assert_eq!(
            (tested.status, tested.out.as_str()),
            (0, ANSWERS),
            "{}",
            tested.err
        );
        assert_eq!(
            tested.err,
            format!("replay: replayed 4 calls of shop-http\n{more}")
        );
    }
    assert_eq!(upstream.answered(), 4);
    let file = tree.read("keploy/shop-http/mocks.yaml");
    assert!(
        !file.contains("s3cr3t") && file.contains("Authorization: Bearer reda"),
        "a secret was kept: {file}"
    );
    assert_eq!(file.matches("\nname: mock-").count(), 4, "{file}");
}

#[test]
fn differing_call_is_a_miss() {
    let (tree, mut upstream) = (Tree::new(), Upstream::start());
    tree.file("shop.py", client(&urls(&upstream, &["/a", "/b?x=1"])));
    assert_eq!(
        replay(&tree, &["calls", "record", "--", "python3", "shop.py"]).status,
        0
    );
    upstream.stop();
    tree.file("shop.py", client(&urls(&upstream, &["/a", "/b?x=2", "/a"])));
    let tested = replay(&tree, &["calls", "test", "--", "python3", "shop.py"]);
    assert_eq!(
        (tested.status, tested.out.as_str()),
        (
            1,
            "{\"n\":1,\"path\":\"/a\"}\n502\n{\"n\":1,\"path\":\"/a\"}\n"
        ),
        "{}",
        tested.err
    );
    let told = tested.err.replace(&upstream.url(), "URL");
    assert_eq!(
        told,
        "replay: replayed 2 calls of shop-http, 1 missed, 1 recording was not used\nreplay: \
         isolation: strict\nreplay: 1 read was repeated and got the last answer \
         again\nreplay: missed: GET URL/b?x=2: no recording of this call; the closest \
         is `mock-2`\n  query.x: recorded `1`, asked `2`\n  only values differ. If the program \
         was changed, record again. If they change in each run, add `noise: {req: [query.x]}` \
         below `name: mock-2`, or run `replay calls noise SET OTHER --write`\n"
    );
}

#[test]
fn new_ids_are_counted_on_success_and_listed_on_failure() {
    const IDS: [&str; 2] = [
        "3f1c9a52-0d6e-4a7b-9c58-1b2d3e4f5a6b",
        "9a4b7c1d-2e3f-4051-8263-748596a7b8c9",
    ];
    let (tree, upstream) = (Tree::new(), Upstream::start());
    let path = |id| format!("/a?id={id}");
    tree.file("shop.py", client(&urls(&upstream, &[&path(IDS[0])])));
    let recorded = replay(&tree, &["calls", "record", "--", "python3", "shop.py"]);
    assert_eq!(recorded.status, 0, "{}", recorded.err);
    let line = |more: &str| format!("replay: replayed 1 call of shop-http{more}");
    let listed = format!(
        "\nreplay: 1 call with new ids or times: mock-1 (recorded `{}`, asked `{}`)\n",
        IDS[0], IDS[1]
    );
    let brief = "; 1 call with new ids or times (`replay calls test --exact` lists them)\n";
    for (paths, status, expected) in [
        (vec![path(IDS[1])], 0, line(brief)),
        (vec![path(IDS[1]), "/b".to_owned()], 1, listed),
    ] {
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        tree.file("shop.py", client(&urls(&upstream, &paths)));
        let tested = replay(&tree, &["calls", "test", "--", "python3", "shop.py"]);
        assert_eq!(tested.status, status, "{}", tested.err);
        assert!(tested.err.contains(&expected), "{}", tested.err);
    }
}

#[test]
fn miss_is_reported_when_signal_ends_program() {
    let (tree, mut upstream) = (Tree::new(), Upstream::start());
    tree.file("shop.py", client(&urls(&upstream, &["/a"])));
    assert_eq!(
        replay(&tree, &["calls", "record", "--", "python3", "shop.py"]).status,
        0
    );
    upstream.stop();
    for (path, status) in [("/a", 130), ("/b", 1)] {
        tree.file("shop.py", client(&urls(&upstream, &[path])));
        let tested = replay(
            &tree,
            &["calls", "test", "--", "python3 shop.py; kill -INT $$"],
        );
        assert_eq!(tested.status, status, "{path}: {}", tested.err);
    }
}

#[test]
fn miss_with_passthrough_reaches_real_server() {
    let (tree, upstream) = (Tree::new(), Upstream::start());
    tree.file("shop.py", client(&urls(&upstream, &["/a"])));
    assert_eq!(
        replay(&tree, &["calls", "record", "--", "python3", "shop.py"]).status,
        0
    );
    tree.file("shop.py", client(&urls(&upstream, &["/a", "/new"])));
    let tested = replay(
        &tree,
        &[
            "calls",
            "test",
            "--on-miss",
            "record",
            "--",
            "python3",
            "shop.py",
        ],
    );
    assert_eq!(
        tested.out, "{\"n\":1,\"path\":\"/a\"}\n{\"n\":2,\"path\":\"/new\"}\n",
        "{}",
        tested.err
    );
    let line = "replay: replayed 1 call of shop-http, 1 missed; shop-http-2 holds those of shop-http and 1 new call: \
                ./keploy/shop-http-2/mocks.yaml\n";
    assert!(tested.err.starts_with(line), "{}", tested.err);
    let file = tree.read("keploy/shop-http-2/mocks.yaml");
    assert_eq!(
        ["mock-1\n", "mock-2\n"].map(|name| file.matches(&format!("\nname: {name}")).count()),
        [1, 1],
        "{file}"
    );
    drop(upstream);
    let again = replay(&tree, &["calls", "test", "--", "python3", "shop.py"]);
    assert_eq!(
        (again.status, &again.out),
        (0, &tested.out),
        "{}",
        again.err
    );
    assert!(
        again
            .err
            .starts_with("replay: replayed 2 calls of shop-http-2\n"),
        "{}",
        again.err
    );
}

#[test]
fn passthrough_to_unrecorded_target_is_reported() {
    let (tree, upstream, other) = (Tree::new(), Upstream::start(), Upstream::start());
    tree.file("shop.py", client(&[upstream.url() + "/a"]));
    assert_eq!(
        replay(&tree, &["calls", "record", "--", "python3", "shop.py"]).status,
        0
    );
    tree.file("shop.py", client(&[other.url() + "/a"]));
    let tested = replay(
        &tree,
        &[
            "calls",
            "test",
            "--on-miss",
            "passthrough",
            "--",
            "python3",
            "shop.py",
        ],
    );
    let told = tested
        .err
        .replace(&other.url().replace("http://", ""), "HOST");
    let missed = "replay: missed: a connection to HOST: this target was not recorded, so the call \
        went to the real server\n";
    assert!(told.ends_with(missed), "{told}");
    assert!(
        told.contains("\nreplay: 1 call found no recording and was passed on\n"),
        "{told}"
    );
}

#[test]
fn repeated_miss_is_reported_once() {
    let (tree, mut upstream) = (Tree::new(), Upstream::start());
    tree.file("shop.py", client(&[upstream.url() + "/a"]));
    assert_eq!(
        replay(&tree, &["calls", "record", "--", "python3", "shop.py"]).status,
        0
    );
    upstream.stop();
    tree.file(
        "shop.py",
        client(
            &[
                &[upstream.url() + "/a"][..],
                &vec![upstream.url() + "/b"; 3],
            ]
            .concat(),
        ),
    );
    let tested = replay(&tree, &["calls", "test", "--", "python3", "shop.py"]);
    assert_eq!(
        tested.err.replace(&upstream.url(), "URL"),
        "replay: replayed 1 call of shop-http, 3 missed\nreplay: isolation: strict\nreplay: \
         missed: GET URL/b: no recording of this call (3 times); the closest is `mock-1`\n  path: \
         recorded `/a`, asked `/b`\n  this call was not recorded: record the program again\n"
    );
}

#[test]
fn program_inherits_environment_of_shell() {
    let tree = Tree::new();
    let words = |action: &'static str| {
        let environment = [
            "env",
            "DATABASE_URL=postgres://me:pass@db/shop",
            "API_TOKEN=t",
            "LD_X=no",
            "TMP=/no",
        ];
        let program =
            "echo $DATABASE_URL $API_TOKEN $ADDED $LD_X $TMP; test \"$SSL_CERT_FILE\" != /etc/none";
        [
            &environment[..],
            &[
                "SSL_CERT_FILE=/etc/none",
                REPLAY,
                "calls",
                action,
                "--env",
                "ADDED=1",
                "--",
                program,
            ],
        ]
        .concat()
    };
    record_a_refusal(&tree);
    for action in ["record", "test"] {
        let ended = run(&tree, &words(action), |_| {});
        assert_eq!(
            (ended.status, ended.out.as_str()),
            (0, "postgres://me:pass@db/shop t 1\n"),
            "{}",
            ended.err
        );
    }
}

#[test]
fn recording_timeout_kills_program_and_keeps_calls() {
    let (tree, upstream) = (Tree::new(), Upstream::start());
    let program = client(&urls(&upstream, &["/a"])) + "import time\ntime.sleep(100)\n";
    tree.file("shop.py", program);
    let recorded = replay(
        &tree,
        &[
            "calls",
            "record",
            "--timeout-secs",
            "8",
            "--",
            "python3",
            "shop.py",
        ],
    );
    assert_eq!(
        recorded.err,
        "replay: recorded 1 call (HTTP) as shop-http: ./keploy/shop-http/mocks.yaml\nreplay: isolation: seccomp\nreplay: the application was ended at \
         the timeout\n"
    );
    assert_eq!(recorded.status, 128 + 15);
}

#[test]
fn exit_status_of_program_is_passed_on() {
    let tree = Tree::new();
    // Requests of npm itself would be recorded as calls of the program.
    let quiet = replay(
        &tree,
        &[
            "calls",
            "record",
            "--",
            "echo $npm_config_update_notifier $NO_UPDATE_NOTIFIER",
        ],
    );
    assert_eq!(quiet.out, "false 1\n");
    let recorded = replay(&tree, &["calls", "record", "--", "exit 7"]);
    let sees = format!(
        "replay: the program sees installed programs and the allowed directories ({}); --allow DIR adds a directory, \
         --system PATH a program, and HOME is private\n",
        tree.root().display()
    );
    let nothing = "replay: recorded nothing: the program made no call, or every call \
        failed\nreplay: isolation: seccomp\n";
    assert_eq!(
        (recorded.status, recorded.err),
        (7, format!("{nothing}{sees}"))
    );
    assert_eq!(quiet.err, nothing);
    assert_eq!(sets(&tree), 0);
    record_a_refusal(&tree);
    let failed = replay(&tree, &["calls", "test", "--", "exit 7"]);
    assert!(
        failed.status == 7 && failed.err.ends_with(&sees),
        "{failed:?}"
    );
}

/// Records a set without a server.
pub fn record_a_refusal(tree: &Tree) {
    let (_held, address) = closed_port("127.0.0.1:0");
    tree.file("shop.py", client(&[format!("http://{address}/a")]));
    replay(tree, &["calls", "record", "--", "python3", "shop.py"]);
    assert_eq!(sets(tree), 1);
}

/// Returns the number of sets.
fn sets(tree: &Tree) -> usize {
    std::fs::read_dir(tree.path("keploy")).unwrap().count()
}

#[test]
fn command_not_found_leaves_no_set() {
    let tree = Tree::new();
    let missing = replay(&tree, &["calls", "record", "--", "no-such-program"]);
    let (said, rest) = missing
        .err
        .split_once("replay: recorded nothing: the command did not run\n")
        .unwrap();
    assert!(
        said.contains("no-such-program")
            && rest.starts_with(
                "replay: isolation: seccomp\nreplay: the program sees installed programs"
            ),
        "{missing:?}"
    );
    assert_eq!((missing.status, sets(&tree)), (127, 0));
    // Without a sandbox the program sees all files.
    let open = replay(
        &tree,
        &[
            "calls",
            "record",
            "--sandbox",
            "off",
            "--",
            "no-such-program",
        ],
    );
    assert!(
        open.status == 127 && !open.err.contains("allowed directories"),
        "{}",
        open.err
    );
}

#[test]
fn directory_outside_is_refused_as_typed() {
    let tree = Tree::new();
    let root = tree.root().display();
    let told = format!(
        "replay: `/etc` is outside the allowed directories; allowed directories: {root} (read-write); the operator can allow \
         more with --allow DIR\n"
    );
    for args in [
        &["record", "--path", "/etc", "--", "true"][..],
        &["test", "--path", "/etc", "--", "true"],
        &["test", "--path", "/etc", "--mock", "one", "--", "true"],
        &["list", "--path", "/etc"],
        &["show", "--path", "/etc", "one"],
    ] {
        let outside = replay(&tree, &[&["calls"], args].concat());
        assert_eq!(
            (outside.status, outside.err.as_str()),
            (2, told.as_str()),
            "{args:?}"
        );
    }
}

#[test]
fn read_only_directory_keeps_working_directory_allowed() {
    let (tree, other) = (Tree::new(), Tree::new());
    other.file("told", "1\n");
    let read = format!("cat {}", other.path("told").display());
    let root = other.root().display().to_string();
    let recorded = replay(&tree, &["calls", "record", "--allow", &root, "--", &read]);
    assert_eq!(
        (recorded.status, recorded.out.as_str()),
        (0, "1\n"),
        "{}",
        recorded.err
    );
    assert!(tree.path("keploy").is_dir());
    // An explicit read-only `--allow .` is respected.
    let kept = replay(
        &tree,
        &[
            "calls", "record", "--allow", ".", "--path", "sets", "--", "true",
        ],
    );
    assert!(
        kept.status == 2 && kept.err.contains("`sets` is in a read-only directory"),
        "{kept:?}"
    );
}

#[test]
fn broken_or_missing_set_is_reported() {
    let tree = Tree::new();
    let none = replay(&tree, &["calls", "test", "--", "true"]);
    let no_sets = "no mock sets in ./keploy; record one with `replay calls record -- COMMAND`, or name the directory of others (--path)\n";
    assert_eq!((none.status, none.err), (2, format!("replay: {no_sets}")));
    let listed = replay(&tree, &["calls", "list"]);
    assert_eq!(
        (listed.status, listed.out.as_str(), listed.err),
        (0, "", format!("replay: {no_sets}"))
    );
    let shown = replay(&tree, &["calls", "show", "nope"]);
    assert_eq!(
        (shown.status, shown.err),
        (2, format!("replay: there is no mock set `nope`: {no_sets}"))
    );
    tree.file(
        "keploy/one/mocks.yaml",
        "version: api.keploy.io/v1beta1\nkind: Http\nname: mock-1\nspec:\n    req: 5\n",
    );
    let broken = replay(&tree, &["calls", "show", "one"]);
    assert_eq!(broken.status, 2);
    assert!(
        broken.err.starts_with(
            "replay: ./keploy/one/mocks.yaml:5: `spec.req`: expected a mapping, got `5`"
        ),
        "{}",
        broken.err
    );
    let listed = replay(&tree, &["calls", "list"]);
    assert!(
        listed.out.starts_with("one\t") && listed.out.ends_with("\tbroken\n"),
        "{listed:?}"
    );
    assert_eq!((listed.status, listed.err), (0, broken.err));
    // An unreadable set does not hide the others either.
    tree.dir("keploy/odd").fifo("keploy/odd/mocks.yaml");
    let unknown = replay(&tree, &["calls", "test", "--mock", "two", "--", "true"]);
    assert_eq!(
        unknown.err,
        "replay: there is no mock set `two` in ./keploy; there are: one\n"
    );
    assert_eq!(replay(&tree, &["calls", "show", "two"]).err, unknown.err);
    let odd = replay(&tree, &["calls", "test", "--mock", "../x", "--", "true"]);
    assert_eq!(odd.status, 2, "{}", odd.err);
}

#[test]
fn show_prints_set_as_table_and_page() {
    let (tree, upstream) = (Tree::new(), Upstream::start());
    tree.file("shop.py", client(&urls(&upstream, &["/a", "/a", "/<b>"])));
    assert_eq!(
        replay(&tree, &["calls", "record", "--", "python3", "shop.py"]).status,
        0
    );
    let shown = replay(&tree, &["calls", "show", "shop-http"]);
    let rows: Vec<[String; 3]> = shown
        .out
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split_whitespace().collect();
            [
                cells[2].to_owned(),
                cells[3].to_owned(),
                cells[cells.len() - 1].to_owned(),
            ]
        })
        .collect();
    let rows: Vec<[&str; 3]> = rows
        .iter()
        .map(|row| row.each_ref().map(String::as_str))
        .collect();
    assert_eq!(
        rows,
        [
            ["status", "times", "call"],
            ["200", "2", "/a"],
            ["200", "1", "/<b>"]
        ]
    );
    let page = replay(&tree, &["calls", "show", "--html", "shop-http"]).out;
    assert_eq!(
        (
            page.matches("<details>").count(),
            page.contains("/&lt;b&gt;"),
            page.contains("<b>\"")
        ),
        (3, true, false)
    );
    for outside in ["http-equiv", "src=", "href=", "@import", "<script"] {
        assert!(
            !page.contains(outside),
            "the page asks for something: {outside}"
        );
    }
}

#[test]
fn values_that_vary_between_runs_become_noise() {
    let (tree, mut upstream) = (Tree::new(), Upstream::start());
    let url = upstream.url();
    let program = |id: u32| {
        format!(
            "import json, urllib.request\nfor body in ({{'id': {id}, 'of': {{'at': 'T{id}'}}, 'same': 1}}, {{'id': {id}, 'of': \
             {{'at': 'U{id}'}}, 'same': 2}}):\n    request = urllib.request.Request('{url}/a?t={id}', json.dumps(body).encode(), \
             {{'Content-Type': 'application/json'}})\n    print(urllib.request.urlopen(request).read().decode())\n"
        )
    };
    for id in [10, 11] {
        tree.file("shop.py", program(id));
        assert_eq!(
            replay(&tree, &["calls", "record", "--", "python3", "shop.py"]).status,
            0
        );
    }
    upstream.stop();
    tree.file("shop.py", program(12));
    let test = [
        "calls",
        "test",
        "--mock",
        "shop-http",
        "--",
        "python3",
        "shop.py",
    ];
    assert_eq!(replay(&tree, &test).status, 1);
    let shown = replay(&tree, &["calls", "noise", "shop-http", "shop-http-2"]);
    let place = url.replace("http://", "HTTP ") + " POST /a";
    let expected = ["body.id\t10\t11", "body.of.at\tT10\tT11", "query.t\t10\t11"];
    assert_eq!(
        shown.out,
        expected.map(|line| format!("{place}\t{line}\n")).concat(),
        "{}",
        shown.err
    );
    assert_eq!(
        (shown.status, shown.err.as_str()),
        (
            0,
            "replay: add --write to ignore these fields when either set is replayed\n"
        )
    );
    let written = replay(
        &tree,
        &["calls", "noise", "shop-http", "shop-http-2", "--write"],
    );
    assert_eq!(
        written.err,
        "replay: noise of shop-http and shop-http-2: ./keploy/shop-http/mocks.yaml, ./keploy/shop-http-2/mocks.yaml\n"
    );
    let file = tree.read("keploy/shop-http/mocks.yaml");
    let noise = "noise:\n    req:\n        - body.id\n        - body.of.at\n        - query.t\n";
    assert_eq!(file.matches(noise).count(), 2, "{file}");
    assert_eq!(
        tree.read("keploy/shop-http-2/mocks.yaml")
            .matches(noise)
            .count(),
        2
    );
    // A second write produces the same file.
    assert_eq!(
        replay(
            &tree,
            &["calls", "noise", "shop-http", "shop-http-2", "--write"]
        )
        .status,
        0
    );
    assert_eq!(tree.read("keploy/shop-http/mocks.yaml"), file);
    let tested = replay(&tree, &test);
    assert_eq!(
        (tested.status, tested.err.as_str()),
        (0, "replay: replayed 2 calls of shop-http\n"),
        "{}",
        tested.out
    );
    let none = replay(&tree, &["calls", "noise", "shop-http", "shop"]);
    assert_eq!(
        (none.status, none.err.as_str()),
        (
            2,
            "replay: there is no mock set `shop` in ./keploy; there are: shop-http-2, shop-http\n"
        )
    );
}

#[test]
fn large_bodies_are_stored_in_separate_files() {
    let (tree, mut upstream) = (Tree::new(), Upstream::start());
    let program = format!(
        "import urllib.request\nprint(urllib.request.urlopen('{}/a', b'x' * {MIN_BODY_APART_BYTES}).read().decode())\n",
        upstream.url()
    );
    tree.file("shop.py", program);
    assert_eq!(
        replay(&tree, &["calls", "record", "--", "python3", "shop.py"]).status,
        0
    );
    upstream.stop();
    let test = ["calls", "test", "--", "python3", "shop.py"];
    let tested = replay(&tree, &test);
    assert_eq!(
        (tested.status, tested.out.as_str()),
        (0, "{\"n\":1,\"path\":\"/a\"}\n"),
        "{}",
        tested.err
    );
    let bodies: Vec<_> = std::fs::read_dir(tree.path("keploy/shop-http/bodies"))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let name = match bodies.as_slice() {
        [one] => format!("bodies/{}", one.file_name().into_string().unwrap()),
        other => panic!("{other:?}"),
    };
    let file = tree.read("keploy/shop-http/mocks.yaml");
    assert!(
        file.len() < 4096
            && file.contains(&format!(
                "path: {name}\n            size: {MIN_BODY_APART_BYTES}\n"
            )),
        "{file}"
    );
    let told = || replay(&tree, &test).err;
    let place = "replay: ./keploy/shop-http/mocks.yaml:";
    tree.file(format!("keploy/shop-http/{name}"), "short");
    let expected = format!(
        "`spec.req.body_ref`: the body in `{name}` has 5 bytes, and had {MIN_BODY_APART_BYTES}"
    );
    assert!(
        told().starts_with(place) && told().contains(&expected),
        "{}",
        told()
    );
    tree.file(
        format!("keploy/shop-http/{name}"),
        "y".repeat(MIN_BODY_APART_BYTES),
    );
    assert!(
        told().contains("was changed: its SHA-256 differs from its name"),
        "{}",
        told()
    );
    std::fs::remove_file(tree.path(format!("keploy/shop-http/{name}"))).unwrap();
    assert!(
        told().contains(&format!("the body in `{name}` cannot be read: ")),
        "{}",
        told()
    );
    assert_eq!(
        replay(&tree, &["calls", "list"]).out.split('\t').next(),
        Some("shop-http")
    );
}

#[test]
fn concurrent_recordings_get_separate_sets() {
    let (tree, upstream) = (Tree::new(), Upstream::start());
    tree.file("shop.py", client(&urls(&upstream, &["/a"])));
    std::thread::scope(|scope| {
        let one = || {
            assert_eq!(
                replay(&tree, &["calls", "record", "--", "python3", "shop.py"]).status,
                0
            );
        };
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(one)).collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
    assert_eq!(replay(&tree, &["calls", "list"]).out.lines().count(), 6);
}
