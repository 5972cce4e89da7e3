//! A function over many items on all cores, results in order.

use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::limits::FLUSH_THREADS;
use crate::policy::Touched;

/// Applies `work` to each item. A panic in it reaches the caller.
pub fn map<T, R: Send>(items: impl Items<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    map_on(thread::available_parallelism().map_or(1, usize::from), items, work)
}

/// As [`map`], for work that waits for the disk, which serves many flushes at once for the price of a few.
pub fn map_flushing<T, R: Send>(items: impl Items<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    map_on(FLUSH_THREADS, items, work)
}

/// Items that threads take one by one.
pub trait Items<T>: IntoIterator<Item = T, IntoIter: ExactSizeIterator + Send> {}

impl<T, I: IntoIterator<Item = T, IntoIter: ExactSizeIterator + Send>> Items<T> for I {}

fn map_on<T, R: Send>(most: usize, items: impl Items<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let items = items.into_iter();
    let threads = most.min(items.len());
    if threads <= 1 {
        return items.map(work).collect();
    }
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let left = Mutex::new(items.enumerate());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let touched = Touched::current();
    thread::scope(|scope| {
        let run = || {
            let _entered = touched.as_ref().map(Touched::enter);
            let mut mine = Vec::new();
            while let Some((index, item)) = next() {
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
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
