#![expect(clippy::disallowed_methods, reason = "tests lay out trees")]
#![expect(clippy::cast_sign_loss, reason = "registers have no sign")]

use std::ffi::CString;
use std::fs::{self, File, Metadata};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use libc::c_long;
use pretty_assertions::assert_eq;
use replay_base::limits::MAX_DENIED_PATH_BYTES;
use replay_sys::seccomp::install_with_listener;
use replay_sys::testing;
use rustix::event::{PollFd, poll};
use rustix::fs::{MemfdFlags, OFlags, RenameFlags, memfd_create, open, renameat_with};
use tempfile::TempDir;

use super::super::seccomp::{FilterSettings, Sockets, filter};
use super::*;

mod together;

const EACCES: Result<(), i32> = Err(libc::EACCES);
const EPERM: Result<(), i32> = Err(libc::EPERM);

/// Settings of the supervised filter.
const SUPERVISED: FilterSettings = FilterSettings {
    sockets: Sockets::None,
    unix: false,
    supervised: true,
    intercepted: false,
    journaled: false,
    opened: false,
    devices: false,
    names_threads: false,
    keeps_registers: false,
};

/// Runs something in a thread under the supervised filter, with a broker for it.
fn confined<T: Send>(
    [writable, read_only, readable]: [&[&Path]; 3],
    act: impl FnOnce() -> T + Send,
) -> (T, Vec<Denied>) {
    let owned = |paths: &[&Path]| paths.iter().map(|path| path.to_path_buf()).collect();
    thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        let acting = scope.spawn(move || {
            rustix::thread::set_no_new_privs(true).unwrap();
            send.send(install_with_listener(filter(SUPERVISED).instructions()).unwrap())
                .unwrap();
            act()
        });
        let broker = Broker::new(
            receive.recv().unwrap(),
            owned(writable),
            owned(read_only),
            owned(readable),
        );
        let mut broker = broker.naming(Places::default());
        serve_all(&mut broker);
        (acting.join().unwrap(), broker.take_denied())
    })
}

/// Answers calls until no caller is left.
pub(super) fn serve_all(broker: &mut Broker) {
    let limit = Timespec {
        tv_sec: 30,
        tv_nsec: 0,
    };
    while !broker.is_over() {
        let mut waiting = [PollFd::new(&broker.listener, PollFlags::IN)];
        assert_eq!(
            poll(&mut waiting, Some(&limit)),
            Ok(1),
            "a call or the end, within the limit"
        );
        let state = waiting[0].revents();
        broker
            .serve(
                [state, PollFlags::empty()],
                &mut None::<crate::journaling::CommandJournal<'_>>,
            )
            .unwrap();
    }
}

/// A tree with `in` (writable), `in/kept` (read-only) and `out`, each with a file `f` (mode 0640)
/// in it.
pub(super) struct Tree {
    _dir: TempDir,
    root: PathBuf,
}

impl Tree {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for place in ["in", "in/kept", "out"] {
            fs::create_dir(root.join(place)).unwrap();
            fs::write(root.join(place).join("f"), place).unwrap();
            fs::set_permissions(root.join(place).join("f"), PermissionsExt::from_mode(0o640))
                .unwrap();
        }
        Self { _dir: dir, root }
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(super) fn confined<T: Send>(&self, act: impl FnOnce() -> T + Send) -> (T, Vec<Denied>) {
        let inside = self.at("in");
        let readable = [&inside, Path::new("/usr"), Path::new("/proc")];
        confined([&[&inside], &[&self.at("in/kept")], &readable], act)
    }
}

/// Arguments of calls on one file; the numbers are addresses in this struct.
pub(super) struct CallArguments {
    pub(super) path: CString,
    pub(super) dir: File,
    pub(super) name: CString,
    pub(super) open: File,
    attribute: CString,
    value: &'static [u8; 3],
    /// 1,000 and 2,000 seconds, and as much of the next unit.
    times: [i64; 4],
    #[cfg(target_arch = "x86_64")]
    seconds: [i64; 2],
    structure: [u64; 2],
}

impl CallArguments {
    pub(super) fn new(path: &Path) -> Self {
        let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).unwrap();
        Self {
            path: text(path),
            dir: File::open(path.parent().unwrap()).unwrap(),
            name: text(Path::new(path.file_name().unwrap())),
            open: File::open(path).unwrap(),
            attribute: c"user.colour".to_owned(),
            value: RED,
            times: [1000, 7, 2000, 8],
            #[cfg(target_arch = "x86_64")]
            seconds: [1000, 2000],
            structure: [RED.as_ptr() as u64, 3],
        }
    }
}

const RED: &[u8; 3] = b"red";

type Case = (&'static str, c_long, fn(&CallArguments) -> [usize; 6]);

pub(super) const AT_CWD: usize = libc::AT_FDCWD as usize;
pub(super) const NO_FOLLOW: usize = libc::AT_SYMLINK_NOFOLLOW as usize;
pub(super) const EMPTY: usize = libc::AT_EMPTY_PATH as usize;

fn me() -> [usize; 2] {
    [
        rustix::process::getuid().as_raw() as usize,
        rustix::process::getgid().as_raw() as usize,
    ]
}

pub(super) fn fd(file: &File) -> usize {
    file.as_raw_fd() as usize
}

fn path(given: &CallArguments) -> usize {
    given.path.as_ptr() as usize
}

fn name(given: &CallArguments) -> usize {
    given.name.as_ptr() as usize
}

fn attribute(given: &CallArguments) -> usize {
    given.attribute.as_ptr() as usize
}

/// Each call in each of its forms.
const CASES: &[Case] = &[
    #[cfg(target_arch = "x86_64")]
    ("chmod", libc::SYS_chmod, |given| {
        [path(given), 0o604, 0, 0, 0, 0]
    }),
    ("fchmod", libc::SYS_fchmod, |given| {
        [fd(&given.open), 0o604, 0, 0, 0, 0]
    }),
    ("fchmodat", libc::SYS_fchmodat, |given| {
        [fd(&given.dir), name(given), 0o604, 0, 0, 0]
    }),
    ("fchmodat, whole path", libc::SYS_fchmodat, |given| {
        [AT_CWD, path(given), 0o604, 0, 0, 0]
    }),
    (
        "fchmodat, bad descriptor and whole path",
        libc::SYS_fchmodat,
        |given| [987, path(given), 0o604, 0, 0, 0],
    ),
    ("fchmodat2", 452, |given| {
        [fd(&given.dir), name(given), 0o604, NO_FOLLOW, 0, 0]
    }),
    ("fchmodat2, empty", 452, |given| {
        [fd(&given.open), c"".as_ptr() as usize, 0o604, EMPTY, 0, 0]
    }),
    #[cfg(target_arch = "x86_64")]
    ("chown", libc::SYS_chown, |given| {
        [path(given), me()[0], me()[1], 0, 0, 0]
    }),
    #[cfg(target_arch = "x86_64")]
    ("lchown", libc::SYS_lchown, |given| {
        [path(given), me()[0], usize::MAX, 0, 0, 0]
    }),
    ("fchown", libc::SYS_fchown, |given| {
        [fd(&given.open), usize::MAX, me()[1], 0, 0, 0]
    }),
    ("fchownat", libc::SYS_fchownat, |given| {
        [fd(&given.dir), name(given), me()[0], me()[1], 0, 0]
    }),
    ("fchownat, neither", libc::SYS_fchownat, |given| {
        [
            fd(&given.dir),
            name(given),
            usize::MAX,
            usize::MAX,
            NO_FOLLOW,
            0,
        ]
    }),
    ("fchownat, empty", libc::SYS_fchownat, |given| {
        [
            fd(&given.open),
            c"".as_ptr() as usize,
            me()[0],
            me()[1],
            EMPTY,
            0,
        ]
    }),
    #[cfg(target_arch = "x86_64")]
    ("utime", libc::SYS_utime, |given| {
        [path(given), given.seconds.as_ptr() as usize, 0, 0, 0, 0]
    }),
    #[cfg(target_arch = "x86_64")]
    ("utimes", libc::SYS_utimes, |given| {
        [path(given), given.times.as_ptr() as usize, 0, 0, 0, 0]
    }),
    #[cfg(target_arch = "x86_64")]
    ("futimesat", libc::SYS_futimesat, |given| {
        [
            fd(&given.dir),
            name(given),
            given.times.as_ptr() as usize,
            0,
            0,
            0,
        ]
    }),
    #[cfg(target_arch = "x86_64")]
    ("futimesat, no path", libc::SYS_futimesat, |given| {
        [fd(&given.open), 0, given.times.as_ptr() as usize, 0, 0, 0]
    }),
    ("utimensat", libc::SYS_utimensat, |given| {
        [
            fd(&given.dir),
            name(given),
            given.times.as_ptr() as usize,
            NO_FOLLOW,
            0,
            0,
        ]
    }),
    ("utimensat, no path", libc::SYS_utimensat, |given| {
        [fd(&given.open), 0, given.times.as_ptr() as usize, 0, 0, 0]
    }),
    ("utimensat, empty", libc::SYS_utimensat, |given| {
        [
            fd(&given.open),
            c"".as_ptr() as usize,
            given.times.as_ptr() as usize,
            EMPTY,
            0,
            0,
        ]
    }),
    ("setxattr", libc::SYS_setxattr, |given| {
        [
            path(given),
            attribute(given),
            given.value.as_ptr() as usize,
            3,
            0,
            0,
        ]
    }),
    ("setxattr again", libc::SYS_setxattr, |given| {
        [
            path(given),
            attribute(given),
            given.value.as_ptr() as usize,
            3,
            libc::XATTR_CREATE as usize,
            0,
        ]
    }),
    ("lsetxattr", libc::SYS_lsetxattr, |given| {
        [
            path(given),
            attribute(given),
            given.value.as_ptr() as usize,
            2,
            libc::XATTR_REPLACE as usize,
            0,
        ]
    }),
    ("fsetxattr", libc::SYS_fsetxattr, |given| {
        [
            fd(&given.open),
            attribute(given),
            given.value.as_ptr() as usize,
            1,
            0,
            0,
        ]
    }),
    ("removexattr", libc::SYS_removexattr, |given| {
        [path(given), attribute(given), 0, 0, 0, 0]
    }),
    ("removexattr again", libc::SYS_removexattr, |given| {
        [path(given), attribute(given), 0, 0, 0, 0]
    }),
    ("setxattrat", 463, |given| {
        [
            fd(&given.dir),
            name(given),
            0,
            attribute(given),
            given.structure.as_ptr() as usize,
            16,
        ]
    }),
    ("lremovexattr", libc::SYS_lremovexattr, |given| {
        [path(given), attribute(given), 0, 0, 0, 0]
    }),
    ("setxattrat, no path", 463, |given| {
        [
            fd(&given.open),
            0,
            EMPTY,
            attribute(given),
            given.structure.as_ptr() as usize,
            16,
        ]
    }),
    ("fremovexattr", libc::SYS_fremovexattr, |given| {
        [fd(&given.open), attribute(given), 0, 0, 0, 0]
    }),
    ("removexattrat", 466, |given| {
        [fd(&given.dir), name(given), 0, attribute(given), 0, 0]
    }),
];

/// Mode, owner, group, times in nanoseconds, and the attribute.
fn state(path: &Path) -> (u32, u32, u32, i64, i64, Option<Vec<u8>>) {
    let status = fs::symlink_metadata(path).unwrap();
    let nanos = |seconds: i64, part: i64| seconds * 1_000_000_000 + part;
    let mut value = vec![0; 64];
    let value = rustix::fs::lgetxattr(path, "user.colour", &mut value)
        .ok()
        .map(|size| value[..size].to_vec());
    let times = |status: &Metadata| {
        (
            nanos(status.atime(), status.atime_nsec()),
            nanos(status.mtime(), status.mtime_nsec()),
        )
    };
    let (read, written) = times(&status);
    (
        status.mode(),
        status.uid(),
        status.gid(),
        read,
        written,
        value,
    )
}

/// Files of the same state.
fn same(tree: &Tree, names: [&str; 4]) {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(500);
    for name in names {
        let file = File::options().write(true).open(tree.at(name)).unwrap();
        file.set_times(fs::FileTimes::new().set_accessed(time).set_modified(time))
            .unwrap();
    }
}

/// Makes one of the calls that the broker serves, except those that write to memory.
fn change(number: libc::c_long, args: [usize; 6]) -> Result<(), i32> {
    assert!(matches!(
        decode(number as i32, &args.map(|arg| arg as u64)),
        Some(SystemCall::Change(..) | SystemCall::Invalid(_) | SystemCall::Socket)
    ));
    testing::change(number, args)
}

#[test]
fn brokered_calls_match_kernel_only_inside() {
    let tree = Tree::new();
    let twin = Tree::new();
    same(&tree, ["in/f", "in/kept/f", "out/f", "in/f"]);
    same(&twin, ["in/f", "in/kept/f", "out/f", "in/f"]);
    let [kernel, inside, kept, outside] = [
        twin.at("in/f"),
        tree.at("in/f"),
        tree.at("in/kept/f"),
        tree.at("out/f"),
    ]
    .map(|path| CallArguments::new(&path));
    let before = [state(&tree.at("in/kept/f")), state(&tree.at("out/f"))];
    let mut done = 0;
    for (what, number, args) in CASES {
        let expected = change(*number, args(&kernel));
        if expected == Err(libc::ENOSYS) {
            // The kernel is older than the call; the broker is not.
            continue;
        }
        let (answers, denied) =
            tree.confined(|| [&inside, &kept, &outside].map(|given| change(*number, args(given))));
        assert_eq!(answers, [expected, EACCES, EACCES], "{what}");
        assert_eq!(
            state(&tree.at("in/f")),
            state(&twin.at("in/f")),
            "after {what}"
        );
        assert_eq!(
            [state(&tree.at("in/kept/f")), state(&tree.at("out/f"))],
            before,
            "after {what}"
        );
        assert!(!denied.is_empty(), "{what}");
        done += usize::from(expected.is_ok());
    }
    assert!(done > CASES.len() / 2, "most of it works here: {done}");
}

#[test]
fn wrong_calls_get_the_errors_of_the_kernel() {
    let tree = Tree::new();
    symlink("loop", tree.at("in/loop")).unwrap();
    let given = CallArguments::new(&tree.at("in/f"));
    let here = |path: &str| CString::new(tree.at(path).as_os_str().as_bytes()).unwrap();
    let (missing, through, round) = (here("in/missing"), here("in/f/g"), here("in/loop"));
    let long = CString::new("x".repeat(5000)).unwrap();
    let long_part = CString::new(format!("/{}", "x".repeat(300))).unwrap();
    let only_path: File = open(
        tree.at("in/f"),
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .unwrap()
    .into();
    let omit = [0, libc::UTIME_OMIT, 0, libc::UTIME_OMIT];
    let bad_nanos = [0, 2_000_000_000_i64, 0, 0];
    let empty = c"".as_ptr() as usize;
    let times = given.times.as_ptr() as usize;
    let value = given.value.as_ptr() as usize;
    let grown = [given.structure[0], 3, 0, 1];
    let name = attribute(&given);
    let long_name = CString::new(format!("user.{}", "x".repeat(251))).unwrap();
    let mode = |path: &CString| {
        (
            libc::SYS_fchmodat,
            [AT_CWD, path.as_ptr() as usize, 0o600, 0, 0, 0],
        )
    };
    let cases: Vec<(c_long, [usize; 6])> = vec![
        mode(&missing),
        mode(&through),
        mode(&round),
        mode(&long),
        mode(&long_part),
        (libc::SYS_fchmodat, [AT_CWD, empty, 0o600, 0, 0, 0]),
        (libc::SYS_fchmodat, [AT_CWD, 0, 0o600, 0, 0, 0]),
        (libc::SYS_fchmodat, [AT_CWD, 4096, 0o600, 0, 0, 0]),
        (
            libc::SYS_fchmodat,
            [987, super::tests::name(&given), 0o600, 0, 0, 0],
        ),
        (
            libc::SYS_fchmodat,
            [fd(&given.open), super::tests::name(&given), 0o600, 0, 0, 0],
        ),
        (libc::SYS_fchmod, [987, 0o600, 0, 0, 0, 0]),
        (libc::SYS_fchmod, [usize::MAX, 0o600, 0, 0, 0, 0]),
        (libc::SYS_fchmod, [fd(&only_path), 0o600, 0, 0, 0, 0]),
        (
            libc::SYS_fchown,
            [fd(&only_path), usize::MAX, usize::MAX, 0, 0, 0],
        ),
        (
            libc::SYS_fchownat,
            [fd(&only_path), empty, usize::MAX, usize::MAX, EMPTY, 0],
        ),
        (
            libc::SYS_fchownat,
            [AT_CWD, path(&given), usize::MAX, usize::MAX, 0x4000, 0],
        ),
        (452, [AT_CWD, path(&given), 0o600, 1, 0, 0]),
        (
            452,
            [AT_CWD, round.as_ptr() as usize, 0o600, NO_FOLLOW, 0, 0],
        ),
        (libc::SYS_utimensat, [AT_CWD, 0, times, 0, 0, 0]),
        (
            libc::SYS_utimensat,
            [fd(&given.open), 0, times, NO_FOLLOW, 0, 0],
        ),
        (libc::SYS_utimensat, [AT_CWD, path(&given), 4096, 0, 0, 0]),
        (
            libc::SYS_utimensat,
            [AT_CWD, path(&given), bad_nanos.as_ptr() as usize, 0, 0, 0],
        ),
        (
            libc::SYS_utimensat,
            [
                AT_CWD,
                missing.as_ptr() as usize,
                omit.as_ptr() as usize,
                0,
                0,
                0,
            ],
        ),
        (libc::SYS_utimensat, [fd(&only_path), 0, times, 0, 0, 0]),
        #[cfg(target_arch = "x86_64")]
        (
            libc::SYS_utimes,
            [path(&given), bad_nanos.as_ptr() as usize, 0, 0, 0, 0],
        ),
        #[cfg(target_arch = "x86_64")]
        (
            libc::SYS_utimes,
            [path(&given), omit.as_ptr() as usize, 0, 0, 0, 0],
        ),
        (libc::SYS_setxattr, [path(&given), name, value, 3, 4, 0]),
        (libc::SYS_setxattr, [path(&given), empty, value, 3, 0, 0]),
        (
            libc::SYS_setxattr,
            [path(&given), long_name.as_ptr() as usize, value, 3, 0, 0],
        ),
        (libc::SYS_setxattr, [path(&given), 4096, value, 3, 0, 0]),
        (
            libc::SYS_setxattr,
            [path(&given), name, value, 65_537, 0, 0],
        ),
        (libc::SYS_setxattr, [path(&given), name, 4096, 3, 0, 0]),
        (libc::SYS_setxattr, [path(&given), name, value, 3, 2, 0]),
        (
            libc::SYS_setxattr,
            [
                path(&given),
                c"strange.name".as_ptr() as usize,
                value,
                3,
                0,
                0,
            ],
        ),
        (
            libc::SYS_lsetxattr,
            [round.as_ptr() as usize, name, value, 3, 0, 0],
        ),
        (
            libc::SYS_removexattr,
            [missing.as_ptr() as usize, name, 0, 0, 0, 0],
        ),
        (
            463,
            [AT_CWD, path(&given), 0, name, grown.as_ptr() as usize, 15],
        ),
        (
            463,
            [AT_CWD, path(&given), 0, name, grown.as_ptr() as usize, 32],
        ),
        (
            463,
            [AT_CWD, path(&given), 0, name, grown.as_ptr() as usize, 8192],
        ),
        (
            463,
            [AT_CWD, path(&given), 1, name, grown.as_ptr() as usize, 16],
        ),
        (466, [fd(&only_path), 0, EMPTY, name, 0, 0]),
    ];
    let expected: Vec<_> = cases
        .iter()
        .map(|(number, args)| change(*number, *args))
        .collect();
    let (answers, denied) = tree.confined(|| {
        cases
            .iter()
            .map(|(number, args)| change(*number, *args))
            .collect::<Vec<_>>()
    });
    for ((case, answer), expected) in cases.iter().zip(answers).zip(expected) {
        assert!(
            answer == expected || expected == Err(libc::ENOSYS),
            "{case:?}: {answer:?} instead of {expected:?}"
        );
    }
    assert_eq!(denied, []);
}

#[test]
fn symlinks_do_not_change_broker_decisions() {
    let tree = Tree::new();
    symlink(tree.at("out/f"), tree.at("in/leaves")).unwrap();
    symlink("../out", tree.at("in/leaves_dir")).unwrap();
    symlink(tree.at("in/f"), tree.at("out/returns")).unwrap();
    let path = |path: &str| CString::new(tree.at(path).as_os_str().as_bytes()).unwrap();
    let places = [
        "in/leaves",
        "in/leaves_dir/f",
        "in/../out/f",
        "in/kept/../f",
        "out/returns",
        "in/leaves_dir/../in/f",
    ];
    let paths = places.map(path);
    let (leaves, returns) = (path("in/leaves"), path("out/returns"));
    let own = |path: &CString| {
        (
            libc::SYS_fchownat,
            [
                AT_CWD,
                path.as_ptr() as usize,
                me()[0],
                me()[1],
                NO_FOLLOW,
                0,
            ],
        )
    };
    let ((answers, themselves), denied) = tree.confined(|| {
        let mode = |path: &CString| {
            change(
                libc::SYS_fchmodat,
                [AT_CWD, path.as_ptr() as usize, 0o600, 0, 0, 0],
            )
        };
        let themselves = [own(&leaves), own(&returns)].map(|(number, args)| change(number, args));
        (paths.each_ref().map(mode), themselves)
    });
    assert_eq!(answers, [EACCES, EACCES, EACCES, Ok(()), Ok(()), Ok(())]);
    assert_eq!(themselves, [Ok(()), EACCES]);
    let shown: Vec<_> = [&returns, &paths[0], &paths[1], &paths[2]]
        .map(|path| {
            Denied::Metadata(crate::raw_string::RawString::from(OsStr::from_bytes(
                path.as_bytes(),
            )))
        })
        .into();
    assert_eq!(denied, shown, "as the command called them");
}

#[test]
fn relative_paths_resolve_from_caller_directory() {
    let tree = Tree::new();
    let here = std::env::current_dir().unwrap();
    let up = "../".repeat(here.components().count() - 1);
    let path = |path: &str| {
        CString::new(format!(
            "{up}{}",
            tree.at(path).display().to_string().trim_start_matches('/')
        ))
    };
    let (inside, outside) = (path("in/f").unwrap(), path("out/f").unwrap());
    let dir = File::open(tree.at("in")).unwrap();
    let (answers, _) = tree.confined(|| {
        [
            (AT_CWD, &*inside),
            (AT_CWD, &*outside),
            (fd(&dir), c"f"),
            (fd(&dir), c"../out/f"),
            (fd(&dir), c"kept/f"),
        ]
        .map(|(dir, path)| {
            change(
                libc::SYS_fchmodat,
                [dir, path.as_ptr() as usize, 0o611, 0, 0, 0],
            )
        })
    });
    assert_eq!(answers, [Ok(()), EACCES, Ok(()), EACCES, EACCES]);
    assert_eq!(
        [
            state(&tree.at("in/f")).0 & 0o777,
            state(&tree.at("out/f")).0 & 0o777
        ],
        [0o611, 0o640]
    );
}

#[test]
fn procfs_does_not_turn_the_broker_on_itself() {
    let tree = Tree::new();
    let file = File::open(tree.at("in/f")).unwrap();
    let secret = File::open(tree.at("out/f")).unwrap();
    let number = file.as_raw_fd();
    let (dir, root) = (
        File::open(tree.at("in")).unwrap(),
        File::open(&tree.root).unwrap(),
    );
    let same = [
        format!("/proc/self/fd/{number}"),
        format!("/proc/thread-self/fd/{number}"),
        format!("/dev/fd/{number}"),
        format!("/proc/self/fd/{}/f", dir.as_raw_fd()),
        format!("/dev/fd/{}//in/f", root.as_raw_fd()),
        format!("/dev/fd/{}/", dir.as_raw_fd()),
        format!("/proc/self/root{}", tree.at("in/f").display()),
    ];
    let refused = [
        (
            format!("/proc/self/fd/{}", secret.as_raw_fd()),
            libc::EACCES,
        ),
        (
            format!("/proc/self/fd/{}/../out/f", dir.as_raw_fd()),
            libc::EACCES,
        ),
        (format!("/dev/fd/{}/out/f", root.as_raw_fd()), libc::EACCES),
        (format!("/proc/self/fd/{number}/f"), libc::ENOTDIR),
        ("/proc/self/fd/987/f".to_owned(), libc::ENOENT),
        (
            format!("/proc/self/cwd{}", tree.at("in/f").display()),
            libc::ENOENT,
        ),
        (
            format!("/proc/self/root{}", tree.at("out/f").display()),
            libc::EACCES,
        ),
        (format!("/proc/self/fd/+{number}"), libc::ENOENT),
        ("/proc/self/fd/987".to_owned(), libc::ENOENT),
        ("/proc/self/comm".to_owned(), libc::EACCES),
    ];
    symlink(
        format!("/proc/self/fd/{}", secret.as_raw_fd()),
        tree.at("in/magic"),
    )
    .unwrap();
    let magic = CString::new(tree.at("in/magic").as_os_str().as_bytes()).unwrap();
    let mode = |path: &str| {
        let path = CString::new(path).unwrap();
        change(
            libc::SYS_fchmodat,
            [AT_CWD, path.as_ptr() as usize, 0o600, 0, 0, 0],
        )
    };
    let ((allowed, others, link), _) = tree.confined(|| {
        let link = change(
            libc::SYS_fchmodat,
            [AT_CWD, magic.as_ptr() as usize, 0o600, 0, 0, 0],
        );
        (
            same.each_ref().map(|path| mode(path)),
            refused.each_ref().map(|(path, _)| mode(path)),
            link,
        )
    });
    assert_eq!(allowed, [Ok(()); 7]);
    assert_eq!(others, refused.map(|(_, errno)| Err(errno)));
    assert_eq!(link, Err(libc::EACCES));
    assert_eq!(state(&tree.at("out/f")).0 & 0o777, 0o640);
}

#[test]
fn unnamed_files_may_be_changed_by_command() {
    let tree = Tree::new();
    let make = |path: &str| {
        let file = File::create(tree.at(path)).unwrap();
        fs::remove_file(tree.at(path)).unwrap();
        file
    };
    let memory: File = memfd_create("x", MemfdFlags::CLOEXEC).unwrap().into();
    let pipe: File = rustix::pipe::pipe().unwrap().0.into();
    let free = [make("in/gone"), memory, pipe];
    let held = [
        make("out/gone"),
        make("in/kept/gone"),
        File::open("/dev/null").unwrap(),
    ];
    let ((free, held), denied) = tree.confined(|| {
        let mode = |file: &File| change(libc::SYS_fchmod, [fd(file), 0o600, 0, 0, 0, 0]);
        (free.each_ref().map(mode), held.each_ref().map(mode))
    });
    assert_eq!((free, held), ([Ok(()); 3], [EACCES; 3]));
    let name =
        |path: &str| Denied::Metadata(format!("{} (deleted)", tree.at(path).display()).into());
    assert_eq!(
        denied,
        [
            name("out/gone"),
            name("in/kept/gone"),
            Denied::Metadata("/dev/null".into())
        ]
    );
}

#[test]
fn places_are_compared_by_components() {
    let (ours, theirs) = rustix::pipe::pipe().unwrap();
    drop(theirs);
    let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect();
    let broker = Broker::new(
        ours,
        paths(&["/a", "/a/b/c", "/same"]),
        paths(&["/a/b", "/a/f", "/same"]),
        Vec::new(),
    );
    for (place, without_names, kind, expected) in [
        ("/a", false, FileType::Directory, true),
        ("/a/x", false, FileType::RegularFile, true),
        ("/ab", false, FileType::RegularFile, false),
        ("/", false, FileType::Directory, false),
        ("/a/b", false, FileType::Directory, false),
        ("/a/b/x", false, FileType::RegularFile, false),
        ("/a/bx", false, FileType::RegularFile, true),
        ("/a/b/c/x", false, FileType::RegularFile, true),
        ("/same/x", false, FileType::RegularFile, false),
        ("/a/x (deleted)", true, FileType::RegularFile, true),
        ("/a/f (deleted)", false, FileType::RegularFile, false),
        ("/a (deleted)", true, FileType::Directory, false),
        ("/b/x (deleted)", true, FileType::RegularFile, false),
        ("/memfd:x (deleted)", true, FileType::RegularFile, true),
        ("/memfd:x (deleted)", false, FileType::RegularFile, false),
        ("/memfd:x", true, FileType::RegularFile, false),
        ("(unreachable)/a/x", false, FileType::RegularFile, false),
        ("pipe:[1]", false, FileType::Fifo, true),
        ("pipe:[1]", false, FileType::RegularFile, false),
        ("socket:[1]", false, FileType::Socket, true),
        ("anon_inode:[eventfd]", false, FileType::Unknown, true),
        ("mnt:[4026531832]", false, FileType::RegularFile, false),
        ("", false, FileType::RegularFile, false),
    ] {
        assert_eq!(
            broker.may_change(place.as_bytes(), without_names, kind),
            expected,
            "{place}, {kind:?}"
        );
    }
}

#[test]
fn ways_out_through_others_are_refused() {
    let tree = Tree::new();
    let given = CallArguments::new(&tree.at("in/f"));
    let dir = File::open(tree.at("in")).unwrap();
    let set = |name: &std::ffi::CStr| {
        [
            path(&given),
            name.as_ptr() as usize,
            given.value.as_ptr() as usize,
            3,
            0,
            0,
        ]
    };
    let (answers, _) = tree.confined(|| {
        [
            change(libc::SYS_fchmod, [fd(&given.open), 0o4755, 0, 0, 0, 0]),
            change(libc::SYS_fchmod, [fd(&given.open), 0o2755, 0, 0, 0, 0]),
            change(libc::SYS_fchmod, [fd(&given.open), 0o2644, 0, 0, 0, 0]),
            change(libc::SYS_fchmod, [fd(&dir), 0o2755, 0, 0, 0, 0]),
            change(libc::SYS_fchmod, [fd(&given.open), 0o1644, 0, 0, 0, 0]),
            change(libc::SYS_setxattr, set(c"security.capability")),
            change(libc::SYS_setxattr, set(c"trusted.x")),
            change(libc::SYS_removexattr, set(c"security.capability")),
        ]
    });
    assert_eq!(
        answers,
        [EPERM, EPERM, EPERM, Ok(()), Ok(()), EPERM, EPERM, EPERM]
    );
    assert_eq!(state(&tree.at("in")).0 & 0o7777, 0o2755);
}

#[test]
fn without_times_it_is_now() {
    let tree = Tree::new();
    same(&tree, ["in/f", "in/f", "in/f", "in/f"]);
    let given = CallArguments::new(&tree.at("in/f"));
    let before = state(&tree.at("in/f"));
    let now_and_omit = [0, libc::UTIME_NOW, 0, libc::UTIME_OMIT];
    let times = |address: usize| {
        change(
            libc::SYS_utimensat,
            [AT_CWD, path(&given), address, 0, 0, 0],
        )
    };
    assert_eq!(
        tree.confined(|| times(now_and_omit.as_ptr() as usize)).0,
        Ok(())
    );
    let between = state(&tree.at("in/f"));
    assert_eq!((between.3 > before.3, between.4), (true, before.4));
    assert_eq!(tree.confined(|| times(0)).0, Ok(()));
    assert!(state(&tree.at("in/f")).4 > before.4);
}

#[test]
fn a_network_is_refused_and_told_of_once() {
    let tree = Tree::new();
    let (answers, denied) = tree.confined(|| {
        use rustix::net::{AddressFamily as Family, SocketType, socket};
        [
            Family::INET,
            Family::INET6,
            Family::UNIX,
            Family::NETLINK,
            Family::INET,
        ]
        .map(|family| socket(family, SocketType::DGRAM, None).err())
    });
    assert_eq!(
        (answers, denied),
        (
            [Some(Errno::ACCESS); 5],
            vec![Denied::Network, Denied::DatagramSocket]
        )
    );
}

#[test]
fn reported_denials_are_bounded() {
    let tree = Tree::new();
    let deep = tree
        .at("out")
        .join("d".repeat(250))
        .join("e".repeat(250))
        .join("f".repeat(250));
    fs::create_dir_all(&deep).unwrap();
    let paths: Vec<_> = (0..40)
        .map(|index| {
            let path = if index == 0 {
                deep.clone()
            } else {
                tree.at(&format!("out/{}f", "./".repeat(index % 20)))
            };
            CString::new(path.as_os_str().as_bytes()).unwrap()
        })
        .collect();
    let (answers, denied) = tree.confined(|| {
        let mode = |path: &CString| {
            change(
                libc::SYS_fchmodat,
                [AT_CWD, path.as_ptr() as usize, 0o600, 0, 0, 0],
            )
        };
        paths.iter().map(mode).collect::<Vec<_>>()
    });
    assert_eq!(answers, vec![EACCES; 40]);
    assert_eq!(denied.len(), MAX_DENIED);
    let Denied::Metadata(first) = &denied[0] else {
        panic!("{:?}", denied[0])
    };
    assert_eq!(
        first.as_bytes(),
        &paths[0].as_bytes()[..MAX_DENIED_PATH_BYTES]
    );
}
