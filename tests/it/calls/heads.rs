//! Header fields of programs that send others in each call.

use pretty_assertions::assert_eq;

use super::{Upstream, replay};
use crate::tree::Tree;

/// Calls as SDKs do: each call with its own number, time and agent, and some with a tenant.
const PROGRAM: &str = "import random, sys, time, urllib.request
def ask(path, **fields):
    fields['X-Sdk-Invocation'] = str(random.random())
    fields['X-Sdk-Telemetry'] = '{\"last_call_ms\": %s}' % random.random()
    fields['X-Amz-Date'] = time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())
    fields['User-Agent'] = 'sdk/1 m/' + ','.join(random.sample('BEZb', 4))
    fields = {name.replace('_', '-'): value for name, value in fields.items()}
    request = urllib.request.Request(sys.argv[1] + path, b'{}', fields)
    print(urllib.request.urlopen(request, timeout=20).read().decode())
for _ in range(3):
    ask('/jobs')
for tenant in sys.argv[2:]:
    ask('/tenants', X_Tenant=tenant)
";

#[test]
fn headers_new_in_each_call_leave_order() {
    let (tree, upstream) = (Tree::new(), Upstream::start());
    tree.file("sdk.py", PROGRAM);
    let url = upstream.url();
    let program = |tenants: [&'static str; 4]| {
        let words = ["--", "python3", "sdk.py", &url];
        [&words[..], &tenants]
            .concat()
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    let run = |action: &str, tenants| {
        let words = program(tenants);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        replay(&tree, &[&["calls", action], &words[..]].concat())
    };
    let recorded = run("record", ["a", "b", "b", "a"]);
    let answer = |n: u32, path: &str| format!("{{\"n\":{n},\"path\":\"{path}\"}}\n");
    let jobs: String = (1..=3).map(|n| answer(n, "/jobs")).collect();
    let tenants = |order: [u32; 4]| order.map(|n| answer(n, "/tenants")).concat();
    let expected = |order| (0, jobs.clone() + &tenants(order));
    assert_eq!((recorded.status, recorded.out), expected([4, 5, 6, 7]));
    drop(upstream);
    for _ in 0..3 {
        let tested = run("test", ["a", "b", "b", "a"]);
        assert_eq!(
            (tested.status, tested.out),
            expected([4, 5, 6, 7]),
            "{}",
            tested.err
        );
    }
    // A tenant repeats, so it selects in any order.
    let tested = run("test", ["b", "a", "a", "b"]);
    assert_eq!(
        (tested.status, tested.out),
        expected([5, 4, 7, 6]),
        "{}",
        tested.err
    );
}
