//! `replay calls`.

use pretty_assertions::assert_eq;

use super::{Upstream, client, replay};
use crate::tree::Tree;

/// Paths that are asked for, in order.
const ASKED: [&str; 4] = ["/a", "/a", "/b?x=1&y=2", "/a"];
const ANSWERS: &str = "{\"n\":1,\"path\":\"/a\"}\n{\"n\":2,\"path\":\"/a\"}\n{\"n\":3,\"path\":\"/b?x=1&y=2\"}\n{\"n\":4,\"path\":\"/a\"}\n";

fn urls(upstream: &Upstream, paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| upstream.url() + path).collect()
}

#[test]
fn what_was_recorded_is_answered_without_the_server_in_order() {
    let (tree, mut upstream) = (Tree::new(), Upstream::start());
    tree.file("shop.py", client(&urls(&upstream, &ASKED)));
    let recorded = replay(&tree, &["calls", "record", "--", "python3", "shop.py"]);
    assert_eq!((recorded.status, recorded.out.as_str()), (0, ANSWERS), "{}", recorded.err);
    assert_eq!(
        recorded.err,
        "replay: recorded 4 calls (HTTP) as shop-http: ./keploy/shop-http/mocks.yaml\nreplay: isolation: seccomp\n"
    );
    let listed = replay(&tree, &["calls", "list"]);
    assert_eq!(listed.out.split('\t').next(), Some("shop-http"), "{listed:?}");
    upstream.stop();
    for isolation in ["seccomp", "strict"] {
        let tested = replay(&tree, &["calls", "test", "--isolation", isolation, "--", "python3", "shop.py"]);
        assert_eq!((tested.status, tested.out.as_str()), (0, ANSWERS), "{}", tested.err);
        assert_eq!(tested.err, format!("replay: replayed 4 calls of shop-http\nreplay: isolation: {isolation}\n"));
    }
    assert_eq!(upstream.answered(), 4);
    let file = tree.read("keploy/shop-http/mocks.yaml");
    assert!(!file.contains("s3cr3t") && file.contains("Bearer [redacted "), "a secret was kept: {file}");
    assert_eq!(file.matches("\nname: mock-").count(), 4, "{file}");
}

#[test]
fn a_call_that_differs_is_missed_and_never_answered() {
    let (tree, mut upstream) = (Tree::new(), Upstream::start());
    tree.file("shop.py", client(&urls(&upstream, &["/a", "/b?x=1"])));
    assert_eq!(replay(&tree, &["calls", "record", "--", "python3", "shop.py"]).status, 0);
    upstream.stop();
    tree.file("shop.py", client(&urls(&upstream, &["/a", "/b?x=2", "/a"])));
    let tested = replay(&tree, &["calls", "test", "--", "python3", "shop.py"]);
    assert_eq!((tested.status, tested.out.as_str()), (1, "{\"n\":1,\"path\":\"/a\"}\n502\n502\n"), "{}", tested.err);
    let told = tested.err.replace(&upstream.url(), "URL");
    assert_eq!(
        told,
        "replay: replayed 1 calls of shop-http, 2 missed, 1 recordings were not used\n\
         replay: isolation: strict\n\
         replay: missed: GET URL/b?x=2: no recording of this call; the closest is `mock-2`\n  \
         query.x: recorded `1`, asked `2`\n\
         replay: missed: GET URL/a: the one recording of this call was used\n"
    );
}

#[test]
fn a_miss_goes_to_the_real_server_if_it_may() {
    let (tree, upstream) = (Tree::new(), Upstream::start());
    tree.file("shop.py", client(&urls(&upstream, &["/a"])));
    assert_eq!(replay(&tree, &["calls", "record", "--", "python3", "shop.py"]).status, 0);
    tree.file("shop.py", client(&urls(&upstream, &["/a", "/new"])));
    let tested = replay(&tree, &["calls", "test", "--on-miss", "record", "--", "python3", "shop.py"]);
    assert_eq!(tested.out, "{\"n\":1,\"path\":\"/a\"}\n{\"n\":2,\"path\":\"/new\"}\n", "{}", tested.err);
    assert!(tested.err.contains("1 new calls are in ./keploy/shop-http-2/mocks.yaml"), "{}", tested.err);
}

#[test]
fn a_program_that_does_not_end_is_ended_and_what_it_called_is_kept() {
    let (tree, upstream) = (Tree::new(), Upstream::start());
    let program = client(&urls(&upstream, &["/a"])) + "import time\ntime.sleep(100)\n";
    tree.file("shop.py", program);
    let recorded = replay(&tree, &["calls", "record", "--timeout-secs", "3", "--", "python3", "shop.py"]);
    assert_eq!(
        recorded.err,
        "replay: recorded 1 calls (HTTP) as shop-http: ./keploy/shop-http/mocks.yaml\nreplay: isolation: seccomp\nreplay: the application was ended at \
         the timeout\n"
    );
    assert_eq!(recorded.status, 128 + 15);
}

#[test]
fn the_status_of_the_program_is_the_status() {
    let tree = Tree::new();
    // What npm asks for on its own would be recorded as the program's.
    let quiet = replay(&tree, &["calls", "record", "--", "echo $npm_config_update_notifier $NO_UPDATE_NOTIFIER"]);
    assert_eq!(quiet.out, "false 1\n");
    let recorded = replay(&tree, &["calls", "record", "--", "exit 7"]);
    assert_eq!(recorded.status, 7);
    assert!(recorded.err.starts_with("replay: no calls were captured as mock-"), "{}", recorded.err);
    let missing = replay(&tree, &["calls", "record", "--", "no-such-program"]);
    assert_eq!(missing.status, 127, "{}", missing.err);
}

#[test]
fn a_set_that_is_broken_or_not_there_is_said() {
    let tree = Tree::new();
    let none = replay(&tree, &["calls", "test", "--", "true"]);
    assert_eq!((none.status, none.err.as_str()), (2, "replay: there is no mock set in ./keploy\n"));
    tree.file("keploy/one/mocks.yaml", "version: api.keploy.io/v1beta1\nkind: Http\nname: mock-1\nspec:\n    req: 5\n");
    let broken = replay(&tree, &["calls", "show", "one"]);
    assert_eq!(broken.status, 2);
    assert!(
        broken.err.starts_with("replay: ./keploy/one/mocks.yaml:5: `spec.req`: expected a mapping, got `5`"),
        "{}",
        broken.err
    );
    // Nor does one that cannot be read hide the others.
    tree.dir("keploy/odd").fifo("keploy/odd/mocks.yaml");
    let unknown = replay(&tree, &["calls", "test", "--mock", "two", "--", "true"]);
    assert_eq!(unknown.err, "replay: there is no mock set `two` in ./keploy; there are: one\n");
    let odd = replay(&tree, &["calls", "test", "--mock", "../x", "--", "true"]);
    assert_eq!(odd.status, 2, "{}", odd.err);
}

#[test]
fn a_set_is_shown_as_a_table_and_as_a_page() {
    let (tree, upstream) = (Tree::new(), Upstream::start());
    tree.file("shop.py", client(&urls(&upstream, &["/a", "/a", "/<b>"])));
    assert_eq!(replay(&tree, &["calls", "record", "--", "python3", "shop.py"]).status, 0);
    let shown = replay(&tree, &["calls", "show", "shop-http"]);
    let rows: Vec<(String, String)> = shown
        .out
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split_whitespace().collect();
            (cells[2].to_owned(), cells[cells.len() - 1].replace(&upstream.url(), ""))
        })
        .collect();
    let row = |times: &str, call: &str| (times.to_owned(), call.to_owned());
    assert_eq!(rows, [row("times", "call"), row("2", "/a"), row("1", "/<b>")]);
    let page = replay(&tree, &["calls", "show", "--html", "shop-http"]).out;
    assert_eq!(
        (page.matches("<details>").count(), page.contains("/&lt;b&gt;"), page.contains("<b>\"")),
        (3, true, false)
    );
    for outside in ["http-equiv", "src=", "href=", "@import", "<script"] {
        assert!(!page.contains(outside), "the page asks for something: {outside}");
    }
}

#[test]
fn recordings_at_the_same_time_have_sets_of_their_own() {
    let (tree, upstream) = (Tree::new(), Upstream::start());
    tree.file("shop.py", client(&urls(&upstream, &["/a"])));
    std::thread::scope(|scope| {
        let one = || assert_eq!(replay(&tree, &["calls", "record", "--", "python3", "shop.py"]).status, 0);
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(one)).collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
    assert_eq!(replay(&tree, &["calls", "list"]).out.lines().count(), 6);
}
