//! Everything that is derived from the declarations: committed documents that must not drift, and
//! rules that every tool keeps. `UPDATE_EXPECT=1` writes the documents anew.

mod documents;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;

use replay::derived_profile_keys;
use replay::{Callable, DERIVED, Hints, TOOLS, Toolset};
use replay_clients::{Clients, FailureForm, ReplyParts, ReplyProfile};
use replay_files::autorun::{AUTORUN_RULES, AutorunRule, Compared, HOOK};
use replay_files::policy::{PROTECTED_FOR_OTHERS, PROTECTED_IN_REPOSITORIES};
use replay_mock::{expectations_schema, manifest_schema};
use replay_testrun::{CHECKERS, Language, RUNNERS};
use serde_json::{Value, json};

use crate::harness::Server;
use crate::tree::Tree;

/// Schemas of the tools, a file for each.
const TOOL_SCHEMAS: &str = "src/tools/schemas";

/// Checks that a committed file has this content; `UPDATE_EXPECT` writes it. The program includes
/// some of these files, so an update needs a second run.
pub fn committed(path: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "{} has drifted; UPDATE_EXPECT=1 cargo test --test it derived writes it anew",
        path.display()
    );
}

#[test]
fn committed_schemas_match_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(TOOL_SCHEMAS);
    let mut names = HashSet::new();
    for derive in DERIVED {
        let file = derive();
        committed(&format!("{TOOL_SCHEMAS}/{}", file.name), &file.json);
        names.insert(file.name);
    }
    let found: HashSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(found, names, "{TOOL_SCHEMAS} has one file for each tool");

    committed("src/config/profile.txt", &derived_profile_keys());
    committed("src/mock/expectations.schema.json", &expectations_schema());
    committed("schemas/mock.schema.json", &manifest_schema());
}

#[test]
fn committed_documents_match_declarations() {
    committed("man/replay.1", &documents::man());
    committed("man/replay-tools.7", &documents::man_tools());
    between_markers("docs/tools.md", "tools", &documents::tools_table());
}

#[test]
fn protected_paths_are_documented() {
    let mut rows: Vec<(&str, Vec<String>)> = Vec::new();
    for (path, program) in PROTECTED_FOR_OTHERS {
        match rows.iter_mut().find(|(known, _)| *known == program) {
            Some((_, paths)) => paths.push(format!("`{path}`")),
            None => rows.push((program, vec![format!("`{path}`")])),
        }
    }
    let of_git = PROTECTED_IN_REPOSITORIES
        .map(|name| format!("`{name}`"))
        .join(", ");
    let mut table = format!(
        "| obeyed by | path |\n|---|---|\n| git | of each repository {of_git}; a `.git` that is a file or a link |\n"
    );
    for (program, paths) in rows {
        let _ = writeln!(table, "| {program} | {} |", paths.join(", "));
    }
    between_markers("docs/walls.md", "protected", &table);
}

#[test]
fn autorun_files_are_documented() {
    let mut table = "| obeyed by | path, at any depth | what counts |\n|---|---|---|\n".to_owned();
    for AutorunRule {
        path,
        not_below,
        obeyed_by,
        compared,
    } in AUTORUN_RULES.iter().chain([&HOOK])
    {
        let path = if *path == HOOK.path {
            "`hooks/**` of a repository, and where `core.hooksPath` leads"
        } else {
            &format!("`{path}`")
        };
        let but = not_below
            .map(|name| format!(", not below `{name}`"))
            .unwrap_or_default();
        let what = match compared {
            Compared::Whole => "all of it".to_owned(),
            Compared::Executable => "what may be executed".to_owned(),
            Compared::GitKeys => {
                "keys whose value git runs, or that name hooks or further configuration (git-config(1))".to_owned()
            }
            Compared::JsonMembers { object, members } => {
                format!(
                    "of `{object}`: {}",
                    members.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
                )
            }
        };
        let _ = writeln!(table, "| {obeyed_by} | {path}{but} | {what} |");
    }
    between_markers("docs/walls.md", "autorun", &table);
}

#[test]
fn client_profiles_are_documented() {
    let mut table = String::from(
        "| `--client` | client | structured | errors | `isError` for an exit status | characters of a reply |\n\
         |---|---|---|---|---|---|\n",
    );
    for client in Clients::embedded().iter() {
        if client.replies == ReplyProfile::default() {
            continue;
        }
        let ReplyProfile {
            structured,
            errors,
            exit_is_error,
            reply_chars,
            ..
        } = &client.replies;
        let structured = match structured {
            ReplyParts::Both => "both",
            ReplyParts::Text => "text",
            ReplyParts::Structured => "structured",
        };
        let errors = match errors {
            FailureForm::Codes => "codes",
            FailureForm::Results => "results",
            FailureForm::Text => "text",
        };
        let exit = if *exit_is_error { "yes" } else { "no" };
        let most = reply_chars.map(|most| most.to_string()).unwrap_or_default();
        let (id, title) = (&client.id, &client.title);
        let _ = writeln!(
            table,
            "| `{id}` | {title} | {structured} | {errors} | {exit} | {most} |"
        );
    }
    between_markers("docs/clients.md", "clients", &table);

    let mut table = String::from("| client | paths |\n|---|---|\n");
    for client in Clients::embedded()
        .iter()
        .filter(|client| !client.protects.is_empty())
    {
        let paths: Vec<String> = client
            .protects
            .iter()
            .map(|path| format!("`{path}`"))
            .collect();
        let _ = writeln!(table, "| {} | {} |", client.title, paths.join(", "));
    }
    between_markers("docs/setup.md", "protected", &table);
}

#[test]
fn setup_of_clients_is_documented() {
    let mut table =
        String::from("| `replay setup` | file | directory | `--only` |\n|---|---|---|---|\n");
    for client in Clients::embedded().iter() {
        let Some(setup) = &client.setup else { continue };
        let file = setup.files.first().map(|file| format!("`{file}`"));
        let directory = if setup.in_project { "`.`" } else { "absolute" };
        let only = setup
            .only
            .as_ref()
            .map_or("not possible".to_owned(), |only| {
                let is_set = !only.set.is_empty();
                let written = is_set.then(|| match &only.file {
                    Some(file) => format!("settings in `{file}`"),
                    None => "settings in the same file".to_owned(),
                });
                let parts = [written, only.step.clone(), only.note.clone()];
                parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
            });
        let only = only.replace('|', "\\|");
        let file = file.unwrap_or_else(|| "is printed".to_owned());
        let _ = writeln!(table, "| `{}` | {file} | {directory} | {only} |", client.id);
    }
    between_markers("docs/setup.md", "setup", &table);
}

#[test]
fn runners_and_checkers_are_documented() {
    let mut table = "| language | tests | types |\n|---|---|---|\n".to_owned();
    let of = |titles: Vec<(Option<Language>, &str)>, language| {
        let own = titles.into_iter().filter(|(of, _)| *of == language);
        own.map(|(_, title)| title.to_owned())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut languages = Vec::new();
    for runner in RUNNERS {
        let language = runner.language();
        languages.extend((languages.last() != Some(&language)).then_some(language));
    }
    for language in languages {
        let runners = RUNNERS
            .map(|runner| (runner.language(), runner.title()))
            .to_vec();
        let checkers = CHECKERS
            .map(|checker| (checker.language(), checker.title()))
            .to_vec();
        let title = language.map_or("any other", Language::title);
        let _ = writeln!(
            table,
            "| {title} | {} | {} |",
            of(runners, language),
            of(checkers, language)
        );
    }
    between_markers("docs/tests.md", "runners", &table);
}

/// Checks a generated section of a document that is otherwise written by hand.
fn between_markers(path: &str, name: &str, expected: &str) {
    let whole = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let (begin, end) = (
        format!("<!-- {name}: generated -->\n"),
        format!("<!-- /{name} -->\n"),
    );
    let (before, rest) = whole.split_once(&begin).expect("the beginning marker");
    let (_, after) = rest.split_once(&end).expect("the end marker");
    committed(path, &format!("{before}{begin}{expected}{end}{after}"));
}

#[test]
fn every_tool_follows_declaration_rules() {
    let tools: Vec<Box<dyn Callable>> = TOOLS.iter().map(|make| make()).collect();
    let names: HashSet<&str> = tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names.len(), tools.len(), "names are unique");
    for tool in &tools {
        let descriptor = tool.descriptor();
        let name = tool.name();
        assert!(
            name.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
            "{name}"
        );
        assert!(
            descriptor.description.ends_with(['.', ')']),
            "{name}: {}",
            descriptor.description
        );
        let schema: Value = serde_json::from_str(descriptor.input_schema).unwrap();
        assert_eq!(schema["type"], "object", "{name}");
        described(name, &schema);
        assert_eq!(
            descriptor.annotations["readOnlyHint"],
            tool.hints() == Hints::Observes,
            "{name}"
        );
        let text = descriptor.input_schema;
        assert!(
            !text.contains("x-") && !text.contains("null") && !text.contains("$ref"),
            "{name}: {text}"
        );
    }
}

fn described(name: &str, schema: &Value) {
    for (parameter, schema) in schema["properties"].as_object().unwrap() {
        assert!(
            schema["description"]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{name}: {parameter}"
        );
        if schema["items"]["properties"].is_object() {
            described(name, &schema["items"]);
        }
    }
}

#[test]
fn annotations_match_contract() {
    let observes = json!({"readOnlyHint": true, "openWorldHint": false});
    let others = |destructive: bool, idempotent: bool, open: bool| json!({"readOnlyHint": false, "destructiveHint": destructive, "idempotentHint": idempotent, "openWorldHint": open});
    for make in TOOLS {
        let tool = make();
        let expected = match tool.name() {
            "write_file" | "delete_file" => others(true, true, false),
            "create_directory" => others(false, true, false),
            "move_file" | "edit_file" | "edit_files" | "undo_changes" => others(true, false, false),
            "execute_command" | "follow_command" | "keploy_mock_record" | "keploy_mock_test"
            | "run_tests" | "type_check" => others(true, false, true),
            "list_sessions" | "list_files" => observes.clone(),
            _ if tool.toolset() == Toolset::Python => others(true, false, true),
            _ => observes.clone(),
        };
        assert_eq!(tool.descriptor().annotations, expected, "{}", tool.name());
    }
}

/// Limits the size of the tool list, which a client sends with every request. The text has at least
/// 4.2 bytes per token (o200k); counting four is conservative. The limits are 3,700 tokens without
/// output schemas, 7,400 with them.
#[test]
fn tool_list_stays_within_size_limit() {
    let tree = Tree::new();
    for (revision, most_tokens) in [("2024-11-05", 3700), ("2025-11-25", 7400)] {
        let mut server = Server::open(
            &tree,
            revision,
            &["--allow", &format!("{}:rw", tree.root().display())],
        );
        let list = server.request("tools/list", json!({})).result().clone();
        assert_eq!(list["tools"].as_array().unwrap().len(), 21);
        let tokens = list.to_string().len() / 4;
        assert!(
            tokens <= most_tokens,
            "{revision}: {tokens} tokens, at most {most_tokens}"
        );
    }
}

#[test]
fn tool_list_matches_snapshot_per_revision() {
    let tree = Tree::new();
    for revision in crate::schema::REVISIONS {
        let mut server = Server::open(
            &tree,
            revision,
            &["--allow", &format!("{}:rw", tree.root().display())],
        );
        insta::assert_json_snapshot!(
            format!("tools_{revision}"),
            server.request("tools/list", json!({})).result()
        );
    }
}
