//! Large bodies in separate files beside the file of calls. A file name is the hash of its body, so
//! equal bodies are stored once and changes are detected.

use std::collections::BTreeMap;

use replay_base::limits::MIN_BODY_APART_BYTES;
use replay_base::text::escape::hex;
use sha2::{Digest as _, Sha256};

use super::node::{Members, Node};
use super::{Fault, Problem};

/// Directory of body files, relative to the set.
const DIRECTORY: &str = "bodies";
const SUFFIX: &str = ".bin";

/// Loads a body from a separate file; its path is relative to the set. Fails with a reason.
pub type BodyLoader<'a> = &'a dyn Fn(&BodyRef) -> Result<Vec<u8>, String>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BodyRef {
    /// Path relative to the directory of the set.
    pub path: String,
    /// Size in bytes; 0 if unknown.
    pub size: u64,
}

/// Body files of a file of calls, by their path relative to the set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BodyFiles {
    files: BTreeMap<String, Vec<u8>>,
}

impl BodyFiles {
    /// Returns all files, ordered by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files
            .iter()
            .map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }

    pub fn into_files(self) -> Vec<(String, Vec<u8>)> {
        self.files.into_iter().collect()
    }

    pub fn bytes(&self) -> u64 {
        self.files.values().map(|bytes| bytes.len() as u64).sum()
    }

    /// Adds a large body and returns its reference.
    pub(super) fn put(&mut self, bytes: Vec<u8>) -> Node {
        let path = format!("{DIRECTORY}/{}{SUFFIX}", hex(&Sha256::digest(&bytes)));
        let mut place = Members::default();
        place.put("path", &path);
        place.put("size", bytes.len() as u64);
        self.files.insert(path, bytes);
        place.into()
    }
}

/// Returns true if a body of this size is stored separately.
pub(super) fn is_large(bytes: usize) -> bool {
    bytes >= MIN_BODY_APART_BYTES
}

impl Node {
    /// Loads the bytes of the referenced file; `None` without a reference. Fails if the file is
    /// missing or changed.
    pub(super) fn load_body(&self, bodies: BodyLoader<'_>) -> Result<Option<Vec<u8>>, Problem> {
        let reference = BodyRef {
            path: self.get("path", Self::text)?,
            size: self.get("size", Self::number)?,
        };
        if reference == BodyRef::default() {
            return Ok(None);
        }
        let BodyRef { path, size } = &reference;
        if path.is_empty() {
            let message = format!("expected the path of a body of {size} bytes, got ``");
            return Err(Problem::new(self.line, message).inside("path", 0));
        }
        let problem = |what: String| {
            Problem::of(
                Fault::Body,
                format!("the body in `{}` {what}", path.escape_debug()),
            )
        };
        let bytes =
            bodies(&reference).map_err(|reason| problem(format!("cannot be read: {reason}")))?;
        if *size != 0 && *size != bytes.len() as u64 {
            return Err(problem(format!(
                "has {} bytes, and had {size}",
                bytes.len()
            )));
        }
        let name = path
            .rsplit('/')
            .next()
            .and_then(|name| name.strip_suffix(SUFFIX))
            .unwrap_or_default();
        let is_hash = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hash && !hex(&Sha256::digest(&bytes)).eq_ignore_ascii_case(name) {
            return Err(problem(
                "was changed: its SHA-256 differs from its name".to_owned(),
            ));
        }
        Ok(Some(bytes))
    }
}
