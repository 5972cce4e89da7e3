//! `tsc --pretty false` of TypeScript 5 to 7 and compatible programs. Parses `path(line,column):
//! error TS2322: message`, with indented continuation lines. Errors of the whole project have no
//! place.

use replay_base::limits::MAX_TEST_TEXT_BYTES;

use crate::prelude::*;
use crate::reports::results;

/// tsc 5 to 7, vue-tsc.
pub(crate) struct Tsc;

impl ProjectTool for Tsc {
    fn about(&self) -> ToolDescription {
        ToolDescription::node("tsc", "tsc 5 to 7, vue-tsc", "typescript")
    }

    fn sign(&self, level: &ProjectLevel<'_>) -> Sign {
        level.sign_of_file("tsconfig.json")
    }

    fn program(&self, context: &RunContext<'_>, project: &Checked<Read>) -> ToolProgram {
        // vue-tsc also checks single-file components, if the project has it.
        match node::find(context.disk(), project.display_path(), "vue-tsc", "vue-tsc") {
            Some((argv, version)) => ToolProgram::Found(argv, version),
            None => node::program(context.disk(), project.display_path(), "typescript", "tsc"),
        }
    }
}

impl Checker for Tsc {
    fn arguments(&self, wanted: &CheckInputs<'_>) -> Result<Vec<String>, TestrunError> {
        let mut words: Vec<String> = Vec::new();
        let mut add = |more: &[&str]| words.extend(more.iter().map(|word| (*word).to_owned()));
        if has_references(&wanted.text("tsconfig.json").unwrap_or_default()) {
            // Without this, tsc checks no files in a project of references alone, and reports no
            // error.
            add(&["-b", "--force", "--noEmit"]);
        } else {
            // Keep the incremental build info out of the project.
            add(&["-p", ".", "--noEmit", "--incremental", "--tsBuildInfoFile"]);
            add(&[&format!("{}/tsbuildinfo", wanted.place)]);
        }
        add(&["--pretty", "false", "--listFiles"]);
        Ok(words)
    }

    /// Parses the messages.
    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> CheckResults {
        let mut found = DiagnosticCollector::new(sources.root);
        let mut last: Option<Diagnostic> = None;
        for line in lines::lines(sources.stdout, bound) {
            let line = String::from_utf8_lossy(line);
            if line.starts_with("  ") {
                if let Some(last) = last
                    .as_mut()
                    .filter(|last| last.message.len() < MAX_TEST_TEXT_BYTES)
                {
                    last.message.push('\n');
                    last.message.push_str(&line);
                }
            } else if let Some(next) = diagnostic(&line)
                && let Some(whole) = last.replace(next)
            {
                found.add(whole);
            }
        }
        if let Some(diagnostic) = last {
            found.add(diagnostic);
        }
        found.checked
    }

    fn is_source(&self, target: &NamedPath) -> bool {
        // Files matched by a glob need not be sources.
        const SOURCE_EXTENSIONS: [&str; 5] = ["ts", "tsx", "mts", "cts", "vue"];
        let extension = target
            .path
            .extension()
            .and_then(|extension| extension.to_str())
            .unwrap_or_default();
        !target.is_matched || SOURCE_EXTENSIONS.contains(&extension)
    }

    fn read(&self, sources: Sources<'_>, bound: Bound<'_>) -> CheckResults {
        let (said, listed) = split(sources.stdout);
        let sources = Sources {
            stdout: &said,
            ..sources
        };
        let mut results = CheckResults {
            remarks: results::remarks(&sources),
            ..self.parse(&sources, bound)
        };
        results.files_checked = (!listed.is_empty()).then_some(listed.len() as u64);
        results.listed = Some(listed);
        results
    }

    fn configuration(&self, text: &TextOf<'_>) -> Option<(&'static str, String)> {
        Some(("tsconfig.json", text("tsconfig.json")?))
    }

    fn silenced(&self, source: CheckSource<'_>, configuration: &str) -> Option<String> {
        silenced(source, configuration)
    }
}

fn diagnostic(line: &str) -> Option<Diagnostic> {
    let (place, rest) = match line.split_once("): ") {
        Some((place, rest)) if head(rest).is_some() => (Some(place), rest),
        _ => (None, line),
    };
    let (severity, code, message) = head(rest)?;
    let mut diagnostic = Diagnostic::new(severity, message);
    diagnostic.code = Some(code.to_owned());
    if let Some(place) = place {
        let (file, position) = place.rsplit_once('(')?;
        let (line, column) = position.split_once(',')?;
        diagnostic.file = Some(file.to_owned());
        (diagnostic.line, diagnostic.column) =
            (Some(line.parse().ok()?), Some(column.parse().ok()?));
    }
    Some(diagnostic)
}

/// Splits `error TS2322: message`.
fn head(text: &str) -> Option<(Severity, &str, &str)> {
    let (word, rest) = text.split_once(' ')?;
    let severity = match word {
        "error" => Severity::Error,
        "warning" => Severity::Warning,
        "message" | "suggestion" => Severity::Note,
        _ => return None,
    };
    let (code, message) = rest.split_once(": ")?;
    let digits = code.strip_prefix("TS")?;
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
        .then_some((severity, code, message))
}

/// Splits stdout into messages and the checked files: `--listFiles` prints their absolute paths,
/// one a line.
fn split(stdout: &[u8]) -> (Vec<u8>, BTreeSet<String>) {
    let (mut said, mut files) = (Vec::new(), BTreeSet::new());
    for line in stdout.split_inclusive(|byte| *byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end();
        if text.starts_with('/') && !text.contains("): error TS") && !text.contains("): warning TS")
        {
            if !text.contains("/node_modules/") {
                files.insert(text.to_owned());
            }
        } else {
            said.extend_from_slice(line);
        }
    }
    (said, files)
}

/// Returns true if a `tsconfig.json` refers to other projects.
fn has_references(tsconfig: &str) -> bool {
    let config: Value = serde_json::from_str(&node::without_comments(tsconfig)).unwrap_or_default();
    config["references"]
        .as_array()
        .is_some_and(|references| !references.is_empty())
}

fn silenced(source: CheckSource<'_>, config: &str) -> Option<String> {
    let directive = directive(source.text);
    if directive == Some(false) {
        return Some("the file has `@ts-nocheck`".to_owned());
    }
    let config: Value = serde_json::from_str(&node::without_comments(config)).unwrap_or_default();
    let option = |name: &str| config["compilerOptions"][name].as_bool();
    let ends = |ends: &[&str]| ends.iter().any(|end| source.path.ends_with(end));
    if ends(&[".d.ts", ".d.mts", ".d.cts"]) && option("skipLibCheck") == Some(true) {
        return Some("`skipLibCheck` of tsconfig.json excludes declaration files".to_owned());
    }
    // Extended or referenced configurations may override it.
    let is_whole =
        config.is_object() && config.get("extends").is_none() && config.get("references").is_none();
    if ends(&[".js", ".jsx", ".mjs", ".cjs"])
        && directive.is_none()
        && is_whole
        && option("checkJs") != Some(true)
    {
        return Some(
            "it is JavaScript, and neither `checkJs` of tsconfig.json nor `@ts-check` is set"
                .to_owned(),
        );
    }
    None
}

/// Returns the last `@ts-check` (true) or `@ts-nocheck` in the comments before all code.
fn directive(text: &str) -> Option<bool> {
    let mut rest = text.trim_start_matches('\u{feff}');
    if rest.starts_with("#!") {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    }
    let mut found = None;
    loop {
        rest = rest.trim_start();
        if let Some(line) = rest.strip_prefix("//") {
            let (line, after) = line.split_once('\n').unwrap_or((line, ""));
            let word = line
                .trim_start_matches('/')
                .trim_start()
                .split([' ', '\t', ':', '\r'])
                .next()
                .unwrap_or_default();
            match word {
                "@ts-check" => found = Some(true),
                "@ts-nocheck" => found = Some(false),
                _ => {}
            }
            rest = after;
        } else if let Some(block) = rest.strip_prefix("/*") {
            rest = block.split_once("*/").map_or("", |(_, rest)| rest);
        } else {
            return found;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tsconfig_references_are_found_despite_comments() {
        let vite = "\u{feff}{\n  // of Vite\n  \"files\": [],\n  \"references\": [\n    { \"path\": \"./a\" }, /* , */\n  ],\n}\n";
        assert!(has_references(vite));
        assert!(
            !has_references("{\"references\": []}")
                && !has_references("{\"x\": \"// \\\" references\"}")
        );
        assert!(!has_references("not json"));
    }
}
