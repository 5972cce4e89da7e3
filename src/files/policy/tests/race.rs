use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::*;

/// Returns the duration of a race: one second, or `REPLAY_TEST_RACE_SECS`.
pub(crate) fn race_time() -> Duration {
    Duration::from_secs(
        std::env::var("REPLAY_TEST_RACE_SECS")
            .ok()
            .and_then(|s| s.parse().ok())
            .unwrap_or(1),
    )
}

/// Also where an assertion fails meanwhile: the scope waits for its threads.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

const MOST_RACE_TIME: Duration = Duration::from_mins(2);

/// Swaps `one` and `other` as fast as possible while `work` runs repeatedly. Ends when the time is
/// over and `work` has succeeded once. On a busy machine `work` can lose the race for longer than a
/// second.
pub(crate) fn while_swapping(one: &Path, other: &Path, mut work: impl FnMut() -> bool) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE);
            }
        });
        let _stopped = StopAtEnd(&stop);
        let begun = Instant::now();
        let mut has_succeeded = false;
        while begun.elapsed() < race_time() || !has_succeeded && begun.elapsed() < MOST_RACE_TIME {
            has_succeeded |= work();
        }
        assert!(has_succeeded, "no try succeeded in {:?}", begun.elapsed());
    });
}

#[test]
fn swapped_link_never_leads_out() {
    let tree = Tree::new();
    std::fs::create_dir(tree.at("A/d")).unwrap();
    std::fs::write(tree.at("A/d/secret"), "public").unwrap();
    tree.link("A/out", "$O");
    tree.link("A/in", "d");
    let (mut read, mut written) = (0, 0);
    while_swapping(&tree.at("A/d"), &tree.at("A/out"), || {
        for path in [
            "A/d/secret",
            "A/d/../d/secret",
            "A/in/secret",
            "A/in/../d/secret",
        ] {
            match tree.read(path).as_str() {
                "public rw" => read += 1,
                "Denied" | "NotFound" | "NotADirectory" | "Busy" => {}
                other => panic!("{path}: {other}"),
            }
            if let Ok(checked) = tree.policy.write(tree.at(path)) {
                let dir = true_path(checked.dir());
                assert!(dir.starts_with(tree.at("A")), "{}", dir.display());
                written += 1;
            }
        }
        read > 0 && written > 0
    });
}
