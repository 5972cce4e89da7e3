//! The Landlock rules and the filter of each tier: what is put on every program, whatever it is.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, readlinkat};

use super::bpf::Program;
use super::fault::{Fault, Step};
use super::intercept::can_fetch;
use super::landlock::{self, Options, Right, Ruleset, SCOPES_ABI, abi};
use super::plan::{Extent, Network, Plan};
use super::raw_string::RawString;
use super::seccomp::{self, Rules, Sockets};
use super::sys;
use super::{common_git, etc, mount, view};

/// What a program is held by, beside the view.
#[derive(Debug)]
pub struct Walls {
    /// `None` in the view of a kernel without a Landlock that is of use there.
    ruleset: Option<Ruleset>,
    /// For the supervisor, where it is bounded too.
    outer: Option<Ruleset>,
    /// For one that links and renames in its command's place, in the view: the command's own, and
    /// the store of the journal.
    rules_of_supervisor: Vec<Rule>,
    /// `true` if the supervisor opens in the command's place.
    opens: bool,
    filter: Program,
    /// Instead, where calls over the network are intercepted.
    intercepting: Program,
    options: Options,
    /// Whether programs make unix sockets, whose connections their supervisor makes.
    unix: bool,
    readable: Vec<PathBuf>,
}

impl Walls {
    /// For programs in the view. The launcher already lives there, so paths are as commands see
    /// them.
    ///
    /// Landlock is a second lock there, behind the mounts, so it is used as far as the kernel has
    /// it. Where it would be the only one, nothing is built without it.
    ///
    /// Descriptors that a dry run got from other commands, through sockets, would lead past its
    /// overlays.
    pub fn in_view(
        plan: &Plan,
        store: Option<BorrowedFd<'_>>,
        is_dry_run: bool,
    ) -> Result<Self, Fault> {
        let (abi, journaled) = (landlock::abi_in_view(), plan.journal.is_some());
        if abi.is_none() && needs_landlock(plan) {
            let reason = "it alone holds --hide and parts of git repositories for commands, and this kernel does not have \
                          version 2 of it, which came with Linux 5.19, or it is switched off";
            return Err(Fault::because("Landlock", reason));
        }
        let mut rules = vec![open("/", Right::ReadExecute)?];
        let own = [view::TMP, view::home(plan), view::SHARED_MEMORY].map(Path::new);
        for place in own
            .into_iter()
            .chain(plan.cargo_home.as_ref().map(RawString::as_path))
        {
            rules.push(open(place, Right::Write)?);
        }
        rules.extend(devices());
        // Each command has a /dev/pts of its own; what lies beside it is given anyway.
        rules.push(open("/dev", Right::Terminal)?);
        for root in plan.roots.iter().filter(|root| root.writable) {
            if root.extent != Extent::CommonOfGit {
                rules.push(open(root.place.path.as_path(), Right::Write)?);
                continue;
            }
            let common = mount::open_path(root.place.path.as_path())?;
            common_git::make_logs(&common);
            for name in common_git::SHARED {
                let shared = common_git::shared(&common, name)
                    .step_with(|| format!("open `{name}` of a git repository"))?;
                rules.extend(shared.map(|shared| (shared, Right::Write)));
            }
            rules.push((common, Right::WriteFiles));
        }
        let scopes = abi >= Some(SCOPES_ABI);
        let host = plan.network == Network::Host;
        // Other commands on the same network could hand it descriptors.
        let options = Options {
            scope_signals: scopes,
            scope_abstract_sockets: scopes,
            reading: false,
            refuse_tcp: false,
            abi: abi.unwrap_or(0),
        };
        let entered = abi.map(|_| ruleset(&rules, options)).transpose()?;
        let store = store
            .map(|store| store.try_clone_to_owned().step("dup"))
            .transpose()?;
        rules.extend(store.map(|store| (store, Right::Write)));
        let rules_of_supervisor = if entered.is_some() { rules } else { Vec::new() };
        let unix = (scopes || !host) && !is_dry_run && can_fetch();
        if !plan.sockets.is_empty() && !unix && !is_dry_run {
            let cause = "commands have no unix sockets here, since pidfd_getfd(2) is refused (docker: --cap-add SYS_PTRACE) or, with \
                         --network host, since Landlock is older than ABI 6";
            return Err(Fault::because("--allow-socket or --ssh-sign", cause));
        }
        let opened = plan.hide.is_some();
        let rules = Rules {
            sockets: Sockets::Inet,
            unix,
            supervised: false,
            intercepted: false,
            journaled,
            opened,
        };
        // On a network of its own none leads elsewhere, whoever makes it.
        let sockets = if host || !can_fetch() {
            Sockets::Asked
        } else {
            Sockets::Inet
        };
        let intercepting = seccomp::filter(Rules {
            intercepted: true,
            sockets,
            ..rules
        });
        let (ruleset, filter) = (entered, seccomp::filter(rules));
        let scope = Options {
            scope_signals: false,
            ..options
        };
        let outer = (unix && scope.scope_abstract_sockets)
            .then(|| self::outer(scope))
            .transpose()?;
        let readable = Vec::new();
        Ok(Self {
            ruleset,
            outer,
            rules_of_supervisor,
            opens: opened,
            filter,
            intercepting,
            options,
            unix,
            readable,
        })
    }

    /// For programs on the system's own root.
    pub fn on_system(plan: &Plan) -> Result<Self, Fault> {
        let (abi, journaled) = (version()?, plan.journal.is_some());
        let mut rules = Vec::new();
        let mut find = |path: &Path, right| rules.extend(open(path, right).ok());
        for path in &plan.system {
            find(path.as_path(), Right::ReadExecute);
        }
        for path in &plan.public {
            find(path.as_path(), Right::Read);
        }
        for path in [Path::new("/proc"), Path::new(view::SHOWN_OF_SYS)] {
            find(path, Right::Read);
        }
        if let Some(path) = etc::resolver_path().filter(|_| plan.network == Network::Host) {
            find(&path, Right::Read);
        }
        rules.extend(devices());
        for name in ["home", "tmp"] {
            rules.push(open(plan.scratch.as_path().join(name), Right::Write)?);
        }
        for root in &plan.roots {
            let right = if root.writable {
                Right::Write
            } else {
                Right::ReadExecute
            };
            let rule = open(root.place.path.as_path(), right)?;
            mount::same(&rule.0, &root.place)?;
            rules.push(rule);
        }
        let host = plan.network == Network::Host;
        let options = Options {
            scope_signals: true,
            scope_abstract_sockets: true,
            reading: true,
            refuse_tcp: !host,
            abi,
        };
        let sockets = if host { Sockets::Inet } else { Sockets::None };
        let outer = Some(outer(options)?);
        // The allowed directories, which are asked about most, come first.
        let readable = rules
            .iter()
            .rev()
            .map(|(object, _)| true_path(object))
            .collect::<Result<_, _>>()?;
        let ruleset = Some(ruleset(&rules, options)?);
        let rules = Rules {
            sockets,
            unix: false,
            supervised: true,
            intercepted: false,
            journaled,
            opened: false,
        };
        let asked = if host { Sockets::Asked } else { sockets };
        let intercepting = seccomp::filter(Rules {
            intercepted: true,
            sockets: asked,
            ..rules
        });
        let (filter, rules_of_supervisor) = (seccomp::filter(rules), Vec::new());
        Ok(Self {
            ruleset,
            outer,
            rules_of_supervisor,
            opens: false,
            filter,
            intercepting,
            options,
            unix: false,
            readable,
        })
    }

    /// The true paths of what programs may read on the system's own root, itself or below it; for
    /// the broker.
    pub fn readable(&self) -> &[PathBuf] {
        &self.readable
    }

    /// Version of Landlock that they are made for; `None` if they are made without it.
    pub fn abi(&self) -> Option<u32> {
        self.ruleset.as_ref().map(|_| self.options.abi)
    }

    /// Returns true if programs may make unix sockets that have names.
    pub fn allow_unix_sockets(&self) -> bool {
        self.unix
    }

    /// Puts a supervisor that acts in its command's place into a domain of the command's rules, and
    /// of what it needs itself: the store of the journal, and what a program sets of its own in
    /// /proc before it executes. The command's domain will lie in it, so that it may look at the
    /// command. Whether its command's opens are made by it.
    pub fn hold_supervisor(&self) -> Result<bool, Fault> {
        if self.rules_of_supervisor.is_empty() {
            // One that connects in its command's place reaches no abstract socket that the command
            // does not.
            let outer = self.outer.as_ref().filter(|_| self.unix);
            outer.map_or(Ok(()), |outer| {
                outer.restrict().step("enter the Landlock domain")
            })?;
            return Ok(self.opens);
        }
        let own = (mount::open_path(Path::new("/proc"))?, Right::WriteFiles);
        let rules = self
            .rules_of_supervisor
            .iter()
            .chain([&own])
            .map(|(object, right)| (object.as_fd(), *right));
        let ruleset = landlock::ruleset(&rules.collect::<Vec<_>>(), self.options);
        let ruleset = ruleset.map_err(|error| Fault::because("Landlock", &error.to_string()))?;
        ruleset
            .restrict()
            .step("enter the Landlock domain")
            .map(|()| self.opens)
    }

    /// Puts a supervisor into a domain that its command's will lie in: signals of neither leave it.
    /// One that intercepts calls connects in the command's place.
    pub fn bound_supervisor(&self, intercepts: bool) -> Result<(), Fault> {
        let Some(usual) = &self.outer else {
            return Ok(());
        };
        let step = "enter the Landlock domain";
        if intercepts {
            return outer(Options {
                refuse_tcp: false,
                ..self.options
            })?
            .restrict()
            .step(step);
        }
        usual.restrict().step(step)
    }

    /// Puts this process behind the walls for good. The listener of the calls that its supervisor
    /// decides.
    pub fn enter(&self) -> Result<OwnedFd, Fault> {
        self.enter_domain()?;
        install(&self.filter)
    }

    /// The same for a command whose calls over the network are intercepted.
    pub fn enter_intercepted(&self) -> Result<OwnedFd, Fault> {
        let everywhere = mount::open_path(Path::new("/"))?;
        self.enter_domain()?;
        refuse_connections(Some(everywhere.as_fd()), self.options.abi)?;
        install(&self.intercepting)
    }

    fn enter_domain(&self) -> Result<(), Fault> {
        self.ruleset.as_ref().map_or(Ok(()), |ruleset| {
            ruleset.restrict().step("enter the Landlock domain")
        })
    }
}

/// Intercepts the calls of this process, and no more.
pub fn intercept_only() -> Result<OwnedFd, Fault> {
    refuse_connections(None, abi().unwrap_or(0))?;
    install(&seccomp::interception())
}

fn refuse_connections(everywhere: Option<BorrowedFd<'_>>, abi: u32) -> Result<(), Fault> {
    let ruleset = landlock::no_connections(everywhere, abi);
    let ruleset = ruleset.map_err(|error| Fault::because("Landlock", &error.to_string()))?;
    ruleset.map_or(Ok(()), |ruleset| {
        ruleset.restrict().step("enter the Landlock domain")
    })
}

/// Whether this process is behind walls of this program already, or its calls are intercepted by
/// it: the kernel takes only one supervisor, so nothing can be built in there.
pub fn is_inside() -> bool {
    sys::seccomp::refuses_listeners()
}

/// No listener is sent from here on.
pub fn seal() -> Result<(), Fault> {
    sys::seccomp::install(&seccomp::sealing()).step("install the filter")
}

fn install(filter: &Program) -> Result<OwnedFd, Fault> {
    sys::seccomp::install_with_listener(filter).map_err(|cause| match cause.raw_os_error() {
        Some(libc::EBUSY) => Fault::supervised(),
        _ => Fault {
            step: "install the filter".to_owned(),
            cause,
        },
    })
}

/// Of files it holds nobody to anything: what lies in it could be allowed no more than it allows
/// itself, and entering a domain costs time for each rule.
fn outer(options: Options) -> Result<Ruleset, Fault> {
    landlock::scope_only(mount::open_path(Path::new("/"))?.as_fd(), options)
        .map_err(|error| Fault::because("Landlock", &error.to_string()))
}

type Rule = (OwnedFd, Right);

fn open(path: impl AsRef<Path>, right: Right) -> Result<Rule, Fault> {
    Ok((mount::open_path(path.as_ref())?, right))
}

/// Where what a descriptor stands for is.
fn true_path(object: &OwnedFd) -> Result<PathBuf, Fault> {
    let link = format!("/proc/self/fd/{}", object.as_raw_fd());
    let path = readlinkat(CWD, &link, Vec::new()).step_with(|| format!("read `{link}`"))?;
    Ok(PathBuf::from(OsString::from_vec(path.into_bytes())))
}

/// Devices that exist, each with what programs need of it.
fn devices() -> Vec<Rule> {
    let right = |path: &str| {
        if path == "/dev/tty" {
            Right::Terminal
        } else {
            Right::Device
        }
    };
    view::DEVICES
        .iter()
        .filter_map(|path| open(path, right(path)).ok())
        .collect()
}

/// Whether mounts alone cannot hold a part of the plan.
fn needs_landlock(plan: &Plan) -> bool {
    plan.hide.is_some()
        || plan
            .roots
            .iter()
            .any(|root| root.writable && root.extent == Extent::CommonOfGit)
}

fn version() -> Result<u32, Fault> {
    abi().ok_or_else(|| {
        Fault::because(
            "Landlock",
            "this kernel does not have it, or it is switched off",
        )
    })
}

fn ruleset(rules: &[Rule], options: Options) -> Result<Ruleset, Fault> {
    let rules: Vec<(BorrowedFd<'_>, Right)> = rules
        .iter()
        .map(|(fd, right)| (fd.as_fd(), *right))
        .collect();
    landlock::ruleset(&rules, options)
        .map_err(|error| Fault::because("Landlock", &error.to_string()))
}

/// The directories that commands may write to on the system's own root, for the broker.
pub fn writable_on_system(plan: &Plan) -> Vec<PathBuf> {
    let roots = plan
        .roots
        .iter()
        .filter(|root| root.writable)
        .map(|root| root.place.path.as_path().to_path_buf());
    roots
        .chain(["home", "tmp"].map(|name| plan.scratch.as_path().join(name)))
        .collect()
}

/// What this program is made of, as it is mapped now: it starts itself again to read what others
/// made.
#[expect(
    clippy::disallowed_methods,
    reason = "the kernel's own list of this process's files"
)]
fn own_files() -> Vec<OwnedFd> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mapped: BTreeSet<_> = maps
        .lines()
        .filter_map(|line| line.find('/').map(|at| &line[at..]))
        .collect();
    // Its libraries are found by this list, if there is one.
    let mapped = mapped
        .into_iter()
        .chain(["/etc/ld.so.cache"])
        .filter_map(|path| mount::open_path(path.as_ref()).ok());
    // The program itself has another name, or none, when it was replaced.
    let program = rustix::fs::open(
        "/proc/self/exe",
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
    );
    program.into_iter().chain(mapped).collect()
}

/// The domain of the server itself: what its tools may touch by policy, it may touch by the
/// kernel's leave alone. A second lock, behind the handles of the allowed directories: for a fault
/// in how paths are resolved.
///
/// Holds the calling thread and all that it starts from now on to these places, which may be
/// written to where it says so. The version of Landlock, or why there is no domain.
pub fn hold_server(places: &[(BorrowedFd<'_>, bool)]) -> Result<u32, Fault> {
    let abi = version()?;
    let right = |writable: bool| if writable { Right::Write } else { Right::Read };
    let own = own_files();
    let own = own.iter().map(|file| (file.as_fd(), Right::ReadExecute));
    let rules: Vec<_> = places
        .iter()
        .map(|(place, writable)| (*place, right(*writable)))
        .chain(own)
        .collect();
    // The launcher, which this process may have to end, is outside.
    let options = Options {
        scope_signals: false,
        scope_abstract_sockets: abi >= SCOPES_ABI,
        reading: true,
        refuse_tcp: true,
        abi,
    };
    let ruleset = landlock::ruleset(&rules, options)
        .map_err(|error| Fault::because("Landlock", &error.to_string()))?;
    ruleset.restrict().step("enter the Landlock domain")?;
    Ok(abi)
}
