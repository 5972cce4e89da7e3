//! A list of paths for a reply: one text with a line for each, which is also the list of the
//! structured form.

use std::borrow::Cow;

use replay_base::text::escape::show;
use replay_search::Paths;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

/// Escaped paths, which contain no line feeds.
#[derive(Debug)]
pub(super) struct NameList {
    text: String,
    count: usize,
}

impl NameList {
    pub(super) fn new(paths: &Paths) -> Self {
        let mut text = String::new();
        for path in paths.iter() {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&show(path));
        }
        Self {
            text,
            count: paths.len(),
        }
    }

    /// Number of paths.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The paths, one per line.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

impl Serialize for NameList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let lines = if self.count == 0 { 0 } else { usize::MAX };
        serializer.collect_seq(self.text.split('\n').take(lines))
    }
}

impl JsonSchema for NameList {
    fn schema_name() -> Cow<'static, str> {
        Vec::<String>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<String>::json_schema(generator)
    }

    fn inline_schema() -> bool {
        true
    }
}
