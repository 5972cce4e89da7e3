//! The data: made by rule below `target/bench`, the same on every machine.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

/// The line that the edits change, in its two states; they differ in length.
pub const STATES: [&str; 2] = [
    "the one line to change: alpha",
    "the one line to change: omega, longer",
];

/// Where everything lies.
pub fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/bench")
}

/// An empty directory of this name.
pub fn fresh(name: &str) -> Result<PathBuf> {
    let dir = home().join(name);
    if dir.is_dir() {
        fs::remove_dir_all(&dir)?;
    }
    fs::create_dir_all(&dir)?;
    Ok(dir.canonicalize()?)
}

/// Text like source code, exactly `bytes` long: indentation by tabs, quotes here and there, 36
/// bytes a line or so.
pub fn text(bytes: usize) -> String {
    const WORDS: [&str; 16] = [
        "static",
        "int",
        "return",
        "const",
        "struct",
        "value",
        "= 0;",
        "if (",
        "\"name\"",
        "->next",
        "0x1f",
        "else {",
        "unsigned",
        "buffer",
        "\\n",
        "/* why */",
    ];
    let mut out = String::with_capacity(bytes + 64);
    // xorshift32 (Marsaglia 2003): the text must be the same everywhere, not random.
    let mut state = 0x9e37_79b9_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as usize
    };
    while out.len() < bytes {
        out.extend(std::iter::repeat_n('\t', next() % 3));
        for _ in 0..3 + next() % 4 {
            out.push_str(WORDS[next() % WORDS.len()]);
            out.push(' ');
        }
        out.pop();
        out.push('\n');
    }
    out.truncate(bytes);
    out
}

/// A text of about this size with one of [`STATES`] on a line of its own in the middle.
pub fn editable(bytes: usize, state: usize) -> String {
    let text = text(bytes);
    let middle = text[bytes / 2..]
        .find('\n')
        .map_or(bytes, |found| bytes / 2 + found + 1);
    format!("{}{}\n{}", &text[..middle], STATES[state], &text[middle..])
}

/// A kind of filesystem, from the mount table (proc(5)).
pub fn filesystem(of: &Path) -> String {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let fields = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    let longest = fields
        .filter(|(point, _)| of.starts_with(point))
        .max_by_key(|(point, _)| point.len());
    longest.map_or_else(|| "unknown".to_owned(), |(_, kind)| kind.to_owned())
}
