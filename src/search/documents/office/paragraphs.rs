//! Paragraphs and tables, which have the same names in Word (`w:p`, `w:tbl`) and PowerPoint (`a:p`,
//! `a:tbl`).

use std::collections::HashMap;

use super::package::{Node, Xml};
use crate::documents::fault::Fault;
use crate::documents::parts::Parts;

/// An open paragraph.
#[derive(Default)]
struct Paragraph {
    text: String,
    /// Heading level, from 1; 0 for other paragraphs.
    level: usize,
    is_item: bool,
}

/// Writes each paragraph and each table row as a line. `headings` maps styles to levels.
pub(super) fn write(
    xml: &mut Xml<'_, '_>,
    headings: &HashMap<String, usize>,
    parts: &mut Parts,
) -> Result<(), Fault> {
    let mut paragraphs: Vec<Paragraph> = Vec::new();
    // Cells of the current row of each open table, outermost first.
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut is_text = false;
    // Depth inside an ignored element.
    let mut left_out = 0_usize;
    while let Some(node) = xml.next()? {
        match node {
            // A fallback repeats its content in another form; fields are numbers and dates.
            Node::Open(element)
                if left_out > 0 || matches!(element.name.as_str(), "Fallback" | "fld") =>
            {
                left_out += 1;
            }
            Node::Close(_) if left_out > 0 => left_out -= 1,
            Node::Text(_) if left_out > 0 => {}
            Node::Open(element) => match (element.name.as_str(), paragraphs.last_mut()) {
                ("p", _) => paragraphs.push(Paragraph::default()),
                ("tr", _) => rows.push(Vec::new()),
                ("tc", _) => rows
                    .last_mut()
                    .into_iter()
                    .for_each(|row| row.push(String::new())),
                ("t", _) => is_text = true,
                ("tab", Some(paragraph)) => paragraph.text.push('\t'),
                ("br" | "cr", Some(paragraph)) => paragraph.text.push('\n'),
                ("noBreakHyphen", Some(paragraph)) => paragraph.text.push('-'),
                ("numPr", Some(paragraph)) => paragraph.is_item = true,
                ("pStyle", Some(paragraph)) => {
                    paragraph.level = headings
                        .get(element.attribute("val"))
                        .copied()
                        .unwrap_or_default();
                }
                _ => {}
            },
            Node::Text(text) => {
                if let Some(paragraph) = paragraphs.last_mut().filter(|_| is_text) {
                    paragraph.text.push_str(&text);
                }
            }
            Node::Close(name) => match name.as_str() {
                "t" => is_text = false,
                "p" => {
                    if let Some(paragraph) = paragraphs.pop() {
                        add_text(&mut rows, &paragraph.into_line(), parts)?;
                    }
                }
                "tr" => {
                    if let Some(row) = rows.pop() {
                        add_text(&mut rows, &format!("| {} |", row.join(" | ")), parts)?;
                    }
                }
                _ => {}
            },
        }
    }
    Ok(())
}

impl Paragraph {
    fn into_line(self) -> String {
        let text = self.text.trim_matches('\n');
        match (self.level, self.is_item) {
            _ if text.trim().is_empty() => String::new(),
            (level @ 1.., _) => format!("{} {text}", "#".repeat(level)),
            (_, true) => format!("- {text}"),
            _ => text.to_owned(),
        }
    }
}

/// Adds text to the open cell, or as a line.
fn add_text(rows: &mut [Vec<String>], text: &str, parts: &mut Parts) -> Result<(), Fault> {
    if text.is_empty() {
        return Ok(());
    }
    let Some(cell) = rows.last_mut().and_then(|row| row.last_mut()) else {
        return parts.line(text);
    };
    if !cell.is_empty() {
        cell.push(' ');
    }
    cell.push_str(&text.replace('\n', " "));
    Ok(())
}
