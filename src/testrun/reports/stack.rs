//! Stack frames and source positions: V8's format, and the order of the frames.

use std::borrow::Cow;

use replay_base::limits::MAX_TEST_FRAMES;

use crate::model::Frame;

/// Frames of libraries in a stack that has others.
const MAX_LIBRARY_FRAMES: usize = 1;

/// Path parts of code outside the project.
const LIBRARIES: [&str; 17] = [
    "/replay_unittest.py",
    "/node_modules/",
    "node_modules/",
    "node:",
    "internal/",
    "/site-packages/",
    "/dist-packages/",
    "/lib/python",
    "/rustc/",
    "/.cargo/registry/",
    "<frozen ",
    "_testmain.go",
    "/go/src/",
    "/pkg/mod/",
    "ext:",
    "/lib/ruby/",
    "/rubygems-integration/",
];

/// Returns the path relative to `root` where possible; a `file://` URL becomes a path first.
pub(crate) fn relative<'a>(path: &'a str, root: &str) -> &'a str {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let below = if root.is_empty() {
        None
    } else {
        path.strip_prefix(root)
            .and_then(|rest| rest.strip_prefix('/'))
    };
    below.unwrap_or_else(|| path.strip_prefix("./").unwrap_or(path))
}

/// Returns the text with paths below `root` made relative.
pub(crate) fn without_root<'a>(text: &'a str, root: &str) -> Cow<'a, str> {
    if root.is_empty() || !text.contains(root) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(root) {
        let (before, after) = (&rest[..at], &rest[at + root.len()..]);
        // Not a match if `root` is only the end of a longer path.
        let begins = !out.is_empty() && before.is_empty()
            || before.ends_with(|next: char| next.is_alphanumeric() || "/._-".contains(next));
        let before = before
            .strip_suffix("file://")
            .filter(|_| after.starts_with('/'))
            .unwrap_or(before);
        out.push_str(before);
        match after.strip_prefix('/') {
            Some(below) if !begins || before.len() + "file://".len() == at => rest = below,
            _ => {
                out.push_str(root);
                rest = after;
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Returns true if a frame belongs to a library or to the runtime.
pub(crate) fn is_library(file: &str) -> bool {
    LIBRARIES.iter().any(|part| {
        if part.starts_with('/') {
            file.contains(part)
        } else {
            file.starts_with(part)
        }
    })
}

/// Returns the line and column to fix for an error of `file`. This is `own` or else a frame of the
/// file, unless the error comes from another file of the project: then the message ends with that
/// place.
pub(crate) fn place_to_fix(
    own: Option<(u32, Option<u32>)>,
    frames: &[Frame],
    file: &str,
    message: &mut String,
) -> Option<(u32, Option<u32>)> {
    let first = frames.iter().find(|frame| !is_library(&frame.file));
    if let Some(frame) = first.filter(|frame| !frame.file.ends_with(file)) {
        message.extend(["\nat ", &frame.file]);
        for number in [frame.line, frame.column].into_iter().flatten() {
            message.extend([":", &number.to_string()]);
        }
        return None;
    }
    own.or_else(|| {
        let own = frames.iter().find(|frame| frame.file.ends_with(file))?;
        Some((own.line?, own.column))
    })
}

/// Returns the number of frames to report: those of the project, or else the first one.
pub(crate) fn frames_to_show(stack: &[Frame]) -> usize {
    stack
        .iter()
        .take_while(|frame| !is_library(&frame.file))
        .count()
        .max(1)
}

/// Returns the frames of the project first, then the first ones of libraries.
pub(crate) fn ordered(frames: Vec<Frame>) -> Vec<Frame> {
    let (mut theirs, mut own): (Vec<_>, Vec<_>) = frames
        .into_iter()
        .partition(|frame| is_library(&frame.file));
    own.dedup();
    own.truncate(MAX_TEST_FRAMES);
    theirs.truncate(if own.is_empty() {
        MAX_TEST_FRAMES
    } else {
        MAX_LIBRARY_FRAMES.min(MAX_TEST_FRAMES - own.len())
    });
    own.append(&mut theirs);
    own
}

/// Splits V8's `Error.stack` (<https://v8.dev/docs/stack-trace-api>), or a stack trace of the JVM,
/// into the message and the frames.
pub(crate) fn split_trace(text: &str) -> (&str, Vec<Frame>) {
    let is_frame = |line: &str| {
        line.trim_start()
            .strip_prefix("at ")
            .is_some_and(|rest| trace_frame(rest).is_some())
    };
    let mut end = text.len();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with([' ', '\t']) && is_frame(line.trim_end()) {
            end = at;
            break;
        }
        at += line.len();
    }
    let frames = text[end..]
        .lines()
        .filter_map(|line| line.trim().strip_prefix("at ").and_then(trace_frame))
        .take(MAX_TEST_FRAMES * 8)
        .collect();
    (text[..end].trim_end(), frames)
}

/// Parses the text after `at `: `name (file:line:column)` or `file:line:column`.
fn trace_frame(text: &str) -> Option<Frame> {
    let text = text.strip_prefix("async ").unwrap_or(text);
    let inner = text.strip_suffix(')');
    let (function, place) = match inner.and_then(|text| text.rsplit_once(" (")) {
        Some((function, place)) => (Some(function), place),
        None => match inner.and_then(|text| text.rsplit_once('(')) {
            Some((function, place)) => return jvm_frame(function, place),
            None => (None, text),
        },
    };
    let (file, line, column) = place_of(place)?;
    if file.is_empty() || file.starts_with('<') {
        return None;
    }
    let function = function
        .filter(|name| !name.is_empty() && *name != "Object.<anonymous>" && *name != "<anonymous>");
    Some(Frame {
        column: Some(column),
        function: function.map(str::to_owned),
        ..Frame::at(file, Some(line))
    })
}

/// Splits `file:line:column`.
pub(crate) fn place_of(text: &str) -> Option<(&str, u32, u32)> {
    let (rest, column) = text.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    Some((file, line.parse().ok()?, column.parse().ok()?))
}

/// Finds a line of `file` in a text: `file:line:column`, `file:line` or Python's `file", line 3`.
pub(crate) fn place_in(text: &str, file: &str) -> Option<(u32, Option<u32>)> {
    if file.is_empty() {
        return None;
    }
    text.match_indices(file).find_map(|(at, _)| {
        let rest = &text[at + file.len()..];
        if let Some(rest) = rest.strip_prefix("\", line ") {
            return number(rest).map(|(line, _)| (line, None));
        }
        let (line, rest) = number(rest.strip_prefix(':')?)?;
        Some((
            line,
            rest.strip_prefix(':')
                .and_then(number)
                .map(|(column, _)| column),
        ))
    })
}

fn number(text: &str) -> Option<(u32, &str)> {
    let end = text
        .find(|next: char| !next.is_ascii_digit())
        .unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// Parses a frame of the JVM: `class.method` (perhaps behind a loader and a module) and `File.java:12`, `Native
/// Method` or `Unknown Source`.
fn jvm_frame(function: &str, place: &str) -> Option<Frame> {
    let function = function.rsplit('/').next()?;
    let (class, method) = function.rsplit_once('.')?;
    let (package, class) = class.rsplit_once('.').unwrap_or(("", class));
    let (name, line) = match place.split_once(':') {
        Some((name, line)) => (name.to_owned(), Some(line.parse().ok()?)),
        None => (format!("{}.java", class.split('$').next()?), None),
    };
    let dir = package.replace('.', "/");
    Some(Frame {
        file: [&*dir, &*name].join("/").trim_start_matches('/').to_owned(),
        line,
        column: None,
        function: Some(format!("{class}.{method}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_frames_are_ordered_last() {
        let text = "TypeError: boom\n    over two lines\n    at boom (/p/src/math.ts:2:39)\n    \
            at file:///p/node_modules/x/run.js:155:11\n    at new Promise (<anonymous>)\n    at async /p/a.test.ts:13:24\n    \
            at process.processTicks (node:internal/process/task_queues:95:5)";
        let (message, frames) = split_trace(text);
        assert_eq!(message, "TypeError: boom\n    over two lines");
        let told: Vec<_> = ordered(frames)
            .iter()
            .map(|frame| {
                (
                    relative(&frame.file, "/p").to_owned(),
                    frame.line,
                    frame.function.clone(),
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("src/math.ts".to_owned(), Some(2), Some("boom".to_owned())),
                ("a.test.ts".to_owned(), Some(13), None),
                ("node_modules/x/run.js".to_owned(), Some(155), None),
            ]
        );
    }

    #[test]
    fn frames_of_jvm_have_paths_of_packages() {
        let text = "java.lang.Error: no\n\tat app//org.x.ATest$In.m(ATest.java:5)\n\tat \
            java.base/java.lang.Thread.sleep(Native Method)\nCaused by: b\n\tat T.m(T.kt:7)\n";
        let (message, frames) = split_trace(text);
        assert_eq!(message, "java.lang.Error: no");
        let frame = |file: &str, line, function: &str| Frame {
            file: file.to_owned(),
            line,
            column: None,
            function: Some(function.to_owned()),
        };
        let expected = [
            frame("org/x/ATest.java", Some(5), "ATest$In.m"),
            frame("java/lang/Thread.java", None, "Thread.sleep"),
            frame("T.kt", Some(7), "T.m"),
        ];
        assert_eq!(frames, expected);
    }

    #[test]
    fn paths_below_root_become_relative() {
        let of = |text: &str| without_root(text, "/p").into_owned();
        assert_eq!(
            of("in /p/a.ts and '/p/b.ts' (file:///p/c.ts)"),
            "in a.ts and 'b.ts' (c.ts)"
        );
        assert_eq!(
            of("/x/p/a.ts /p /people x/p/p/"),
            "/x/p/a.ts /p /people x/p/p/"
        );
    }

    #[test]
    fn message_with_file_gives_line_and_column() {
        assert_eq!(
            place_in("[ src/a.ts:2:33 ]", "src/a.ts"),
            Some((2, Some(33)))
        );
        assert_eq!(
            place_in("  File \"/p/t.py\", line 7\n", "/p/t.py"),
            Some((7, None))
        );
        assert_eq!(
            place_in("t.py: t.py:1: in <module>", "t.py"),
            Some((1, None))
        );
        assert_eq!(
            [place_in("t.py", "t.py"), place_in("t.py", "")],
            [None, None]
        );
    }
}
