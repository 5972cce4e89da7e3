//! Byte strings of the system, serialized between processes.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes that are mostly text: paths, arguments, variables. In JSON a string if they are UTF-8, an
/// array otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RawString(pub OsString);

impl RawString {
    /// The bytes as a path.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl<T: AsRef<OsStr>> From<T> for RawString {
    fn from(text: T) -> Self {
        Self(text.as_ref().to_owned())
    }
}

impl Serialize for RawString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => self.as_bytes().serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for RawString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Text(String),
            Bytes(Vec<u8>),
        }
        Ok(match Either::deserialize(deserializer)? {
            Either::Text(text) => Self(text.into()),
            Either::Bytes(bytes) => Self(OsString::from_vec(bytes)),
        })
    }
}
