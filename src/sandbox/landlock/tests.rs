#![expect(clippy::disallowed_methods, reason = "tests lay out trees")]

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::thread;

use nix::sys::signal::kill;
use nix::unistd::{Pid, getpid};
use pretty_assertions::assert_eq;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};

use super::*;

/// The kernel's version, of which the tests need scopes: it is what the walls without namespaces
/// need.
fn version() -> u32 {
    let version = abi().expect("these tests need a kernel with landlock");
    assert!(
        version >= SCOPES_ABI,
        "these tests need landlock with scopes (Linux 6.12), and this one has {version}"
    );
    version
}

fn files_only() -> Options {
    Options {
        scope_signals: false,
        scope_abstract_sockets: false,
        reading: true,
        refuse_tcp: false,
        abi: version(),
    }
}

fn within<T: Send>(ruleset: &Ruleset, act: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let acting = scope.spawn(|| {
            ruleset.restrict().unwrap();
            act()
        });
        acting.join().unwrap()
    })
}

fn denied<T>(result: io::Result<T>) -> bool {
    match result {
        Ok(_) => false,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
            true
        }
    }
}

#[test]
fn rights_grant_exactly_their_accesses() {
    let tree = tempfile::tempdir().unwrap();
    let at = |path: &str| tree.path().join(path);
    for dir in ["write", "read", "run", "out"] {
        fs::create_dir(at(dir)).unwrap();
        fs::write(at(dir).join("f"), "").unwrap();
        fs::copy("/bin/true", at(dir).join("true")).unwrap();
    }
    fs::write(at("out/one"), "").unwrap();
    let opened: Vec<(File, Right)> = [
        ("write", Right::Write),
        ("read", Right::Read),
        ("run", Right::ReadExecute),
        ("out/one", Right::Write),
    ]
    .map(|(path, right)| (File::open(at(path)).unwrap(), right))
    .into();
    let rules: Vec<_> = opened
        .iter()
        .map(|(file, right)| (file.as_fd(), *right))
        .collect();
    let ruleset = ruleset(&rules, files_only()).unwrap();
    drop(opened);
    // Reading, listing, writing, truncating, making, and renaming away are refused.
    let refused = |dir: &str| {
        let file = at(dir).join("f");
        [
            denied(File::open(&file)),
            denied(fs::read_dir(at(dir))),
            denied(OpenOptions::new().append(true).open(&file)),
            denied(
                rustix::fs::chmod(&file, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
                    .map_err(io::Error::from),
            ),
            denied(fs::create_dir(at(dir).join("new"))),
            denied(fs::rename(at(dir).join("true"), at("write/moved"))),
        ]
    };
    let found = within(&ruleset, || {
        // Entered twice: a domain in a domain.
        ruleset.restrict().unwrap();
        (
            ["out", "read", "run"].map(refused),
            denied(OpenOptions::new().append(true).open(at("out/one"))),
            [
                denied(fs::write(at("write/f"), "new")),
                denied(fs::create_dir(at("write/d"))),
                denied(fs::rename(at("write/f"), at("write/d/f"))),
                denied(fs::remove_file(at("write/d/f"))),
            ],
        )
    });
    // Metadata is not Landlock's: chmod is not refused anywhere, which is why there is a broker.
    let refused = |read: bool| [read, read, true, false, true, true];
    assert_eq!(found.0, [refused(true), refused(false), refused(false)]);
    assert_eq!((found.1, found.2), (false, [false; 4]));
    assert_eq!(fs::read_to_string(at("read/f")).unwrap(), "");
}

#[test]
fn a_device_takes_bytes_and_no_commands() {
    let version = ABI::from(i32::try_from(version()).unwrap());
    let ioctl = BitFlags::from(AccessFs::IoctlDev);
    let rights = [
        Right::ReadExecute,
        Right::Read,
        Right::Write,
        Right::Device,
        Right::Terminal,
    ];
    let with = rights.map(|right| granted(right, version).contains(ioctl));
    assert_eq!(with, [false, false, false, false, true]);
    let nodes = AccessFs::MakeChar | AccessFs::MakeBlock;
    assert_eq!(
        rights.map(|right| granted(right, version).intersects(nodes)),
        [false; 5]
    );
    // An old version knows fewer rights, and none is asked of it that it does not know.
    let old = AccessFs::from_all(ABI::V3);
    assert_eq!(
        rights.map(|right| old.contains(granted(right, ABI::V3))),
        [true; 5]
    );

    let null = File::open("/dev/null").unwrap();
    let ruleset = ruleset(&[(null.as_fd(), Right::Device)], files_only()).unwrap();
    let found = within(&ruleset, || {
        [
            denied(fs::write("/dev/null", "x")),
            denied(File::open("/dev/null")),
            denied(File::open("/dev/zero")),
        ]
    });
    assert_eq!(found, [false, false, true]);
}

#[test]
fn scopes_keep_signals_and_abstract_sockets_inside() {
    let name = format!("replay-test-{}", getpid());
    let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap();
    let socket = || {
        socket_with(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )
        .unwrap()
    };
    let server = socket();
    bind(&server, &address).unwrap();
    listen(&server, 4).unwrap();
    // A process of the same user, which nothing else would keep from being signalled.
    let mut process = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .unwrap();
    let other = Pid::from_raw(process.id().cast_signed());
    let options = |signals, sockets| Options {
        scope_signals: signals,
        scope_abstract_sockets: sockets,
        ..files_only()
    };
    let found = [(true, true), (true, false), (false, true)].map(|(signals, sockets)| {
        within(
            &scope_only(everywhere().as_fd(), options(signals, sockets)).unwrap(),
            || {
                let signal = denied(kill(other, None).map_err(io::Error::from));
                let abstract_socket = denied(connect(socket(), &address).map_err(io::Error::from));
                // Files are nobody's business here.
                (signal, abstract_socket, denied(File::open("/etc/passwd")))
            },
        )
    });
    process.kill().unwrap();
    process.wait().unwrap();
    assert_eq!(
        found,
        [
            (true, true, false),
            (true, false, false),
            (false, true, false)
        ]
    );
}

#[test]
fn tcp_is_refused_when_asked() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let options = Options {
        refuse_tcp: true,
        ..files_only()
    };
    let found = within(&scope_only(everywhere().as_fd(), options).unwrap(), || {
        [
            denied(TcpStream::connect(address)),
            denied(TcpListener::bind("127.0.0.1:0")),
        ]
    });
    assert_eq!(found, [true, true]);
}

#[test]
fn unsupported_landlock_version_is_an_error() {
    let text = |result: Result<Ruleset, Error>| result.unwrap_err().to_string();
    let options = |abi, scope_signals| Options {
        scope_signals,
        abi,
        ..files_only()
    };
    assert_eq!(
        text(ruleset(&[], options(2, false))),
        "Landlock version 2 of this kernel cannot keep files from being truncated, which needs \
         version 3 or newer"
    );
    assert_eq!(
        text(ruleset(&[], options(5, true))),
        "Landlock version 5 of this kernel cannot keep signals inside, which needs version 6 or \
         newer"
    );
    assert_eq!(
        text(scope_only(everywhere().as_fd(), options(7, false))),
        "a ruleset without any restriction was asked for"
    );
    let pipe = rustix::pipe::pipe().unwrap().0;
    assert_eq!(
        text(ruleset(&[(pipe.as_fd(), Right::Read)], options(3, false)))
            .split(':')
            .next(),
        Some("the kernel refuses the rule number 0 (read)")
    );
}

#[test]
fn public_trees_are_world_readable_throughout() {
    let tree = tempfile::tempdir().unwrap();
    let at = |path: &str| tree.path().join(path);
    let mode =
        |path: &str, mode| fs::set_permissions(at(path), PermissionsExt::from_mode(mode)).unwrap();
    for dir in ["open", "open/deep", "mixed", "closed", "empty"] {
        fs::create_dir(at(dir)).unwrap();
        mode(dir, 0o755);
    }
    for (file, bits) in [
        ("hosts", 0o644),
        ("shadow", 0o640),
        ("open/a", 0o444),
        ("open/deep/b", 0o644),
        ("mixed/public", 0o644),
        ("mixed/private", 0o600),
        ("closed/c", 0o644),
    ] {
        fs::write(at(file), "").unwrap();
        mode(file, bits);
    }
    mode("closed", 0o750);
    symlink("../shadow", at("open/link")).unwrap();
    symlink("shadow", at("link")).unwrap();
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        at("mixed/fifo"),
        rustix::fs::Mode::from_raw_mode(0o644),
    )
    .unwrap();
    let names: Vec<_> = ["empty", "hosts", "mixed/public", "open"].map(at).into();
    assert_eq!(public_entries(tree.path()), names);
    assert_eq!(public_entries(&at("missing")), Vec::<PathBuf>::new());
}

/// A handle of the whole tree.
fn everywhere() -> File {
    File::open("/").unwrap()
}

#[test]
fn a_domain_of_scopes_lets_files_be_moved_between_directories() {
    let tree = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        fs::create_dir(tree.path().join(name)).unwrap();
    }
    let [from, to] = ["a/file", "b/file"].map(|name| tree.path().join(name));
    fs::write(&from, "moved").unwrap();
    let ruleset = scope_only(
        everywhere().as_fd(),
        Options {
            scope_signals: true,
            ..files_only()
        },
    )
    .unwrap();
    within(&ruleset, || fs::rename(&from, &to)).unwrap();
    assert_eq!(fs::read_to_string(to).unwrap(), "moved");
}
