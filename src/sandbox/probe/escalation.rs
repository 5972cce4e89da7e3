//! Getting more rights, or out of the walls by becoming another program.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use replay_sys::attack as sys;
use replay_sys::attack::kernel::{self, control};
use rustix::fs::MemfdFlags;
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::attempt::{Attempt, attempt};
use super::outcome::{Stopped, Try, any, blocked, not_possible, through};
use super::stage::Stage;
use super::stage::text;
use super::traced::other_arguments;

const PR_SET_SECCOMP: i32 = 22;
const PR_SET_SECUREBITS: i32 = 28;
const PR_SET_MM: i32 = 35;
const PR_SET_NO_NEW_PRIVS: i32 = 38;

/// Capabilities that root may keep, for work on files of other users inside the sandbox.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER);

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt(
        "capabilities",
        "whether there are any beside those to work on files",
        |_| {
            let sets = rustix::thread::capabilities(None)?;
            let more = (sets.permitted | sets.effective | sets.inheritable).difference(KEPT);
            if more.is_empty() {
                blocked("none")
            } else {
                through(format!("{more:?}"))
            }
        },
    ),
    attempt(
        "bounding set",
        "capabilities that a program could still give",
        |_| {
            for number in 0..41 {
                let one = CapabilitySet::from_bits_retain(1 << number);
                let held_back = KEPT.contains(one) || rustix::thread::no_new_privs()?;
                if !held_back && rustix::thread::capability_is_in_bounding_set(one)? {
                    return through(format!("{one:?}"));
                }
            }
            blocked("none that would count")
        },
    ),
    attempt(
        "raise capabilities",
        "capset(2) to all, and to inheritable and ambient ones",
        |_| {
            let all = CapabilitySet::from_bits_retain((1 << 41) - 1);
            let sets = CapabilitySets {
                effective: all,
                permitted: all,
                inheritable: all,
            };
            rustix::thread::set_capabilities(None, sets)?;
            through("")
        },
    ),
    attempt("become root", "setuid(2) and setresuid(2) to 0", |_| {
        if rustix::process::getuid().is_root() {
            return not_possible("it is root");
        }
        sys::setuid(0).or_else(|_| sys::setresuid(0, 0, 0))?;
        through("")
    }),
    attempt(
        "become somebody else",
        "setuid(2) of root to another user",
        |_| {
            if !rustix::process::getuid().is_root() {
                return not_possible("needs root");
            }
            sys::setuid(12345)?;
            through("")
        },
    ),
    attempt("change groups", "setgroups(2) and setgid(2)", |_| {
        kernel::set_groups()
            .or_else(|_| sys::setgid(i64::from(rustix::process::getgid().is_root())))?;
        through("")
    }),
    attempt(
        "set-user-ID program",
        "a copy of id(1) that belongs to root and has 04755",
        |s| {
            let Some(program) = &s.set_uid else {
                return not_possible("needs root outside");
            };
            let said = output(Command::new(program).arg("-u"))?;
            if said.trim() == "0" && !rustix::process::getuid().is_root() {
                through("it ran as root")
            } else {
                blocked(said.trim())
            }
        },
    ),
    attempt(
        "set-user-ID file by openat2",
        "openat2(2), whose mode no filter sees",
        |s| {
            let path = s.rw.join("set-user-id-openat2");
            drop(sys::make_by_openat2(&text(&path)?, 0o4755)?);
            let mode = fs::metadata(&path)?.permissions().mode();
            if mode & 0o4000 == 0 {
                blocked(format!("{mode:o}"))
            } else {
                through(format!("{mode:o}"))
            }
        },
    ),
    attempt(
        "program with capabilities",
        "a copy of cat(1) with a file capability",
        |s| {
            let Some(program) = &s.capable else {
                return not_possible("needs root outside");
            };
            let said = output(Command::new(program).arg("/proc/self/status"))?;
            let line = said
                .lines()
                .find(|line| line.starts_with("CapEff:"))
                .unwrap_or_default()
                .to_owned();
            let bits = line
                .split_whitespace()
                .nth(1)
                .and_then(|bits| u64::from_str_radix(bits, 16).ok());
            match bits {
                Some(bits) if bits & !KEPT.bits() != 0 => through(line),
                _ => blocked(line),
            }
        },
    ),
    attempt(
        "sudo and su",
        "programs of the system that give rights",
        |_| {
            if rustix::process::getuid().is_root() {
                return not_possible("it is root");
            }
            let programs: [(&str, &[&str]); 3] = [
                ("/usr/bin/sudo", &["-n", "id", "-u"]),
                ("/bin/su", &["-c", "id -u"]),
                ("/usr/bin/pkexec", &["id", "-u"]),
            ];
            let there = programs
                .into_iter()
                .filter(|(program, _)| Path::new(program).exists());
            any(
                there.map(|(name, arguments)| (name.to_owned(), (name, arguments))),
                |(program, arguments)| {
                    let said = output(Command::new(program).args(arguments))?;
                    if said.trim() == "0" {
                        through("it ran as root")
                    } else {
                        blocked("refused")
                    }
                },
            )
        },
    ),
    attempt(
        "new privileges",
        "whether no_new_privs is off, or can be switched off",
        |_| {
            if !rustix::thread::no_new_privs()? {
                return through("it is off");
            }
            control(PR_SET_NO_NEW_PRIVS, [0; 4])?;
            through("switched off")
        },
    ),
    attempt(
        "switch the filter off",
        "prctl(2) with PR_SET_SECCOMP, and its mode",
        |_| {
            let mode = fs::read_to_string("/proc/self/status")?;
            if !mode
                .lines()
                .any(|line| line.split_whitespace().eq(["Seccomp:", "2"]))
            {
                return through("there is no filter");
            }
            control(PR_SET_SECCOMP, [0; 4])?;
            through("switched off")
        },
    ),
    attempt("bits of root", "prctl(2) with PR_SET_SECUREBITS", |_| {
        control(PR_SET_SECUREBITS, [0; 4])?;
        through("")
    }),
    attempt("change what it is", "prctl(2) with PR_SET_MM", |_| {
        const PR_SET_MM_START_BRK: u64 = 6;
        // An address that is never a heap: EINVAL from a kernel that would have done it.
        match control(PR_SET_MM, [PR_SET_MM_START_BRK, 1, 0, 0]) {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => Err(error.into()),
            Err(error) if error.raw_os_error() == Some(libc::EACCES) => Err(error.into()),
            _ => through("it would have been done"),
        }
    }),
    attempt(
        "another argument of a traced call",
        "ptrace(2): what a tracer writes into registers after filters have looked",
        other_arguments,
    ),
    attempt(
        "program without a file",
        "execveat(2) of cat(1) from memory, on a file outside",
        |s| {
            let memory = File::from(rustix::fs::memfd_create("cat", MemfdFlags::empty())?);
            (&memory).write_all(&fs::read("/bin/cat")?)?;
            let program = format!("/proc/self/fd/{}", memory.as_raw_fd());
            reads(s, Command::new(program).arg(s.beyond("secret")))
        },
    ),
    attempt(
        "program by the loader",
        "ld.so started with a program as its argument",
        |s| {
            let loaders = [
                "/lib64/ld-linux-x86-64.so.2",
                "/lib/ld-linux-aarch64.so.1",
                "/lib/ld-musl-x86_64.so.1",
                "/lib/ld-musl-aarch64.so.1",
            ];
            let Some(loader) = loaders.iter().find(|path| Path::new(path).exists()) else {
                return not_possible("no known loader");
            };
            reads(
                s,
                Command::new(loader).arg("/bin/cat").arg(s.beyond("secret")),
            )
        },
    ),
    attempt(
        "program in a new session",
        "setsid(1) and cat(1) on a file outside, after the parent has ended",
        |s| {
            let script = format!(
                "(setsid cat '{}' &) ; sleep 0.2",
                s.beyond("secret").display()
            );
            reads(s, Command::new("/bin/sh").args(["-c", &script]))
        },
    ),
    attempt(
        "read by a shell",
        "cat(1), base64(1) and a link, as an agent would",
        |s| {
            let file = s.beyond("secret").display().to_string();
            let scripts = [
                format!("cat '{file}'"),
                format!("head '{file}'; tail '{file}'; dd if='{file}'"),
                format!("f=$(printf '%s' '{file}' | base64 | base64 -d); cat \"$f\""),
                format!("ln -s '{file}' x$$; cat x$$; rm -f x$$"),
                format!("cp '{file}' x$$ && cat x$$; rm -f x$$"),
            ];
            any(
                scripts.into_iter().map(|script| (script.clone(), script)),
                |script| {
                    reads(
                        s,
                        Command::new("/bin/sh")
                            .args(["-c", &script])
                            .current_dir(&s.rw),
                    )
                },
            )
        },
    ),
    attempt(
        "secrets in the environment",
        "variables that are usually somebody's keys, or change other programs",
        |_| {
            const ENDS: [&str; 5] = ["_TOKEN", "_KEY", "_SECRET", "_PASSWORD", "_CREDENTIALS"];
            const NAMES: [&str; 7] = [
                "SSH_AUTH_SOCK",
                "DBUS_SESSION_BUS_ADDRESS",
                "LD_PRELOAD",
                "LD_LIBRARY_PATH",
                "LD_AUDIT",
                "BASH_ENV",
                "XAUTHORITY",
            ];
            let found: Vec<String> = std::env::vars_os()
                .filter_map(|(name, _)| name.into_string().ok())
                .filter(|name| {
                    NAMES.contains(&name.as_str()) || ENDS.iter().any(|end| name.ends_with(end))
                })
                .collect();
            if found.is_empty() {
                blocked("none")
            } else {
                through(found.join(", "))
            }
        },
    ),
];

/// Returns a program's standard output.
fn output(command: &mut Command) -> Result<String, Stopped> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn reads(stage: &Stage, command: &mut Command) -> Try {
    stage.secret(output(command)?.as_bytes())
}
