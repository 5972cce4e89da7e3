//! Noise in documents of calls.

use super::node::{Members, Node, NodeKind, parse};
use super::{Problem, emit};
use crate::matching::DeclaredNoise;

impl DeclaredNoise {
    /// Reads a mapping, or a list of regular expressions from an older file.
    pub(super) fn read(node: &Node) -> Result<Self, Problem> {
        if matches!(node.kind, NodeKind::List(_)) {
            return Ok(Self {
                values: node.texts()?,
                ..Self::default()
            });
        }
        if let Some((key, value)) = node
            .members()?
            .iter()
            .find(|(key, _)| key != "req" && key != "value")
        {
            let message = format!("expected `req` or `value`, got `{}`", key.escape_debug());
            return Err(Problem::new(value.line, message));
        }
        Ok(Self {
            fields: node.get("req", Node::texts)?,
            values: node.get("value", Node::texts)?,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.values.is_empty()
    }
}

impl From<&DeclaredNoise> for Node {
    fn from(noise: &DeclaredNoise) -> Self {
        let lists = [("req", &noise.fields), ("value", &noise.values)]
            .into_iter()
            .filter(|(_, texts)| !texts.is_empty());
        lists
            .map(|(key, texts)| (key, texts.iter().collect::<Vec<_>>()))
            .collect::<Members>()
            .into()
    }
}

/// Returns the text of a document with its noise replaced. Fails if its keys do not begin lines, as
/// in a flow mapping.
pub(super) fn replace(text: &str, line: u64, noise: &DeclaredNoise) -> Result<String, Problem> {
    let mut block = String::new();
    emit::mapping(&mut block, &Members::from_iter([("noise", noise)]).0, 0);
    let mut out = String::with_capacity(text.len() + block.len());
    let mut is_old = false;
    for line in text.split_inclusive('\n') {
        // Indented lines belong to it, and so do items of a list, which may be unindented.
        is_old = line.starts_with("noise:")
            || is_old && (line.trim().is_empty() || line.starts_with([' ', '-']));
        // Inserted before the last key, which marks a complete document.
        if is_old || line.starts_with("connectionId:") {
            out.push_str(&std::mem::take(&mut block));
        }
        if !is_old {
            out.push_str(line);
        }
    }
    if !block.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&block);
    let put = parse(&out, line)?
        .map(|root| root.find("noise", DeclaredNoise::read))
        .transpose()?
        .flatten();
    if put.as_ref() == Some(noise) {
        return Ok(out);
    }
    Err(Problem::new(
        line,
        "expected a document whose keys begin lines, so that noise can be put into it".to_owned(),
    ))
}
