//! Capabilities that root keeps inside the walls.

use std::io;

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// Capabilities that root keeps: work on files of other users. The walls bound the reachable files.
const KEPT_BY_ROOT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER);

/// Removes all capabilities but [`KEPT_BY_ROOT`] from the bounding set. Programs that this process
/// and its descendants execute never get others. This process keeps its own.
pub(crate) fn bound() -> io::Result<()> {
    let kept = retained_capabilities();
    for number in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << number);
        if kept.contains(one) {
            continue;
        }
        match remove_capability_from_bounding_set(one) {
            // The first number that this kernel does not know.
            Err(Errno::INVAL) => break,
            // A process without capabilities may not drop them, and no_new_privs prevents new ones.
            Err(Errno::PERM) if !rustix::process::geteuid().is_root() => break,
            result => result?,
        }
    }
    Ok(())
}

/// Drops all of root's capabilities but [`KEPT_BY_ROOT`]; other users keep none.
pub(crate) fn drop_most() -> io::Result<()> {
    clear_ambient_capability_set()?;
    let sets = rustix::thread::capabilities(None)?;
    let kept = retained_capabilities() & sets.permitted;
    set_capabilities(
        None,
        CapabilitySets {
            effective: kept,
            permitted: kept,
            inheritable: CapabilitySet::empty(),
        },
    )?;
    Ok(())
}

/// Like [`drop_most`], for a supervisor in namespaces, which keeps one more for [`look_at`].
pub(crate) fn drop_but_tracing() -> io::Result<()> {
    clear_ambient_capability_set()?;
    let sets = rustix::thread::capabilities(None)?;
    let (effective, permitted) = (
        retained_capabilities() & sets.permitted,
        (retained_capabilities() | CapabilitySet::SYS_PTRACE) & sets.permitted,
    );
    set_capabilities(
        None,
        CapabilitySets {
            effective,
            permitted,
            inheritable: CapabilitySet::empty(),
        },
    )?;
    Ok(())
}

/// Calls `look` with the capability to inspect undumpable processes of the same user namespace,
/// such as an ssh-agent (`PR_SET_DUMPABLE`). Without it if this thread has dropped it.
fn with_tracing<T>(look: impl FnOnce() -> T) -> T {
    let sets = rustix::thread::capabilities(None)
        .ok()
        .filter(|sets| sets.permitted.contains(CapabilitySet::SYS_PTRACE));
    let Some(sets) = sets else { return look() };
    // If the first call fails, `look` is refused; the second drops the capability again.
    let _ = set_capabilities(
        None,
        CapabilitySets {
            effective: sets.effective | CapabilitySet::SYS_PTRACE,
            ..sets
        },
    );
    let seen = look();
    let _ = set_capabilities(None, sets);
    seen
}

/// Inspects a caller; if that is refused, tries again with the tracing capability.
pub(crate) fn look_at<T>(mut look: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    match look() {
        Err(Errno::PERM | Errno::ACCESS) => with_tracing(look),
        seen => seen,
    }
}

/// Drops every capability.
pub(crate) fn drop_all() -> io::Result<()> {
    let none = CapabilitySet::empty();
    set_capabilities(
        None,
        CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        },
    )?;
    Ok(())
}

fn retained_capabilities() -> CapabilitySet {
    if rustix::process::geteuid().is_root() {
        KEPT_BY_ROOT
    } else {
        CapabilitySet::empty()
    }
}
