#![expect(clippy::disallowed_methods, reason = "tests lay out trees")]

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use libc::c_long;
use pretty_assertions::assert_eq;
use replay_sys::testing::{Room, look};
use rustix::fs::{
    MemfdFlags, Mode, OFlags, RenameFlags, XattrFlags, fsetxattr, memfd_create, open,
    renameat_with, setxattr,
};

use super::*;
use crate::broker::tests::{AT_CWD, CallArguments, EMPTY, NO_FOLLOW, Tree, fd};

const EACCES: Result<usize, i32> = Err(libc::EACCES);
const ENODATA: Result<usize, i32> = Err(libc::ENODATA);

/// A tree whose files have attributes: `user.colour`, and one that is longer.
fn tree() -> Tree {
    let tree = Tree::new();
    for place in ["in/f", "in/kept/f", "out/f", "in", "out"] {
        setxattr(tree.at(place), "user.colour", b"red", XattrFlags::empty()).unwrap();
        setxattr(
            tree.at(place),
            "user.long",
            &[b'x'; 2000],
            XattrFlags::empty(),
        )
        .unwrap();
    }
    tree
}

fn text(path: impl AsRef<Path>) -> CString {
    CString::new(path.as_ref().as_os_str().as_bytes()).unwrap()
}

fn at(text: &std::ffi::CStr) -> usize {
    text.as_ptr() as usize
}

const COLOUR: &std::ffi::CStr = c"user.colour";
const LONG: &std::ffi::CStr = c"user.long";

/// A call on one file; the second function's argument is the name of the attribute.
type Case = (
    &'static str,
    c_long,
    fn(&CallArguments, usize) -> [usize; 6],
);

/// Each call in each of its forms.
const CASES: &[Case] = &[
    ("getxattr", libc::SYS_getxattr, |given, name| {
        [at(&given.path), name, 0, 0, 0, 0]
    }),
    ("lgetxattr", libc::SYS_lgetxattr, |given, name| {
        [at(&given.path), name, 0, 0, 0, 0]
    }),
    ("fgetxattr", libc::SYS_fgetxattr, |given, name| {
        [fd(&given.open), name, 0, 0, 0, 0]
    }),
    ("getxattrat", 464, |given, name| {
        [fd(&given.dir), at(&given.name), 0, name, 0, 0]
    }),
    ("getxattrat, whole path", 464, |given, name| {
        [AT_CWD, at(&given.path), NO_FOLLOW, name, 0, 0]
    }),
    ("getxattrat, empty", 464, |given, name| {
        [fd(&given.open), at(c""), EMPTY, name, 0, 0]
    }),
    ("getxattrat, no path", 464, |given, name| {
        [fd(&given.open), 0, EMPTY, name, 0, 0]
    }),
    ("getxattrat, grown", 464, |given, name| {
        [AT_CWD, at(&given.path), 0, name, 0, 32]
    }),
    ("listxattr", libc::SYS_listxattr, |given, _| {
        [at(&given.path), 0, 0, 0, 0, 0]
    }),
    ("llistxattr", libc::SYS_llistxattr, |given, _| {
        [at(&given.path), 0, 0, 0, 0, 0]
    }),
    ("flistxattr", libc::SYS_flistxattr, |given, _| {
        [fd(&given.open), 0, 0, 0, 0, 0]
    }),
    ("listxattrat", 465, |given, _| {
        [fd(&given.dir), at(&given.name), NO_FOLLOW, 0, 0, 0]
    }),
    ("listxattrat, empty", 465, |given, _| {
        [fd(&given.open), at(c""), EMPTY, 0, 0, 0]
    }),
    ("listxattrat, no path", 465, |given, _| {
        [fd(&given.open), 0, EMPTY, 0, 0, 0]
    }),
];

#[test]
fn xattr_calls_match_kernel_only_inside() {
    let tree = tree();
    let [inside, kept, outside] =
        ["in/f", "in/kept/f", "out/f"].map(|path| CallArguments::new(&tree.at(path)));
    let mut told = 0;
    for (what, number, args) in CASES {
        for (name, size) in [
            COLOUR,
            LONG,
            c"user.missing",
            c"strange.name",
            c"security.capability",
            c"trusted.x",
        ]
        .into_iter()
        .flat_map(|name| [0, 1, 3, 64, 2000, 65_536, 1_000_000].map(|size| (name, size)))
        {
            let ask = |given: &CallArguments| {
                let mut bytes = vec![b'-'; size];
                (
                    look(*number, args(given, at(name)), Room::Bytes(&mut bytes)),
                    bytes,
                )
            };
            let expected = ask(&inside);
            if expected.0 == Err(libc::ENOSYS) {
                // The kernel is older than the call; the broker is not.
                continue;
            }
            let (answers, denied) = tree.confined(|| [&inside, &kept, &outside].map(ask));
            let [inside, kept, outside] = answers;
            assert_eq!(
                (inside, &kept),
                (expected.clone(), &expected),
                "{what} of {name:?}, {size} bytes"
            );
            assert_eq!(
                outside,
                (EACCES, vec![b'-'; size]),
                "{what} of {name:?}, {size} bytes"
            );
            assert_eq!(denied, []);
            told += usize::from(expected.0.is_ok());
        }
    }
    assert!(told > CASES.len() * 7, "most of it works here: {told}");
}

#[test]
fn wrong_calls_get_the_errors_of_the_kernel() {
    static CONSTANT: [u8; 64] = [0; 64];
    let tree = tree();
    symlink("loop", tree.at("in/loop")).unwrap();
    let given = CallArguments::new(&tree.at("in/f"));
    let [missing, through, round, long] =
        ["in/missing", "in/f/g", "in/loop", &"x".repeat(5000)].map(|path| text(tree.at(path)));
    let only_path: File = open(
        tree.at("in/f"),
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .unwrap()
    .into();
    let long_name = CString::new(format!("user.{}", "x".repeat(251))).unwrap();
    let name = at(COLOUR);
    let get = |path: &CString, name| (libc::SYS_getxattr, [at(path), name, 0, 0, 0, 0]);
    let cases: Vec<(c_long, [usize; 6])> = vec![
        get(&missing, name),
        get(&through, name),
        get(&round, name),
        get(&long, name),
        get(&given.path, 0),
        get(&given.path, 4096),
        get(&given.path, at(c"")),
        get(&given.path, at(&long_name)),
        get(&given.path, at(c"user.")),
        (libc::SYS_getxattr, [0, name, 0, 0, 0, 0]),
        (libc::SYS_getxattr, [at(c""), name, 0, 0, 0, 0]),
        (libc::SYS_lgetxattr, [at(&round), name, 0, 0, 0, 0]),
        (libc::SYS_fgetxattr, [fd(&only_path), name, 0, 0, 0, 0]),
        (libc::SYS_fgetxattr, [987, name, 0, 0, 0, 0]),
        (libc::SYS_fgetxattr, [usize::MAX, name, 0, 0, 0, 0]),
        (464, [AT_CWD, at(&given.path), 1, name, 0, 0]),
        (464, [AT_CWD, at(&given.path), 0, name, 1, 0]),
        (464, [AT_CWD, at(&given.path), 0, name, 0, 15]),
        (464, [AT_CWD, at(&given.path), 0, name, 0, 8192]),
        (464, [987, at(&given.name), 0, name, 0, 0]),
        (464, [AT_CWD, at(c""), 0, name, 0, 0]),
        (libc::SYS_listxattr, [at(&missing), 0, 0, 0, 0, 0]),
        (libc::SYS_listxattr, [4096, 0, 0, 0, 0, 0]),
        (libc::SYS_llistxattr, [at(&round), 0, 0, 0, 0, 0]),
        (libc::SYS_flistxattr, [fd(&only_path), 0, 0, 0, 0, 0]),
        (465, [fd(&only_path), 0, EMPTY, 0, 0, 0]),
        (465, [AT_CWD, at(&given.path), 0x4000, 0, 0, 0]),
    ];
    let ask =
        |(number, args): &(c_long, [usize; 6])| look(*number, *args, Room::Bytes(&mut [0; 64]));
    // Where the answer cannot be put.
    let open = &given.open;
    let faults = || {
        let at = |number, args| {
            [
                Room::Nowhere(0),
                Room::Nowhere(2),
                Room::Nowhere(64),
                Room::Constant(&CONSTANT),
            ]
            .map(|room| look(number, args, room))
        };
        [
            at(libc::SYS_fgetxattr, [fd(open), name, 0, 0, 0, 0]),
            at(libc::SYS_flistxattr, [fd(open), 0, 0, 0, 0, 0]),
            at(464, [fd(open), 0, EMPTY, name, 0, 0]),
            at(465, [fd(open), 0, EMPTY, 0, 0, 0]),
        ]
    };
    let (expected, expected_faults) = (cases.iter().map(ask).collect::<Vec<_>>(), faults());
    let ((answers, answered_faults), denied) =
        tree.confined(|| (cases.iter().map(ask).collect::<Vec<_>>(), faults()));
    for ((case, answer), expected) in cases.iter().zip(answers).zip(expected) {
        assert!(
            answer == expected || expected == Err(libc::ENOSYS),
            "{case:?}: {answer:?} instead of {expected:?}"
        );
    }
    let (fault, range) = (Err(libc::EFAULT), Err(libc::ERANGE));
    assert_eq!(answered_faults[0], [Ok(3), range, fault, fault]);
    assert_eq!(answered_faults[..2], expected_faults[..2]);
    assert_eq!(answered_faults[2..], answered_faults[..2]);
    assert_eq!(denied, []);
}

#[test]
fn places_decide_and_not_names() {
    let tree = tree();
    symlink(tree.at("out/f"), tree.at("in/leaves")).unwrap();
    symlink("../out", tree.at("in/leaves_dir")).unwrap();
    symlink(tree.at("in/f"), tree.at("out/returns")).unwrap();
    let here = std::env::current_dir().unwrap();
    let up = "../".repeat(here.components().count() - 1);
    let relative = |path: &str| {
        PathBuf::from(format!(
            "{up}{}",
            tree.at(path).strip_prefix("/").unwrap().display()
        ))
    };
    let secret: File = open(
        tree.at("out/f"),
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .unwrap()
    .into();
    let file = File::open(tree.at("in/f")).unwrap();
    let shown = |file: &File| PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let same = Ok(3);
    let cases = [
        (tree.at("in/leaves"), EACCES),
        (tree.at("in/leaves_dir/f"), EACCES),
        (tree.at("in/leaves_dir"), EACCES),
        (tree.at("in/../out/f"), EACCES),
        (tree.at("in/kept/../../out"), EACCES),
        (tree.at("out"), EACCES),
        (relative("out/f"), EACCES),
        (shown(&secret), EACCES),
        (tree.at("in"), same),
        (tree.at("in/kept/../f"), same),
        (tree.at("out/returns"), same),
        (tree.at("in/leaves_dir/../in/f"), same),
        (relative("in/f"), same),
        (shown(&file), same),
        // Parents of readable directories.
        (tree.at("in/.."), ENODATA),
        ("/".into(), ENODATA),
        ("/proc/self/cwd".into(), EACCES),
    ];
    let links = [tree.at("in/leaves"), tree.at("out/returns"), shown(&file)].map(text);
    let dir = File::open(tree.at("in")).unwrap();
    let ((answers, own, (above, by_descriptor)), denied) = tree.confined(|| {
        let get = |(path, _): &(PathBuf, _)| {
            let path = text(path);
            look(
                libc::SYS_getxattr,
                [at(&path), at(COLOUR), 0, 0, 0, 0],
                Room::Bytes(&mut [0; 9]),
            )
        };
        let own = |path: &CString| {
            look(
                libc::SYS_llistxattr,
                [at(path), 0, 0, 0, 0, 0],
                Room::Bytes(&mut [0; 99]),
            )
        };
        let list = |dir: &File, path| {
            look(
                465,
                [fd(dir), at(path), 0, 0, 0, 0],
                Room::Bytes(&mut [0; 99]),
            )
        };
        let by_descriptor = [c"f", c"../out/f", c"../in/kept/f"].map(|path| list(&dir, path));
        (
            cases.each_ref().map(get),
            links.each_ref().map(own),
            (list(&dir, c".."), by_descriptor),
        )
    });
    for ((path, expected), answer) in cases.iter().zip(answers) {
        assert_eq!(answer, *expected, "{}", path.display());
    }
    let names = "user.colour\0user.long\0".len();
    // Links in procfs have none, and say so or that there can be none.
    assert!(matches!(own[2], Ok(0) | Err(libc::EOPNOTSUPP)), "{own:?}");
    assert_eq!(own[..2], [Ok(0), EACCES]);
    assert_eq!(
        (above, by_descriptor),
        (Ok(0), [Ok(names), EACCES, Ok(names)])
    );
    assert_eq!(denied, []);
}

#[test]
fn procfs_is_the_callers() {
    let tree = tree();
    // Only the broker's process has its listener, and only this one the number of this file.
    let paths = [
        "/proc/self/status",
        "/proc/self//fdinfo/1",
        "/proc/thread-self/comm",
        "/proc/self",
        "/proc/self/fd",
    ];
    let list = |path: &str| {
        let path = CString::new(path).unwrap();
        look(
            libc::SYS_llistxattr,
            [at(&path), 0, 0, 0, 0, 0],
            Room::Bytes(&mut [0; 99]),
        )
    };
    let expected = paths.map(list);
    assert_eq!(tree.confined(|| paths.map(list)), (expected, Vec::new()));
}

#[test]
fn unnamed_files_xattrs_are_readable_by_command() {
    let tree = tree();
    let make = |path: &str| {
        let file = File::create(tree.at(path)).unwrap();
        fsetxattr(&file, "user.colour", b"red", XattrFlags::empty()).unwrap();
        fs::remove_file(tree.at(path)).unwrap();
        file
    };
    let memory: File = memfd_create("x", MemfdFlags::CLOEXEC).unwrap().into();
    let pipe: File = rustix::pipe::pipe().unwrap().0.into();
    let free = [make("in/gone"), memory, pipe];
    let held = [
        make("out/gone"),
        File::open(tree.at("out/f")).unwrap(),
        File::open("/dev/null").unwrap(),
    ];
    let get = |file: &File| {
        look(
            libc::SYS_fgetxattr,
            [fd(file), at(COLOUR), 0, 0, 0, 0],
            Room::Bytes(&mut [0; 9]),
        )
    };
    let expected = free.each_ref().map(get);
    assert_eq!(expected[0], Ok(3));
    let (answers, denied) = tree.confined(|| (free.each_ref().map(get), held.each_ref().map(get)));
    assert_eq!((answers, denied), ((expected, [EACCES; 3]), Vec::new()));
}

#[test]
fn places_are_compared_by_components() {
    let (ours, _theirs) = rustix::pipe::pipe().unwrap();
    let readable = ["/a/b", "/c/file", "/proc"].map(PathBuf::from).into();
    let broker = Broker::new(ours, Vec::new(), Vec::new(), readable);
    for (place, without_names, kind, expected) in [
        ("/a/b", false, FileType::Directory, AttributeAnswer::All),
        ("/a/b/x", false, FileType::RegularFile, AttributeAnswer::All),
        (
            "/c/file",
            false,
            FileType::RegularFile,
            AttributeAnswer::All,
        ),
        (
            "/proc/1/fd/3",
            false,
            FileType::Symlink,
            AttributeAnswer::All,
        ),
        (
            "/a/b/x (deleted)",
            true,
            FileType::RegularFile,
            AttributeAnswer::All,
        ),
        (
            "/memfd:x (deleted)",
            true,
            FileType::RegularFile,
            AttributeAnswer::All,
        ),
        ("pipe:[1]", false, FileType::Fifo, AttributeAnswer::All),
        ("/", false, FileType::Directory, AttributeAnswer::Nothing),
        ("/a", false, FileType::Directory, AttributeAnswer::Nothing),
        ("/c", false, FileType::Directory, AttributeAnswer::Nothing),
        ("/a", false, FileType::Symlink, AttributeAnswer::Refused),
        (
            "/a/bx",
            false,
            FileType::RegularFile,
            AttributeAnswer::Refused,
        ),
        ("/a/c", false, FileType::Directory, AttributeAnswer::Refused),
        (
            "/c/other",
            false,
            FileType::RegularFile,
            AttributeAnswer::Refused,
        ),
        (
            "/a/b (deleted)",
            false,
            FileType::RegularFile,
            AttributeAnswer::Refused,
        ),
        (
            "/x (deleted)",
            true,
            FileType::RegularFile,
            AttributeAnswer::Refused,
        ),
        (
            "(unreachable)/a/b/x",
            false,
            FileType::RegularFile,
            AttributeAnswer::Refused,
        ),
        (
            "mnt:[4026531832]",
            false,
            FileType::RegularFile,
            AttributeAnswer::Refused,
        ),
        ("", false, FileType::Directory, AttributeAnswer::Refused),
    ] {
        assert_eq!(
            broker.may_read(place.as_bytes(), without_names, kind),
            expected,
            "{place}, {kind:?}"
        );
    }
}

#[test]
fn symlink_race_does_not_escape() {
    const TRIES: u32 = 2000;
    let tree = tree();
    fs::create_dir(tree.at("in/d")).unwrap();
    fs::write(tree.at("in/d/f"), "").unwrap();
    setxattr(
        tree.at("in/d/f"),
        "user.colour",
        b"blue",
        XattrFlags::empty(),
    )
    .unwrap();
    symlink("../out", tree.at("in/link")).unwrap();
    let path = text(tree.at("in/d/f"));
    let done = AtomicBool::new(false);
    let (from, to) = (tree.at("in/d"), tree.at("in/link"));
    let ((told, refused), _) = thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, &from, CWD, &to, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let outcome = tree.confined(|| {
            let (mut told, mut refused) = (0, 0);
            for _ in 0..TRIES {
                let mut value = [0; 8];
                let args = [at(&path), at(COLOUR), 0, 0, 0, 0];
                match look(libc::SYS_getxattr, args, Room::Bytes(&mut value)) {
                    Ok(length) => {
                        assert_eq!(&value[..length], b"blue");
                        told += 1;
                    }
                    Err(errno) => {
                        assert!([libc::EACCES, libc::ENOENT].contains(&errno), "{errno}");
                        assert_eq!(value, [0; 8]);
                        refused += 1;
                    }
                }
            }
            (told, refused)
        });
        done.store(true, Ordering::Relaxed);
        outcome
    });
    assert!(
        told > 0 && refused > 0,
        "{told} of {TRIES} tries met the directory, {refused} the link"
    );
}

#[test]
fn programs_keep_attributes_of_copies() {
    let tree = tree();
    fs::write(tree.at("in/sub.txt"), "x").unwrap();
    let run = |script: &str| {
        let mut shell = Command::new("/bin/sh");
        let output = shell
            .arg("-c")
            .arg(script)
            .current_dir(tree.at("in"))
            .env("LC_ALL", "C")
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let works = [
        "ls -la . kept",
        "ls -laL --color=always . && ls -ld / /usr/bin/env",
        "ls -l /proc/self/ /proc/self/fdinfo > listed",
        "cp -a f g && cp -a kept copied",
        "tar --xattrs -cf t f && mkdir x && tar --xattrs -xf t -C x",
        // Some versions of ls complain about attributes that they may not read.
        "ls -l ../out/f 2>listed",
    ];
    let (works, denied) = tree.confined(|| works.map(run));
    for (index, outcome) in works.into_iter().enumerate() {
        assert_eq!(outcome, (Some(0), String::new()), "script {index}");
    }
    assert_eq!(denied, []);
    for copy in ["in/g", "in/copied/f", "in/x/f"] {
        let mut value = [0; 9];
        assert_eq!(
            rustix::fs::getxattr(tree.at(copy), COLOUR, &mut value[..]),
            Ok(3),
            "{copy}"
        );
    }
}
