//! Shares of the file descriptors that a supervisor may have (`RLIMIT_NOFILE`).
//!
//! Some hosts limit a process to 1024. Descriptors that a command makes the supervisor keep open
//! must leave enough for the journal.

use rustix::process::{Resource, getrlimit};

/// Returns `most`, or one `part`-th of the descriptors that this process may have, whichever is
/// less.
pub(crate) fn at_most(most: usize, part: u64) -> usize {
    share(most, part, getrlimit(Resource::Nofile).current)
}

fn share(most: usize, part: u64, limit: Option<u64>) -> usize {
    limit
        .and_then(|limit| usize::try_from(limit / part).ok())
        .map_or(most, |share| most.min(share))
}

#[cfg(test)]
mod tests {
    use super::share;
    use pretty_assertions::assert_eq;

    #[test]
    fn share_with_low_limit_is_part_of_limit() {
        assert_eq!(share(4096, 2, Some(1024)), 512);
        assert_eq!(share(4096, 2, Some(1 << 20)), 4096);
        assert_eq!(share(4096, 2, None), 4096);
    }
}
