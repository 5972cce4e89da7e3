//! Documents derived from the declarations: man pages and the table of tools. They are committed,
//! and a test checks that they are up to date.

use std::fmt::Write as _;

use clap::CommandFactory as _;
use replay::Cli;
use replay::profile_keys;
use replay::{Descriptor, Hints, TOOLS};
use serde_json::Value;

/// Table of the tools for docs/tools.md.
pub fn tools_table() -> String {
    let mut text = String::from("| tool | does | parameters |\n|---|---|---|\n");
    for make in TOOLS {
        let tool = make();
        let Descriptor {
            name,
            title,
            input_schema,
            ..
        } = tool.descriptor();
        let parameters: Vec<String> = parameters(&read(input_schema))
            .map(|(name, required, _)| {
                if required {
                    format!("**{name}**")
                } else {
                    name
                }
            })
            .collect();
        let _ = writeln!(
            text,
            "| `{name}` | {title} ({}) | {} |",
            effect(tool.hints()),
            parameters.join(", ")
        );
    }
    text
}

fn read(schema: &str) -> Value {
    serde_json::from_str(schema).unwrap_or_default()
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

/// Name, required flag and schema of each parameter.
fn parameters(schema: &Value) -> impl Iterator<Item = (String, bool, &Value)> {
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties.map(move |(name, schema)| {
        (
            name.clone(),
            required.iter().any(|known| known == name.as_str()),
            schema,
        )
    })
}

/// Renders the man page with `clap_mangen`, with a synopsis of each mode. Describes subcommands
/// inline, since `clap_mangen` only refers to separate pages.
pub fn man() -> String {
    const SYNOPSIS: &str = ".SH SYNOPSIS\n\\fBreplay \\-\\-mcp\\-server\\fR [\\fIOPTIONS\\fR]\n.br\n\\fBreplay call\\fR \
        [\\fIOPTIONS\\fR] \\fITOOL\\fR [\\fIKEY=VALUE\\fR... | \\fIJSON\\fR]\n.br\n\\fBreplay tools\\fR [\\fB\\-\\-json\\fR]\n.br\n\\fBreplay mock\\fR \\fB\\-\\-tools\\-from\\fR \\fIMANIFEST\\fR | \\fB\\-\\-preset\\fR \\fINAME\\fR | \\fB\\-\\-cassette\\fR \\fIFILE\\fR\n.br\n\\fBreplay sandbox explain\\fR | \\fBprobe\\fR [\\fIOPTIONS\\fR]\n.br\n\\fBreplay \
        sandbox run\\fR [\\fIOPTIONS\\fR] \\-\\- \\fIPROGRAM\\fR...\n";
    const STATUS: &str = ".SH \"EXIT STATUS\"\n0 when all went well, 1 when the tool failed, 2 when the arguments are wrong or \
        the program cannot start.\n.SH EXAMPLES\n.nf\nreplay \\-\\-mcp\\-server \\-\\-allow /home/me/project:rw\nreplay call \
        grep_files regex=\\(aqfn main\\(aq directory=src \\-\\-allow .\n.fi\n.SH \"SEE ALSO\"\n.BR replay\\-tools (7)\n";
    let command = Cli::command().mut_args(|arg| arg.hide_short_help(false));
    let commands = man_commands(&command);
    let more = synopsis(&command);
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    let (head, rest) = page.split_once(".SH SYNOPSIS").unwrap();
    let (_, rest) = rest.split_once(".SH DESCRIPTION").unwrap();
    let (options, rest) = rest.split_once(".SH SUBCOMMANDS").unwrap();
    let (_, version) = rest.split_once(".SH VERSION").unwrap();
    format!(
        "{head}{SYNOPSIS}{more}.SH DESCRIPTION{options}{commands}{}{STATUS}.SH VERSION{version}",
        man_profile()
    )
}

/// Synopsis lines of the subcommands without a hand-written one.
fn synopsis(command: &clap::Command) -> String {
    let shown = ["call", "tools", "mock", "sandbox"];
    let more = command
        .get_subcommands()
        .filter(|sub| !sub.is_hide_set() && !shown.contains(&sub.get_name()));
    more.fold(String::new(), |mut text, sub| {
        let actions: Vec<String> = sub
            .get_subcommands()
            .map(|action| format!("\\fB{}\\fR", action.get_name()))
            .collect();
        let actions = if actions.is_empty() {
            String::new()
        } else {
            format!(" {}", actions.join(" | "))
        };
        let place = sub
            .get_positionals()
            .next()
            .and_then(|arg| Some(arg.get_value_names()?.first()?.as_str()));
        let place = place
            .map(|name| format!(" \\fI{name}\\fR"))
            .unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            ".br\n\\fBreplay {}\\fR{actions} [\\fIOPTIONS\\fR]{place}",
            sub.get_name()
        );
        text
    })
}

/// Section about the keys of the profile.
fn man_profile() -> String {
    let mut text = String::from(
        ".SH PROFILE\nA JSON object with any of these keys (those of an object are written with a dot); a key that is not \
         known is an error. Relative paths are taken from the working directory. What is said on the command line counts \
         instead; lists are added to those of the command line.\n",
    );
    for (key, words) in profile_keys() {
        let _ = writeln!(text, ".TP\n\\fB{}\\fR\n{}", roff(key), roff(words));
    }
    text
}

fn man_commands(command: &clap::Command) -> String {
    let mut text = String::from(".SH COMMANDS\n");
    let of_server: Vec<&str> = command
        .get_arguments()
        .filter_map(clap::Arg::get_long)
        .collect();
    man_command(&mut text, command, "replay", &of_server);
    text
}

fn man_command(text: &mut String, command: &clap::Command, path: &str, of_server: &[&str]) {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let path = format!("{path} {}", sub.get_name());
        if sub.has_subcommands() && sub.get_arguments().next().is_none() {
            man_command(text, sub, &path, of_server);
            continue;
        }
        let about = sub
            .get_long_about()
            .or(sub.get_about())
            .map(ToString::to_string)
            .unwrap_or_default();
        let _ = writeln!(text, ".SS {path}\n{}.", roff(about.trim_end_matches('.')));
        let (shared, own): (Vec<_>, Vec<_>) = sub
            .get_arguments()
            .partition(|arg| arg.get_long().is_some_and(|flag| of_server.contains(&flag)));
        for arg in own {
            let name = match (arg.get_long(), arg.get_value_names()) {
                (Some(long), _) => format!("\\fB{}\\fR", roff(&format!("--{long}"))),
                (None, Some([name, ..])) => format!("\\fI{}\\fR", roff(name)),
                (None, _) => format!("\\fI{}\\fR", arg.get_id().as_str().to_uppercase()),
            };
            let help = arg
                .get_long_help()
                .or(arg.get_help())
                .map(ToString::to_string)
                .unwrap_or_default();
            let _ = writeln!(text, ".TP\n{name}\n{}", roff(&help));
        }
        let shared: Vec<String> = shared
            .iter()
            .filter_map(|arg| {
                Some(format!(
                    "\\fB{}\\fR",
                    roff(&format!("--{}", arg.get_long()?))
                ))
            })
            .collect();
        if !shared.is_empty() {
            let _ = writeln!(text, ".PP\nAs above: {}.", shared.join(", "));
        }
        for paragraph in sub
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default()
            .split_terminator("\n\n")
        {
            let _ = writeln!(text, ".PP\n{}", roff(paragraph));
        }
        man_command(text, sub, &path, of_server);
    }
}

/// replay-tools(7).
pub fn man_tools() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!(
        ".TH REPLAY-TOOLS 7 \"\" \"replay {version}\" \"Tools of replay\"\n.SH NAME\nreplay-tools \\- the tools that \
         replay serves to agents\n.SH DESCRIPTION\nEach tool with its parameters; those that must be given are bold. \
         Paths are absolute or taken below the first allowed directory.\n.SH TOOLS\n"
    );
    for make in TOOLS {
        let tool = make();
        let descriptor = tool.descriptor();
        let _ = writeln!(
            text,
            ".SS {}\n{} ({}).",
            descriptor.name,
            roff(&descriptor.title),
            effect(tool.hints())
        );
        let _ = writeln!(text, ".PP\n{}", roff(&descriptor.description));
        man_parameters(&mut text, &read(descriptor.input_schema));
    }
    text.push_str(".SH SEE ALSO\n.BR replay (1)\n");
    text
}

fn man_parameters(text: &mut String, schema: &Value) {
    for (name, required, schema) in parameters(schema) {
        let options = schema["anyOf"].as_array().into_iter().flatten();
        let kinds: Vec<&str> = std::iter::once(schema)
            .chain(options)
            .filter_map(|of| of["type"].as_str())
            .collect();
        let kind = if kinds.is_empty() {
            "value".to_owned()
        } else {
            kinds.join(" or ")
        };
        let style = if required { "B" } else { "I" };
        let _ = writeln!(text, ".TP\n.{style} {}\n({kind})", roff(&name));
        if let Some(description) = schema["description"].as_str() {
            let _ = writeln!(text, "{}", roff(description));
        }
        let options = schema["anyOf"].as_array().into_iter().flatten();
        let values = std::iter::once(schema)
            .chain(options)
            .flat_map(|of| [&of["enum"], &of["items"]["enum"]]);
        let values: Vec<&str> = values
            .filter_map(Value::as_array)
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if !values.is_empty() {
            let _ = writeln!(text, "One of: {}.", roff(&values.join(", ")));
        }
        let item = &schema["items"];
        if item["type"] == "object" {
            let _ = writeln!(text, ".RS");
            man_parameters(text, item);
            let _ = writeln!(text, ".RE");
        }
    }
}

/// Escapes text for roff (`groff_char(7)`): hyphens stay hyphens, and no line begins with a control
/// character.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    text.lines()
        .map(|line| {
            if line.starts_with(['.', '\'']) {
                format!("\\&{line}")
            } else {
                line.to_owned()
            }
        })
        .collect::<Vec<_>>()
        .join("\n")
}
