//! Certificate bundle that one command trusts instead of the system's.
#![expect(
    clippy::disallowed_methods,
    reason = "looks for the system's own files, in the view"
)]

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, lstat, openat};
use rustix::mount::{MoveMountFlags, UnmountFlags, move_mount, unmount};

use super::fault::{Fault, StepContext};
use super::mount;

/// Paths of the system's certificate bundle, by distribution.
const BUNDLES: [&str; 7] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ssl/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
];
/// An empty directory of the view.
const MEANWHILE: &str = "/mnt";
const NAME: &str = "certificates";

/// Mounts a read-only copy of this file over every bundle of the system, in the command's mount
/// namespace.
pub(crate) fn put(bundle: &OwnedFd) -> Result<(), Fault> {
    let step = "put certificates into the view";
    let fault = |cause| Fault {
        step: step.to_owned(),
        cause,
    };
    // A file that the server passes lies on no mount that could be copied, so it is copied to a new
    // one.
    let memory = mount::file_system_in_memory()?;
    let copy = openat(
        &memory,
        NAME,
        OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC,
        Mode::from_raw_mode(0o444),
    )
    .step(step)?;
    let mut from = File::from(bundle.try_clone().map_err(fault)?);
    std::io::copy(&mut from, &mut File::from(copy)).map_err(fault)?;
    // Before Linux 6.15 a detached mount cannot be copied.
    move_mount(
        &memory,
        "",
        CWD,
        MEANWHILE,
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
    )
    .step(step)?;
    let from = Path::new(MEANWHILE).join(NAME);
    for place in BUNDLES {
        if !lstat(place)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
        {
            continue;
        }
        mount::cover(&mount::open_path(Path::new(place))?, &from).step(step)?;
    }
    unmount(MEANWHILE, UnmountFlags::DETACH).step(step)
}
