//! `cargo check --message-format=json`
//! (<https://doc.rust-lang.org/cargo/reference/external-tools.html>), Clippy too.

use replay_base::limits::{MAX_KEPT_TESTS, MAX_RELATED, MAX_TEST_TEXT_BYTES};

use crate::prelude::*;
use crate::project::cargo;

/// Kinds of targets that no other target depends on. `cargo check` omits them by default.
const LEAF_KINDS: [&str; 3] = ["bench", "example", "test"];

pub(crate) struct CargoCheck;

impl ProjectTool for CargoCheck {
    fn about(&self) -> ToolDescription {
        ToolDescription::on_path(Language::Rust, "cargo", "cargo check", "cargo")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        level.sign_of_file("Cargo.toml")
    }
}

impl Checker for CargoCheck {
    fn arguments(&self, wanted: &CheckInputs<'_>) -> Result<Vec<String>, TestrunError> {
        let disk = wanted.context.disk();
        let mut words = [
            "check",
            "--message-format=json",
            "--all-targets",
            "--keep-going",
        ]
        .map(str::to_owned)
        .to_vec();
        let parts = cargo::cargo_parts(&disk, wanted.targets, true)?;
        if parts.is_empty() && cargo::is_workspace(&disk, wanted.dir()) {
            words.push("--workspace".to_owned());
        }
        words.extend(
            parts
                .into_iter()
                .map(|part| format!("--package={}", part.package)),
        );
        Ok(words)
    }

    /// Parses stdout, and Cargo's own errors from stderr.
    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> CheckResults {
        let mut found = DiagnosticCollector::new(sources.root);
        let mut crates = HashSet::new();
        // Errors in targets that others depend on, and in the rest.
        let mut errors = [false; 2];
        for event in lines::events::<CargoEvent>(sources.stdout, bound) {
            match (event.reason.as_str(), event.message, event.target) {
                ("compiler-message", Some(message), target) => {
                    let is_end = target.is_some_and(|target| {
                        target.kind.iter().any(|kind| LEAF_KINDS.contains(&&**kind))
                    });
                    errors[usize::from(is_end)] |= message.level.starts_with("error");
                    add(&mut found, message);
                }
                ("compiler-artifact", _, Some(target)) if crates.len() < MAX_KEPT_TESTS => {
                    crates.insert(target.src_path);
                }
                _ => {}
            }
        }
        if found.checked.diagnostics.is_empty() {
            cargo_errors(&mut found, sources.stderr, bound);
        }
        found.checked.is_apart = errors == [false, true];
        found.checked
    }

    fn is_source(&self, target: &NamedPath) -> bool {
        // Sources of a build script have another dep-info file.
        let is_rust = target
            .path
            .extension()
            .is_some_and(|extension| extension == "rs");
        !target.is_dir && is_rust && !target.path.ends_with("build.rs")
    }

    /// Reads the dep-info file beside each artifact, which names its sources. Artifacts of an
    /// earlier build count too.
    fn examined_files(&self, ended: &EndedCheck<'_>) -> Result<ExaminedFiles, TestrunError> {
        let EndedCheck {
            wanted, outcome, ..
        } = ended;
        let mut files = BTreeSet::new();
        for artifact in artifacts(&outcome.stdout.bytes, ended.bound) {
            let artifact = Path::new(&artifact);
            let stem = artifact
                .file_stem()
                .and_then(|stem| stem.to_str())
                .unwrap_or_default();
            let names =
                artifact.with_file_name(format!("{}.d", stem.strip_prefix("lib").unwrap_or(stem)));
            let text = wanted.context.disk().text(&names).unwrap_or_default();
            // Each source also has a line `src/lib.rs:`, so that one may be deleted
            // (rustc_interface::passes::write_out_deps).
            let own = text.lines().filter_map(|line| line.strip_suffix(".rs:"));
            // Paths start at the workspace, which may be a parent directory.
            files.extend(own.flat_map(|file| {
                let file = format!("{}.rs", file.replace("\\ ", " "));
                wanted
                    .dir()
                    .ancestors()
                    .map(move |dir| dir.join(&file).display().to_string())
            }));
        }
        Ok((!files.is_empty()).then_some(files))
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CargoEvent {
    reason: String,
    message: Option<CargoMessage>,
    target: Option<CargoTarget>,
    filenames: Vec<String>,
}

#[derive(Deserialize)]
struct CargoTarget {
    #[serde(default)]
    kind: Vec<String>,
    #[serde(default)]
    src_path: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CargoMessage {
    level: String,
    message: String,
    code: Option<CargoCode>,
    spans: Vec<CargoSpan>,
    children: Vec<CargoNote>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CargoNote {
    level: String,
    message: String,
    spans: Vec<CargoSpan>,
}

#[derive(Deserialize)]
struct CargoCode {
    code: String,
}

#[derive(Deserialize)]
struct CargoSpan {
    file_name: String,
    line_start: u32,
    column_start: u32,
    line_end: u32,
    column_end: u32,
    #[serde(default)]
    is_primary: bool,
    label: Option<String>,
    suggested_replacement: Option<String>,
}

/// Returns the absolute paths of artifacts, one for each crate, without those of external
/// dependencies.
pub(super) fn artifacts(stdout: &[u8], bound: Bound<'_>) -> Vec<String> {
    let own = |event: &CargoEvent| {
        let source = event
            .target
            .as_ref()
            .map_or("", |target| target.src_path.as_str());
        // Cargo's directory of downloaded packages.
        event.reason == "compiler-artifact"
            && !["/registry/src/", "/git/checkouts/"]
                .iter()
                .any(|dir| source.contains(dir))
    };
    let found = lines::events::<CargoEvent>(stdout, bound).filter(own);
    found
        .filter_map(|event| event.filenames.into_iter().next())
        .take(MAX_KEPT_TESTS)
        .collect()
}

fn add(found: &mut DiagnosticCollector<'_>, message: CargoMessage) {
    let severity = match message.level.as_str() {
        "error" | "error: internal compiler error" => Severity::Error,
        "warning" => Severity::Warning,
        // Summaries: "aborting due to 2 previous errors", "for more information ...".
        _ => return,
    };
    let primary = message.spans.iter().find(|span| span.is_primary);
    if primary.is_none()
        && (message.message.starts_with("aborting due to") || message.message.ends_with(" emitted"))
    {
        return;
    }
    let label = primary
        .and_then(|span| span.label.as_deref())
        .filter(|label| !message.message.contains(label));
    let text = label.map_or_else(
        || message.message.clone(),
        |label| format!("{} ({label})", message.message),
    );
    let mut diagnostic = Diagnostic::new(severity, text);
    diagnostic.code = message.code.map(|code| code.code);
    if let Some(span) = primary {
        diagnostic.file = Some(span.file_name.clone());
        (diagnostic.line, diagnostic.column) = (Some(span.line_start), Some(span.column_start));
        (diagnostic.end_line, diagnostic.end_column) = (Some(span.line_end), Some(span.column_end));
    }
    let labels = message
        .spans
        .iter()
        .filter(|span| !span.is_primary)
        .filter_map(|span| {
            Some(Related {
                file: Some(span.file_name.clone()),
                line: Some(span.line_start),
                column: Some(span.column_start),
                message: span.label.clone()?,
            })
        });
    // Notes that name the active lint or its web page do not help to fix the error.
    let helps = |child: &&CargoNote| {
        !child.message.starts_with("`#[")
            && !child.message.starts_with("for further information visit ")
    };
    diagnostic.related = labels
        .chain(message.children.iter().filter(helps).map(child))
        .take(MAX_RELATED)
        .collect();
    found.add(diagnostic);
}

/// Converts a note or help, with its place and the suggested replacement.
fn child(child: &CargoNote) -> Related {
    let span = child.spans.first();
    let replacement = span
        .and_then(|span| span.suggested_replacement.as_deref())
        .filter(|text| !text.is_empty());
    let advice = replacement.map_or_else(String::new, |text| format!(": `{}`", text.trim()));
    Related {
        file: span.map(|span| span.file_name.clone()),
        line: span.map(|span| span.line_start),
        column: span.map(|span| span.column_start),
        message: format!("{}: {}{advice}", child.level, child.message),
    }
}

/// Adds Cargo's own errors: each a block from `error: ` to the next empty line that does not
/// precede a cause.
fn cargo_errors(found: &mut DiagnosticCollector<'_>, stderr: &[u8], bound: Bound<'_>) {
    let mut text = String::new();
    for line in lines::lines(stderr, bound) {
        let line = String::from_utf8_lossy(line);
        if text.is_empty() && !line.starts_with("error") {
            continue;
        }
        text.push_str(&line);
        text.push('\n');
        if text.len() > MAX_TEST_TEXT_BYTES {
            break;
        }
    }
    if !text.is_empty() && !text.starts_with("error: could not compile") {
        found.add(Diagnostic::new(
            Severity::Error,
            text.strip_prefix("error: ").unwrap_or(&text),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_errors_in_benches_leave_rest_checked() {
        let of = |kinds: &[&str]| {
            let message = |kind: &&str| {
                let told = serde_json::json!({"reason": "compiler-message", "target": {"kind": [kind], "src_path": "/p/x.rs"},
                    "message": {"level": "error", "message": "no", "spans": [], "children": []}});
                format!("{told}\n")
            };
            let stdout: String = kinds.iter().map(message).collect();
            CargoCheck
                .parse(
                    &Sources {
                        stdout: stdout.as_bytes(),
                        ..Sources::default()
                    },
                    Bound::default(),
                )
                .is_apart
        };
        assert_eq!(
            [of(&["bench", "test"]), of(&["bench", "lib"]), of(&[])],
            [true, false, false]
        );
    }
}
