//! The server's own cgroup (cgroups(7), version 2) in the view of commands, so that runtimes size
//! themselves by its `cpu.max` and `memory.max`.
//!
//! A cgroup namespace makes it the root of the hierarchy (`cgroup_namespaces(7)`). The machine's
//! /sys/fs/cgroup is never shown: it names every service and container.

use std::os::fd::OwnedFd;

use replay_sys as sys;
use rustix::fs::{Access, AtFlags, accessat};
use rustix::mount::MountAttrFlags;
use rustix::thread::UnshareFlags;

use super::mount::{file_system, no_devices};

/// Mount point of the cgroup.
pub(crate) const PLACE: &str = "/sys/fs/cgroup";
/// Files of a cgroup with limits. The root of the machine's hierarchy has neither.
const LIMITS: [&str; 2] = ["cpu.max", "memory.max"];

/// Enters a cgroup namespace and mounts its root, detached and read-only. On failure returns the
/// reason.
///
/// Must be called before the server moves to a cgroup without the limits
/// ([`super::cgroup::Groups`]), in a mount namespace of its own.
pub(crate) fn mount_own() -> Result<OwnedFd, String> {
    // In the machine's own cgroup namespace a mount would change options of the hierarchy.
    sys::unshare(UnshareFlags::NEWCGROUP)
        .map_err(|error| format!("the kernel refuses a cgroup namespace: {error}"))?;
    let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let tree = file_system("cgroup2", &[], attributes | no_devices())
        .map_err(|fault| format!("the kernel refuses the mount: {fault}"))?;
    let has = |file: &str| accessat(&tree, file, Access::EXISTS, AtFlags::empty()).is_ok();
    if LIMITS.into_iter().any(has) {
        Ok(tree)
    } else {
        Err("the server's cgroup of version 2 has no limits of processors and memory".to_owned())
    }
}
