//! What is left of root's powers inside the walls.

use std::io;

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// What root keeps of its powers: to work on files of others inside the walls, as it expects to.
/// The walls bound what files those are.
const KEPT_BY_ROOT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER);

/// Takes all powers of root but [`KEPT_BY_ROOT`] from the programs that this process and its
/// descendants execute from now on, whatever they have themselves. It keeps its own, and inherits
/// this to whoever it makes: once is enough.
pub fn bound() -> io::Result<()> {
    let kept = kept();
    for number in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << number);
        if kept.contains(one) {
            continue;
        }
        match remove_capability_from_bounding_set(one) {
            // The first number that this kernel does not know.
            Err(Errno::INVAL) => break,
            // Who has no powers may not drop them either, and no_new_privs keeps it so.
            Err(Errno::PERM) if !rustix::process::geteuid().is_root() => break,
            result => result?,
        }
    }
    Ok(())
}

/// Drops all powers of root but [`KEPT_BY_ROOT`]; anybody else keeps none at all.
pub fn drop_most() -> io::Result<()> {
    clear_ambient_capability_set()?;
    let sets = rustix::thread::capabilities(None)?;
    let kept = kept() & sets.permitted;
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

/// The same for a supervisor in namespaces, which keeps one more for [`look_at`].
pub fn drop_but_tracing() -> io::Result<()> {
    clear_ambient_capability_set()?;
    let sets = rustix::thread::capabilities(None)?;
    let (effective, permitted) = (
        kept() & sets.permitted,
        (kept() | CapabilitySet::SYS_PTRACE) & sets.permitted,
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

/// Does this with the power to look at processes of the same user namespace that let nobody look at
/// them, such as an ssh-agent (`PR_SET_DUMPABLE`). Without that power if this thread has dropped
/// it.
fn with_tracing<T>(look: impl FnOnce() -> T) -> T {
    let sets = rustix::thread::capabilities(None)
        .ok()
        .filter(|sets| sets.permitted.contains(CapabilitySet::SYS_PTRACE));
    let Some(sets) = sets else { return look() };
    // A failure of the first means that the look is refused; the second drops what this thread has.
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

/// Looks at a caller, with the power to trace if it lets nobody look.
pub fn look_at<T>(mut look: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    match look() {
        Err(Errno::PERM | Errno::ACCESS) => with_tracing(look),
        seen => seen,
    }
}

/// Drops every power of root.
pub fn drop_all() -> io::Result<()> {
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

fn kept() -> CapabilitySet {
    if rustix::process::geteuid().is_root() {
        KEPT_BY_ROOT
    } else {
        CapabilitySet::empty()
    }
}
