//! Properties of autorun files: programs that they start are found whatever an agent writes.

use replay_files::autorun::{AUTORUN_RULES, Content, HOOK, differences, hooks_path, rule_for_path};

use super::Source;

/// Pieces of configurations and documents.
const PIECES: [&str; 24] = [
    "[core]",
    "[core \"",
    "\"]",
    "[alias]",
    "fsmonitor",
    "hooksPath",
    " = ",
    "\n",
    "\r\n",
    "\\",
    "\"",
    "#",
    ";",
    "!x",
    "\t",
    "{",
    "}",
    "\"scripts\":",
    "\"prepare\":",
    "\"x\"",
    ",",
    "\u{feff}",
    "[",
    "\0",
];

/// Parses any bytes as each autorun file. No input panics, and a file does not differ from itself.
/// A `core.hooksPath` at the end is found after any text.
///
/// # Panics
/// If the property is violated.
pub fn what_runs_outside_is_found(bytes: &[u8]) {
    let mut source = Source(bytes);
    let mut text = Vec::new();
    while !source.is_empty() {
        if source.flag() {
            text.extend_from_slice(source.choice(&PIECES).as_bytes());
        } else {
            text.extend_from_slice(source.bytes());
        }
    }
    let content = Content::File {
        bytes: text.clone(),
        is_executable: true,
    };
    for rule in AUTORUN_RULES.iter().chain([&HOOK]) {
        let facets = rule.facets(&text, &content);
        assert_eq!(differences(&facets, &facets), [""; 0]);
        assert!(facets.len() <= text.len() + 1);
    }
    let _ = rule_for_path(&text);
    // The last line counts after any text, except inside a continued value.
    text.extend_from_slice(b"\n\n\"\n[core]\nhooksPath = evil\n");
    assert_eq!(
        hooks_path(&text).as_deref(),
        Some(&b"evil"[..]),
        "{}",
        String::from_utf8_lossy(&text)
    );
}
