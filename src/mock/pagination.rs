//! Lists, resources, prompts and completions, answered from the catalog.

use replay_mcp::protocol::{Body, Code, Outcome, RpcError};
use replay_mcp::sessions::AdmittedRequest;
use serde_json::{Map, Value, json};

use super::catalog::Catalog;
use super::respond::AnswerExecution;

/// Maximum number of values in a completion (server/utilities/completion).
const MAX_OFFERED: usize = 100;

/// Answers one of these methods; `None` for any other.
pub(crate) fn answer(execution: &AnswerExecution<'_>, method: &str) -> Option<Outcome> {
    let AnswerExecution {
        catalog,
        exchange,
        params,
        ..
    } = *execution;
    let done = |result: Value, cached| {
        Ok(Body::Raw(
            catalog
                .complete_result(exchange, result, cached)
                .to_string()
                .into(),
        ))
    };
    let entries: (&str, Vec<&str>) = match method {
        "tools/list" => (
            "tools",
            catalog.tools.iter().map(|tool| &*tool.entry).collect(),
        ),
        "resources/list" => (
            "resources",
            catalog
                .resources
                .iter()
                .map(|resource| &*resource.entry)
                .collect(),
        ),
        "resources/templates/list" if !catalog.templates.is_empty() => (
            "resourceTemplates",
            catalog
                .templates
                .iter()
                .map(|template| &*template.entry)
                .collect(),
        ),
        "prompts/list" => (
            "prompts",
            catalog
                .prompts
                .iter()
                .map(|prompt| &*prompt.entry)
                .collect(),
        ),
        "resources/read" => return Some(read(execution).and_then(|result| done(result, true))),
        "prompts/get" => return Some(prompt(execution).and_then(|result| done(result, false))),
        "completion/complete" if catalog.has_completions() => {
            return Some(complete(catalog, params).and_then(|result| done(result, false)));
        }
        _ => return None,
    };
    Some(page(catalog, exchange, params, &entries))
}

fn prompt(execution: &AnswerExecution<'_>) -> Result<Value, RpcError> {
    let AnswerExecution {
        catalog, params, ..
    } = *execution;
    let name = params["name"].as_str().unwrap_or_default();
    let Some(prompt) = catalog.prompts.iter().find(|prompt| prompt.name == name) else {
        return Err(invalid(format!(
            "no prompt `{name}`; prompts/list has the names"
        )));
    };
    let arguments = &params["arguments"];
    let given = |name: &str| arguments.get(name);
    for taken in &prompt.arguments {
        match given(&taken.name) {
            None if taken.required => {
                return Err(invalid(format!(
                    "`arguments` lacks `{}`, which the prompt requires",
                    taken.name
                )));
            }
            Some(value) if !value.is_string() => {
                return Err(invalid(format!(
                    "`arguments.{}` is {value}; it must be of type string",
                    taken.name
                )));
            }
            _ => {}
        }
    }
    let mut filled = arguments.as_object().cloned().unwrap_or_default();
    for taken in &prompt.arguments {
        // A missing optional argument is empty.
        filled
            .entry(taken.name.clone())
            .or_insert_with(|| "".into());
    }
    let filled = Value::Object(filled);
    let execution = AnswerExecution {
        arguments: &filled,
        ..*execution
    };
    let scope = execution.scope(0, Value::Null);
    Ok(json!({"messages": prompt.messages.fill(&scope)}))
}

/// Returns one page of a list. The entries are JSON text already and are only copied.
fn page(
    catalog: &Catalog,
    exchange: &AdmittedRequest<'_>,
    params: &Value,
    (member, entries): &(&str, Vec<&str>),
) -> Outcome {
    let from = match &params["cursor"] {
        Value::Null => 0,
        Value::String(cursor) if entries.len() > catalog.page_size => {
            let from = cursor
                .strip_prefix("after-")
                .and_then(|count| count.parse::<usize>().ok());
            from.filter(|from| *from < entries.len())
                .ok_or_else(|| bad_cursor(&params["cursor"]))?
        }
        other => return Err(bad_cursor(other)),
    };
    let page = &entries[from..entries.len().min(from.saturating_add(catalog.page_size))];
    let mut rest = Map::new();
    if from + page.len() < entries.len() {
        rest.insert(
            "nextCursor".to_owned(),
            format!("after-{}", from + page.len()).into(),
        );
    }
    let rest = catalog
        .complete_result(exchange, Value::Object(rest), true)
        .to_string();
    let rest = rest.strip_prefix('{').unwrap_or(&rest);
    let comma = if rest == "}" { "" } else { "," };
    Ok(Body::Raw(
        format!("{{\"{member}\":[{}]{comma}{rest}", page.join(",")).into(),
    ))
}

fn read(execution: &AnswerExecution<'_>) -> Result<Value, RpcError> {
    let AnswerExecution {
        catalog, params, ..
    } = *execution;
    let Some(uri) = params["uri"].as_str() else {
        return Err(invalid(
            "`uri` is missing or not a string; resources/list has the URIs".to_owned(),
        ));
    };
    if let Some(resource) = catalog
        .resources
        .iter()
        .find(|resource| resource.uri == uri)
    {
        return Ok(resource.read());
    }
    let scope = execution.scope(0, Value::Null);
    let found = catalog
        .templates
        .iter()
        .find_map(|template| template.read(uri, scope.clone()));
    found.ok_or_else(|| {
        let message = format!("no resource `{uri}`; resources/list has the URIs");
        RpcError {
            data: Some(json!({"uri": uri})),
            ..invalid(message)
        }
    })
}

fn complete(catalog: &Catalog, params: &Value) -> Result<Value, RpcError> {
    let (reference, argument) = (&params["ref"], &params["argument"]);
    let name = argument["name"].as_str().unwrap_or_default();
    let typed = argument["value"].as_str().unwrap_or_default();
    let offered = match reference["type"].as_str() {
        Some("ref/prompt") => {
            let prompt = catalog
                .prompts
                .iter()
                .find(|prompt| reference["name"] == *prompt.name);
            let prompt =
                prompt.ok_or_else(|| invalid(format!("no prompt {}", reference["name"])))?;
            prompt
                .arguments
                .iter()
                .find(|taken| taken.name == name)
                .map(|taken| &taken.complete)
        }
        Some("ref/resource") => {
            let template = catalog
                .templates
                .iter()
                .find(|template| reference["uri"] == *template.uri);
            let template = template
                .ok_or_else(|| invalid(format!("no resource template {}", reference["uri"])))?;
            template.complete.get(name)
        }
        _ => {
            return Err(invalid(
                "`ref.type` must be \"ref/prompt\" or \"ref/resource\"".to_owned(),
            ));
        }
    };
    let fitting: Vec<&String> = offered
        .into_iter()
        .flatten()
        .filter(|value| value.starts_with(typed))
        .collect();
    let shown = &fitting[..fitting.len().min(MAX_OFFERED)];
    let more = shown.len() < fitting.len();
    Ok(json!({"completion": {"values": shown, "total": fitting.len(), "hasMore": more}}))
}

fn bad_cursor(cursor: &Value) -> RpcError {
    invalid(format!(
        "`cursor` is {cursor}; valid is a `nextCursor` of this list"
    ))
}

fn invalid(message: String) -> RpcError {
    RpcError::new(Code::InvalidParams, message)
}
