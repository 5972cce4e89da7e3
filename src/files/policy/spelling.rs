//! Spelling of a path: bytes split at slashes. No disk access.
//!
//! No tilde, percent decoding, trimming or case folding: on Linux a name is any bytes but `/` and
//! NUL.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use replay_base::limits::MAX_PATH_BYTES;

use super::error::PolicyError;

/// An absolute path cut into its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spelling {
    /// `/a/b`: no empty part, no `.`, no slash at the end. Parts that are `..` are kept as they
    /// are.
    pub(super) clean: Vec<u8>,
    /// `true` if a part is `..`; then only a walk tells the place of `clean`.
    pub(super) climbs: bool,
    /// Ends in `/`, `/.` or `/..`: the last part must be a directory, and a link there is followed.
    pub(super) wants_dir: bool,
}

impl Spelling {
    /// Reads `requested`, below `base` when it is relative.
    ///
    /// Errors: `Empty`, `Nul`, `PathTooLong`, and `NoProject` for a relative path without a base.
    pub(super) fn of(requested: &Path, base: Option<&Path>) -> Result<Self, PolicyError> {
        let bytes = requested.as_os_str().as_bytes();
        if bytes.is_empty() {
            return Err(PolicyError::Empty);
        }
        if memchr::memchr(0, bytes).is_some() {
            return Err(PolicyError::Nul {
                path: requested.into(),
            });
        }
        let mut spelling = Self {
            clean: Vec::with_capacity(bytes.len() + 64),
            climbs: false,
            wants_dir: false,
        };
        if bytes[0] != b'/' {
            if let Some(scheme) = scheme(bytes) {
                let scheme = String::from_utf8_lossy(scheme).into_owned();
                return Err(PolicyError::Uri {
                    path: requested.into(),
                    scheme,
                });
            }
            let base = base.ok_or(PolicyError::NoProject)?;
            spelling.append(base.as_os_str().as_bytes());
        }
        spelling.append(bytes);
        if spelling.clean.is_empty() {
            spelling.clean.push(b'/');
        }
        let length = bytes.len().max(spelling.clean.len());
        if length > MAX_PATH_BYTES {
            return Err(PolicyError::PathTooLong { bytes: length });
        }
        Ok(spelling)
    }

    fn append(&mut self, bytes: &[u8]) {
        for part in bytes.split(|&b| b == b'/') {
            self.wants_dir = matches!(part, b"" | b"." | b"..");
            self.climbs |= part == b"..";
            if !matches!(part, b"" | b".") {
                self.clean.push(b'/');
                self.clean.extend_from_slice(part);
            }
        }
    }

    /// The path as it is shown to the agent.
    pub(super) fn into_path(self) -> PathBuf {
        PathBuf::from(OsString::from_vec(self.clean))
    }
}

/// Returns the scheme of a URI (RFC 3986, section 3.1) with its colon, if a slash follows. As a
/// relative path it would create a directory of that name.
fn scheme(bytes: &[u8]) -> Option<&[u8]> {
    let end = memchr::memchr(b'/', bytes)?;
    let (name, colon) = bytes[..end].split_at_checked(end.checked_sub(1)?)?;
    let is_scheme = name.first().is_some_and(u8::is_ascii_alphabetic)
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte));
    (is_scheme && colon == b":").then_some(&bytes[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(requested: &str) -> (String, bool, bool) {
        let s = Spelling::of(Path::new(requested), Some(Path::new("/p"))).unwrap();
        (String::from_utf8(s.clean).unwrap(), s.climbs, s.wants_dir)
    }

    #[test]
    fn spelling_keeps_all_other_bytes() {
        assert_eq!(read("/a//b/./c"), ("/a/b/c".into(), false, false));
        assert_eq!(read("/a/b/"), ("/a/b".into(), false, true));
        assert_eq!(read("/a/b/."), ("/a/b".into(), false, true));
        assert_eq!(read("/a/../b"), ("/a/../b".into(), true, false));
        assert_eq!(read("~/x"), ("/p/~/x".into(), false, false));
        assert_eq!(read("%2e%2e/x "), ("/p/%2e%2e/x ".into(), false, false));
        assert_eq!(read("..\\x"), ("/p/..\\x".into(), false, false));
        assert_eq!(read("."), ("/p".into(), false, true));
        assert_eq!(read(".."), ("/p/..".into(), true, true));
        assert_eq!(read("//"), ("/".into(), false, true));
    }

    #[test]
    fn uri_is_no_path_unless_explicit() {
        let scheme = |path: &str| match Spelling::of(Path::new(path), Some(Path::new("/p"))) {
            Err(PolicyError::Uri { scheme, .. }) => Some(scheme),
            Ok(_) => None,
            Err(error) => panic!("{error}"),
        };
        for (path, expected) in [
            ("file:/tmp/x", Some("file:")),
            ("file:///tmp/x", Some("file:")),
            ("vscode-remote://ssh/x", Some("vscode-remote:")),
            ("C:/Users", Some("C:")),
            ("./file:/tmp/x", None),
            ("/p/file:/tmp/x", None),
            ("file:", None),
            ("file:x", None),
            ("a/file:/x", None),
            ("12:/x", None),
            (":/x", None),
            ("a b:/x", None),
        ] {
            assert_eq!(scheme(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn invalid_path_is_refused_without_disk_access() {
        let of = |p: &str| Spelling::of(Path::new(p), None).unwrap_err();
        assert!(matches!(of(""), PolicyError::Empty));
        assert!(matches!(of("/a\0b"), PolicyError::Nul { .. }));
        assert!(matches!(of("a"), PolicyError::NoProject));
        assert!(matches!(
            of(&format!("/{}", "a/".repeat(3000))),
            PolicyError::PathTooLong { bytes: 6001 }
        ));
    }
}
