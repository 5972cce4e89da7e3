//! Advice for the operator if the system refuses namespaces.
#![expect(clippy::disallowed_methods, reason = "settings of the kernel")]

use std::io;
use std::path::Path;

use super::fault::Fault;

/// Off by default in Debian before version 11.
const CLONE: &str = "/proc/sys/kernel/unprivileged_userns_clone";
const MOST: &str = "/proc/sys/user/max_user_namespaces";
/// On by default in Ubuntu since 23.10.
const APPARMOR: &str = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
const STATUS: &str = "/proc/self/status";

/// Adds the remedy to a fault, if known.
pub(crate) fn with_remedy(fault: Fault) -> Fault {
    let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    match remedy(
        fault.errno(),
        |path| std::fs::read_to_string(path).unwrap_or_default(),
        &program,
    ) {
        Some(remedy) => Fault {
            cause: io::Error::other(format!("{}; {remedy}", fault.cause)),
            ..fault
        },
        None => fault,
    }
}

/// Finds the remedy from the kernel's settings, which `read` returns by path.
fn remedy(errno: i32, read: impl Fn(&str) -> String, program: &Path) -> Option<String> {
    let is = |path, value| read(path).trim() == value;
    match errno {
        libc::ENOSYS => Some("Linux 5.10 or newer is needed".to_owned()),
        libc::ENOSPC if is(MOST, "0") => {
            Some("`sysctl -w user.max_user_namespaces=15000` allows them".to_owned())
        }
        libc::EPERM if is(CLONE, "0") => {
            Some("`sysctl -w kernel.unprivileged_userns_clone=1` allows them".to_owned())
        }
        libc::EPERM | libc::EACCES if is(APPARMOR, "1") => Some(format!(
            "AppArmor refuses user namespaces without a profile: write `profile replay {} \
             flags=(unconfined) {{ userns, }}` to /etc/apparmor.d/replay and run `apparmor_parser \
             -r /etc/apparmor.d/replay`",
            program.display()
        )),
        // This process already has its container's seccomp filter.
        libc::EPERM if read(STATUS).lines().any(|line| line == "Seccomp:\t2") => Some(
            "the seccomp filter of the container refuses user namespaces: `docker run \
             --security-opt seccomp=FILE` sets another one (docs/operating.md)"
                .to_owned(),
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn remedy_names_refusing_setting() {
        let told = |errno, path: &'static str, text: &'static str| {
            let read = move |asked: &str| {
                if asked == path {
                    text.to_owned()
                } else {
                    String::new()
                }
            };
            remedy(errno, read, Path::new("/opt/replay")).unwrap_or_default()
        };
        assert_eq!(
            told(libc::ENOSPC, MOST, "0\n"),
            "`sysctl -w user.max_user_namespaces=15000` allows them"
        );
        assert_eq!(
            told(libc::EPERM, CLONE, "0\n"),
            "`sysctl -w kernel.unprivileged_userns_clone=1` allows them"
        );
        assert_eq!(
            told(libc::EACCES, APPARMOR, "1\n"),
            "AppArmor refuses user namespaces without a profile: write `profile replay \
             /opt/replay flags=(unconfined) { userns, }` to /etc/apparmor.d/replay and run \
             `apparmor_parser -r /etc/apparmor.d/replay`"
        );
        assert_eq!(
            told(libc::EPERM, STATUS, "NoNewPrivs:\t0\nSeccomp:\t2\n"),
            "the seccomp filter of the container refuses user namespaces: `docker run \
             --security-opt seccomp=FILE` sets another one (docs/operating.md)"
        );
        assert_eq!(told(libc::ENOSYS, "", ""), "Linux 5.10 or newer is needed");
        assert_eq!(told(libc::EPERM, APPARMOR, "0\n"), "");
    }
}
