//! Names and values that need not be UTF-8, as text.

use std::borrow::Borrow;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, percent_encode};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Percent-encoded bytes: all but printable ASCII, and the escape character itself.
const CODED: &AsciiSet = &CONTROLS.add(b'%');

/// A name or a value, as bytes.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    pub(super) fn of(name: &OsStr) -> Self {
        Self(name.as_bytes().to_vec())
    }

    pub fn path(&self) -> &Path {
        Path::new(self.name())
    }

    pub(super) fn name(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }
}

/// Allows lookups without a copy of the name.
impl Borrow<[u8]> for Bytes {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name().fmt(out)
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&percent_encode(&self.0, CODED))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Ok(Self(percent_decode_str(&text).collect()))
    }
}
