use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Wake;
use std::time::{Duration, SystemTime};

use pretty_assertions::assert_eq;
use replay_base::limits::{
    MAX_RECENT_BYTES, MAX_RECENT_CALLS, RECENT_ARGUMENTS_BYTES, RECENT_TEXT_BYTES,
};
use replay_files::policy::{AccessKind, TouchedPath};
use serde_json::{Value, json};

use super::excerpt::{arguments, reason, reply_text, subject};
use super::*;
use crate::protocol::{Body, Code, Content, Revision, RpcError, ToolReply};
use crate::sessions::{Begun, Ending, Entry, Observer as _};

fn description(text: &str) -> CallDescription {
    CallDescription::Written {
        summary: format!("\"tool\":\"{text}\""),
        detail: "\"text\":\"x\"".to_owned(),
    }
}

fn call(id: u64, text: &str) -> String {
    format!("{{\"id\":{id},\"tool\":\"{text}\"}}")
}

/// Returns all pending news of a follower: the calls, and `gap`.
fn drain(follower: &mut Follower) -> Vec<String> {
    let mut cx = Context::from_waker(Waker::noop());
    let mut all = Vec::new();
    while let Poll::Ready(Some(news)) = follower.poll_next(&mut cx) {
        all.push(match news {
            News::Call { call, .. } => call,
            News::Gap { .. } => "gap".to_owned(),
        });
    }
    all
}

#[test]
fn follower_resumes_at_last_position() {
    let recent = Recent::new(7);
    let tenant = &Arc::from("a");
    let mut follower = recent.follow(View::All, None).unwrap();
    recent.begin(tenant, 1, description("begun"));
    assert_eq!(drain(&mut follower), [call(1, "begun")]);
    let position = recent.page(View::All, None, 9).position;
    assert_eq!(position, "00000007-1");
    recent.end(tenant, 1, description("ended"));
    recent.begin(tenant, 2, description("second"));
    let news = [call(1, "ended"), call(2, "second")];
    assert_eq!(drain(&mut follower), news);
    assert_eq!(
        drain(&mut recent.follow(View::All, Some(&position)).unwrap()),
        news
    );
    let page = Page {
        position: "00000007-3".to_owned(),
        running: vec![call(2, "second")],
        calls: vec![call(1, "ended")],
        before: None,
    };
    assert_eq!(recent.page(View::All, None, 9), page);
    let whole = "{\"id\":1,\"tool\":\"ended\",\"text\":\"x\"}";
    assert_eq!(recent.detail(View::All, 1).as_deref(), Some(whole));
    recent.hang_up();
    let mut cx = Context::from_waker(Waker::noop());
    assert_eq!(follower.poll_next(&mut cx), Poll::Ready(None));
}

#[test]
fn slow_follower_gets_last_state_and_gap() {
    let recent = Recent::new(7);
    let tenant = &Arc::from("a");
    let mut follower = recent.follow(View::All, None).unwrap();
    recent.begin(tenant, 1, description("one"));
    recent.progress(tenant, 1, "{\"done\":1}");
    recent.progress(tenant, 1, "{\"done\":2}");
    assert_eq!(
        drain(&mut follower),
        ["{\"id\":1,\"tool\":\"one\",\"progress\":{\"done\":1}}"]
    );
    let more = MAX_RECENT_CALLS as u64 + 1;
    for id in 2..=1 + more {
        recent.begin(tenant, id, description("b"));
        recent.end(tenant, id, description("e"));
    }
    let news = drain(&mut follower);
    assert_eq!(
        (news[0].as_str(), news.len()),
        ("gap", 1 + MAX_RECENT_CALLS)
    );
    assert_eq!(news[1], call(3, "e"));
    assert_eq!(drain(&mut follower), [""; 0]);
    for strange in ["00000008-1", "00000007-99999999", "x", ""] {
        assert_eq!(
            drain(&mut recent.follow(View::All, Some(strange)).unwrap()),
            ["gap"],
            "{strange}"
        );
    }
}

#[test]
fn tenants_see_only_own_calls() {
    let recent = Recent::new(7);
    let (one, two): (&Arc<str>, &Arc<str>) = (&"a".into(), &"b".into());
    let mut follower = recent.follow(View::Only("a"), None).unwrap();
    let mut all = recent.follow(View::All, None).unwrap();
    recent.begin(one, 1, description("a"));
    recent.begin(two, 2, description("b"));
    recent.end(two, 2, description("b"));
    assert_eq!(drain(&mut follower), [call(1, "a")]);
    assert_eq!(drain(&mut all), [call(1, "a"), call(2, "b")]);
    assert_eq!(recent.detail(View::Only("a"), 2), None);
    let page = recent.page(View::Only("a"), None, 9);
    assert_eq!((page.running, page.calls), (vec![call(1, "a")], vec![]));
    // A tenant's numbers do not reveal the activity of others.
    let page = recent.page(View::Only("b"), None, 9);
    let expected = Page {
        position: "00000007-2".to_owned(),
        running: vec![],
        calls: vec![call(1, "b")],
        before: None,
    };
    assert_eq!(page, expected);
    assert_eq!(
        recent.page(View::Only("none"), None, 9).position,
        "00000007-0"
    );
    let whole = "{\"id\":1,\"tool\":\"b\",\"text\":\"x\"}";
    assert_eq!(recent.detail(View::Only("b"), 1).as_deref(), Some(whole));
    assert_eq!(
        drain(&mut recent.follow(View::Only("b"), Some("00000007-1")).unwrap()),
        [call(1, "b")]
    );
    assert_eq!(
        drain(&mut recent.follow(View::Only("b"), Some("00000007-3")).unwrap()),
        ["gap"]
    );
    recent.end(two, 9, description("b"));
    let page = recent.page(View::Only("b"), None, 1);
    assert_eq!((page.calls, page.before), (vec![call(2, "b")], Some(3)));
    assert_eq!(
        recent.page(View::Only("b"), Some(3), 1).calls,
        [call(1, "b")]
    );
    assert_eq!(drain(&mut all), [call(9, "b")]);
    // Calls of one tenant that were dropped are no gap for another.
    for id in 10..11 + MAX_RECENT_CALLS as u64 {
        recent.end(two, id, description("b"));
    }
    assert_eq!(drain(&mut follower), [""; 0]);
    assert_eq!(drain(&mut all)[0], "gap");
}

#[test]
fn pages_reach_back_to_oldest_call() {
    let recent = Recent::new(7);
    let tenants: [Arc<str>; 2] = ["a".into(), "b".into()];
    for id in 1..=5 {
        recent.end(&tenants[id as usize % 2], id, description("e"));
    }
    let mut seen = Vec::new();
    let mut before = None;
    loop {
        let page = recent.page(View::All, before, 2);
        seen.push(page.calls);
        before = page.before;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(
        seen,
        [
            vec![call(5, "e"), call(4, "e")],
            vec![call(3, "e"), call(2, "e")],
            vec![call(1, "e")]
        ]
    );
    assert_eq!(recent.page(View::All, None, 0).calls, [""; 0]);
}

#[test]
fn flood_of_calls_is_bounded() {
    let recent = Recent::new(7);
    let tenant = &Arc::from("a");
    let detail = format!("\"text\":\"{}\"", "x".repeat(64 * 1024));
    for id in 0..1000 {
        recent.end(
            tenant,
            id,
            CallDescription::Written {
                summary: "\"tool\":\"t\"".to_owned(),
                detail: detail.clone(),
            },
        );
    }
    let page = recent.page(View::All, None, usize::MAX);
    assert_eq!(
        (page.calls.len(), page.before),
        (MAX_RECENT_BYTES / (detail.len() + 10 + 256), None)
    );
    for id in 1000..2000 {
        recent.begin(
            tenant,
            id,
            CallDescription::Written {
                summary: String::new(),
                detail: detail.clone(),
            },
        );
    }
    let running = recent.page(View::All, None, 0).running.len();
    assert_eq!(running, MAX_RECENT_BYTES / (detail.len() + 256));
    // A page stays below its size limit, however many calls there are.
    let other: &Arc<str> = &"b".into();
    let long = format!("\"tool\":\"{}\"", "x".repeat(100 * 1024));
    for id in 3000..3050 {
        recent.end(
            other,
            id,
            CallDescription::Written {
                summary: long.clone(),
                detail: String::new(),
            },
        );
    }
    let page = recent.page(View::Only("b"), None, 50);
    assert_eq!(
        (page.calls.len(), page.before.is_some()),
        (MAX_RECENT_PAGE_BYTES / (long.len() + 12), true)
    );
    let followers: Vec<_> = std::iter::from_fn(|| recent.follow(View::All, None)).collect();
    assert_eq!(followers.len(), MAX_RECENT_FOLLOWERS);
    drop(followers);
    assert!(recent.follow(View::All, None).is_some());
}

#[test]
fn pending_follower_is_woken_once() {
    #[derive(Default)]
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let recent = Recent::new(7);
    let (one, two): (&Arc<str>, &Arc<str>) = (&"a".into(), &"b".into());
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut follower = recent.follow(View::Only("a"), None).unwrap();
    assert_eq!(
        follower.poll_next(&mut Context::from_waker(&waker)),
        Poll::Pending
    );
    recent.begin(two, 1, description("b"));
    assert_eq!(count.0.load(SeqCst), 0);
    recent.begin(one, 2, description("a"));
    recent.begin(one, 3, description("a"));
    assert_eq!(count.0.load(SeqCst), 1);
}

#[test]
fn refused_paths_come_first_in_summary() {
    let call = Arc::new(Begun {
        id: 5,
        at: SystemTime::UNIX_EPOCH,
        client: "a".into(),
        session: None,
        revision: Revision::NEWEST_HANDSHAKE,
        tool: "read_multiple_files".to_owned(),
        arguments: json!({"paths": ["/0"]}),
        excerpts: None,
        request_bytes: 1,
        trace_id: None,
    });
    let touched = |index: usize| {
        let access = if index == 9 {
            AccessKind::Denied
        } else {
            AccessKind::Read
        };
        TouchedPath {
            path: format!("/{index}").into(),
            real: None,
            access,
        }
    };
    let recent = Recent::new(7);
    recent.begun(&call).unwrap();
    let entry = Arc::new(Entry {
        call,
        outcome: Ending::Ok,
        code: None,
        reply_bytes: 2,
        paths: (0..10).map(touched).collect(),
        paths_more: 3,
        duration: Duration::from_micros(1500),
    });
    recent
        .ended(&entry, Some(&Err(RpcError::new(Code::Internal, "no"))))
        .unwrap();
    let path = |index: usize| json!({"path": format!("/{index}"), "access": if index == 9 { "denied" } else { "read" }});
    let listed = [9, 0, 1, 2, 3, 4, 5, 6].map(path);
    let summary = json!({
        "id": 5, "at": "1970-01-01T00:00:00.000Z", "client": "a", "session": null, "tool": "read_multiple_files",
        "subject": "/0", "state": "done", "revision": "2025-11-25", "trace": null, "requestBytes": 1, "outcome": "ok",
        "code": null, "replyBytes": 2, "durationMs": 1.5, "pathsMore": 5,
        "paths": listed,
    });
    let listed: Value = serde_json::from_str(&recent.page(View::All, None, 9).calls[0]).unwrap();
    assert_eq!(listed, summary);
    let mut whole = summary;
    whole["arguments"] = json!({"paths": ["/0"]});
    whole["allPaths"] = (0..10).map(path).collect();
    whole["text"] = json!("no");
    let description: Value = serde_json::from_str(&recent.detail(View::All, 5).unwrap()).unwrap();
    assert_eq!(description, whole);
}

#[test]
fn subject_is_most_informative_argument() {
    let description = |arguments: Value| subject(&arguments);
    assert_eq!(
        description(json!({"timeout": 5, "path": "/a", "command": "  ls -l\nrm x"})),
        "ls -l…"
    );
    assert_eq!(
        description(json!({"paths": ["/a", "/b"], "edits": []})),
        "/a, /b"
    );
    assert_eq!(description(json!({"odd": "  x "})), "x");
    assert_eq!(description(json!({"limit": 3})), "");
    assert_eq!(description(json!(null)), "");
    assert_eq!(
        description(json!({"path": "é".repeat(400)})),
        format!("{}…", "é".repeat(128))
    );
}

#[test]
fn argument_excerpts_are_bounded() {
    let short = json!({"path": "/a", "edits": [{"oldText": "a", "newText": null}], "n": 1.5});
    assert_eq!(arguments(&short), short);
    let kept = json!({"content": {"sha256": "0", "bytes": 5000, "excerpt": "abc"}});
    assert_eq!(
        (subject(&kept).as_str(), arguments(&kept)),
        ("abc", json!({"content": "abc… (4997 bytes more)"}))
    );
    let long = json!({"content": "é".repeat(4000)});
    assert_eq!(
        arguments(&long),
        json!({"content": format!("{}… (3904 bytes more)", "é".repeat(2048))})
    );
    let many = json!({"edits": vec![json!({"oldText": "x".repeat(3000)}); 5000], "last": 1});
    let bounded = arguments(&many);
    assert!(
        bounded.to_string().len() < 2 * RECENT_ARGUMENTS_BYTES,
        "{}",
        bounded.to_string().len()
    );
    assert_eq!(bounded["…"], "(1 more)");
    let mut deep = json!("x");
    for _ in 0..100 {
        deep = json!([deep]);
    }
    assert!(arguments(&deep).to_string().len() < 100);

    let reply = |texts: &[&str]| {
        let content = texts.iter().copied().map(Content::text).collect();
        reply_text(&Ok(Body::Tool(ToolReply {
            content,
            ..ToolReply::default()
        })))
    };
    assert_eq!(reply(&["a", "b"]), "a\nb");
    let all = "x".repeat(RECENT_TEXT_BYTES);
    assert_eq!(reply(&[&all]), all);
    let (head, tail) = (RECENT_TEXT_BYTES / 4 * 3, RECENT_TEXT_BYTES / 4);
    let long = format!(
        "{}{}{}",
        "a".repeat(head),
        "b".repeat(100),
        "c".repeat(tail)
    );
    let cut = format!(
        "{}\n… 100 bytes are left out …\n{}",
        "a".repeat(head),
        "c".repeat(tail)
    );
    assert_eq!(reply(&[&long]), cut);
    assert_eq!(
        reply(&[&"a".repeat(head), &"b".repeat(99), &"c".repeat(tail - 1)]),
        {
            let end = "c".repeat(tail - 1);
            format!("{}\n… 100 bytes are left out …\n\n{end}", "a".repeat(head))
        }
    );
}

#[test]
fn failure_reason_is_one_line() {
    let of = |texts: &[&str]| {
        let content = texts.iter().copied().map(Content::text).collect();
        reason(&Ok(Body::Tool(ToolReply {
            content,
            ..ToolReply::default()
        })))
    };
    assert_eq!(
        of(&["[a]\nb\n[exit code: 7]", "[stderr]\nx"]).as_deref(),
        Some("exit code: 7")
    );
    assert_eq!(
        of(&["(no output)\n[timed out after 2 s]\n[exit code: 137]"]).as_deref(),
        Some("timed out after 2 s; exit code: 137")
    );
    assert_eq!(
        of(&["no such file\nmore"]).as_deref(),
        Some("no such file…")
    );
    assert_eq!(of(&[""]), None);
    let refused = Err(RpcError::new(Code::Internal, "not allowed"));
    assert_eq!(reason(&refused).as_deref(), Some("not allowed"));
}
