//! Notices that a file has changed, also when another is put in its place.

use std::io;
use std::path::Path;
use std::thread;

use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};

/// Calls `changed` whenever something has happened in the directory of the file, for as long as the
/// process lives. Editors put a new file in the place of the old one, so it is the directory that
/// tells (inotify(7)).
pub fn on_change(file: &Path, mut changed: impl FnMut() + Send + 'static) -> io::Result<()> {
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
                        tracing::warn!("files are not watched any more: {error}");
                        return;
                    }
                }
            }
        })?;
    Ok(())
}
