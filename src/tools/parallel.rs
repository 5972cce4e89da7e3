//! Parallel map over items on all cores, with results in order.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use replay_files::policy::AccessRecord;

/// Threads that write the files of one call.
const WRITE_THREADS: usize = 8;

/// Applies `work` to each item. A panic in it reaches the caller.
pub(super) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    map_on(
        thread::available_parallelism().map_or(1, usize::from),
        items,
        work,
    )
}

/// Like [`map`], for work that writes files. It waits for the disk, where many concurrent flushes
/// cost little more than a few.
pub(super) fn map_writing<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    map_on(WRITE_THREADS, items, work)
}

fn map_on<T: Sync, R: Send>(most: usize, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = most.min(items.len());
    if threads <= 1 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let touched = AccessRecord::current();
    thread::scope(|scope| {
        let run = || {
            let _entered = touched.as_ref().map(AccessRecord::enter);
            let mut mine = Vec::new();
            while let Some((index, item)) = {
                let index = next.fetch_add(1, Ordering::Relaxed);
                items.get(index).map(|item| (index, item))
            } {
                mine.push((index, work(item)));
            }
            if let Ok(mut done) = done.lock() {
                done.append(&mut mine);
            }
        };
        for _ in 1..threads {
            scope.spawn(run);
        }
        run();
    });
    let mut done = done
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
