//! Messages to and from the driver: one JSON object a line. This module does no I/O.
//!
//! Cells can write any bytes to the socket. An unknown line is therefore ignored, and only an
//! endless line is refused.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Longest line that a session says, in bytes: a picture as base64.
const MAX_PYTHON_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// Request to a session.
#[derive(Debug, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(super) enum Request<'a> {
    /// Run a cell. The replies are [`Event::Begun`] and the events after it.
    Exec { id: u64, code: &'a str },
    /// Return completions at the cursor, which counts code points.
    Complete { id: u64, code: &'a str, cursor: u64 },
    /// Describe the name at the cursor.
    Inspect {
        id: u64,
        code: &'a str,
        cursor: u64,
        detail: u8,
    },
    /// List the names that cells have defined.
    Variables { id: u64 },
    /// Ping.
    Ping { id: u64 },
    /// Add a directory to the module search path.
    Packages { id: u64, directory: &'a str },
    /// Become the interpreter of a session in this directory, given its `st_dev` and `st_ino`
    /// (stat(2)).
    Adopt {
        id: u64,
        directory: &'a str,
        dev: u64,
        ino: u64,
    },
}

impl Request<'_> {
    /// Returns the request as a line with its newline.
    pub(super) fn line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

/// First message of a session: version and paths of its interpreter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Ready {
    /// Python version, such as `3.11.2`.
    pub version: String,
    pub executable: String,
    /// Directory of the installed packages (`sys.prefix`).
    pub prefix: String,
    /// Process ID inside the session's PID namespace.
    pub pid: u32,
}

/// An exception that a cell did not catch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Raised {
    pub name: String,
    pub value: String,
    /// Traceback as Python prints it, without the frames of the driver.
    pub traceback: String,
}

/// A value that a cell displayed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DisplayedValue {
    /// `true` if this is the value of the cell's last expression.
    pub is_result: bool,
    /// Representations by media type; pictures are base64.
    pub data: BTreeMap<String, String>,
    /// Paths of saved pictures below the session's directory.
    pub files: Vec<String>,
}

/// Completions at a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Completion {
    /// Whole words, in the completer's order.
    pub matches: Vec<String>,
    /// Start of the word that they replace, in code points.
    pub cursor_start: u64,
    pub cursor_end: u64,
}

/// Description of the name at a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Inspection {
    /// `true` if the name exists.
    pub found: bool,
    /// Description by media type.
    pub data: BTreeMap<String, String>,
}

/// A variable that cells have defined.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Variable {
    pub name: String,
    /// Class of the value.
    #[serde(rename = "type")]
    pub kind: String,
    /// Beginning of the value's `repr`.
    pub value: String,
    /// Shape or length of the value, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
}

/// End of a cell.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct CellEnd {
    pub(super) id: u64,
    #[serde(rename = "cell")]
    pub(super) number: u64,
    pub(super) error: Option<Raised>,
    pub(super) seconds: f64,
}

/// Message from a session.
#[derive(Debug, PartialEq)]
pub(super) enum Event {
    Ready(Ready),
    /// The cell has begun: from here on an interrupt is meant for it.
    Begun {
        id: u64,
    },
    /// The cell displays a value.
    DisplayedValue {
        id: u64,
        shown: DisplayedValue,
    },
    /// A thread of an earlier cell writes.
    Late {
        text: String,
    },
    /// The cell has ended; its output is in the pipes.
    Done(CellEnd),
    /// Reply to a request, by its id.
    Reply {
        id: u64,
        line: Vec<u8>,
    },
}

impl Event {
    /// Parses a line. Returns `None` for an unknown message.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct MessageHead<'a> {
            #[serde(borrow)]
            event: &'a str,
            id: Option<u64>,
        }
        #[derive(Deserialize)]
        struct DisplayMessage {
            #[serde(default)]
            data: BTreeMap<String, String>,
            #[serde(default)]
            files: Vec<String>,
        }
        #[derive(Deserialize)]
        struct LateMessage {
            text: String,
        }
        let head: MessageHead<'_> = serde_json::from_slice(line).ok()?;
        match (head.event, head.id) {
            ("ready", _) => serde_json::from_slice(line).ok().map(Self::Ready),
            ("begun", Some(id)) => Some(Self::Begun { id }),
            ("done", Some(_)) => serde_json::from_slice(line).ok().map(Self::Done),
            ("reply", Some(id)) => Some(Self::Reply {
                id,
                line: line.to_vec(),
            }),
            (kind @ ("display" | "result"), Some(id)) => {
                let DisplayMessage { data, files } = serde_json::from_slice(line).ok()?;
                Some(Self::DisplayedValue {
                    id,
                    shown: DisplayedValue {
                        is_result: kind == "result",
                        data,
                        files,
                    },
                })
            }
            ("late", _) => {
                let LateMessage { text } = serde_json::from_slice(line).ok()?;
                Some(Self::Late { text })
            }
            _ => None,
        }
    }
}

/// Splits a byte stream into lines.
#[derive(Debug, Default)]
pub(super) struct LineSplitter {
    rest: Vec<u8>,
}

/// Error: a line longer than the limit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineTooLong;

impl LineSplitter {
    /// Takes bytes in and calls `each` for every complete line, without its newline.
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(&[u8]),
    ) -> Result<(), LineTooLong> {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            if self.rest.is_empty() {
                each(&bytes[..end]);
            } else {
                self.rest.extend_from_slice(&bytes[..end]);
                each(&self.rest);
                self.rest.clear();
            }
            bytes = &bytes[end + 1..];
        }
        self.rest.extend_from_slice(bytes);
        if self.rest.is_empty() {
            // Release the memory of a large picture.
            self.rest.shrink_to(64 * 1024);
        }
        if self.rest.len() > MAX_PYTHON_EVENT_BYTES {
            Err(LineTooLong)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn request_is_serialized_as_one_line() {
        let line = Request::Exec {
            id: 7,
            code: "a\n\"é",
        }
        .line()
        .unwrap();
        assert_eq!(
            String::from_utf8(line).unwrap(),
            "{\"op\":\"exec\",\"id\":7,\"code\":\"a\\n\\\"é\"}\n"
        );
        let line = Request::Inspect {
            id: 8,
            code: "a",
            cursor: 1,
            detail: 0,
        }
        .line()
        .unwrap();
        assert_eq!(
            line,
            b"{\"op\":\"inspect\",\"id\":8,\"code\":\"a\",\"cursor\":1,\"detail\":0}\n"
        );
    }

    #[test]
    fn known_event_lines_are_parsed() {
        let ready =
            br#"{"event": "ready", "version": "3.11.2", "executable": "/p", "prefix": "/usr", "pid": 2, "more": []}"#;
        let expected = Ready {
            version: "3.11.2".into(),
            executable: "/p".into(),
            prefix: "/usr".into(),
            pid: 2,
        };
        assert_eq!(Event::read(ready), Some(Event::Ready(expected)));
        assert_eq!(
            Event::read(br#"{"event": "begun", "id": 3}"#),
            Some(Event::Begun { id: 3 })
        );
        let shown = br#"{"event": "result", "id": 3, "data": {"text/plain": "1"}, "files": ["outputs/a.png"]}"#;
        let data = BTreeMap::from([("text/plain".to_owned(), "1".to_owned())]);
        let expected = DisplayedValue {
            is_result: true,
            data,
            files: vec!["outputs/a.png".into()],
        };
        assert_eq!(
            Event::read(shown),
            Some(Event::DisplayedValue {
                id: 3,
                shown: expected
            })
        );
        let done = br#"{"event": "done", "id": 3, "cell": 1, "error": null, "seconds": 0.5, "notes": ["n"]}"#;
        let expected = CellEnd {
            id: 3,
            number: 1,
            error: None,
            seconds: 0.5,
        };
        assert_eq!(Event::read(done), Some(Event::Done(expected)));
        let late = br#"{"event": "late", "cell": 1, "stream": "stdout", "text": "x\n"}"#;
        assert_eq!(Event::read(late), Some(Event::Late { text: "x\n".into() }));
    }

    #[test]
    fn malformed_event_line_is_ignored() {
        let lines: [&[u8]; 8] = [
            b"",
            b"null",
            b"{}",
            b"\xff",
            br#"{"event": "done", "id": "3"}"#,
            br#"{"event": "done", "id": 3}"#,
            br#"{"event": "result", "id": null, "data": {}}"#,
            br#"{"event": "result", "id": 3, "data": {"text/plain": 5}}"#,
        ];
        for line in lines {
            assert_eq!(Event::read(line), None, "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn lines_are_split_for_any_chunk_size() {
        for size in 1..12 {
            let mut lines = LineSplitter::default();
            let mut seen = Vec::new();
            for part in b"one\n\ntwo\nthree".chunks(size) {
                lines
                    .push(part, |line| {
                        seen.push(String::from_utf8(line.to_vec()).unwrap());
                    })
                    .unwrap();
            }
            assert_eq!(seen, ["one", "", "two"], "{size}");
            lines
                .push(b"\n", |line| {
                    seen.push(String::from_utf8(line.to_vec()).unwrap());
                })
                .unwrap();
            assert_eq!(seen[3], "three");
        }
    }

    #[test]
    fn line_above_limit_is_refused() {
        let mut lines = LineSplitter::default();
        let part = vec![b'x'; 1 << 20];
        let parts = MAX_PYTHON_EVENT_BYTES / part.len();
        for _ in 0..parts {
            assert_eq!(lines.push(&part, |_| panic!("no line has ended")), Ok(()));
        }
        assert_eq!(
            lines.push(&part, |_| panic!("no line has ended")),
            Err(LineTooLong)
        );
    }
}
