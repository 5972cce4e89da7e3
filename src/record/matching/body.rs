//! The body and the query of a request as what they say: fields where they have some, bytes otherwise.

use super::json::Json;
use super::noise::Fields;
use crate::record::call::HttpRequest;

/// What stands for a value that is left out of comparisons.
const LEFT_OUT: &[u8] = b"~";

/// A body by its kind.
#[derive(Debug)]
pub enum Body<'a> {
    /// JSON.
    Json(Json),
    /// Pairs, of a form or a query: by name, those of one name in their order.
    Form(Vec<(&'a [u8], &'a [u8])>),
    /// The parts of `multipart/*` without the boundary, which is made up anew for each request.
    Parts(Vec<&'a [u8]>),
    /// Anything else.
    Bytes(&'a [u8]),
}

/// A field that is no mapping or list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// As in [`Fields`].
    pub name: String,
    /// As it stands.
    pub value: String,
}

/// The media type of a request without its parameters, in lower case; empty if it has none.
pub fn media_type(request: &HttpRequest) -> String {
    let whole = content_type(request);
    whole.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn content_type(request: &HttpRequest) -> String {
    let field = request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    field.map(|(_, value)| String::from_utf8_lossy(value).into_owned()).unwrap_or_default()
}

impl<'a> Body<'a> {
    /// The body of a request, as its media type says. JSON without a media type is JSON too.
    pub fn of(request: &'a HttpRequest) -> Self {
        let bytes = request.body.as_slice();
        let media_type = media_type(request);
        if media_type == "application/x-www-form-urlencoded" {
            return Self::Form(pairs(bytes));
        }
        if media_type.starts_with("multipart/")
            && let Some(parts) = boundary(&content_type(request)).and_then(|boundary| parts(bytes, &boundary))
        {
            return Self::Parts(parts);
        }
        let may_be_json = media_type.is_empty() || media_type == "application/json" || media_type.ends_with("+json");
        match may_be_json.then(|| Json::parse(bytes)).flatten() {
            Some(json) => Self::Json(json),
            None => Self::Bytes(bytes),
        }
    }

    /// The query of a path, after its `?`.
    pub fn query(path: &'a str) -> Self {
        Self::Form(path.split_once('?').map_or_else(Vec::new, |(_, query)| pairs(query.as_bytes())))
    }

    /// Appends what two bodies have in common exactly if they say the same.
    pub fn canonical(&self, prefix: &str, noise: &Fields, out: &mut Vec<u8>) {
        if noise.has(prefix) {
            return out.extend_from_slice(LEFT_OUT);
        }
        match self {
            Self::Json(json) => {
                out.push(b'j');
                canonical_json(json, &mut prefix.to_owned(), noise, out);
            }
            Self::Form(pairs) => {
                out.push(b'f');
                for (name, value) in pairs {
                    let shown = String::from_utf8_lossy(name);
                    let left_out =
                        noise.has(&format!("{prefix}.{shown}")) || noise.has_value(&String::from_utf8_lossy(value));
                    marked(name, out);
                    if left_out {
                        out.extend_from_slice(LEFT_OUT);
                    } else {
                        marked(value, out);
                    }
                }
            }
            Self::Parts(parts) => {
                out.push(b'm');
                for part in parts {
                    marked(part, out);
                }
            }
            Self::Bytes(bytes) => {
                out.push(b'b');
                out.extend_from_slice(bytes);
            }
        }
    }

    /// All fields with their names; a body without fields is one itself.
    pub fn leaves(&self, prefix: &str) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        match self {
            Self::Json(json) => json_leaves(json, prefix, &mut leaves),
            Self::Form(pairs) => {
                for (name, value) in pairs {
                    let name = format!("{prefix}.{}", String::from_utf8_lossy(name));
                    leaves.push(Leaf { name, value: String::from_utf8_lossy(value).into_owned() });
                }
            }
            Self::Parts(parts) => {
                let whole = parts.concat();
                leaves.push(Leaf { name: prefix.to_owned(), value: String::from_utf8_lossy(&whole).into_owned() });
            }
            Self::Bytes(bytes) => {
                leaves.push(Leaf { name: prefix.to_owned(), value: String::from_utf8_lossy(bytes).into_owned() });
            }
        }
        leaves
    }
}

/// Pairs by name; the sort is stable, so those of one name keep their order.
fn pairs(bytes: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut pairs: Vec<(&[u8], &[u8])> = bytes
        .split(|byte| *byte == b'&')
        .filter(|piece| !piece.is_empty())
        .map(|piece| match memchr::memchr(b'=', piece) {
            // The mark stays with the value: `a` and `a=` are not the same to everybody.
            Some(at) => (&piece[..at], &piece[at..]),
            None => (piece, &piece[piece.len()..]),
        })
        .collect();
    pairs.sort_by_key(|(name, _)| *name);
    pairs
}

fn boundary(content_type: &str) -> Option<String> {
    let mut parameters = content_type.split(';').skip(1).filter_map(|parameter| parameter.trim().split_once('='));
    let (_, value) = parameters.find(|(name, _)| name.eq_ignore_ascii_case("boundary"))?;
    let value = value.trim().trim_matches('"');
    (!value.is_empty()).then(|| value.to_owned())
}

/// What stands between the lines of the boundary (RFC 2046, 5.1.1). `None` if the body is not made that way.
fn parts<'a>(bytes: &'a [u8], boundary: &str) -> Option<Vec<&'a [u8]>> {
    let mark = format!("--{boundary}");
    let mut parts = Vec::new();
    let mut rest = bytes.strip_prefix(mark.as_bytes())?;
    let between = format!("\r\n{mark}");
    loop {
        if rest.starts_with(b"--") {
            parts.push(&rest[2..]);
            return Some(parts);
        }
        let end = memchr::memmem::find(rest, between.as_bytes())?;
        parts.push(&rest[..end]);
        rest = &rest[end + between.len()..];
    }
}

/// Bytes between marks that are in none, so that what follows cannot be taken for a part of them. Their length is not said: what is
/// left out of them later may have another one.
fn marked(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"\0\x01");
    for (at, part) in bytes.split(|byte| *byte == 0).enumerate() {
        out.extend_from_slice(if at > 0 { b"\0\x02" } else { b"" });
        out.extend_from_slice(part);
    }
    out.extend_from_slice(b"\0\x03");
}

fn canonical_json(json: &Json, path: &mut String, noise: &Fields, out: &mut Vec<u8>) {
    match json {
        Json::Word(word) if noise.has_value(word) => out.extend_from_slice(LEFT_OUT),
        Json::Text(text) if noise.has_value(text) => out.extend_from_slice(LEFT_OUT),
        Json::Word(word) => {
            out.push(b'w');
            marked(word.as_bytes(), out);
        }
        Json::Text(text) => {
            out.push(b't');
            marked(text.as_bytes(), out);
        }
        Json::List(items) => {
            out.push(b'[');
            for item in items {
                canonical_json(item, path, noise, out);
            }
            out.push(b']');
        }
        Json::Map(members) => {
            out.push(b'{');
            for (key, value) in members {
                let length = path.len();
                path.push('.');
                path.push_str(key);
                marked(key.as_bytes(), out);
                if noise.has(path) {
                    out.extend_from_slice(LEFT_OUT);
                } else {
                    canonical_json(value, path, noise, out);
                }
                path.truncate(length);
            }
            out.push(b'}');
        }
    }
}

fn json_leaves(json: &Json, path: &str, leaves: &mut Vec<Leaf>) {
    match json {
        Json::Word(value) => leaves.push(Leaf { name: path.to_owned(), value: value.clone() }),
        Json::Text(value) => leaves.push(Leaf { name: path.to_owned(), value: format!("\"{value}\"") }),
        Json::List(items) => {
            for item in items {
                json_leaves(item, path, leaves);
            }
        }
        Json::Map(members) => {
            for (key, value) in members {
                json_leaves(value, &format!("{path}.{key}"), leaves);
            }
        }
    }
}
