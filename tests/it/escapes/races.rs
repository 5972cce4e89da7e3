//! Races, part 4 of the escapes: a thread continuously swaps names with `RENAME_EXCHANGE` while the
//! server handles calls. Each case takes 5 seconds, or `REPLAY_TEST_RACE_SECS`. A race is only
//! meaningful if both outcomes occur. So on a slow machine a case goes on until they have.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use super::{SECRET, Stage, failure};
use crate::harness::{Reply, ends_within};
use crate::tree::Tree;

fn race_time() -> Duration {
    let seconds = std::env::var("REPLAY_TEST_RACE_SECS")
        .ok()
        .and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(5))
}

/// Longest time that a case waits for both outcomes.
const RACE_DEADLINE: Duration = Duration::from_mins(2);

/// Returns true while a race must go on: its time is not over, or an expected outcome is missing.
fn race_goes_on(began: Instant, is_complete: bool) -> bool {
    let elapsed = began.elapsed();
    elapsed < race_time() || (!is_complete && elapsed < RACE_DEADLINE)
}

/// Swaps the two names until `work` is over and returns the number of swaps. Swapping pauses while
/// the mutex is locked.
fn with_swapping(one: &Path, other: &Path, work: impl FnOnce(&Mutex<()>)) -> u64 {
    let (stop, flips, still) = (AtomicBool::new(false), AtomicU64::new(0), Mutex::new(()));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::SeqCst) {
                let _held = still.lock().unwrap();
                // A deleted name cannot be swapped until it exists again.
                if renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok() {
                    flips.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
        let guard = StopOnDrop(&stop);
        work(&still);
        drop(guard);
    });
    flips.into_inner()
}

/// Stops the swapping thread, also if an assertion fails.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Outcomes of the calls in a race.
#[derive(Debug, Default)]
struct RaceOutcome {
    worked: u64,
    failed: u64,
}

impl RaceOutcome {
    fn has_both(&self) -> bool {
        self.worked > 0 && self.failed > 0
    }
}

/// Repeats the calls while `one` and `other` are swapped, until the outcomes are complete.
fn race(
    stage: &mut Stage,
    one: &str,
    other: &str,
    calls: &[(&str, Value)],
    is_complete: fn(&RaceOutcome) -> bool,
    mut seen: impl FnMut(&Tree, &Reply),
) {
    let (one, other) = (stage.tree.path(one), stage.tree.path(other));
    let mut count = RaceOutcome::default();
    let flips = with_swapping(&one, &other, |_| {
        let began = Instant::now();
        while race_goes_on(began, is_complete(&count)) {
            for (tool, arguments) in calls {
                let reply = stage.call(tool, arguments.clone());
                if failure(&reply).is_some() {
                    count.failed += 1;
                } else {
                    count.worked += 1;
                }
                seen(&stage.tree, &reply);
            }
        }
    });
    assert!(flips > 100, "only {flips} flips");
    assert!(is_complete(&count), "{count:?}");
}

/// Creates a directory `work/r` and a symlink to the outside `work/q`, to be swapped.
fn stage_with_directories() -> Stage {
    Stage::new(|tree| {
        tree.file("work/r/secret", "inside\n")
            .link(tree.path("outside"), "work/q");
    })
}

#[test]
fn e60_read_below_swapped_directory_stays_inside() {
    let mut stage = stage_with_directories();
    let path = stage.tree.text("work/r/secret");
    let calls = [
        ("read_file", json!({"path": path})),
        ("read_multiple_files", json!({"paths": [path]})),
        ("get_file_info", json!({"path": path})),
    ];
    race(
        &mut stage,
        "work/r",
        "work/q",
        &calls,
        RaceOutcome::has_both,
        |_, reply| {
            assert!(
                !reply.whole().contains(&format!("size: {}", SECRET.len())),
                "{}",
                reply.whole()
            );
        },
    );
    stage.end();
}

#[test]
fn e61_write_below_swapped_directory_stays_inside() {
    let mut stage = stage_with_directories();
    let (new, deep, dir) = (
        stage.tree.text("work/r/new"),
        stage.tree.text("work/r/deep/er/new"),
        stage.tree.text("work/r/dir"),
    );
    let calls = [
        ("write_file", json!({"path": new, "content": "x"})),
        ("write_file", json!({"path": deep, "content": "x"})),
        ("create_directory", json!({"path": dir})),
        (
            "move_file",
            json!({"source": new, "destination": format!("{new}-moved")}),
        ),
        ("delete_file", json!({"path": format!("{new}-moved")})),
    ];
    race(
        &mut stage,
        "work/r",
        "work/q",
        &calls,
        RaceOutcome::has_both,
        |tree, _| {
            assert!(
                !tree.has("outside/new") && !tree.has("outside/deep") && !tree.has("outside/dir")
            );
        },
    );
    stage.end();
}

#[test]
fn e62_edit_below_swapped_directory_stays_inside() {
    let mut stage = stage_with_directories();
    let path = stage.tree.text("work/r/secret");
    let edit = |from: &str, to: &str, dry| json!({"path": path, "edits": [{"oldText": from, "newText": to}], "dryRun": dry});
    // The last edit matches only outside; its failure would quote the match.
    let calls = [
        ("edit_file", edit("inside", "within", false)),
        ("edit_file", edit("within", "inside", false)),
        ("edit_file", edit("inside", "x", true)),
        ("edit_file", edit("TOPSECRETS", "x", false)),
    ];
    race(
        &mut stage,
        "work/r",
        "work/q",
        &calls,
        RaceOutcome::has_both,
        |_, _| {},
    );
    stage.end();
}

#[test]
fn e63_delete_of_swapped_directory_stays_inside() {
    let mut stage = Stage::new(|tree| {
        tree.file("work/t/r/secret", "inside\n")
            .link(tree.path("outside"), "work/t/q");
    });
    let (one, other) = (stage.tree.path("work/t/r"), stage.tree.path("work/t/q"));
    let (path, outside) = (stage.tree.text("work/t"), stage.tree.path("outside"));
    let mut deleted = 0_u32;
    with_swapping(&one, &other, |_| {
        let began = Instant::now();
        while race_goes_on(began, deleted > 0) {
            // Recreated each time; a swap may have moved the remaining entry to the other name.
            for number in 0..10 {
                stage.tree.file(format!("work/t/sub{number}/f"), "x");
            }
            if !stage.tree.has("work/t/r") {
                stage.tree.file("work/t/r/secret", "inside\n");
            }
            if !stage.tree.has("work/t/q") {
                stage.tree.link(&outside, "work/t/q");
            }
            if failure(&stage.call("delete_file", json!({"path": path}))).is_none() {
                deleted += 1;
            }
        }
    });
    assert!(deleted > 0, "nothing was ever deleted");
    stage.end();
}

#[test]
fn e64_walk_over_swapped_directory_stays_inside() {
    let mut stage = stage_with_directories();
    let path = stage.tree.text("work");
    let calls = super::walkers(&path);
    race(
        &mut stage,
        "work/r",
        "work/q",
        &calls,
        |count| count.worked > 0,
        |_, _| {},
    );
    stage.end();
}

#[test]
fn e65_swapped_last_component_stays_inside() {
    let mut stage = Stage::new(|tree| {
        tree.file("work/f", "inside\n")
            .link(tree.path("outside/secret"), "work/g");
    });
    let path = stage.tree.text("work/f");
    let calls = [
        ("write_file", json!({"path": path, "content": "inside\n"})),
        (
            "edit_file",
            json!({"path": path, "edits": [{"oldText": "inside", "newText": "inside"}]}),
        ),
        (
            "edit_file",
            json!({"path": path, "edits": [{"oldText": "TOPSECRETS", "newText": "x"}]}),
        ),
        ("read_file", json!({"path": path})),
    ];
    let (one, other, secret) = (
        stage.tree.path("work/f"),
        stage.tree.path("work/g"),
        stage.tree.path("outside/secret"),
    );
    let mut count = RaceOutcome::default();
    with_swapping(&one, &other, |still| {
        let began = Instant::now();
        while race_goes_on(began, count.has_both()) {
            for (tool, arguments) in &calls {
                let reply = stage.call(tool, arguments.clone());
                if failure(&reply).is_some() {
                    count.failed += 1;
                } else {
                    count.worked += 1;
                }
                // A write may replace the symlink with a file; restore the symlink.
                let _held = still.lock().unwrap();
                if !stage.tree.is_link("work/f") && !stage.tree.is_link("work/g") {
                    let _ = std::fs::remove_file(&other);
                    let _ = std::os::unix::fs::symlink(&secret, &other);
                }
            }
        }
    });
    assert!(count.has_both(), "{count:?}");
    stage.end();
}

#[test]
fn e67_move_does_not_overwrite_new_destination() {
    let mut stage = Stage::new(|_| {});
    let (source, destination) = (stage.tree.text("work/from"), stage.tree.text("work/to"));
    let (stop, theirs) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut moved, mut refused) = (0_u32, 0_u32);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::SeqCst) {
                let Ok(mut file) = std::fs::File::create_new(&destination) else {
                    continue;
                };
                std::io::Write::write_all(&mut file, b"theirs").unwrap();
                // Busy-wait longer than a slow move takes.
                for _ in 0..20 {
                    assert_eq!(
                        std::fs::read_to_string(&destination).unwrap(),
                        "theirs",
                        "overwritten"
                    );
                }
                std::fs::remove_file(&destination).unwrap();
                theirs.fetch_add(1, Ordering::SeqCst);
            }
        });
        let guard = StopOnDrop(&stop);
        let began = Instant::now();
        while race_goes_on(
            began,
            moved > 0 && refused > 0 && theirs.load(Ordering::SeqCst) > 10,
        ) {
            stage.tree.file("work/from", "ours");
            if failure(&stage.call(
                "move_file",
                json!({"source": source, "destination": destination}),
            ))
            .is_none()
            {
                moved += 1;
                assert_eq!(std::fs::read_to_string(&destination).unwrap(), "ours");
                std::fs::remove_file(&destination).unwrap();
            } else {
                refused += 1;
                assert_eq!(stage.tree.read("work/from"), "ours");
            }
        }
        drop(guard);
    });
    assert!(
        moved > 0 && refused > 0 && theirs.into_inner() > 10,
        "{moved} moved, {refused} refused"
    );
    stage.end();
}

#[test]
fn e68_parallel_edits_of_file_are_all_kept() {
    const ROUNDS: u32 = 1000;
    let mut stage = Stage::new(|tree| {
        tree.file("work/counters", "left=0;\nright=0;\n");
    });
    let path = stage.tree.text("work/counters");
    for round in 0..ROUNDS {
        let edit = |name: &str| {
            let edits = json!([{"oldText": format!("{name}={round};"), "newText": format!("{name}={};", round + 1)}]);
            json!({"name": "edit_file", "arguments": {"path": path, "edits": edits}})
        };
        let ids = ["left", "right"].map(|name| stage.server.send("tools/call", edit(name)));
        for id in ids {
            stage.server.reply_to(&id).texts();
        }
    }
    assert_eq!(
        stage.tree.read("work/counters"),
        format!("left={ROUNDS};\nright={ROUNDS};\n")
    );
    stage.end();
}

#[test]
fn e68_parallel_edit_files_calls_succeed() {
    const COUNTERS: u32 = 200;
    let text = |value: u32| {
        (0..COUNTERS)
            .map(|counter| format!("<{counter}>={value};\n"))
            .collect::<Vec<_>>()
            .concat()
    };
    let mut stage = Stage::new(|tree| {
        tree.file("work/counters", text(0));
    });
    let path = stage.tree.text("work/counters");
    let edit = |counter: u32| {
        let edits =
            json!([{"oldText": format!("<{counter}>=0;"), "newText": format!("<{counter}>=1;")}]);
        json!({"name": "edit_files", "arguments": {"paths": [path], "edits": edits}})
    };
    let ids: Vec<_> = (0..COUNTERS)
        .map(|counter| stage.server.send("tools/call", edit(counter)))
        .collect();
    for id in ids {
        stage.server.reply_to(&id).texts();
    }
    assert_eq!(stage.tree.read("work/counters"), text(1));
    stage.end();
}

#[test]
fn e70_edit_with_hash_detects_concurrent_change() {
    use sha2::{Digest, Sha256};
    use std::fmt::Write as _;

    let hash = |text: &str| {
        Sha256::digest(text)
            .iter()
            .fold(String::new(), |mut all, byte| {
                let _ = write!(all, "{byte:02x}");
                all
            })
    };
    let mut stage = Stage::new(|tree| {
        tree.file("work/f", "first\n");
    });
    let path = stage.tree.text("work/f");
    let edit = |expected: &str, from: &str, to: &str| json!({"path": path, "edits": [{"oldText": from, "newText": to}], "expectedSha256": expected});
    stage.tree.file("work/f", "other\n");
    let refusal = stage.fails("edit_file", edit(&hash("first\n"), "other", "mine"));
    assert!(
        refusal.message.contains(&hash("other\n")),
        "the current hash is missing: {}",
        refusal.message
    );
    assert_eq!(stage.tree.read("work/f"), "other\n");
    // The same bytes are written again, so the hash is still valid.
    stage.tree.file("work/f", "other\n");
    stage.works("edit_file", edit(&hash("other\n"), "other", "mine"));
    assert_eq!(stage.tree.read("work/f"), "mine\n");
    stage.end();
}

#[test]
fn e71_kill_during_write_leaves_whole_file() {
    const BYTES: usize = 2 << 20;
    let tree = Stage::layout(|_| {});
    tree.file("work/f", "a".repeat(BYTES));
    let allow = format!("{}:rw", tree.text("work"));
    let path = tree.text("work/f");
    let mut letters = std::collections::BTreeSet::from(['a']);
    for round in 0..12_u64 {
        let letter = char::from(b'b' + u8::try_from(round).unwrap());
        let mut server = crate::harness::Server::open(
            &tree,
            crate::schema::NEWEST_HANDSHAKE,
            &["--allow", &allow],
        );
        let arguments = json!({"path": path, "content": letter.to_string().repeat(BYTES)});
        server.send(
            "tools/call",
            json!({"name": "write_file", "arguments": arguments}),
        );
        // This wait always times out; it varies the moment of the kill.
        ends_within(server.pid(), Duration::from_millis(round * 4));
        let _ = rustix::process::kill_process(server.pid(), rustix::process::Signal::KILL);
        server.wait_exit();
        letters.insert(letter);

        let contents = tree.read("work/f");
        let first = contents.chars().next().unwrap_or('?');
        assert!(letters.contains(&first), "{first}");
        assert!(
            contents == first.to_string().repeat(BYTES),
            "a file of two halves after round {round}"
        );
        let names = std::fs::read_dir(tree.path("work")).unwrap();
        for name in names.map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
            assert!(
                name == "f" || name == "ok.txt" || name.contains("replay"),
                "whose is `{name}`?"
            );
        }
    }
}
