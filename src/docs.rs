//! Documents derived from the declarations: man pages, completions, the README's table. Committed, and checked for
//! drift by a test.

use std::fmt::Write as _;

use anyhow::Result;
use clap::CommandFactory as _;
use serde_json::Value;

use crate::cli::{Cli, Document};
use crate::tools::{Descriptor, Hints, TOOLS};

/// One document, as it is committed.
pub fn generate(document: Document) -> Result<Vec<u8>> {
    let mut command = Cli::command();
    let mut out = Vec::new();
    match document {
        Document::Man => clap_mangen::Man::new(command).render(&mut out)?,
        Document::ManTools => out = man_tools().into_bytes(),
        Document::ReadmeTools => out = readme_tools().into_bytes(),
        Document::Bash | Document::Zsh | Document::Fish => {
            if let Some(shell) = document.shell() {
                clap_complete::generate(shell, &mut command, "replay", &mut out);
            }
        }
    }
    Ok(out)
}

fn readme_tools() -> String {
    let mut text = String::from("| tool | does | parameters |\n|---|---|---|\n");
    for make in TOOLS {
        let tool = make();
        let Descriptor { name, title, input_schema, .. } = tool.descriptor();
        let parameters: Vec<String> = parameters(&input_schema)
            .map(|(name, required, _)| if required { format!("**{name}**") } else { name })
            .collect();
        let _ = writeln!(text, "| `{name}` | {title} ({}) | {} |", effect(tool.hints()), parameters.join(", "));
    }
    text
}

fn effect(hints: Hints) -> &'static str {
    match hints {
        Hints::Observes => "reads",
        Hints::Creates => "creates",
        Hints::Overwrites => "overwrites",
        Hints::Mutates => "changes",
        Hints::Removes => "removes",
        Hints::Runs => "runs programs",
    }
}

/// Name, whether it is required, schema.
fn parameters(schema: &Value) -> impl Iterator<Item = (String, bool, &Value)> {
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties.map(move |(name, schema)| (name.clone(), required.iter().any(|known| known == name.as_str()), schema))
}

fn man_tools() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!(
        ".TH REPLAY-TOOLS 7 \"\" \"replay {version}\" \"Tools of replay\"\n.SH NAME\nreplay-tools \\- the tools that \
         replay serves to agents\n.SH DESCRIPTION\nEach tool with its parameters; those that must be given are bold. \
         Paths are absolute or taken below the first allowed directory.\n.SH TOOLS\n"
    );
    for make in TOOLS {
        let tool = make();
        let descriptor = tool.descriptor();
        let _ = writeln!(text, ".SS {}\n{} ({}).", descriptor.name, roff(&descriptor.title), effect(tool.hints()));
        let _ = writeln!(text, ".PP\n{}", roff(&descriptor.description));
        man_parameters(&mut text, &descriptor.input_schema);
    }
    text.push_str(".SH SEE ALSO\n.BR replay (1)\n");
    text
}

fn man_parameters(text: &mut String, schema: &Value) {
    for (name, required, schema) in parameters(schema) {
        let kind = schema["type"].as_str().unwrap_or("value");
        let style = if required { "B" } else { "I" };
        let _ = writeln!(text, ".TP\n.{style} {}\n({kind})", roff(&name));
        if let Some(description) = schema["description"].as_str() {
            let _ = writeln!(text, "{}", roff(description));
        }
        let item = &schema["items"];
        if item["type"] == "object" {
            let _ = writeln!(text, ".RS");
            man_parameters(text, item);
            let _ = writeln!(text, ".RE");
        }
    }
}

/// Text that roff takes as text (`groff_char(7)`): hyphens stay hyphens, a line never begins with a control character.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    text.lines()
        .map(|line| if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_owned() })
        .collect::<Vec<_>>()
        .join("\n")
}
