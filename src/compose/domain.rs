//! The server's own walls: the Landlock domain of this process.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use replay_sandbox::hold_server;
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

use crate::tools::Services;

/// Existing files that the C library reads for name resolution (nsswitch.conf(5), resolver(5)).
#[expect(
    clippy::disallowed_methods,
    reason = "files of the system, for rules of the server's own domain"
)]
fn open_resolver() -> Vec<OwnedFd> {
    const PLACES: [&str; 10] = [
        "/etc/hosts",
        "/etc/resolv.conf",
        "/etc/nsswitch.conf",
        "/etc/host.conf",
        "/etc/gai.conf",
        "/etc/services",
        "/run/systemd/resolve",
        "/usr/lib",
        "/lib",
        "/lib64",
    ];
    let open = |place| open(place, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok();
    PLACES.into_iter().filter_map(open).collect()
}

/// Confines this process with Landlock to the files of these servers. Call it before any thread
/// starts, except those that must stay outside. A process below a Landlock domain can never mount,
/// so the launcher must already run. The thread that watches a manifest must run already, too.
///
/// `more` are directories of servers added later, each with true if it is writable.
///
/// Returns the Landlock ABI version. Without Landlock, logs a warning and returns `None`.
pub(crate) fn wall_in(all: &[&Services], more: &[(BorrowedFd<'_>, bool)]) -> Option<u32> {
    // Additional hardening against inspection of this process; failures are acceptable.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let _ = setrlimit(
        Resource::Core,
        Rlimit {
            current: Some(0),
            maximum: Some(0),
        },
    );
    let resolver = if all.iter().any(|services| services.calls.resolves) {
        open_resolver()
    } else {
        Vec::new()
    };
    let roots = all.iter().flat_map(|services| services.policy.roots());
    let roots = roots.map(|root| (root.as_fd(), root.writable()));
    let scratches = all
        .iter()
        .filter_map(|services| services.commands.scratch.as_ref());
    let scratches = scratches.map(|scratch| (scratch.as_fd(), true));
    let journals = all
        .iter()
        .filter_map(|services| services.journal.as_ref().ok());
    let journals = journals.map(|journal| (journal.store.handle(), true));
    let caches = all
        .iter()
        .filter_map(|services| services.memory.directory())
        .map(|dir| (dir, true));
    // Readable, since they are searched for configuration files, as allowed directories are.
    let linked = all.iter().flat_map(|services| services.policy.linked());
    let linked = linked
        .filter(|linked| linked.writable)
        .map(|linked| (linked.own.handle.as_fd(), false));
    let resolver = resolver.iter().map(|file| (file.as_fd(), false));
    let reached: Vec<_> = roots
        .chain(linked)
        .chain(scratches)
        .chain(journals)
        .chain(caches)
        .chain(resolver)
        .chain(more.iter().copied())
        .collect();
    let held = hold_server(&reached);
    held.inspect_err(|fault| tracing::warn!("the server itself has no second wall: {fault}"))
        .ok()
}
