//! Jupyter notebook, cell by cell: nbformat 4 (`nbformat/v4/nbformat.v4.schema.json`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use replay_base::text::escape::show;
use serde_json::{Map, Value};

use super::fault::Fault;
use super::kind::{Size, picture_size};
use super::parts::{Pages, Parts};

/// Returns number, type, source and outputs of each cell.
pub(super) fn text(bytes: &[u8], pages: Option<Pages>) -> Result<String, Fault> {
    let notebook: Value =
        serde_json::from_slice(bytes).map_err(|error| Fault::broken("its JSON", &error))?;
    if notebook["nbformat"].as_u64() != Some(4) {
        let got = &notebook["nbformat"];
        return Err(Fault::new(format!(
            "is not a notebook of nbformat 4: `nbformat` is {got}; give `encoding` to read it as \
             text"
        )));
    }
    let cells = notebook["cells"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut parts = Parts::default();
    for number in Parts::chosen(pages, "cell", cells.len())? {
        let cell = &cells[number - 1];
        let kind = cell["cell_type"].as_str().unwrap_or("unknown");
        let count = cell["execution_count"]
            .as_u64()
            .map(|count| format!(", run as [{count}]"))
            .unwrap_or_default();
        parts.begin(&format!("cell {number} of {}: {kind}{count}", cells.len()))?;
        add(&mut parts, &join_text(&cell["source"]))?;
        for output in cell["outputs"].as_array().into_iter().flatten() {
            parts.begin(&format!("output of cell {number}"))?;
            self::output(&mut parts, output)?;
        }
    }
    Ok(parts.into_text())
}

fn output(parts: &mut Parts, output: &Value) -> Result<(), Fault> {
    match output["output_type"].as_str() {
        Some("stream") => add(parts, &join_text(&output["text"])),
        Some("error") => match join_text(&output["traceback"]) {
            none if none.is_empty() => add(
                parts,
                &format!(
                    "{}: {}",
                    join_text(&output["ename"]),
                    join_text(&output["evalue"])
                ),
            ),
            traceback => add(parts, &traceback),
        },
        _ => data(parts, output["data"].as_object().unwrap_or(&Map::new())),
    }
}

/// Writes an output with several representations: its plain text if available, and a description of
/// each picture.
fn data(parts: &mut Parts, data: &Map<String, Value>) -> Result<(), Fault> {
    for (media_type, value) in data {
        let (value, shown) = (join_text(value), show(media_type.as_bytes()));
        if media_type == "text/plain" {
            add(parts, &value)?;
        } else if media_type.starts_with("image/") {
            let bytes = STANDARD
                .decode(value.split_whitespace().collect::<String>())
                .unwrap_or_else(|_| value.into_bytes());
            let size = picture_size(&bytes)
                .map(|Size { width, height }| format!(", {width} x {height} pixels"));
            parts.line(&format!(
                "[{shown}{}, {} bytes]",
                size.unwrap_or_default(),
                bytes.len()
            ))?;
        } else if !data.contains_key("text/plain") {
            parts.line(&format!("[{shown}, {} bytes]", value.len()))?;
        }
    }
    Ok(())
}

/// Joins a text, which may be a list of lines; lines of a traceback have no line ends.
fn join_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => {
            let mut text = String::new();
            for line in lines.iter().filter_map(Value::as_str) {
                text.push_str(line);
            }
            text
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn add(parts: &mut Parts, text: &str) -> Result<(), Fault> {
    let text = without_colours(text);
    if text.is_empty() {
        Ok(())
    } else {
        parts.line(text.trim_end_matches('\n'))
    }
}

/// Removes terminal control sequences (ECMA-48, 5.4).
fn without_colours(text: &str) -> String {
    let mut pieces = text.split("\x1b[");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece
            .find(|next: char| ('@'..='~').contains(&next))
            .map_or(piece.len(), |end| end + 1);
        plain.push_str(&piece[end..]);
    }
    plain
}
