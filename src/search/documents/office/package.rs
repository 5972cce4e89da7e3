//! Office Open XML package: a zip archive of parts, linked by relations (ECMA-376, part 2).

use std::collections::HashMap;
use std::io::{BufReader, Cursor, Read as _, Take};

use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::Event;
use zip::ZipArchive;
use zip::read::ZipFile;
use zip::result::ZipError;

use crate::documents::fault::Fault;

/// Largest part of a package or cell of a notebook that is taken in, in bytes.
const MAX_PACKAGE_PART_BYTES: u64 = 512 * 1024 * 1024;

pub(super) struct Package<'a>(ZipArchive<Cursor<&'a [u8]>>);

/// Relation to another part.
pub(super) struct Relation {
    /// Last component of its type, such as `officeDocument`; the prefix differs between the two
    /// forms of the standard.
    pub kind: String,
    /// Name of the target part.
    pub target: String,
}

impl<'a> Package<'a> {
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, Fault> {
        ZipArchive::new(Cursor::new(bytes))
            .map(Self)
            .map_err(|error| Fault::broken("the zip archive", &error))
    }

    /// Opens a part as XML; fails if it is missing.
    pub(super) fn part(&mut self, name: &str) -> Result<Xml<'_, 'a>, Fault> {
        self.find(name)?
            .ok_or_else(|| Fault::new(format!("is damaged: it has no part `{name}`")))
    }

    pub(super) fn find(&mut self, name: &str) -> Result<Option<Xml<'_, 'a>>, Fault> {
        match self.0.by_name(name) {
            Ok(file) => Ok(Some(Xml::new(name, file))),
            Err(ZipError::FileNotFound) => Ok(None),
            Err(error) => Err(Fault::broken(name, &error)),
        }
    }

    /// Returns the relations of a part, by id. The package itself is the part with an empty name.
    pub(super) fn relations(&mut self, part: &str) -> Result<HashMap<String, Relation>, Fault> {
        let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
        let own = if folder.is_empty() {
            format!("_rels/{name}.rels")
        } else {
            format!("{folder}/_rels/{name}.rels")
        };
        let mut found = HashMap::new();
        let Some(mut xml) = self.find(&own)? else {
            return Ok(found);
        };
        while let Some(node) = xml.next()? {
            if let Node::Open(element) = node
                && element.name == "Relationship"
                && element.attribute("TargetMode") != "External"
            {
                let kind = element
                    .attribute("Type")
                    .rsplit('/')
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                let target = resolve_target(folder, element.attribute("Target"));
                found.insert(
                    element.attribute("Id").to_owned(),
                    Relation { kind, target },
                );
            }
        }
        Ok(found)
    }
}

fn resolve_target(folder: &str, target: &str) -> String {
    let mut names: Vec<&str> = if target.starts_with('/') {
        Vec::new()
    } else {
        folder.split('/').collect()
    };
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names.retain(|name| !name.is_empty());
    names.join("/")
}

type PartReader<'p, 'a> = Reader<BufReader<Take<ZipFile<'p, Cursor<&'a [u8]>>>>>;

/// XML reader of one part. Ignores namespaces, and knows only the predefined entities.
pub(super) struct Xml<'p, 'a> {
    reader: PartReader<'p, 'a>,
    buffer: Vec<u8>,
    part: String,
    /// Number of open elements.
    depth: usize,
}

pub(super) enum Node {
    Open(Element),
    /// Name of an element that ends.
    Close(String),
    Text(String),
}

pub(super) struct Element {
    /// Name without prefix.
    pub name: String,
    /// Attributes with their raw names.
    attributes: Vec<(String, String)>,
}

impl Element {
    /// Returns the attribute with this name, with or without a prefix; empty if there is none.
    pub(super) fn attribute(&self, name: &str) -> &str {
        let is_it =
            |key: &str| key == name || key.rsplit_once(':').is_some_and(|(_, local)| local == name);
        self.attributes
            .iter()
            .find(|(key, _)| is_it(key))
            .map_or("", |(_, value)| value)
    }

    /// Returns the id of its relation: the `id` with a prefix, beside which there may be one
    /// without.
    pub(super) fn relation(&self) -> &str {
        self.attributes
            .iter()
            .find(|(key, _)| key.ends_with(":id"))
            .map_or("", |(_, value)| value)
    }
}

impl<'p, 'a> Xml<'p, 'a> {
    fn new(part: &str, file: ZipFile<'p, Cursor<&'a [u8]>>) -> Self {
        let mut reader = Reader::from_reader(BufReader::new(file.take(MAX_PACKAGE_PART_BYTES)));
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        Self {
            reader,
            buffer: Vec::new(),
            part: part.to_owned(),
            depth: 0,
        }
    }

    /// Returns the next node; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Node>, Fault> {
        loop {
            self.buffer.clear();
            let event = self.reader.read_event_into(&mut self.buffer);
            let event = event.map_err(|error| Fault::broken(&self.part, &error))?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            return Ok(Some(match event {
                Event::Start(tag) => {
                    self.depth += 1;
                    let mut attributes = tag.attributes();
                    let attributes = attributes.with_checks(false).flatten().map(|attribute| {
                        let value = text(&attribute.value);
                        let plain = unescape(&value).map(std::borrow::Cow::into_owned);
                        (text(attribute.key.as_ref()), plain.unwrap_or(value))
                    });
                    Node::Open(Element {
                        name: text(tag.local_name().as_ref()),
                        attributes: attributes.collect(),
                    })
                }
                Event::End(tag) => {
                    self.depth = self.depth.saturating_sub(1);
                    Node::Close(text(tag.local_name().as_ref()))
                }
                Event::Text(words) => Node::Text(text(&words)),
                Event::CData(words) => Node::Text(text(&words)),
                Event::GeneralRef(name) => match (
                    name.resolve_char_ref(),
                    resolve_predefined_entity(&text(&name)),
                ) {
                    (Ok(Some(character)), _) => Node::Text(character.to_string()),
                    (_, Some(known)) => Node::Text(known.to_owned()),
                    _ => continue,
                },
                Event::Eof if self.depth > 0 => {
                    return Err(Fault::broken(&self.part, &"it ends before its elements do"));
                }
                Event::Eof => return Ok(None),
                _ => continue,
            }));
        }
    }
}
