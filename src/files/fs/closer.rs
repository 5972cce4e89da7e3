//! Closes unlinked files on a separate thread. The filesystem frees their blocks at that time,
//! which takes a quarter of an edit's time on ext4.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

/// Replaced files that wait to be closed. Beyond it, the replacing thread closes its own.
const MAX_CLOSED_ASIDE: usize = 64;

/// Closes a file soon; at once, if the queue is full or no thread can be started.
pub(super) fn close(file: OwnedFd) {
    static CLOSER: OnceLock<Option<SyncSender<OwnedFd>>> = OnceLock::new();
    let closer = CLOSER.get_or_init(|| {
        let (files, waiting) = sync_channel(MAX_CLOSED_ASIDE);
        let thread = thread::Builder::new()
            .name("closer".to_owned())
            .spawn(move || waiting.iter().for_each(drop));
        thread.is_ok().then_some(files)
    });
    if let Some(closer) = closer {
        drop(closer.try_send(file));
    }
}
