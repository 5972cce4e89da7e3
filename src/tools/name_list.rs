//! A list of paths for a reply: one text with a line for each, which is also the list of the
//! structured form.

use std::borrow::Cow;

use replay_search::Paths;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::Context;
use super::text_limit::TextLimit;

/// Escaped paths, which contain no line feeds.
#[derive(Debug)]
pub(super) struct NameList {
    text: String,
    count: usize,
}

impl NameList {
    /// Lists the first paths, within a limit.
    pub(super) fn new(context: &Context<'_>, paths: &Paths, mut limit: TextLimit) -> Self {
        let (mut text, mut count) = (String::new(), 0);
        for path in paths.iter() {
            let end = text.len();
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&context.shown(path));
            if !limit.take(&text[end..]) && count > 0 {
                text.truncate(end);
                break;
            }
            count += 1;
        }
        Self { text, count }
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

/// Advice on a truncated list, which begins a sentence: empty if the client passes on no more.
pub(super) fn raise_max(
    context: &Context<'_>,
    shown: &NameList,
    paths: &Paths,
    limit: TextLimit,
) -> &'static str {
    let is_cut = shown.len() < paths.iter().count();
    if is_cut && limit == TextLimit::of_client(context.replies) {
        ""
    } else {
        "raise max or "
    }
}

/// Returns the limit of a list. `is_asked` is true if the agent gave a maximum of its own.
pub(super) fn limit(context: &Context<'_>, is_asked: bool) -> TextLimit {
    if is_asked {
        context.limit_of_measured()
    } else {
        context.limit()
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
