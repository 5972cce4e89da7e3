//! Minimum cost of the sandbox: a command without work, a command with a leftover process, and file
//! opens in the Landlock domain of the server.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser as _;
use replay::Cli;
use replay::Config;
use replay_sandbox::exec::{Exit, Launcher, News, place_of};
use replay_sandbox::{Event, Request, Run, hold_server};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use serde_json::{Value, json};

use crate::args::Args;
use crate::client::Client;
use crate::peers::{LANDLOCK, NAMESPACES, OFF, Server, TIERS, on_path};
use crate::samples::{Contender, Goal, Row, Spec, Trial, Unit, rounds};
use crate::trees;

/// Sequential commands per round.
const COMMANDS: usize = 40;
/// Opens per round.
const OPENS: usize = 20_000;
const PLAIN: &str = "plain";
/// The last argument is only for the second variant.
const BWRAP: [&str; 9] = [
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--unshare-pid",
    "--unshare-net",
];

pub fn rows(args: &Args) -> Result<Vec<Row>> {
    let dir = trees::fresh("walls")?;
    let mut rows = spawn(args, &dir)?;
    rows.extend(leaving(args, &dir)?);
    rows.extend(opening(args, &dir)?);
    Ok(rows)
}

fn spec(
    title: String,
    counted: &'static str,
    base: &'static str,
    goals: Vec<Goal>,
    note: &'static str,
) -> Spec {
    Spec {
        name: "walls",
        title,
        unit: Unit::Seconds,
        counted,
        goals,
        base: Some(base),
        note,
    }
}

/// Measures repeated runs of `sh -c true`.
fn spawn(args: &Args, dir: &Path) -> Result<Vec<Row>> {
    let goals = vec![
        Goal::Multiple {
            who: LANDLOCK,
            must: 4.0,
            excellent: 2.5,
        },
        Goal::Multiple {
            who: NAMESPACES,
            must: 5.0,
            excellent: 3.0,
        },
    ];
    let note = "off, landlock and namespaces are whole calls of execute_command over stdio; \"launcher\" is the library's \
        launcher without a server. plain and bwrap are started by posix_spawn(3) and waited for.";
    let row = |what: &str| {
        spec(
            format!("`sh -c true`, one at a time, {what} of {COMMANDS}"),
            "commands",
            PLAIN,
            goals.clone(),
            note,
        )
    };
    let mut contenders = vec![program(PLAIN, "sh", &[], "sh -c true")];
    contenders.extend(TIERS.map(|tier| called(tier, dir)));
    contenders.push(direct("launcher, landlock", LANDLOCK, dir));
    contenders.push(direct("launcher, namespaces", NAMESPACES, dir));
    let how =
        |net| format!("bwrap --ro-bind / / --dev /dev --proc /proc --unshare-pid {net}sh -c true");
    contenders.push(program("bwrap", "bwrap", &BWRAP[..8], &how("")));
    contenders.push(program(
        "bwrap, no net",
        "bwrap",
        &BWRAP,
        &how("--unshare-net "),
    ));
    rounds(
        vec![row("p50"), row("p10"), row("best")],
        contenders,
        args.rounds,
    )
}

/// Times many runs of a command.
fn times(mut once: impl FnMut() -> Result<()>) -> Result<Trial> {
    let mut times = Vec::with_capacity(COMMANDS);
    for _ in 0..COMMANDS {
        let begin = Instant::now();
        once()?;
        times.push(begin.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let figures = [COMMANDS / 2, COMMANDS / 10, 0]
        .map(|at| Some(times[at]))
        .to_vec();
    Ok(Trial {
        figures,
        count: COMMANDS as u64,
        bytes: 0,
    })
}

fn program(
    name: &'static str,
    program: &str,
    args: &'static [&str],
    how: &str,
) -> Contender<'static> {
    let Some(path) = on_path(program) else {
        return Contender::missing(name, format!("{program} is not installed"));
    };
    let shell: &[&str] = if program == "sh" {
        &["-c", "true"]
    } else {
        &["sh", "-c", "true"]
    };
    Contender::new(name, how, move || {
        times(|| {
            let mut command = Command::new(&path);
            command
                .args(args)
                .args(shell)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let status = command.status()?;
            ensure!(status.success(), "{name}: {status}");
            Ok(())
        })
    })
}

/// Runs commands through a server that serves all rounds.
fn called(tier: &'static str, dir: &Path) -> Contender<'static> {
    let server = Server::walled(tier, dir);
    let mut session = None;
    Contender::new(
        tier,
        format!("{}, execute_command `true`", server.how),
        move || {
            let client = match &mut session {
                Some(client) => client,
                none => none.insert(Client::start(&server)?),
            };
            times(|| {
                let line = client.call("execute_command", &json!({"command": "true"}));
                let reply: Value = serde_json::from_slice(client.ask(&line)?)?;
                ensure!(
                    reply["result"]["structuredContent"]["exitCode"] == 0,
                    "{tier}: {reply}"
                );
                Ok(())
            })
        },
    )
}

/// Runs commands through the launcher alone; this program is also the launcher.
fn direct(name: &'static str, tier: &'static str, dir: &Path) -> Contender<'static> {
    let grant = format!("{}:rw", dir.display());
    let words = [
        "replay",
        "--mcp-server",
        "--allow",
        &grant,
        "--sandbox",
        tier,
    ]
    .map(str::to_owned);
    let mut kept = None;
    Contender::new(
        name,
        format!("exec::Launcher, tier {tier}, `sh -c true`"),
        move || {
            let server = match &mut kept {
                Some(server) => server,
                none => {
                    let config = Config::for_server(&Cli::try_parse_from(&words)?.server.options)?;
                    none.insert(replay::alone(&config)?)
                }
            };
            let services = server.services();
            let launcher = services.commands.launcher.as_ref().context("no launcher")?;
            let root = services.policy.project().context("no directory")?;
            let dir = place_of(root)?;
            let request = Request {
                title: String::new(),
                call: None,
                is_dry_run: false,
                run: Run::Script("true".into()),
                dir,
                environment: Vec::new(),
                stdin: false,
                terminal: None,
                stays: false,
                announce: false,
                intercept: None,
                guard: replay_sandbox::Guard::default(),
            };
            let null = File::options().write(true).open("/dev/null")?;
            times(|| run(launcher, &request, &null))
        },
    )
}

fn run(launcher: &Launcher, request: &Request, null: &File) -> Result<()> {
    let job = launcher.spawn(request, &[null.as_fd(), null.as_fd()])?;
    loop {
        poll(&mut [PollFd::new(&job, PollFlags::IN)], None)?;
        match job.next_event()? {
            News::Nothing => {}
            News::Said(
                Event::Ended {
                    exit: Exit::Code(0),
                    left: 0,
                    ..
                },
                _,
            ) => return Ok(()),
            other => bail!("{other:?}"),
        }
    }
}

/// Measures a command with a leftover process that is killed at its end.
fn leaving(args: &Args, dir: &Path) -> Result<Vec<Row>> {
    const LINE: &str = "sleep 60 & echo hi";
    let title = format!("`{LINE}` by execute_command, to the answer");
    let spec = spec(
        title,
        "bytes of output",
        OFF,
        Vec::new(),
        "What it leaves behind is ended before the answer.",
    );
    let contenders = TIERS.map(|tier| {
        let server = Server::walled(tier, dir);
        let mut session = None;
        Contender::new(
            tier,
            format!("{}, execute_command `{LINE}`", server.how),
            move || {
                let client = match &mut session {
                    Some(client) => client,
                    none => none.insert(Client::start(&server)?),
                };
                let line = client.call("execute_command", &json!({"command": LINE}));
                let begin = Instant::now();
                let reply = client.ask(&line)?;
                let time = begin.elapsed().as_secs_f64();
                let reply: Value = serde_json::from_slice(reply)?;
                let output = reply["result"]["structuredContent"]["stdout"]
                    .as_str()
                    .context("no output")?;
                ensure!(output == "hi\n", "{reply}");
                Ok(Trial::of(time, output.len() as u64, 0))
            },
        )
    });
    rounds(vec![spec], contenders.into(), args.rounds * 3)
}

/// Measures opens beneath a directory, in threads with and without the Landlock domain of the
/// server.
fn opening(args: &Args, dir: &Path) -> Result<Vec<Row>> {
    std::fs::create_dir_all(dir.join("one/two"))?;
    std::fs::write(dir.join("one/two/file"), "x")?;
    let root = File::open(dir)?;
    let spec = spec(
        "openat2 and close of `one/two/file` beneath a root, mean".to_owned(),
        "opens",
        PLAIN,
        Vec::new(),
        "\"in the domain\" is the same thread's work behind the Landlock rules that the server puts on itself.",
    );
    thread::scope(|scope| {
        let start = |held: bool| {
            let (ask, asked) = channel();
            let (answer, answers) = channel();
            let root = &root;
            scope.spawn(move || opener(root, held, &asked, &answer));
            move || -> Result<Trial> {
                ask.send(())?;
                Ok(Trial::of(answers.recv()??, OPENS as u64, 0))
            }
        };
        let contenders = vec![
            Contender::new(
                PLAIN,
                "openat2(RESOLVE_BENEATH | NO_MAGICLINKS | NO_SYMLINKS)",
                start(false),
            ),
            Contender::new(
                "in the domain",
                "the same behind the server's own Landlock rules",
                start(true),
            ),
        ];
        rounds(vec![spec], contenders, args.rounds * 3)
    })
}

fn opener(root: &File, held: bool, asked: &Receiver<()>, answer: &Sender<Result<f64>>) {
    let mut wall = held.then(|| hold_server(&[(root.as_fd(), true)]));
    while asked.recv().is_ok() {
        let round = match wall.take() {
            Some(Err(fault)) => Err(fault.into()),
            _ => open_many(root),
        };
        if answer.send(round).is_err() {
            return;
        }
    }
}

fn open_many(root: &File) -> Result<f64> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    let begin = Instant::now();
    for _ in 0..OPENS {
        drop(openat2(
            root,
            "one/two/file",
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
            resolve,
        )?);
    }
    Ok(begin.elapsed().as_secs_f64() / OPENS as f64)
}
