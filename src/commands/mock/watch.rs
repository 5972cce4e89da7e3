//! Watches a file for changes, including its replacement by another file.

use std::io;
use std::path::Path;
use std::thread;

use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};

/// Calls `changed` at every event in the directory of the file, for the lifetime of the process.
/// The directory is watched because editors replace files (inotify(7)).
pub(super) fn on_change(file: &Path, mut changed: impl FnMut() + Send + 'static) -> io::Result<()> {
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let events = init(CreateFlags::CLOEXEC)?;
    let flags = WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::CREATE;
    add_watch(&events, directory, flags)?;
    thread::Builder::new()
        .name("watch".to_owned())
        .spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                match rustix::io::read(&events, &mut buffer) {
                    Ok(0) => return,
                    Ok(_) => changed(),
                    Err(rustix::io::Errno::INTR) => {}
                    Err(error) => {
                        tracing::warn!(
                            "files are not watched any more, so restart after a \
                            change: {error}"
                        );
                        return;
                    }
                }
            }
        })?;
    Ok(())
}
