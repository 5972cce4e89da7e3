//! A file of JSON lines that others read while it grows, or after whoever writes it was killed.

use std::io::Write;
use std::sync::Mutex;

use serde::Serialize;

use super::sync::lock;

/// Writes a line at a time. After a line that could not be written whole nothing more is: half a
/// line is then the last one, which readers know how to leave out.
pub struct Sink {
    /// What it is, as an error names it.
    what: &'static str,
    out: Mutex<Option<Box<dyn Write + Send>>>,
}

impl Sink {
    /// A sink on `out`, which should not buffer.
    pub fn new(what: &'static str, out: Box<dyn Write + Send>) -> Self {
        Self {
            what,
            out: Mutex::new(Some(out)),
        }
    }

    /// Writes a line. The first failure is logged.
    pub fn write(&self, line: &impl Serialize) {
        let Ok(mut line) = serde_json::to_vec(line) else {
            return;
        };
        line.push(b'\n');
        let mut out = lock(&self.out);
        if let Some(Err(error)) = out.as_mut().map(|out| out.write_all(&line)) {
            tracing::error!("{} cannot be written, and ends here: {error}", self.what);
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

    /// Room for so many bytes.
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
    fn a_full_disk_ends_in_at_most_one_half_line() {
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
