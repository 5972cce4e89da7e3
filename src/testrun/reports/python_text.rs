//! Output of Python and pytest: tracebacks, fatal errors (`faulthandler`), and node ids.

use crate::model::Frame;

/// Returns the error of the last traceback in a text: its first line, and its frames, the innermost
/// first.
pub(crate) fn traceback(text: &str) -> Option<(&str, Vec<Frame>)> {
    let (_, last) = text.rsplit_once("Traceback (most recent call last):\n")?;
    let error = last
        .lines()
        .find(|line| !line.is_empty() && !line.starts_with([' ', '\t']))?;
    let mut frames: Vec<Frame> = last
        .lines()
        .take_while(|line| *line != error)
        .filter_map(frame)
        .collect();
    frames.reverse();
    Some((error, frames))
}

/// Returns the reason of a fatal error, and the frames of the failing thread, the innermost first.
pub(crate) fn fatal_error(text: &str) -> Option<(&str, Vec<Frame>)> {
    let (_, said) = text.rsplit_once("Fatal Python error: ")?;
    let (_, stack) = said.split_once("\nCurrent thread ").unwrap_or_default();
    Some((
        said.lines().next()?,
        stack.lines().skip(1).map_while(frame).collect(),
    ))
}

/// Returns the stacks of processes that were asked to end, the innermost frame first
/// (`faulthandler.register` of one thread).
pub(crate) fn ended_at(text: &str) -> impl Iterator<Item = Vec<Frame>> {
    text.split("Stack (most recent call first):\n")
        .skip(1)
        .map(|stack| stack.lines().map_while(frame).collect())
}

/// Parses `File "a.py", line 3, in f` of a traceback, or `File "a.py", line 3 in f` of
/// `faulthandler`.
pub(crate) fn frame(line: &str) -> Option<Frame> {
    let (file, rest) = line
        .trim_start()
        .strip_prefix("File \"")?
        .split_once("\", line ")?;
    let (number, function) = rest.split_once([',', ' ']).unwrap_or((rest, ""));
    let function = function.trim_start().strip_prefix("in ").map(str::to_owned);
    Some(Frame {
        function,
        ..Frame::at(file, number.parse().ok())
    })
}

/// Splits a node id into file, classes and name; parameters may contain any characters.
pub(crate) fn split_id(id: &str) -> (&str, Vec<&str>, &str) {
    let (path, parameters) = id.split_at(id.find('[').unwrap_or(id.len()));
    let mut parts = path.split("::");
    let file = parts.next().unwrap_or_default();
    let mut suite: Vec<_> = parts.collect();
    let name = suite.pop().unwrap_or(file);
    let start = id.len() - parameters.len() - name.len();
    (file, suite, &id[start..])
}

/// Returns class, message and frames of an uncaught exception in a test, which pytest reports as a
/// warning of this class.
pub(crate) fn leak<'c>(test: &str, class: &'c str, message: &str) -> (&'c str, String, Vec<Frame>) {
    let class = class
        .strip_prefix("Pytest")
        .and_then(|name| name.strip_suffix("Warning"))
        .unwrap_or(class);
    let (error, frames) = traceback(message).unzip();
    let words = [
        Some(test).filter(|test| !test.is_empty()),
        message.lines().next(),
        error,
    ];
    let message = words.into_iter().flatten().collect::<Vec<_>>().join(": ");
    (class, message, frames.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn at(file: &str, line: u32, function: &str) -> Frame {
        Frame {
            file: file.to_owned(),
            line: Some(line),
            column: None,
            function: Some(function.to_owned()),
        }
    }

    #[test]
    fn traceback_gives_error_and_frames() {
        let text = "Exception in thread T (work)\n\nTraceback (most recent call last):\n  File \"/lib/python3/threading.py\", \
            line 982, in run\n    self._target()\n  File \"t.py\", line 3, in work\n    raise ValueError(\"x\")\nValueError: x\n\n\
            Enable tracemalloc\n";
        let frames = vec![
            at("t.py", 3, "work"),
            at("/lib/python3/threading.py", 982, "run"),
        ];
        assert_eq!(traceback(text), Some(("ValueError: x", frames)));
        assert_eq!(traceback("ValueError: x"), None);
    }

    #[test]
    fn fatal_error_gives_reason_and_frames() {
        let text = "t.py Fatal Python error: Segmentation fault\n\nThread 0x1 (most recent call first):\n  \
            File \"o.py\", line 1 in wait\n\nCurrent thread 0x2 (most recent call first):\n  File \"t.py\", line 3 in crash\n\n\
            Extension modules: x\n";
        assert_eq!(
            fatal_error(text),
            Some(("Segmentation fault", vec![at("t.py", 3, "crash")]))
        );
        assert_eq!(fatal_error("stray words"), None);
        let text = "t.py Stack (most recent call first):\n  File \"a.py\", line 1 in f\n  File \"t.py\", line 3 in t\nStack";
        assert_eq!(
            ended_at(text).collect::<Vec<_>>(),
            [vec![at("a.py", 1, "f"), at("t.py", 3, "t")]]
        );
    }

    #[test]
    fn pytest_node_id_is_split() {
        assert_eq!(
            split_id("d/t.py::A::B::test_x[a::b-]"),
            ("d/t.py", vec!["A", "B"], "test_x[a::b-]")
        );
        assert_eq!(split_id("t.py::test_x"), ("t.py", vec![], "test_x"));
        assert_eq!(split_id("README.md"), ("README.md", vec![], "README.md"));
        assert_eq!(split_id("[::"), ("", vec![], "[::"));
    }
}
