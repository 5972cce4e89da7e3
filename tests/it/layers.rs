//! Rules about the sources that no compiler holds: which layer imports which, how long a file is, which
//! files are doors, and words that do not belong in finished code.

use std::fs;
use std::path::{Path, PathBuf};

/// The layers from the top; a file imports only from layers below its own, or from its own module.
const LAYERS: [&[&str]; 20] = [
    &["main"],
    &["commands"],
    &["web"],
    &["compose", "audit"],
    &["config"],
    &["secrets"],
    &["cli"],
    &["transport"],
    &["mock"],
    &["server"],
    &["tools"],
    &["error"],
    &["testrun"],
    &["search", "calls", "python"],
    &["edit", "fs", "exec", "record", "schema", "telemetry"],
    &["policy", "sandbox", "pattern", "text", "protocol", "outbound"],
    &["journal"],
    &["budget"],
    &["cancel", "mounts"],
    &["limits"],
];

/// The folders of `record` from the bottom; a file imports only from those before its own, or from its own.
const RECORD: [&[&str]; 8] =
    [&["call"], &["net", "http"], &["protocol"], &["redact"], &["matching"], &["store"], &["proxy"], &["naming"]];

/// The only modules that may hold `unsafe`: `sys.rs` and what lies in `sys/` beside it.
const UNSAFE: [&str; 2] = ["sandbox/sys", "record/sys"];

const MAX_LINES: usize = 600;

struct Source {
    /// Below `src`, as `fs/read.rs`.
    name: String,
    text: String,
}

impl Source {
    /// The first folder, or the name of a file that lies in none.
    fn module(&self) -> &str {
        let end = self.name.find(['/', '.']).unwrap_or(self.name.len());
        &self.name[..end]
    }

    fn is_test(&self) -> bool {
        self.name.ends_with("tests.rs") || self.name.contains("/tests/")
    }

    /// The file up to its test module, without comments and literals.
    fn code(&self) -> String {
        let end = self.text.find("\n#[cfg(test)]\nmod tests {").unwrap_or(self.text.len());
        strip(&self.text[..end])
    }
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut waiting = vec![root.clone()];
    let mut found = Vec::new();
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                found.push(Source { name, text: fs::read_to_string(&path).unwrap() });
            }
        }
    }
    assert!(found.len() > 3, "the sources were not found");
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// The code without line comments, block comments, strings and characters.
fn strip(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(hashes) = raw_string(rest, kept.as_bytes().last()) {
            let close = format!("\"{}", "#".repeat(hashes));
            let open = rest.find('"').unwrap_or(0) + 1;
            rest[open..].find(&close).map_or(rest.len(), |end| open + end + close.len())
        } else if rest.starts_with('"') {
            quoted(rest, b'"')
        } else if rest.starts_with("'\\") || rest.chars().nth(2) == Some('\'') && rest.starts_with('\'') {
            quoted(rest, b'\'')
        } else {
            0
        };
        if skipped == 0 {
            let next = rest.chars().next().unwrap();
            kept.push(next);
            at += next.len_utf8();
        } else {
            at += skipped;
        }
    }
    kept
}

/// The number of `#` of a raw string that begins here.
fn raw_string(rest: &str, before: Option<&u8>) -> Option<usize> {
    if before.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
        return None;
    }
    let after = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = after.bytes().take_while(|byte| *byte == b'#').count();
    after[hashes..].starts_with('"').then_some(hashes)
}

/// The length of a literal that begins and ends with `quote`.
fn quoted(rest: &str, quote: u8) -> usize {
    let mut escaped = false;
    for (index, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            byte if byte == quote => return index + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The modules named by `crate::x` and by `use crate::{x, y::z}` (and `replay::` in the binary).
fn imported(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for prefix in ["crate::", "replay::"] {
        for (index, _) in code.match_indices(prefix) {
            if code[..index].ends_with(|before: char| before.is_alphanumeric() || matches!(before, '_' | ':' | '$')) {
                continue;
            }
            let rest = &code[index + prefix.len()..];
            if let Some(group) = rest.strip_prefix('{') {
                found.extend(heads(group));
            } else {
                found.push(identifier(rest));
            }
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

fn identifier(text: &str) -> String {
    text.trim_start().chars().take_while(|next| next.is_alphanumeric() || *next == '_').collect()
}

/// The first name of each item of a group, up to the brace that closes it.
fn heads(group: &str) -> Vec<String> {
    let mut found = vec![identifier(group)];
    let mut depth = 0_i32;
    for (index, next) in group.char_indices() {
        match next {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => found.push(identifier(&group[index + 1..])),
            _ => {}
        }
    }
    found
}

/// The folders of `record` that a file in one of them names: by `crate::record::x`, and by as many `super` as lead out of its
/// own, in paths and in groups.
fn imported_from_record(name: &str, code: &str) -> Vec<String> {
    // `matching/noise.rs` is two modules below `record`, `matching/mod.rs` one.
    let depth = 1 + name.trim_end_matches("/mod.rs").matches('/').count();
    let mut found = Vec::new();
    for prefix in ["crate::record::".to_owned(), "super::".repeat(depth)] {
        for (index, _) in code.match_indices(&prefix) {
            if code[..index].ends_with(|before: char| before.is_alphanumeric() || matches!(before, '_' | ':')) {
                continue;
            }
            match code[index + prefix.len()..].strip_prefix('{') {
                Some(group) => found.extend(heads(group)),
                None => found.push(identifier(&code[index + prefix.len()..])),
            }
        }
    }
    found
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|names| names.contains(&module))
}

#[test]
fn a_file_imports_only_from_the_layers_below() {
    let mut faults = Vec::new();
    for source in sources() {
        let own = source.module();
        if own == "lib" {
            continue;
        }
        let Some(from) = layer(own) else {
            faults.push(format!("src/{}: `{own}` stands in no layer of tests/it/layers.rs", source.name));
            continue;
        };
        for name in imported(&source.code()) {
            match layer(&name) {
                Some(to) if to > from || name == own => {}
                Some(_) => faults.push(format!("src/{} imports `{name}`, which is not below `{own}`", source.name)),
                None => {}
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_file_of_record_imports_only_from_the_folders_before_its_own() {
    let place = |folder: &str| RECORD.iter().position(|folders| folders.contains(&folder));
    let mut faults = Vec::new();
    for source in sources().iter().filter(|source| !source.is_test()) {
        let Some((own, _)) = source.name.strip_prefix("record/").and_then(|name| name.split_once('/')) else {
            continue;
        };
        let Some(from) = place(own) else {
            faults.push(format!("src/{}: `{own}` stands nowhere in RECORD of tests/it/layers.rs", source.name));
            continue;
        };
        for name in imported_from_record(&source.name["record/".len()..], &source.code()) {
            // What `record` itself exports may be of any folder: inside it is named by its own.
            let is_before = place(&name).is_some_and(|to| to < from);
            if name != own && !is_before {
                faults.push(format!("src/{} imports `{name}`, which is not before `{own}`", source.name));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_file_has_at_most_600_lines() {
    let long: Vec<_> = sources()
        .iter()
        .filter(|source| !source.is_test() && source.text.lines().count() > MAX_LINES)
        .map(|source| format!("src/{}: {} lines", source.name, source.text.lines().count()))
        .collect();
    assert_eq!(long, Vec::<String>::new());
}

#[test]
fn only_the_doors_to_the_kernel_hold_unsafe() {
    let mut faults = Vec::new();
    for source in sources() {
        let code = strip(&source.text);
        let words = code.split(|next: char| !next.is_alphanumeric() && next != '_');
        let door = UNSAFE
            .iter()
            .any(|door| source.name.strip_prefix(door).is_some_and(|rest| rest == ".rs" || rest.starts_with('/')));
        if words.clone().any(|word| word == "unsafe") && !door {
            faults.push(source.name);
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn a_file_begins_by_saying_what_it_is() {
    let silent: Vec<_> = sources()
        .into_iter()
        .filter(|source| !source.is_test() && !source.text.starts_with("//! "))
        .map(|source| source.name)
        .collect();
    assert_eq!(silent, Vec::<String>::new());
}

#[test]
fn nothing_is_left_for_later() {
    let mut left = Vec::new();
    for source in sources() {
        for (index, line) in source.text.lines().enumerate() {
            // In a comment: a description may search for the word.
            let comment = line.find("//").map_or("", |start| &line[start..]);
            if comment.contains("TODO") || comment.contains("FIXME") {
                left.push(format!("src/{}:{}", source.name, index + 1));
            }
        }
    }
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn the_reader_of_sources_reads_rust() {
    let code = r##"
use crate::{limits, policy::{self, Checked}, text::lines};
use crate::fs::read; // crate::server
let a = "crate::main"; let b = r#"crate::"cli"#; let c = '"'; let d: &'static str = crate::error::x(b'\'');
/* crate::mock */ mycrate::tools(); $crate::python!();
"##;
    let mut names = imported(&strip(code));
    names.sort();
    assert_eq!(names, ["error", "fs", "limits", "policy", "text"]);
    let code = "use crate::record::{call::Side, net}; use super::super::super::store; use super::noise; crate::record::http::coding();";
    assert_eq!(imported_from_record("matching/parts/redis.rs", code), ["call", "net", "http", "store"]);
}
