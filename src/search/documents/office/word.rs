//! Word document: its text, footnotes, endnotes and comments.

use std::collections::HashMap;

use super::package::{Node, Package};
use super::paragraphs;
use crate::documents::fault::Fault;
use crate::documents::parts::{Pages, Parts};

/// Deepest heading level.
const MAX_LEVEL: usize = 9;

pub(super) fn write(
    package: &mut Package<'_>,
    main: &str,
    pages: Option<Pages>,
    parts: &mut Parts,
) -> Result<(), Fault> {
    if pages.is_some() {
        return Err(Fault::new(
            "is a Word document, which has no fixed pages; use `offset` and `limit`",
        ));
    }
    let relations = package.relations(main)?;
    let target = |kind: &str| {
        relations
            .values()
            .find(|relation| relation.kind == kind)
            .map(|found| found.target.as_str())
    };
    let headings = target("styles")
        .map(|styles| headings(package, styles))
        .transpose()?
        .unwrap_or_default();
    paragraphs::write(&mut package.part(main)?, &headings, parts)?;
    for kind in ["footnotes", "endnotes", "comments"] {
        if let Some(target) = target(kind) {
            parts.begin(kind)?;
            paragraphs::write(&mut package.part(target)?, &headings, parts)?;
        }
    }
    Ok(())
}

/// Returns the levels of heading styles. Their names are the same in every language (ECMA-376, part
/// 1, 17.7.4.9).
fn headings(package: &mut Package<'_>, styles: &str) -> Result<HashMap<String, usize>, Fault> {
    let mut found = HashMap::new();
    let Some(mut xml) = package.find(styles)? else {
        return Ok(found);
    };
    let mut style = String::new();
    while let Some(node) = xml.next()? {
        let Node::Open(element) = node else { continue };
        match element.name.as_str() {
            "style" => element.attribute("styleId").clone_into(&mut style),
            "name" => {
                let name = element.attribute("val").to_ascii_lowercase();
                let level = if name == "title" {
                    Some(1)
                } else {
                    name.strip_prefix("heading ")
                        .and_then(|level| level.parse().ok())
                };
                if let Some(level @ 1..=MAX_LEVEL) = level {
                    found.insert(style.clone(), level);
                }
            }
            _ => {}
        }
    }
    Ok(found)
}
