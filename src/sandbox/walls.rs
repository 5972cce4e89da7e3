//! Landlock rules and seccomp filter of each tier, applied to every program.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use replay_sys as sys;
use rustix::fs::{CWD, Mode, OFlags, readlinkat};

use super::bpf::Program;
use super::fault::{Fault, StepContext};
use super::intercept::can_fetch;
use super::landlock::{self, Options, Right, Ruleset, SCOPES_ABI, abi};
use super::plan::{Extent, Network, Plan};
use super::raw_string::RawString;
use super::seccomp::{self, FilterSettings, Sockets};
use super::{common_git, etc, mount, view};

/// Restrictions of a program besides the view.
#[derive(Debug)]
pub(crate) struct Walls {
    /// `None` in the view if the kernel's Landlock is missing or too old.
    ruleset: Option<Ruleset>,
    /// Ruleset for a supervisor that is restricted too.
    outer: Option<Ruleset>,
    /// Rules for a supervisor that links and renames for its command in the view: those of the
    /// command, and the journal's store.
    rules_of_supervisor: Vec<Rule>,
    /// `true` if the supervisor opens files for the command.
    opens: bool,
    filter: Program,
    /// Filter used instead if network calls are intercepted.
    intercepting: Program,
    options: Options,
    /// `true` if programs may make unix sockets; their supervisor connects them.
    unix: bool,
    /// `true` if programs may not set the registers of those that they trace.
    keeps_registers: bool,
    readable: Vec<PathBuf>,
}

impl Walls {
    /// Builds the walls for programs in the view. The launcher already lives there, so paths are as
    /// commands see them.
    ///
    /// Landlock is a second barrier there, behind the mounts, and is used as far as the kernel
    /// supports it. If Landlock would be the only barrier, the build fails without it.
    ///
    /// A dry run gets no descriptors from other commands through sockets: they would bypass its
    /// overlays.
    pub(crate) fn in_view(
        plan: &Plan,
        store: Option<BorrowedFd<'_>>,
        is_dry_run: bool,
        keeps_registers: bool,
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
        // Each command has its own /dev/pts; the rest of /dev is granted anyway.
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
        // Other commands on the same network could pass descriptors to it.
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
            let cause = "commands have no unix sockets here: pidfd_getfd(2) is refused (docker: \
                --cap-add SYS_PTRACE), or with --network host Landlock is older than ABI 6";
            return Err(Fault::because("--allow-socket or --ssh-sign", cause));
        }
        let opened = plan.hide.is_some();
        let settings = FilterSettings {
            sockets: Sockets::Inet,
            unix,
            supervised: false,
            intercepted: false,
            journaled,
            opened,
            devices: !plan.devices.nodes.is_empty(),
            names_threads: plan.devices.names_threads,
            keeps_registers,
        };
        // On a private network no socket leads elsewhere, whoever creates it.
        let sockets = if host || !can_fetch() {
            Sockets::Asked
        } else {
            Sockets::Inet
        };
        let intercepting = seccomp::filter(FilterSettings {
            intercepted: true,
            sockets,
            ..settings
        });
        let (ruleset, filter) = (entered, seccomp::filter(settings));
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
            keeps_registers,
            readable,
        })
    }

    /// Builds the walls for programs on the system's own root.
    pub(crate) fn on_system(plan: &Plan, keeps_registers: bool) -> Result<Self, Fault> {
        let (abi, journaled) = (version()?, plan.journal.is_some());
        let mut rules = Vec::new();
        let mut find = |path: &Path, right| rules.extend(open(path, right).ok());
        for path in &plan.system {
            find(path.as_path(), Right::ReadExecute);
        }
        for path in plan.devices.sysfs.iter().map(RawString::as_path) {
            if rustix::process::geteuid().is_root() {
                // Other files there are registers of devices.
                for public in landlock::public_parts(path) {
                    find(&public, Right::Read);
                }
            } else {
                find(path, Right::Read);
            }
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
        for device in &plan.devices.nodes {
            let rule = open(device.path.as_path(), Right::Terminal)?;
            mount::same(&rule.0, device)?;
            rules.push(rule);
        }
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
        // The allowed directories come first, since most checks are about them.
        let readable = rules
            .iter()
            .rev()
            .map(|(object, _)| true_path(object))
            .collect::<Result<_, _>>()?;
        let ruleset = Some(ruleset(&rules, options)?);
        let settings = FilterSettings {
            sockets,
            unix: false,
            supervised: true,
            intercepted: false,
            journaled,
            opened: false,
            devices: !plan.devices.nodes.is_empty(),
            names_threads: plan.devices.names_threads,
            keeps_registers,
        };
        let asked = if host { Sockets::Asked } else { sockets };
        let intercepting = seccomp::filter(FilterSettings {
            intercepted: true,
            sockets: asked,
            ..settings
        });
        let (filter, rules_of_supervisor) = (seccomp::filter(settings), Vec::new());
        Ok(Self {
            ruleset,
            outer,
            rules_of_supervisor,
            opens: false,
            filter,
            intercepting,
            options,
            unix: false,
            keeps_registers,
            readable,
        })
    }

    pub(crate) fn keeps_registers(&self) -> bool {
        self.keeps_registers
    }

    /// Canonical paths at or below which programs may read on the system's own root; for the
    /// broker.
    pub(crate) fn readable(&self) -> &[PathBuf] {
        &self.readable
    }

    /// Landlock version of the ruleset; `None` without Landlock.
    pub(crate) fn abi(&self) -> Option<u32> {
        self.ruleset.as_ref().map(|_| self.options.abi)
    }

    /// Returns true if programs may make unix sockets that have names.
    pub(crate) fn allow_unix_sockets(&self) -> bool {
        self.unix
    }

    /// Restricts a supervisor that acts for its command to the command's rules and its own needs.
    /// Those are the journal's store, and the files in /proc that a program sets before it
    /// executes. The command's domain is nested in it, so that the supervisor may inspect the
    /// command. Returns true if the supervisor makes the command's opens.
    pub(crate) fn hold_supervisor(&self) -> Result<bool, Fault> {
        if self.rules_of_supervisor.is_empty() {
            // A supervisor that connects for its command reaches no abstract socket that the
            // command does not.
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

    /// Restricts a supervisor to a domain that contains its command's domain, so that their signals
    /// stay inside. An interceptor connects for the command.
    pub(crate) fn bound_supervisor(&self, intercepts: bool) -> Result<(), Fault> {
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

    /// Puts this process behind the walls for good. Returns the listener of the calls that its
    /// supervisor decides.
    pub(crate) fn enter(&self) -> Result<OwnedFd, Fault> {
        self.enter_domain()?;
        install(&self.filter)
    }

    /// Like [`Self::enter`], for a command whose network calls are intercepted.
    pub(crate) fn enter_intercepted(&self) -> Result<OwnedFd, Fault> {
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

/// Only intercepts the network calls of this process.
pub(crate) fn intercept_only() -> Result<OwnedFd, Fault> {
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

/// Returns true if this process is already behind walls or intercepted by this program. The kernel
/// permits only one supervisor, so no walls can be built inside.
pub fn is_inside() -> bool {
    sys::seccomp::refuses_listeners()
}

/// Forbids sending the listener from here on.
pub(crate) fn seal() -> Result<(), Fault> {
    sys::seccomp::install(seccomp::sealing().instructions()).step("install the filter")
}

fn install(filter: &Program) -> Result<OwnedFd, Fault> {
    sys::seccomp::install_with_listener(filter.instructions()).map_err(|cause| {
        match cause.raw_os_error() {
            Some(libc::EBUSY) => Fault::supervised(),
            _ => Fault {
                step: "install the filter".to_owned(),
                cause,
            },
        }
    })
}

/// Builds a ruleset without file restrictions: the nested domain restricts files itself, and
/// entering a domain costs time per rule.
fn outer(options: Options) -> Result<Ruleset, Fault> {
    landlock::scope_only(mount::open_path(Path::new("/"))?.as_fd(), options)
        .map_err(|error| Fault::because("Landlock", &error.to_string()))
}

type Rule = (OwnedFd, Right);

fn open(path: impl AsRef<Path>, right: Right) -> Result<Rule, Fault> {
    Ok((mount::open_path(path.as_ref())?, right))
}

/// Returns the path of the object behind a descriptor.
fn true_path(object: &OwnedFd) -> Result<PathBuf, Fault> {
    let link = format!("/proc/self/fd/{}", object.as_raw_fd());
    let path = readlinkat(CWD, &link, Vec::new()).step_with(|| format!("read `{link}`"))?;
    Ok(PathBuf::from(OsString::from_vec(path.into_bytes())))
}

/// Existing devices, each with the access that programs need.
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

/// Returns true if mounts alone cannot enforce a part of the plan.
fn needs_landlock(plan: &Plan) -> bool {
    plan.hide.is_some()
        || plan
            .roots
            .iter()
            .any(|root| root.writable && root.extent == Extent::CommonOfGit)
}

fn version() -> Result<u32, Fault> {
    abi().ok_or_else(|| Fault::because("Landlock", "this kernel lacks it, or it is switched off"))
}

fn ruleset(rules: &[Rule], options: Options) -> Result<Ruleset, Fault> {
    let rules: Vec<(BorrowedFd<'_>, Right)> = rules
        .iter()
        .map(|(fd, right)| (fd.as_fd(), *right))
        .collect();
    landlock::ruleset(&rules, options)
        .map_err(|error| Fault::because("Landlock", &error.to_string()))
}

/// Directories that commands may write to on the system's own root, for the broker.
pub(crate) fn writable_on_system(plan: &Plan) -> Vec<PathBuf> {
    let roots = plan
        .roots
        .iter()
        .filter(|root| root.writable)
        .map(|root| root.place.path.as_path().to_path_buf());
    roots
        .chain(["home", "tmp"].map(|name| plan.scratch.as_path().join(name)))
        .collect()
}

/// Opens the mapped files of this program, which executes itself again to parse untrusted input.
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
    // The dynamic linker finds the libraries by this list, if it exists.
    let mapped = mapped
        .into_iter()
        .chain(["/etc/ld.so.cache"])
        .filter_map(|path| mount::open_path(path.as_ref()).ok());
    // The program has another name, or none, if it was replaced.
    let program = rustix::fs::open(
        "/proc/self/exe",
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
    );
    program.into_iter().chain(mapped).collect()
}

/// Restricts the server itself to the directories that its policy allows: a second barrier behind
/// their handles, against faults in path resolution.
///
/// Restricts the calling thread and its future children to `places`; the flag is true for a
/// writable one. Returns the Landlock version, or the reason for the missing domain.
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
    // The server may have to kill the launcher, which is outside the domain.
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
