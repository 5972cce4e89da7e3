//! Names of a path that a walk has not looked up yet.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use crate::limits::MAX_LINKS;

/// Rest of a path during a walk, name by name, in which symlinks are replaced by their targets
/// (`path_resolution(7)`). An iterator over the names; parts that are empty or `.` are left out.
#[derive(Debug)]
pub struct RemainingPath {
    /// The next name stands last.
    names: Vec<OsString>,
    wants_dir: bool,
    links: usize,
}

/// Error for a path with more than [`MAX_LINKS`] symlinks (`ELOOP`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyLinks;

impl RemainingPath {
    pub fn new(path: &[u8]) -> Self {
        let mut rest = Self {
            names: Vec::new(),
            wants_dir: false,
            links: 0,
        };
        rest.put_in_front(path);
        rest
    }

    /// Returns true if no name is left.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns true if the path, or the target of its last link, ends in `/`, `.` or `..`. Then it
    /// leads to a directory, and a link at the end is followed.
    pub fn wants_dir(&self) -> bool {
        self.wants_dir
    }

    /// Requires that the path leads to a directory, as a slash at its end does.
    pub fn require_dir(&mut self) {
        self.wants_dir = true;
    }

    /// Continues with the target of the symlink that was the last name. Returns true if the target
    /// is absolute.
    pub fn follow(&mut self, target: &[u8]) -> Result<bool, TooManyLinks> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(TooManyLinks);
        }
        self.put_in_front(target);
        Ok(target.starts_with(b"/"))
    }

    fn put_in_front(&mut self, path: &[u8]) {
        let parts = || path.split(|byte| *byte == b'/').rev();
        if self.names.is_empty() {
            self.wants_dir |= matches!(parts().next(), Some(b"" | b"." | b".."));
        }
        let names = parts().filter(|part| !matches!(*part, b"" | b"."));
        self.names
            .extend(names.map(|name| OsStr::from_bytes(name).to_owned()));
    }
}

impl Iterator for RemainingPath {
    type Item = OsString;

    fn next(&mut self) -> Option<OsString> {
        self.names.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(rest: &mut RemainingPath) -> Vec<String> {
        rest.map(|name| name.into_string().unwrap()).collect()
    }

    #[test]
    fn names_come_in_order_without_empty_parts() {
        for (path, expected, wants_dir) in [
            ("/a//b/./../c", vec!["a", "b", "..", "c"], false),
            ("a/", vec!["a"], true),
            ("a/.", vec!["a"], true),
            ("a/..", vec!["a", ".."], true),
            ("/", vec![], true),
        ] {
            let mut rest = RemainingPath::new(path.as_bytes());
            assert_eq!(rest.wants_dir(), wants_dir, "{path}");
            assert_eq!(names(&mut rest), expected, "{path}");
        }
    }

    #[test]
    fn link_target_comes_before_the_rest() {
        let mut rest = RemainingPath::new(b"link/last");
        rest.next();
        assert_eq!(rest.follow(b"/to/here/"), Ok(true));
        assert!(!rest.wants_dir(), "the slash is not at the end");
        assert_eq!(names(&mut rest), ["to", "here", "last"]);
        assert_eq!(rest.follow(b"../dir/"), Ok(false));
        assert!(rest.wants_dir());
    }

    #[test]
    fn links_are_limited_as_in_the_kernel() {
        let mut rest = RemainingPath::new(b"link");
        let followed = (0..=MAX_LINKS).map(|_| {
            rest.next();
            rest.follow(b"link")
        });
        let followed: Vec<_> = followed.collect();
        assert_eq!(followed[..MAX_LINKS], [Ok(false); MAX_LINKS]);
        assert_eq!(followed[MAX_LINKS], Err(TooManyLinks));
    }
}
