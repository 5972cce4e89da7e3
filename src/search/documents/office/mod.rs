//! Word documents, Excel workbooks and PowerPoint presentations as text (ECMA-376, ISO/IEC 29500).

mod package;
mod paragraphs;
mod sheets;
mod slides;
mod word;

use package::{Node, Package};

use super::fault::Fault;
use super::parts::{Pages, Parts};

/// Reads any of these documents; the root element of its main part determines the type.
pub(super) fn text(bytes: &[u8], pages: Option<Pages>) -> Result<String, Fault> {
    let mut package = Package::open(bytes)?;
    let relations = package.relations("")?;
    let main = relations
        .into_values()
        .find(|relation| relation.kind == "officeDocument");
    let main = main
        .ok_or_else(|| Fault::new("is an Office package without a document"))?
        .target;
    let root = {
        let mut xml = package.part(&main)?;
        loop {
            match xml.next()? {
                Some(Node::Open(element)) => break element.name,
                Some(_) => {}
                None => break String::new(),
            }
        }
    };
    let mut parts = Parts::default();
    match root.as_str() {
        "document" => word::write(&mut package, &main, pages, &mut parts),
        "workbook" => sheets::write(&mut package, &main, pages, &mut parts),
        "presentation" => slides::write(&mut package, &main, pages, &mut parts),
        other => Err(Fault::new(format!(
            "is an Office package with a document of type `{other}`; only Word, Excel and \
             PowerPoint are supported"
        ))),
    }?;
    Ok(parts.into_text())
}
