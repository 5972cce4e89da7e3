//! PowerPoint presentation: slide by slide, with the speaker's notes.

use std::collections::HashMap;

use super::package::{Node, Package};
use super::paragraphs;
use crate::documents::fault::Fault;
use crate::documents::parts::{Pages, Parts};

pub(super) fn write(
    package: &mut Package<'_>,
    main: &str,
    pages: Option<Pages>,
    parts: &mut Parts,
) -> Result<(), Fault> {
    let relations = package.relations(main)?;
    let mut slides = Vec::new();
    let mut xml = package.part(main)?;
    while let Some(node) = xml.next()? {
        if let Node::Open(element) = node
            && element.name == "sldId"
        {
            let relation = relations.get(element.relation());
            slides.push(
                relation
                    .ok_or_else(|| Fault::new("is damaged: a slide is missing"))?
                    .target
                    .as_str(),
            );
        }
    }
    drop(xml);
    let no_headings = HashMap::new();
    for number in Parts::chosen(pages, "slide", slides.len())? {
        let slide = slides[number - 1];
        parts.begin(&format!("slide {number} of {}", slides.len()))?;
        paragraphs::write(&mut package.part(slide)?, &no_headings, parts)?;
        let notes = package
            .relations(slide)?
            .into_values()
            .find(|relation| relation.kind == "notesSlide");
        if let Some(notes) = notes {
            parts.begin(&format!("notes of slide {number}"))?;
            paragraphs::write(&mut package.part(&notes.target)?, &no_headings, parts)?;
        }
    }
    Ok(())
}
