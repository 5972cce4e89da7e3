//! The launcher spoken with directly, as the server does.

use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use replay::sandbox::wire::{receive, receive_event, send};
use replay::sandbox::{
    Event, Exit, Hello, Limits, Network, Place, Plan, PlannedRoot, RawString, Request, Scratch, Tier,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

/// A launcher that stands.
pub struct Direct {
    pub child: Child,
    socket: OwnedFd,
    _scratch: Scratch,
}

pub fn place(path: &Path) -> Place {
    let metadata = std::fs::metadata(path).unwrap();
    Place { path: path.into(), dev: metadata.dev(), ino: metadata.ino() }
}

impl Direct {
    /// Starts this program as the launcher; the reason if it cannot build the tier.
    pub fn start(
        program: &Path,
        tier: Tier,
        network: Network,
        roots: &[(&Path, bool)],
        owner: Option<(u32, u32)>,
        scratch_in: &Path,
    ) -> Result<Self, String> {
        let scratch = Scratch::create(scratch_in).unwrap();
        if let Some((user, group)) = owner {
            for path in [scratch.path().to_owned(), scratch.path().join("home"), scratch.path().join("tmp")] {
                std::os::unix::fs::chown(path, Some(user), Some(group)).unwrap();
            }
        }
        let (socket, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        let mut command = Command::new(program);
        command.arg(replay::sandbox::LAUNCHER_ARGUMENT).stdin(theirs).stdout(Stdio::null());
        if let Some((user, group)) = owner {
            command.uid(user).gid(group);
        }
        let child = command.spawn().unwrap();
        drop(command);
        let system = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt"];
        let plan = Plan {
            tier,
            network,
            roots: roots
                .iter()
                .map(|(path, writable)| PlannedRoot { place: place(path), writable: *writable })
                .collect(),
            protected: Vec::new(),
            system: system.iter().map(|path| (*path).into()).collect(),
            scratch: scratch.path().into(),
            private_home: true,
            environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            limits: Limits { oom_score_adj: 500, ..Limits::default() },
        };
        send(&socket, &plan, &[]).unwrap();
        match receive::<Hello>(&socket).unwrap() {
            Some((Hello::Ready { .. }, _)) => Ok(Self { child, socket, _scratch: scratch }),
            Some((Hello::Cannot { reason }, _)) => Err(reason),
            None => Err("the launcher is gone".to_owned()),
        }
    }

    /// Runs a program to its end: what it wrote, and how it ended.
    pub fn run(&self, argv: &[RawString], dir: &Path) -> (Vec<u8>, Vec<u8>, Option<Event>) {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        let (mut stdout, out) = std::io::pipe().unwrap();
        let (mut stderr, err) = std::io::pipe().unwrap();
        let request = Request {
            argv: argv.to_vec(),
            dir: place(dir),
            environment: Vec::new(),
            stdin: false,
            terminal: None,
            announce: false,
        };
        send(&self.socket, &request, &[theirs.as_fd(), out.as_fd(), err.as_fd()]).unwrap();
        drop((theirs, out, err));
        let errors = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            stderr.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let mut bytes = Vec::new();
        stdout.read_to_end(&mut bytes).unwrap();
        let event = receive_event(&ours).ok().flatten().map(|(event, _)| event);
        (bytes, errors.join().unwrap(), event)
    }
}

pub fn ended_well(event: Option<&Event>) -> bool {
    matches!(event, Some(Event::Ended { exit: Exit::Code(0), .. }))
}
