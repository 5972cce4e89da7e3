//! Rules for the sources: imports between layers, length of files, modules with `unsafe`, and plain
//! words in comments and names.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use walkdir::WalkDir;

/// The layers from the top. A file imports only from layers below its own, or from its own module.
const LAYERS: [&[&str]; 11] = [
    &["main"],
    &["commands"],
    &["tenants"],
    &["compose", "audit"],
    &["config"],
    &["secrets"],
    &["cli"],
    &["server"],
    &["tools"],
    &["error"],
    &["calls"],
];

const MAX_LINES: usize = 1000;

struct Source {
    /// Path below `src`, for example `fs/read.rs`.
    name: String,
    text: String,
}

impl Source {
    /// Returns the layer's name: a folder, or a file in none.
    fn module(&self) -> &str {
        &self.name[..self.name.find(['/', '.']).unwrap_or(self.name.len())]
    }

    /// Returns the folder of its crate below `src`; empty for the root package.
    fn package(&self) -> &Path {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut folders = Path::new(&self.name).ancestors().skip(1);
        folders
            .find(|folder| root.join(folder).join("Cargo.toml").exists())
            .unwrap_or(Path::new(""))
    }

    fn is_test(&self) -> bool {
        self.name.ends_with("tests.rs") || self.name.contains("/tests/")
    }

    /// Returns the file up to its test module, without comments and literals.
    fn code(&self) -> String {
        let end = self
            .text
            .find("\n#[cfg(test)]\nmod tests {")
            .unwrap_or(self.text.len());
        strip(&self.text[..end])
    }
}

/// Returns the sources of the root package. The compiler keeps the imports of other crates.
fn own_sources() -> Vec<Source> {
    let mut sources = sources();
    sources.retain(|source| source.package() == Path::new(""));
    sources
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = WalkDir::new(&root)
        .sort_by_file_name()
        .into_iter()
        .map(|entry| entry.unwrap().into_path());
    let rust = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let source = |path: PathBuf| Source {
        name: path
            .strip_prefix(&root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned(),
        text: fs::read_to_string(&path).unwrap(),
    };
    let found: Vec<_> = rust.map(source).collect();
    assert!(found.len() > 3, "the sources were not found");
    found
}

/// Returns the code without line comments, block comments, strings and characters.
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
            rest[open..]
                .find(&close)
                .map_or(rest.len(), |end| open + end + close.len())
        } else if rest.starts_with('"') {
            quoted(rest, b'"')
        } else if rest.starts_with("'\\")
            || rest.chars().nth(2) == Some('\'') && rest.starts_with('\'')
        {
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

/// Returns the number of `#` of a raw string that begins here.
fn raw_string(rest: &str, before: Option<&u8>) -> Option<usize> {
    if before.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
        return None;
    }
    let after = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = after.bytes().take_while(|byte| *byte == b'#').count();
    after[hashes..].starts_with('"').then_some(hashes)
}

/// Returns the length of a literal that begins and ends with `quote`.
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

/// Returns the paths of a file that begin with `crate`, `self` or `super`, or that a `use` names.
/// Groups are expanded.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let is_word = |next: char| next.is_alphanumeric() || next == '_';
    for start in ["use ", "crate::", "self::", "super::"] {
        for (index, _) in code.match_indices(start) {
            if code[..index]
                .ends_with(|before: char| is_word(before) || matches!(before, ':' | '$'))
            {
                continue;
            }
            let rest = if start == "use " {
                &code[index + start.len()..]
            } else {
                &code[index..]
            };
            if !(start != "use " && code[..index].ends_with("use ")) {
                path_tree(rest, &mut Vec::new(), &mut found);
            }
        }
    }
    found
}

/// Reads one path or group after the prefix `before` and returns the rest of the text.
fn path_tree<'a>(text: &'a str, before: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> &'a str {
    let depth = before.len();
    let mut rest = text.trim_start();
    loop {
        if let Some(group) = rest.strip_prefix('{') {
            rest = group;
            while !rest.is_empty() && !rest.starts_with('}') {
                let behind = path_tree(rest, before, found).trim_start();
                rest = behind.strip_prefix(',').unwrap_or(behind).trim_start();
                if behind.len() == rest.len() && !rest.starts_with('}') {
                    break;
                }
            }
            before.truncate(depth);
            return rest.strip_prefix('}').unwrap_or(rest);
        }
        let end = rest
            .find(|next: char| !next.is_alphanumeric() && next != '_')
            .unwrap_or(rest.len());
        before.push(rest[..end].to_owned());
        rest = &rest[end..];
        match rest.strip_prefix("::") {
            Some(more) if !more.starts_with('<') => rest = more.trim_start(),
            _ => break,
        }
    }
    found.push(before.clone());
    before.truncate(depth);
    let renamed = rest.trim_start().strip_prefix("as ").map(str::trim_start);
    renamed.map_or(rest, |rest| {
        rest.trim_start_matches(|next: char| next.is_alphanumeric() || next == '_')
    })
}

/// Modules of one crate.
struct Modules {
    /// Path of the module that `crate` means: the crate's folder, or empty for the root package.
    root: Vec<String>,
    /// Modules by path, with the paths that each file names.
    files: HashMap<Vec<String>, Vec<Vec<String>>>,
}

impl Modules {
    /// Reads the modules of the crate in the folder `package` below `src`.
    fn read(sources: &[Source], package: &Path) -> Self {
        let folder = package.to_str().unwrap();
        let root: Vec<_> = [folder.to_owned()]
            .into_iter()
            .filter(|folder| !folder.is_empty())
            .collect();
        let of = |source: &Source| {
            let name = source.name[folder.len()..].trim_start_matches('/');
            let name = name.trim_end_matches(".rs").trim_end_matches("/mod");
            let is_root = !root.is_empty() && name == "lib";
            let below = name.split('/').filter(|_| !is_root).map(str::to_owned);
            (
                root.iter().cloned().chain(below).collect(),
                paths(&source.code()),
            )
        };
        let files = sources
            .iter()
            .filter(|source| source.package() == package && !source.is_test())
            .map(of)
            .collect();
        Self { root, files }
    }

    /// Returns the module that defines the item at `path`, as seen from file `from`. Re-exports are
    /// followed.
    fn target(&self, from: &[String], path: &[String], hops: usize) -> Option<Vec<String>> {
        let mut at = match path.first()?.as_str() {
            "crate" => self.root.clone(),
            "self" | "super" => from.to_vec(),
            child => {
                let own: Vec<_> = from.iter().cloned().chain([child.to_owned()]).collect();
                let own = self.files.contains_key(&own).then_some(own)?;
                return self.target(
                    &own,
                    &[vec!["self".to_owned()], path[1..].to_vec()].concat(),
                    hops,
                );
            }
        };
        let mut rest = path;
        while let Some(word @ ("crate" | "self" | "super")) = rest.first().map(String::as_str) {
            if word == "super" {
                at.pop()?;
            }
            rest = &rest[1..];
        }
        while let Some(name) = rest.first() {
            let inner: Vec<_> = at.iter().cloned().chain([name.clone()]).collect();
            if !self.files.contains_key(&inner) {
                break;
            }
            (at, rest) = (inner, &rest[1..]);
        }
        let (Some(item), true) = (rest.first(), hops < 8) else {
            return Some(at);
        };
        let again = self
            .files
            .get(&at)?
            .iter()
            .find(|path| path.len() > 1 && path.last() == Some(item));
        again
            .and_then(|path| self.target(&at, path, hops + 1))
            .or(Some(at))
    }

    /// Returns the imports between the parts (files or folders) of each room. An import from the
    /// room's own file does not count.
    fn rooms(&self) -> BTreeMap<String, BTreeMap<String, BTreeSet<String>>> {
        let mut rooms: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for (from, paths) in &self.files {
            for to in paths.iter().filter_map(|path| self.target(from, path, 0)) {
                let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
                if shared > 0 && shared < from.len() && shared < to.len() {
                    let arrows = rooms.entry(from[..shared].join("/")).or_default();
                    arrows
                        .entry(from[shared].clone())
                        .or_default()
                        .insert(to[shared].clone());
                }
            }
        }
        rooms
    }
}

/// Removes imports to parts without imports, again and again. Returns the rest: cycles, and the
/// parts that lead to them.
fn cycles(mut arrows: BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
    loop {
        let before: usize = arrows.values().map(BTreeSet::len).sum();
        let from: BTreeSet<_> = arrows.keys().cloned().collect();
        let to: BTreeSet<_> = arrows.values().flatten().cloned().collect();
        arrows.retain(|part, _| to.contains(part));
        for others in arrows.values_mut() {
            others.retain(|other| from.contains(other));
        }
        arrows.retain(|_, others| !others.is_empty());
        if arrows.values().map(BTreeSet::len).sum::<usize>() == before {
            return arrows;
        }
    }
}

/// A crate of the workspace below the root package.
struct Crate {
    name: String,
    lines: usize,
    /// Other crates of the workspace that it depends on.
    dependencies: Vec<String>,
}

/// Reads the crates below the root package from `cargo metadata`.
fn crates() -> Vec<Crate> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let sources = sources();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let mut found: Vec<_> = packages
        .filter_map(|package| {
            let manifest = PathBuf::from(text(&package["manifest_path"]));
            let folder = manifest.parent()?.strip_prefix(&root).ok()?;
            let own = sources.iter().filter(|source| source.package() == folder);
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            Some(Crate {
                name: text(&package["name"]),
                lines: own.map(|source| source.text.lines().count()).sum(),
                dependencies: dependencies
                    .filter(|one| one["kind"].is_null() && !one["path"].is_null())
                    .map(|one| text(&one["name"]))
                    .collect(),
            })
        })
        .collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

/// Returns the picture in ARCHITECTURE.md: a row for each layer, with thousands of lines. Crates are
/// below the layers, each above those that it depends on.
fn picture() -> String {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for source in own_sources() {
        *lines.entry(source.module().to_owned()).or_default() += source.text.lines().count();
    }
    let size = |name: &str, lines: usize| match (lines + 500) / 1000 {
        0 => name.to_owned(),
        thousands => format!("{name} {thousands}"),
    };
    let row = |names: &&[&str]| {
        let rooms: Vec<_> = names.iter().map(|name| size(name, lines[*name])).collect();
        rooms.join("   ")
    };
    let mut rows: Vec<_> = LAYERS.iter().map(row).collect();
    let mut left = crates();
    while !left.is_empty() {
        let is_needed = |one: &Crate| {
            left.iter()
                .any(|other| other.dependencies.contains(&one.name))
        };
        let top: Vec<_> = left
            .iter()
            .filter(|one| !is_needed(one))
            .map(|one| one.name.clone())
            .collect();
        let shown = left.iter().filter(|one| top.contains(&one.name));
        let shown: Vec<_> = shown.map(|one| size(&one.name, one.lines)).collect();
        rows.push(shown.join("   "));
        left.retain(|one| !top.contains(&one.name));
    }
    rows.join("\n")
}

#[test]
fn architecture_picture_matches_sources() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once("```text\n").unwrap();
    let (shown, after) = rest.split_once("```").unwrap();
    let picture = format!("{}\n", picture());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, format!("{before}```text\n{picture}```{after}")).unwrap();
    } else {
        assert_eq!(shown, picture, "UPDATE_EXPECT=1 draws it anew");
    }
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|names| names.contains(&module))
}

#[test]
fn file_imports_only_from_layers_below() {
    let mut faults = Vec::new();
    for source in own_sources() {
        let own = source.module();
        if own == "lib" {
            continue;
        }
        let Some(from) = layer(own) else {
            faults.push(format!(
                "src/{}: `{own}` stands in no layer of tests/it/layers.rs",
                source.name
            ));
            continue;
        };
        for path in paths(&source.code()) {
            let [first, name, ..] = &path[..] else {
                continue;
            };
            match layer(name).filter(|_| first == "crate" || own == "main" && first == "replay") {
                Some(to) if to > from || name == own => {}
                Some(_) => faults.push(format!(
                    "src/{} imports `{name}`, which is not below `{own}`",
                    source.name
                )),
                None => {}
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn imports_within_layer_have_no_cycle() {
    let sources = sources();
    let packages: BTreeSet<_> = sources.iter().map(Source::package).collect();
    assert!(packages.len() > 3, "the crates were not found");
    let faults: BTreeMap<_, _> = packages
        .into_iter()
        .flat_map(|package| Modules::read(&sources, package).rooms())
        .map(|(room, arrows)| (room, cycles(arrows)))
        .filter(|(_, left)| !left.is_empty())
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn file_has_at_most_1000_lines() {
    let long: Vec<_> = sources()
        .iter()
        .filter(|source| !source.is_test() && source.text.lines().count() > MAX_LINES)
        .map(|source| format!("src/{}: {} lines", source.name, source.text.lines().count()))
        .collect();
    assert_eq!(long, Vec::<String>::new());
}

/// Words that must not begin a header or a doc comment.
const OPENERS: [&str; 17] = [
    "What", "Who", "Whom", "Whose", "Whether", "Where", "When", "How", "Why", "That", "Which",
    "As", "Those", "Nothing", "Nobody", "Whoever", "Whatever",
];

/// Pronouns that must not occur in the name of a test.
const PRONOUNS: [&str; 10] = [
    "what", "who", "whom", "whose", "where", "which", "nobody", "nothing", "whoever", "whatever",
];

/// Participles and pronouns that must not be the whole name of a type.
const NO_TYPES: [&str; 24] = [
    "Kept", "Held", "Seen", "Asked", "Named", "Found", "Shown", "Told", "Said", "With", "What",
    "Meant", "Given", "Taken", "Made", "Left", "Known", "Gone", "Done", "Settled", "Undone",
    "Lost", "Wanted", "Coming",
];

/// Longest name of a test, in bytes.
const MAX_TEST_NAME: usize = 60;

/// Faults of one file's words, each with its line.
fn unplain(text: &str) -> Vec<String> {
    let first = |text: &str| {
        let end = text.find(|next: char| !next.is_alphanumeric());
        text[..end.unwrap_or(text.len())].to_owned()
    };
    let mut faults = Vec::new();
    let (mut is_inside, mut is_test) = (false, false);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let comment = line.strip_prefix("//! ").or(line.strip_prefix("/// "));
        let opener = comment.map(first).filter(|_| !is_inside);
        is_inside = line.starts_with("//!") || line.starts_with("///");
        if opener.is_some_and(|word| OPENERS.contains(&word.as_str())) {
            faults.push(format!("{}: {line}", index + 1));
        }
        is_test |= line.starts_with("#[test]");
        if let Some((_, rest)) = line.split_once("fn ").filter(|_| is_test) {
            let name = rest.split(['(', '<']).next().unwrap_or_default();
            let has_pronoun = name.split('_').any(|word| PRONOUNS.contains(&word));
            if has_pronoun || name.starts_with("it_") || name.len() > MAX_TEST_NAME {
                faults.push(format!("{}: fn {name}", index + 1));
            }
            is_test = false;
        }
        let kinds = ["struct ", "enum ", "trait ", "type "];
        let item = line
            .trim_start_matches("pub ")
            .trim_start_matches("pub(super) ")
            .trim_start_matches("pub(crate) ");
        let name = kinds
            .iter()
            .find_map(|kind| item.strip_prefix(kind))
            .map(first);
        if name.is_some_and(|name| NO_TYPES.contains(&name.as_str())) {
            faults.push(format!("{}: {line}", index + 1));
        }
    }
    faults
}

#[test]
fn comments_tests_and_types_have_plain_words() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files =
        ["src", "tests", "benches", "fuzz/fuzz_targets"].map(|dir| WalkDir::new(root.join(dir)));
    let mut faults = Vec::new();
    for file in files.into_iter().flatten().map(Result::unwrap) {
        if file
            .path()
            .extension()
            .is_some_and(|extension| extension == "rs")
        {
            let name = file.path().strip_prefix(root).unwrap().display();
            let text = fs::read_to_string(file.path()).unwrap();
            faults.extend(
                unplain(&text)
                    .into_iter()
                    .map(|fault| format!("{name}:{fault}")),
            );
        }
    }
    assert_eq!(faults, [] as [String; 0]);
}

#[test]
fn word_rules_report_each_fault() {
    let name = "Kept";
    let text = format!(
        "//! What it is.\n/// Returns true.\n/// Whether it is.\n\n/// Whether not.\n\
         pub struct {name};\nstruct {name}File;\n#[test]\nfn who_is_there() {{}}\nfn what() {{}}\n"
    );
    let faults = [
        "1: //! What it is.",
        "5: /// Whether not.",
        "6: pub struct Kept;",
        "9: fn who_is_there",
    ];
    assert_eq!(unplain(&text), faults);
}

#[test]
fn file_begins_with_header() {
    let silent: Vec<_> = sources()
        .into_iter()
        .filter(|source| !source.is_test() && !source.text.starts_with("//! "))
        .map(|source| source.name)
        .collect();
    assert_eq!(silent, Vec::<String>::new());
}

#[test]
fn code_has_no_todo_markers() {
    let mut left = Vec::new();
    for source in sources() {
        for (index, line) in source.text.lines().enumerate() {
            // Only in comments: a tool description may name these words.
            let comment = line.find("//").map_or("", |start| &line[start..]);
            if comment.contains("TODO") || comment.contains("FIXME") {
                left.push(format!("src/{}:{}", source.name, index + 1));
            }
        }
    }
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn source_reader_strips_comments_and_literals() {
    let code = r##"
use crate::{limits, policy::{self, Checked}, text::lines};
use crate::fs::read; // crate::server
let a = "crate::main"; let b = r#"crate::"cli"#; let c = '"'; let d: &'static str = crate::error::x(b'\'');
/* crate::mock */ mycrate::tools(); $crate::python!();
"##;
    let named = |code: &str| {
        let mut found: Vec<_> = paths(&strip(code))
            .iter()
            .map(|path| path.join("::"))
            .collect();
        found.sort();
        found
    };
    assert_eq!(
        named(code),
        [
            "crate::error::x",
            "crate::fs::read",
            "crate::limits",
            "crate::policy::Checked",
            "crate::policy::self",
            "crate::text::lines"
        ]
    );
    assert_eq!(
        named("pub use call::{Side as S, net::{self}};super::super::x(self::y)"),
        [
            "call::Side",
            "call::net::self",
            "self::y",
            "super::super::x"
        ]
    );
}

#[test]
fn room_reader_finds_import_cycles() {
    let source = |name: &str, text: &str| Source {
        name: name.to_owned(),
        text: text.to_owned(),
    };
    let rooms = |a: &str| {
        let sources = [
            source("r/mod.rs", "mod a; mod b; pub use b::B; pub struct Own;"),
            source("r/a.rs", a),
            source("r/b.rs", "use super::a::A;"),
            source("r/c/d.rs", "use crate::r::B; use super::super::Own;"),
        ];
        let [(_, arrows)] = <[_; 1]>::try_from(
            Modules::read(&sources, Path::new(""))
                .rooms()
                .into_iter()
                .collect::<Vec<_>>(),
        )
        .unwrap();
        cycles(arrows)
    };
    assert_eq!(rooms("use super::Own;"), BTreeMap::new());
    let (a, b) = ("a".to_owned(), "b".to_owned());
    let circle = BTreeMap::from([
        (a.clone(), BTreeSet::from([b.clone()])),
        (b, BTreeSet::from([a])),
    ]);
    assert_eq!(rooms("use crate::r::B;"), circle);
    let of_crate = [
        source("base/a.rs", "use crate::b::B;"),
        source("base/b.rs", "use crate::A;"),
        source("base/lib.rs", "pub use a::A;"),
    ];
    let rooms = Modules::read(&of_crate, Path::new("base")).rooms();
    assert_eq!(rooms, BTreeMap::from([("base".to_owned(), circle)]));
}
