//! XML of reports, parsed leniently. Only predefined entities are resolved: entities of the document
//! are never expanded.

use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesStart, Event};
use replay_base::cancel::Bound;

/// Events between two checks of the time limit.
const EVENTS_PER_CHECK: usize = 256;

/// A part of a document.
pub(super) enum XmlPart<'a> {
    /// Start of an element. Its end follows, also if it is empty.
    Start(&'a XmlTag<'a>),
    End(&'a str),
    /// A piece of text.
    Text(&'a str),
}

/// Start tag of an element.
pub(super) struct XmlTag<'a>(BytesStart<'a>);

impl XmlTag<'_> {
    pub(super) fn name(&self) -> &str {
        name(self.0.local_name().into_inner())
    }

    /// Returns an attribute; empty if there is none.
    pub(super) fn attribute(&self, name: &str) -> String {
        let mut attributes = self.0.attributes();
        let mut attributes = attributes.with_checks(false).flatten();
        let found = attributes.find(|attribute| attribute.key.as_ref() == name.as_bytes());
        let value = found.map(|found| String::from_utf8_lossy(&found.value).into_owned());
        let value = value.unwrap_or_default();
        unescape(&value).map_or_else(|_| value.clone(), std::borrow::Cow::into_owned)
    }
}

/// Calls `each` for the parts of a document. Returns the number of elements without an end; `None`
/// if the document is malformed or the time is up.
pub(super) fn read(
    bytes: &[u8],
    bound: Bound<'_>,
    mut each: impl FnMut(XmlPart<'_>),
) -> Option<usize> {
    let text = String::from_utf8_lossy(bytes);
    let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}'));
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    config.expand_empty_elements = true;
    let mut open = 0_usize;
    for index in 0_usize.. {
        if index.is_multiple_of(EVENTS_PER_CHECK) && bound.is_over() {
            return None;
        }
        match reader.read_event().ok()? {
            Event::Start(tag) => {
                open += 1;
                each(XmlPart::Start(&XmlTag(tag)));
            }
            Event::End(tag) => {
                open = open.saturating_sub(1);
                each(XmlPart::End(name(tag.local_name().into_inner())));
            }
            Event::Text(text) => each(XmlPart::Text(&String::from_utf8_lossy(&text))),
            Event::CData(text) => each(XmlPart::Text(&String::from_utf8_lossy(&text))),
            Event::GeneralRef(entity) => {
                if let Ok(Some(character)) = entity.resolve_char_ref() {
                    each(XmlPart::Text(character.encode_utf8(&mut [0; 4])));
                } else if let Some(text) = resolve_predefined_entity(name(&entity)) {
                    each(XmlPart::Text(text));
                }
            }
            Event::Eof => return Some(open),
            _ => {}
        }
    }
    None
}

fn name(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}
