//! Interception of the network calls of a command: redirected connections, answers, and packets
//! that must not leave the machine.
//!
//! A stub of the proxy answers every HTTP request with the original target of the connection, and
//! every DNS query with one address. Each test runs in every tier, and also as an unprivileged user
//! if the tests run as root.

mod hostile;
mod programs;

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command as Program;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{fs, iter};

use replay_base::cancel::CancelToken;
use replay_files::journal::Changes;
use replay_sandbox::exec::{
    Command, Counts, ExecError, Exit, Foreground, Intercepted, Interception, Launcher, Outcome,
    Slots, place_of,
};
use replay_sandbox::{
    CanonicalPath, Extent, Limits, Network, Plan, PlannedDevices, PlannedRoot, Scratch, Tier,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::tree::{copy_program, write_program};

const LONG: Duration = Duration::from_mins(1);
/// UID of an unprivileged user.
pub const NOBODY: u32 = 65534;
/// Address in the answer to every DNS query.
const NAMED: [u8; 4] = [198, 18, 0, 7];

/// Combination of sandbox, network and user for a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Setting {
    tier: Tier,
    network: Network,
    nobody: bool,
    /// `true` if `pidfd_getfd(2)` fails, and no namespaces can be created but those of the tier.
    restricted: bool,
}

impl Setting {
    /// Returns true if the TCP sockets of the command use the loopback device of the host.
    fn is_shared(self) -> bool {
        self.tier != Tier::Namespaces || self.network == Network::Host
    }

    /// Returns true if datagrams have a separate network namespace.
    fn is_quiet(self) -> bool {
        self.tier == Tier::Namespaces || !self.restricted && can_make_namespaces(self.nobody)
    }
}

fn can_make_namespaces(nobody: bool) -> bool {
    let mut program = if nobody {
        Program::new("setpriv")
    } else {
        Program::new("unshare")
    };
    if nobody {
        program.args([&format!("--reuid={NOBODY}"), "--clear-groups", "unshare"]);
    }
    program
        .args(["--user", "--net", "true"])
        .status()
        .is_ok_and(|status| status.success())
}

/// Launcher for a setting.
struct Net {
    launcher: Launcher,
    setting: Setting,
    work: PathBuf,
    _tree: tempfile::TempDir,
    _scratch: Scratch,
}

/// Result of an intercepted command.
#[derive(Debug)]
struct CommandResult {
    out: String,
    err: String,
    exit: Exit,
    /// Original targets of its connections, in order of arrival.
    flows: Vec<SocketAddr>,
    /// Names in its DNS queries.
    names: Vec<String>,
    counts: Counts,
}

fn settings() -> Vec<Setting> {
    let mut all = Vec::new();
    for (nobody, restricted) in [(false, false), (true, false), (false, true)] {
        for (tier, network) in [
            (Tier::Namespaces, Network::None),
            (Tier::Namespaces, Network::Loopback),
            (Tier::Namespaces, Network::Host),
            (Tier::Landlock, Network::None),
            (Tier::Landlock, Network::Host),
            (Tier::Off, Network::Host),
        ] {
            if !nobody || rustix::process::geteuid().is_root() {
                all.push(Setting {
                    tier,
                    network,
                    nobody,
                    restricted,
                });
            }
        }
    }
    all
}

/// Runs a test in every setting.
fn everywhere(test: impl Fn(&Net)) {
    for setting in settings() {
        #[expect(clippy::print_stdout, reason = "says where a test failed")]
        {
            println!("--- {setting:?}");
        }
        match Net::start(setting) {
            Ok(net) => test(&net),
            Err(reason) => {
                assert!(
                    std::env::var_os("REPLAY_TEST_REQUIRE_SANDBOX").is_none(),
                    "{setting:?}: {reason}"
                );
                #[expect(clippy::print_stderr, reason = "a tier that is left out is said")]
                {
                    eprintln!("skipped: {setting:?}: {reason}");
                }
            }
        }
    }
}

fn installed(path: &str) -> bool {
    Path::new(path).exists()
}

fn foreground<'a>(
    launcher: &'a Launcher,
    running: &'a Slots,
    cancel: &'a CancelToken,
) -> Foreground<'a> {
    let grace = Duration::from_millis(100);
    Foreground {
        launcher,
        running,
        cancel,
        timeout: LONG,
        grace,
        output_cap_bytes: 1 << 20,
        files: None,
        over: None,
    }
}

fn place(path: &Path) -> CanonicalPath {
    place_of(fs::File::open(path).unwrap().as_fd()).unwrap()
}

/// Returns a script that runs this program as an unprivileged user.
pub fn started_as_nobody(tree: &Path) -> PathBuf {
    let (copy, script) = (tree.join("replay"), tree.join("nobody"));
    copy_program(Path::new(env!("CARGO_BIN_EXE_replay")), &copy);
    let line = format!(
        "#!/bin/sh\nexec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups -- {} \"$@\"\n",
        copy.display()
    );
    write_program(&script, &line);
    script
}

/// Returns a script that runs this program with some system calls refused.
fn started_without(calls: &str, tree: &Path, program: &Path) -> PathBuf {
    let (refuse, script) = (tree.join("refuse.py"), tree.join("refused"));
    fs::write(&refuse, include_str!("interception/refuse.py")).unwrap();
    let line = format!(
        "#!/bin/sh\nexec python3 {} {calls} {} \"$@\"\n",
        refuse.display(),
        program.display()
    );
    write_program(&script, &line);
    script
}

impl Net {
    fn start(setting: Setting) -> Result<Self, String> {
        let tree = tempfile::Builder::new()
            .prefix("replay-it-")
            .tempdir()
            .unwrap();
        fs::set_permissions(tree.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let scratch = Scratch::create(tree.path()).unwrap();
        let work = tree.path().join("work");
        fs::create_dir(&work).unwrap();
        let program = if setting.nobody {
            for path in [
                scratch.path(),
                &scratch.path().join("home"),
                &scratch.path().join("tmp"),
                &work,
            ] {
                std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
            started_as_nobody(tree.path())
        } else {
            env!("CARGO_BIN_EXE_replay").into()
        };
        let calls = if setting.tier == Tier::Namespaces {
            "pidfd_getfd"
        } else {
            "pidfd_getfd,unshare"
        };
        let program = if setting.restricted {
            started_without(calls, tree.path(), &program)
        } else {
            program
        };
        let plan = Plan {
            is_tried: true,
            journal: None,
            hide: None,
            tier: setting.tier,
            network: setting.network,
            answers_names: false,
            roots: vec![PlannedRoot {
                place: place(&work),
                writable: true,
                extent: Extent::Allowed,
            }],
            hidden: Vec::new(),
            other_names: Vec::new(),
            protected: vec![],
            system: ["/usr", "/bin", "/sbin", "/lib", "/lib64"]
                .map(Into::into)
                .to_vec(),
            devices: PlannedDevices::default(),
            sockets: Vec::new(),
            public_only: Vec::new(),
            public: Vec::new(),
            scratch: scratch.path().into(),
            cache: None,
            private_home: true,
            layers: Vec::new(),
            cargo_home: None,
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            limits: Limits::default(),
        };
        let (launcher, _) = Launcher::begin(&program)
            .and_then(|launcher| launcher.build(&plan))
            .map_err(|error| error.to_string())?;
        Ok(Self {
            launcher,
            setting,
            work,
            _tree: tree,
            _scratch: scratch,
        })
    }

    fn sh(&self, line: &str) -> CommandResult {
        self.sh_with(line, &Intercepted::default())
    }

    fn sh_with(&self, line: &str, how: &Intercepted<'_>) -> CommandResult {
        let mut proxy = None;
        let (outcome, _) = self.run(line, how, &mut |interception| {
            proxy = Some(Proxy::start(interception));
        });
        let outcome = outcome.unwrap();
        let (flows, names, counts) = proxy.unwrap().end();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&outcome.stdout.bytes), text(&outcome.stderr.bytes));
        assert!(
            !outcome.timed_out,
            "{:?}: {line}: {out} {err}",
            self.setting
        );
        CommandResult {
            out,
            err,
            exit: outcome.exit,
            flows,
            names,
            counts,
        }
    }

    fn run(
        &self,
        line: &str,
        how: &Intercepted<'_>,
        on_start: &mut dyn FnMut(Interception),
    ) -> (Result<Outcome, ExecError>, Slots) {
        let running = Slots::new(4);
        let command = Command {
            changes: &Changes::none(),
            line,
            dir: place(&self.work),
            terminal: None,
            path: None,
        };
        let cancel = CancelToken::new();
        let outcome = foreground(&self.launcher, &running, &cancel).run_intercepted(
            &command,
            how,
            &mut |given| {
                on_start(given);
                None
            },
            &mut |_, _| {},
        );
        (outcome, running)
    }

    /// Runs a command that must exit with 0.
    #[track_caller]
    fn works(&self, line: &str) -> CommandResult {
        let ran = self.sh(line);
        assert_eq!(
            ran.exit,
            Exit::Code(0),
            "{:?}: {line}: {ran:?}",
            self.setting
        );
        ran
    }

    /// Compiles a static C program in the working directory.
    fn compile(&self, name: &str, source: &str) -> bool {
        let (from, to) = (self.work.join(format!("{name}.c")), self.work.join(name));
        fs::write(&from, source).unwrap();
        let mut gcc = Program::new("gcc");
        gcc.args(["-O1", "-static", "-pthread", "-o"])
            .arg(&to)
            .arg(&from);
        gcc.status().is_ok_and(|status| status.success())
    }
}

/// Stub of the proxy that records and replays.
struct Proxy {
    interception: Arc<Interception>,
    stop: Arc<AtomicBool>,
    seen: Arc<Mutex<(Vec<SocketAddr>, Vec<String>)>>,
    thread: JoinHandle<()>,
}

impl Proxy {
    fn start(mut interception: Interception) -> Self {
        let sockets = interception.sockets().unwrap();
        let interception = Arc::new(interception);
        permit_all(&interception);
        let (stop, seen) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(Mutex::new((Vec::new(), Vec::new()))),
        );
        let tcp: Vec<TcpListener> = [Some(sockets.tcp_4), sockets.tcp_6]
            .into_iter()
            .flatten()
            .map(TcpListener::from)
            .collect();
        let udp: Vec<UdpSocket> = [Some(sockets.udp_4), sockets.udp_6]
            .into_iter()
            .flatten()
            .map(UdpSocket::from)
            .collect();
        let (inside, halt, log) = (
            Arc::clone(&interception),
            Arc::clone(&stop),
            Arc::clone(&seen),
        );
        // Connections decided later arrive here.
        let (give, arrivals) = mpsc::channel();
        interception.on_arrival(move |socket| drop(give.send(TcpStream::from(socket))));
        let thread = thread::spawn(move || {
            while !halt.load(Ordering::SeqCst) {
                let fds = tcp
                    .iter()
                    .map(AsFd::as_fd)
                    .chain(udp.iter().map(AsFd::as_fd));
                let mut fds: Vec<PollFd<'_>> = fds
                    .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
                    .collect();
                let _ = poll(
                    &mut fds,
                    Some(&Timespec {
                        tv_sec: 0,
                        tv_nsec: 50_000_000,
                    }),
                );
                let accepted = tcp
                    .iter()
                    .flat_map(|listener| iter::from_fn(|| listener.accept().ok()));
                let arrived = arrivals
                    .try_iter()
                    .filter_map(|stream| Some((stream.peer_addr().ok()?, stream)));
                for (stream, peer) in accepted.chain(arrived.map(|(peer, stream)| (stream, peer))) {
                    let Some(to) = inside.destination(stream.local_addr().unwrap(), peer) else {
                        continue;
                    };
                    let to = to.to;
                    log.lock().unwrap().0.push(to);
                    thread::spawn(move || serve(stream, &format!("to={to}")));
                }
                for socket in &udp {
                    let mut question = [0; 1500];
                    while let Ok((length, from)) = socket.recv_from(&mut question) {
                        let (name, answer) = answer_name(&question[..length]);
                        log.lock().unwrap().1.push(name);
                        socket.send_to(&answer, from).unwrap();
                    }
                }
            }
        });
        Self {
            interception,
            stop,
            seen,
            thread,
        }
    }

    fn end(self) -> (Vec<SocketAddr>, Vec<String>, Counts) {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.join().unwrap();
        let counts = self.interception.counts();
        let (flows, names) = std::mem::take(&mut *self.seen.lock().unwrap());
        (flows, names, counts)
    }
}

/// Reads the messages of the supervisor in a thread.
fn handle_messages(interception: &Arc<Interception>) {
    let (channel, heard) = (
        interception.as_fd().try_clone_to_owned().unwrap(),
        Arc::downgrade(interception),
    );
    thread::spawn(move || {
        let hears = || {
            heard
                .upgrade()
                .is_some_and(|interception| interception.hear())
        };
        while poll(&mut [PollFd::new(&channel, PollFlags::IN)], None).is_ok() && hears() {}
    });
}

/// Permits every connection.
fn permit_all(interception: &Arc<Interception>) {
    handle_messages(interception);
    let inside = Arc::downgrade(interception);
    interception.on_flow(move |flow, _| {
        if let Some(interception) = inside.upgrade() {
            // Ignore connections of an exited program.
            let _ = interception.decide(flow.mark, None);
        }
    });
}

/// Answers one HTTP request.
fn serve(mut stream: TcpStream, text: &str) {
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let (mut request, mut piece) = (Vec::<u8>::new(), [0; 4096]);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut piece) {
            Ok(length @ 1..) => request.extend(&piece[..length]),
            _ => return,
        }
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    // Written at once, for clients that read only once.
    let _ = stream.write_all((head + text).as_bytes());
}

/// Returns the queried name, and an answer (RFC 1035, 4.1).
fn answer_name(question: &[u8]) -> (String, Vec<u8>) {
    let (mut labels, mut at) = (Vec::new(), 12);
    while question[at] != 0 {
        let length = usize::from(question[at]);
        labels.push(String::from_utf8_lossy(&question[at + 1..=at + length]).into_owned());
        at += length + 1;
    }
    let end = at + 5;
    let has_address = question[at + 1..at + 3] == [0, 1];
    let mut answer = question[..end].to_vec();
    answer[2..12].copy_from_slice(&[0x81, 0x80, 0, 1, 0, u8::from(has_address), 0, 0, 0, 0]);
    if has_address {
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4]);
        answer.extend(NAMED);
    }
    (labels.join("."), answer)
}

fn variable(name: &str, value: &str) -> (OsString, OsString) {
    (name.into(), value.into())
}
