//! A manifest compiled for serving: list entries, schemas and the lookup of tools by name.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use replay_mcp::protocol::SERVER_INFO_KEY;
use replay_mcp::schema::Validator;
use replay_mcp::sessions::AdmittedRequest;
use serde_json::{Map, Value, json};

use super::behaviour::Answers;
use super::entry::put;
use super::fault::MockFault;
use super::lint;
use super::manifest::{self, Manifest};
use super::problems::{FileProblem, LoadError, ProblemList, SourceText};
use super::resources::{CatalogResource, ResourceFamily, UriPattern};
use super::template::Template;

/// Most tools of a manifest, copies included.
const MAX_MOCK_TOOLS: usize = 100_000;

/// Everything that is served until the next swap of the catalog.
#[derive(Debug)]
pub struct Catalog {
    /// Name and version of the server.
    pub info: Value,
    /// Instructions for the client's model.
    pub instructions: Option<String>,
    /// Overrides of the derived capabilities.
    pub capabilities: Map<String, Value>,
    pub fault: Option<MockFault>,
    /// Seed of generated values.
    pub seed: u64,
    /// Entries per page of a list.
    pub page_size: usize,
    /// `true` if results are sent without the members that a revision requires.
    pub exact: bool,
    pub tools: Vec<Arc<CatalogTool>>,
    by_name: HashMap<String, usize>,
    pub resources: Vec<Arc<CatalogResource>>,
    /// Resource templates in order.
    pub templates: Vec<ResourceFamily>,
    pub prompts: Vec<Arc<CatalogPrompt>>,
    pub methods: BTreeMap<String, Answers>,
    /// The catalog after the swap, if any.
    pub later: Option<LaterCatalog>,
}

/// The catalog after the swap.
#[derive(Debug)]
pub struct LaterCatalog {
    /// Number of answered calls that triggers the swap.
    pub after_calls: Option<u64>,
    /// The new catalog.
    pub catalog: Arc<Catalog>,
    /// Lists that change, as the middle of `notifications/X/list_changed`.
    pub changes: Vec<&'static str>,
}

#[derive(Debug)]
pub struct CatalogTool {
    /// The name on the wire.
    pub name: String,
    /// Its entry in tools/list.
    pub entry: String,
    pub input: Option<Validator>,
    /// Validator of structured content; a violation is only logged.
    pub output: Option<Validator>,
    pub behaviour: Answers,
}

#[derive(Debug)]
pub struct CatalogPrompt {
    /// The name on the wire.
    pub name: String,
    /// Its entry in prompts/list.
    pub entry: String,
    pub arguments: Vec<manifest::PromptArgument>,
    pub messages: Template,
}

impl Catalog {
    /// Compiles a manifest. The second part of the result holds warnings.
    pub fn build(
        manifest: &Manifest,
        source: &SourceText,
    ) -> Result<(Self, Vec<FileProblem>), LoadError> {
        let mut faults = ProblemList::new(source);
        let mut catalog = Self::compile(manifest, &mut faults, "");
        lint::check(manifest, "", &mut faults);
        lint::check_http(manifest, &mut faults);
        if let Some(change) = &manifest.list_changed {
            let mut after = manifest.clone();
            after.list_changed = None;
            let mut changes = Vec::new();
            if let Some(tools) = &change.tools {
                after.tools.clone_from(tools);
                changes.push("tools");
            }
            if let Some(resources) = &change.resources {
                after.resources.clone_from(resources);
                changes.push("resources");
            }
            if let Some(prompts) = &change.prompts {
                after.prompts.clone_from(prompts);
                changes.push("prompts");
            }
            let compiled = Self::compile(&after, &mut faults, "/list_changed");
            // The other parts were checked with the main manifest.
            let odd = Manifest {
                tools: change.tools.clone().unwrap_or_default(),
                prompts: change.prompts.clone().unwrap_or_default(),
                exact: manifest.exact,
                ..Manifest::default()
            };
            lint::check(&odd, "/list_changed", &mut faults);
            catalog.later = Some(LaterCatalog {
                after_calls: change.after_calls,
                catalog: Arc::new(compiled),
                changes,
            });
        }
        let ProblemList {
            problems, warnings, ..
        } = faults;
        if problems.is_empty() {
            Ok((catalog, warnings))
        } else {
            Err(source.error(problems))
        }
    }

    fn compile(manifest: &Manifest, faults: &mut ProblemList<'_>, pointer: &str) -> Self {
        let mut info = Map::new();
        info.insert(
            "name".to_owned(),
            manifest.name.as_deref().unwrap_or("replay-mock").into(),
        );
        put(&mut info, "title", manifest.title.as_ref());
        info.insert(
            "version".to_owned(),
            manifest
                .version
                .as_deref()
                .unwrap_or(env!("CARGO_PKG_VERSION"))
                .into(),
        );
        let mut tools: Vec<Arc<CatalogTool>> = Vec::new();
        let mut by_name = HashMap::new();
        for (index, from) in manifest.tools.iter().enumerate() {
            let pointer = format!("{pointer}/tools/{index}");
            for number in 1..=from.copies.unwrap_or(1) {
                let name = if from.copies.is_some() {
                    format!("{}_{number}", from.name)
                } else {
                    from.name.clone()
                };
                if by_name.insert(name.clone(), tools.len()).is_some() {
                    faults.add(
                        &format!("{pointer}/name"),
                        format!("there are two tools called `{name}`"),
                    );
                    break;
                }
                if tools.len() >= MAX_MOCK_TOOLS {
                    faults.add(
                        &pointer,
                        format!("there are more than {MAX_MOCK_TOOLS} tools"),
                    );
                    break;
                }
                tools.push(Arc::new(CatalogTool::compile(from, name, &pointer, faults)));
            }
        }
        let mut uris = HashMap::new();
        for (index, resource) in manifest.resources.iter().enumerate() {
            if uris.insert(&resource.uri, index).is_some() {
                let message = format!("there are two resources at `{}`", resource.uri);
                faults.add(&format!("{pointer}/resources/{index}/uri"), message);
            }
            if resource.content.text.is_some() && resource.content.blob.is_some() {
                faults.add(
                    &format!("{pointer}/resources/{index}"),
                    "a resource must have either a `text` or a `blob`",
                );
            }
        }
        let mut names = HashMap::new();
        for (index, prompt) in manifest.prompts.iter().enumerate() {
            if names.insert(&prompt.name, index).is_some() {
                let message = format!("there are two prompts called `{}`", prompt.name);
                faults.add(&format!("{pointer}/prompts/{index}/name"), message);
            }
            if prompt.text.is_some() && prompt.messages.is_some() {
                faults.add(
                    &format!("{pointer}/prompts/{index}"),
                    "a prompt must have either a `text` or `messages`",
                );
            }
        }
        let template = |(index, from): (usize, &manifest::ResourceTemplate)| {
            let pattern = UriPattern::new(&from.uri_template)
                .map_err(|reason| {
                    faults.add(&format!("{pointer}/resource_templates/{index}"), reason);
                })
                .ok()?;
            Some(ResourceFamily::new(from, pattern))
        };
        let templates = manifest
            .resource_templates
            .iter()
            .enumerate()
            .filter_map(template)
            .collect();
        let behaviour = |(method, from): (&String, &manifest::Behaviour)| {
            (
                method.clone(),
                Answers::compile(from, &format!("{pointer}/methods/{method}"), None, faults),
            )
        };
        let methods = manifest.methods.iter().map(behaviour).collect();
        Self {
            info: Value::Object(info),
            instructions: manifest.instructions.clone(),
            capabilities: manifest.capabilities.clone(),
            fault: manifest.fault,
            seed: manifest.seed,
            page_size: manifest.page_size.unwrap_or(usize::MAX),
            exact: manifest.exact,
            tools,
            by_name,
            resources: manifest
                .resources
                .iter()
                .map(|from| Arc::new(CatalogResource::new(from)))
                .collect(),
            templates,
            prompts: manifest
                .prompts
                .iter()
                .map(|from| Arc::new(CatalogPrompt::new(from)))
                .collect(),
            methods,
            later: None,
        }
    }

    /// Returns the `_meta` of a result, with the name of this server.
    pub fn server_meta(&self) -> Value {
        json!({ SERVER_INFO_KEY: self.info })
    }

    /// Adds the members that the revision requires to a result; more if it may be `cached`.
    pub fn complete_result(
        &self,
        exchange: &AdmittedRequest<'_>,
        mut result: Value,
        cached: bool,
    ) -> Value {
        if exchange.ticket.revision.is_stateless()
            && !self.exact
            && let Some(members) = result.as_object_mut()
        {
            members.insert("resultType".to_owned(), "complete".into());
            if cached {
                // A mock may change its answers at any time.
                members.insert("ttlMs".to_owned(), 0.into());
                members.insert("cacheScope".to_owned(), "private".into());
            }
            members.insert("_meta".to_owned(), self.server_meta());
        }
        result
    }

    /// Returns true if any resource changes over time.
    pub fn has_updates(&self) -> bool {
        self.resources
            .iter()
            .any(|resource| !resource.updates.is_empty())
    }

    /// Returns true if any argument has completions.
    pub fn has_completions(&self) -> bool {
        self.prompts
            .iter()
            .flat_map(|prompt| &prompt.arguments)
            .any(|taken| !taken.complete.is_empty())
            || self
                .templates
                .iter()
                .any(|template| !template.complete.is_empty())
    }

    /// Returns the tool of this name.
    pub fn tool(&self, name: &str) -> Option<&Arc<CatalogTool>> {
        self.by_name.get(name).map(|&index| &self.tools[index])
    }

    /// Fails if a tool has one of these names, now or after the swap.
    pub fn check_names(&self, names: &HashSet<String>) -> Result<(), String> {
        let later = self.later.as_ref().map(|later| &*later.catalog);
        for catalog in [Some(self), later].into_iter().flatten() {
            if let Some(tool) = catalog.tools.iter().find(|tool| names.contains(&tool.name)) {
                return Err(format!(
                    "the manifest and the server both have a tool `{}`; rename the tool of the \
                     manifest",
                    tool.name
                ));
            }
        }
        Ok(())
    }

    /// Returns the capabilities that the manifest declares. With `reload` the lists may change.
    pub fn capabilities(&self, reload: bool) -> Value {
        let changes = |kind| {
            self.later
                .as_ref()
                .is_some_and(|later| later.changes.contains(&kind))
        };
        let entry = |changing: bool| {
            if changing {
                json!({"listChanged": true})
            } else {
                json!({})
            }
        };
        let mut capabilities = Map::new();
        if !self.tools.is_empty() || changes("tools") {
            capabilities.insert("tools".to_owned(), entry(reload || changes("tools")));
        }
        if !self.resources.is_empty() || !self.templates.is_empty() || changes("resources") {
            let mut resources = entry(reload || changes("resources"));
            if self.has_updates() {
                resources["subscribe"] = true.into();
            }
            capabilities.insert("resources".to_owned(), resources);
        }
        if !self.prompts.is_empty() || changes("prompts") {
            capabilities.insert("prompts".to_owned(), entry(reload || changes("prompts")));
        }
        if self.has_completions() {
            capabilities.insert("completions".to_owned(), json!({}));
        }
        if self.tools.iter().any(|tool| tool.behaviour.logs()) {
            capabilities.insert("logging".to_owned(), json!({}));
        }
        for (key, value) in &self.capabilities {
            if value.is_null() {
                capabilities.shift_remove(key);
            } else {
                capabilities.insert(key.clone(), value.clone());
            }
        }
        Value::Object(capabilities)
    }
}

impl CatalogTool {
    fn compile(
        from: &manifest::Tool,
        name: String,
        pointer: &str,
        faults: &mut ProblemList<'_>,
    ) -> Self {
        let input_schema = from
            .input_schema
            .clone()
            .unwrap_or_else(|| json!({"type": "object"}));
        let mut validator = |key: &str, schema: &Value| {
            Validator::new(schema)
                .map_err(|reason| {
                    faults.add(
                        &format!("{pointer}/{key}"),
                        format!("`{key}` is not a valid JSON schema: {reason}"),
                    );
                })
                .ok()
        };
        let input = if from.skip_validation {
            None
        } else {
            validator("input_schema", &input_schema)
        };
        let output = from
            .output_schema
            .as_ref()
            .and_then(|schema| validator("output_schema", schema));
        let mut entry = Map::new();
        entry.insert("name".to_owned(), name.clone().into());
        put(&mut entry, "title", from.title.as_ref());
        put(&mut entry, "description", from.description.as_ref());
        entry.insert("inputSchema".to_owned(), input_schema);
        put(&mut entry, "outputSchema", from.output_schema.as_ref());
        put(&mut entry, "annotations", from.annotations.as_ref());
        entry.extend(from.extra.clone());
        let behaviour = Answers::compile(&from.behaviour, pointer, output.as_ref(), faults);
        Self {
            name,
            entry: Value::Object(entry).to_string(),
            input,
            output,
            behaviour,
        }
    }
}

impl CatalogPrompt {
    fn new(from: &manifest::Prompt) -> Self {
        let mut entry = Map::new();
        entry.insert("name".to_owned(), from.name.clone().into());
        put(&mut entry, "description", from.description.as_ref());
        if !from.arguments.is_empty() {
            let argument = |taken: &manifest::PromptArgument| {
                let mut argument = Map::new();
                argument.insert("name".to_owned(), taken.name.clone().into());
                put(&mut argument, "description", taken.description.as_ref());
                argument.insert("required".to_owned(), taken.required.into());
                Value::Object(argument)
            };
            entry.insert(
                "arguments".to_owned(),
                from.arguments.iter().map(argument).collect(),
            );
        }
        entry.extend(from.extra.clone());
        let text = from.text.clone().unwrap_or_default();
        let messages = from.messages.clone().map_or_else(
            || json!([{"role": "user", "content": {"type": "text", "text": text}}]),
            Value::Array,
        );
        Self {
            name: from.name.clone(),
            entry: Value::Object(entry).to_string(),
            arguments: from.arguments.clone(),
            messages: Template::new(&messages),
        }
    }
}
