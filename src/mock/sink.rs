//! Writer of JSON lines that stays readable while the file grows, or after the writer was killed.

use std::io::Write;
use std::sync::Mutex;

use serde::Serialize;

use super::sync::lock;

/// Writes whole lines. After a failed write it stops, so that only the last line can be incomplete.
/// Readers skip such a line.
pub(crate) struct Sink {
    /// Name of the file in error messages.
    what: &'static str,
    out: Mutex<Option<Box<dyn Write + Send>>>,
}

impl Sink {
    /// Creates a sink on `out`, which should not buffer.
    pub(crate) fn new(what: &'static str, out: Box<dyn Write + Send>) -> Self {
        Self {
            what,
            out: Mutex::new(Some(out)),
        }
    }

    /// Writes a line. The first failure is logged and closes the sink.
    pub(crate) fn write(&self, line: &impl Serialize) {
        let Ok(mut line) = serde_json::to_vec(line) else {
            return;
        };
        line.push(b'\n');
        let mut out = lock(&self.out);
        if let Some(Err(error)) = out.as_mut().map(|out| out.write_all(&line)) {
            tracing::error!("{} cannot be written and is incomplete: {error}", self.what);
            *out = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::io;
    use std::sync::Arc;

    /// A writer with a limited number of bytes.
    #[derive(Clone)]
    struct SmallDisk(Arc<Mutex<Vec<u8>>>, usize);

    impl Write for SmallDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut held = self.0.lock().unwrap();
            let room = (self.1 - held.len()).min(bytes.len());
            if room == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            held.extend_from_slice(&bytes[..room]);
            Ok(room)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn full_disk_leaves_one_partial_line() {
        let disk = SmallDisk(Arc::default(), 10);
        let sink = Sink::new("it", Box::new(disk.clone()));
        for line in ["abc", "defgh", "i"] {
            sink.write(&line);
        }
        assert_eq!(
            String::from_utf8(disk.0.lock().unwrap().clone()).unwrap(),
            "\"abc\"\n\"def"
        );
    }
}
