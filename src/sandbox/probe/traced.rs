//! System calls whose arguments a tracer changes after filters may have looked.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use libc::c_long;
use replay_sandbox::traced_call::{ChangedCall, RegisterWrite, TracerStop};
use replay_sys::attack as sys;
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

use super::outcome::{Try, any, blocked, error_name, through};
use super::stage::Stage;

/// A call that filters permit, and an argument that they would refuse.
struct Case {
    name: &'static str,
    number: c_long,
    argument: usize,
    value: u64,
    /// Makes the permitted call. The path does not exist.
    call: fn(&Path) -> io::Result<()>,
}

const SET_USER_ID: u64 = libc::S_ISUID as u64 | 0o755;

const CASES: [Case; 4] = [
    Case {
        name: "unshare(2) of a user namespace",
        number: libc::SYS_unshare,
        argument: 0,
        value: libc::CLONE_NEWUSER as u64,
        call: |_| sys::unshare(libc::CLONE_FS.into()).map(drop),
    },
    Case {
        name: "fcntl(2) with F_SETLEASE",
        number: libc::SYS_fcntl,
        argument: 1,
        value: libc::F_SETLEASE as u64,
        call: |path| {
            let file = File::create(path).and_then(|_| File::open(path))?;
            sys::fcntl(
                file.as_raw_fd().into(),
                libc::F_GETFD.into(),
                libc::F_RDLCK.into(),
            )
            .map(drop)
        },
    },
    Case {
        name: "mkdirat(2) with S_ISUID",
        number: libc::SYS_mkdirat,
        argument: 2,
        value: SET_USER_ID,
        call: |path| Ok(mkdirat(CWD, path, Mode::RWXU)?),
    },
    Case {
        name: "openat(2) with S_ISUID",
        number: libc::SYS_openat,
        argument: 3,
        value: SET_USER_ID,
        call: |path| {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
            openat(CWD, path, flags, Mode::RWXU)?;
            Ok(())
        },
    },
];

/// Tries each case with each way to change registers, at each stop of a tracer.
pub(super) fn other_arguments(stage: &Stage) -> Try {
    let path = stage.rw.join(format!("{}-traced", stage.nonce));
    let mut attempts = Vec::new();
    for case in &CASES {
        for stop in [TracerStop::Entry, TracerStop::Filter] {
            for write in RegisterWrite::EACH {
                attempts.push((
                    format!("{} by {write:?} at {stop:?}", case.name),
                    (case, stop, *write),
                ));
            }
        }
    }
    any(attempts, |(case, stop, write)| {
        let changed = ChangedCall {
            number: case.number,
            argument: case.argument,
            value: case.value,
            stop,
            write,
        };
        let answer = changed.run(|| (case.call)(&path));
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
        match answer? {
            Ok(_) => through(""),
            Err(errno) => blocked(error_name(&io::Error::from_raw_os_error(errno))),
        }
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use replay_sys::exit_now;
    use replay_sys::testing::fork_among_threads;
    use rustix::process::{WaitOptions, waitpid};

    use super::*;

    #[test]
    fn set_user_id_directory_gets_through_without_filter() {
        let rw = tempfile::tempdir().unwrap();
        let stage = Stage {
            rw: rw.path().to_path_buf(),
            ..Stage::default()
        };
        let Some(child) = fork_among_threads().unwrap() else {
            let told = other_arguments(&stage).unwrap_or_default();
            let expected = "mkdirat(2) with S_ISUID by Set at Entry, \
                            mkdirat(2) with S_ISUID by ";
            exit_now(i32::from(!told.contains(expected)));
        };
        let child = rustix::process::Pid::from_raw(child.as_raw());
        let (_, status) = waitpid(child, WaitOptions::empty()).unwrap().unwrap();
        assert_eq!(status.exit_status(), Some(0));
    }
}
