//! Shared code of Deno's runner and checker.

use replay_base::cancel::Bound;
use replay_files::policy::{Checked, Read};

use crate::context::RunContext;
use crate::model::{Diagnostic, Severity};
use crate::project::program::ToolProgram;
use crate::project::signs::{ProjectLevel, Sign};
use crate::reports::{lines, stack};

/// Returns the sign of a configuration of Deno.
pub(crate) fn sign(level: &ProjectLevel<'_>) -> Sign {
    level
        .sign_of_file("deno.json")
        .or_else(|| level.sign_of_file("deno.jsonc"))
}

/// Returns the program, without colors, and its version.
pub(crate) fn program(context: &RunContext<'_>, project: &Checked<Read>) -> ToolProgram {
    let outcome = context.ask(project, "exec deno --version");
    let version = outcome.ok().and_then(|outcome| {
        let text = outcome.stdout.text();
        text.split(' ').nth(1).map(str::to_owned)
    });
    ToolProgram::Found(["NO_COLOR=1", "deno"].map(str::to_owned).to_vec(), version)
}

/// Parses errors on stderr: `TS2322 [ERROR]: message` or `error: message`, then lines of source code
/// and `    at file:///path:line:column`. The place may follow the message.
pub(crate) fn diagnostics(bytes: &[u8], bound: Bound<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut open: Option<Diagnostic> = None;
    // Length of the open message before the last line.
    let mut before = 0;
    for line in lines::lines(bytes, bound) {
        let line = String::from_utf8_lossy(line);
        let coded = line.split_once(" [ERROR]: ").filter(|(code, _)| {
            let number = code.strip_prefix("TS").unwrap_or_default();
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        });
        let message = coded.map(|(_, text)| text).or(line.strip_prefix("error: "));
        if let Some(text) = message {
            let mut diagnostic = Diagnostic::new(Severity::Error, text);
            diagnostic.code = coded.map(|(code, _)| code.to_owned());
            open = Some(diagnostic);
        }
        let place = line.rsplit_once("at file://").map(|(_, place)| place);
        if let Some((file, number, column)) = place.and_then(stack::place_of)
            && let Some(mut diagnostic) = open.take()
        {
            diagnostic.file = Some(file.to_owned());
            (diagnostic.line, diagnostic.column) = (Some(number), Some(column));
            found.push(diagnostic);
        } else if let Some(diagnostic) = open.as_mut().filter(|_| message.is_none()) {
            let length = diagnostic.message.len();
            if line.trim_start().starts_with(['~', '^']) {
                // It marks the line of source code before it.
                diagnostic.message.truncate(before);
            } else if line.starts_with("  ") && diagnostic.code.is_some() {
                diagnostic.message.extend(["\n", &line]);
            }
            before = length;
        } else if message.is_some() {
            before = open.as_ref().map_or(0, |open| open.message.len());
        }
    }
    found
}
