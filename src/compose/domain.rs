//! The server's own walls: the Landlock domain of this process.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

use crate::sandbox::hold_server;
use crate::tools::Services;

/// What the C library reads when it looks up a name (nsswitch.conf(5), resolver(5)), as far as it
/// is there.
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

/// Puts this process behind walls of its own, which leave what these servers together may reach. It
/// comes before any thread starts, but for those that must stay outside: what descends from a
/// process in a Landlock domain can never mount anything, so the launcher is there already, and so
/// is the thread that watches a manifest.
///
/// `more` are directories of servers that come later, each with whether they may write to it.
///
/// The version of Landlock; `None`, with a warning, where there is no domain.
pub fn wall_in(all: &[&Services], more: &[(BorrowedFd<'_>, bool)]) -> Option<u32> {
    // Both only make it harder to look into this process: nothing depends on them.
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
    // Looked through for configuration, as the allowed directories are.
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
