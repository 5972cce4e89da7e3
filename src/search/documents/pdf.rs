//! Text of a PDF, page by page.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pdf_extract::{Document, PlainTextOutput, output_doc_page};

use super::fault::Fault;
use super::parts::{Pages, Parts};

/// Returns the text of each selected page. An unreadable page does not affect the others.
pub(super) fn text(bytes: &[u8], pages: Option<Pages>) -> Result<String, Fault> {
    let mut document =
        Document::load_mem(bytes).map_err(|error| Fault::broken("the PDF", &error))?;
    if document.is_encrypted() && document.decrypt("").is_err() {
        return Err(Fault::new(
            "is encrypted, and cannot be read without its password",
        ));
    }
    let numbers: Vec<u32> = document.get_pages().into_keys().collect();
    if numbers.is_empty() {
        return Err(Fault::new("is damaged: no page of the PDF can be found"));
    }
    let mut parts = Parts::default();
    for number in Parts::chosen(pages, "page", numbers.len())? {
        parts.begin(&format!("page {number} of {}", numbers.len()))?;
        let mut text = String::new();
        let read = catch_unwind(AssertUnwindSafe(|| {
            output_doc_page(
                &document,
                &mut PlainTextOutput::new(&mut text),
                numbers[number - 1],
            )
        }));
        let mut lines: Vec<&str> = text.trim().lines().map(str::trim_end).collect();
        // Consecutive blank lines become one.
        lines.dedup_by(|next, line| next.is_empty() && line.is_empty());
        lines.into_iter().try_for_each(|line| parts.line(line))?;
        match read {
            Ok(Ok(())) if text.trim().is_empty() => {
                parts.line("[this page has no text; it may be a picture]")?;
            }
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => parts.line("[the rest of this page cannot be read]")?,
        }
    }
    Ok(parts.into_text())
}
