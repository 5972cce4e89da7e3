//! The root filesystem of commands, in place of the system's root. Only the mounts made here exist
//! for commands.
//!
//! It is built once, in the launcher's mount namespace, from copies of mounts (`open_tree(2)`).
//! Then the launcher enters it and drops the system's root. Each command gets a copy of it with its
//! own /proc.
#![expect(
    clippy::disallowed_methods,
    reason = "the view is put together from the system's own directories"
)]

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::unistd::Pid;
use replay_sys::{self as sys, MountAttributes};
use rustix::fs::{
    CWD, FileType, Mode, OFlags, fstat, mkdirat, open, openat, readlinkat, symlinkat,
};
use rustix::io::Errno;
use rustix::mount::{
    MountAttrFlags, MountPropagationFlags, MoveMountFlags, UnmountFlags, mount_change, move_mount,
    unmount,
};

use super::fault::{Fault, StepContext};
use super::mount::{
    clone_tree, cover, directory, file_system, no_devices, open_path, read_only, same, set,
};
use super::plan::{Network, Plan, Tier};
use super::raw_string::RawString;
use super::{cgroup_view, etc, hidden_paths, layers, namespaces};

/// Terminals that one command has at a time; the system has 3,072 for all that are no system of
/// their own.
const MAX_TERMINALS: u32 = 64;
/// Size of the root file system of commands, in bytes: directories, links and, for root, a copy of
/// public configuration.
const VIEW_ROOT_BYTES: u64 = 64 * 1024 * 1024;
/// Most that commands may keep in /dev/shm together, in bytes.
const SHARED_MEMORY_BYTES: u64 = 1024 * 1024 * 1024;

/// Candidates for HOME of commands.
const HOMES: [&str; 3] = ["/home/replay", "/replay/home", "/run/replay/home"];
pub(crate) const TMP: &str = "/tmp";
pub(crate) const SHARED_MEMORY: &str = "/dev/shm";

/// Device files that programs need. None of them leads to hardware.
pub const DEVICES: [&str; 6] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];
/// Standard symlinks below /dev.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("/proc/self/fd", "dev/fd"),
    ("/proc/self/fd/0", "dev/stdin"),
    ("/proc/self/fd/1", "dev/stdout"),
    ("/proc/self/fd/2", "dev/stderr"),
    ("pts/ptmx", "dev/ptmx"),
];
/// Empty directories that programs expect, and symlinks among them.
const SKELETON: [&str; 8] = ["proc", "sys", "run", "var", "home", "root", "dev", "mnt"];
const SKELETON_LINKS: [(&str, &str); 2] = [("/tmp", "var/tmp"), ("/run", "var/run")];
/// Processor topology, from which runtimes choose their number of threads.
pub(crate) const SHOWN_OF_SYS: &str = "/sys/devices/system/cpu";
/// resolv.conf of commands without a network. Its address is unassigned (RFC 5737), so queries fail
/// at once. The kernel counts each as a packet without a route.
const NO_RESOLVER: &str = "# commands have no network beyond their own loopback\nnameserver 192.0.2.1\noptions timeout:1 attempts:1\n";

/// A mount that is not attached yet.
struct PendingMount {
    place: PathBuf,
    tree: OwnedFd,
    is_dir: bool,
    /// Attributes to set after it is attached.
    attributes: Option<MountAttributes>,
}

/// Builds the view, enters it, and drops the system's root. The returned process still copies /etc
/// ([`etc::wait_for_copy`]).
///
/// `public` are the [`public_copies`], if any, and `cgroup` is the detached mount of the server's
/// cgroup.
pub(crate) fn enter(
    plan: &Plan,
    public: Vec<(PathBuf, OwnedFd)>,
    cgroup: Option<OwnedFd>,
) -> Result<Option<Pid>, Fault> {
    mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .step("make mounts private")?;
    let ways = ways(plan);
    let mut pieces = pieces(plan, public)?;
    pieces.extend(cgroup.map(|tree| PendingMount {
        place: cgroup_view::PLACE.into(),
        tree,
        is_dir: true,
        attributes: None,
    }));
    for way in &ways {
        let tree = file_system(
            "tmpfs",
            &[("mode", "0755"), ("size", &VIEW_ROOT_BYTES.to_string())],
            no_devices(),
        )?;
        pieces.push(PendingMount {
            place: way.clone(),
            tree,
            is_dir: true,
            attributes: None,
        });
    }
    pieces.sort_by_key(|piece| piece.place.components().count());
    let links = system_links(plan);
    let etc = etc::EtcSource::choose()?;
    let resolver = etc::resolver(plan.network);
    // The private directory is the only one that surely exists and whose path commands do not need.
    let tmp = open_path(&plan.scratch.as_path().join("tmp"))?;
    let root = file_system(
        "tmpfs",
        &[("mode", "0755"), ("size", &VIEW_ROOT_BYTES.to_string())],
        no_devices(),
    )?;
    move_mount(
        &root,
        "",
        CWD,
        plan.scratch.as_path(),
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
    )
    .step("mount the new root")?;
    let root = open(
        plan.scratch.as_path(),
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .step("open the new root")?;
    // An allowed directory may have one of these paths, or lie below it.
    let is_free = |at: &str| !names(plan).any(|name| below_root(name).starts_with(at));
    for name in SKELETON {
        // An alias of an allowed directory is a symlink.
        if plan
            .other_names
            .iter()
            .all(|(other, _)| below_root(other.as_path()) != name)
        {
            directory(&root, Path::new(name))?;
        }
    }
    for (to, at) in SKELETON_LINKS
        .iter()
        .filter(|(_, at)| is_free(at))
        .chain(&DEVICE_LINKS)
    {
        symlinkat(*to, &root, *at).step_with(|| format!("link /{at}"))?;
    }
    for (to, at) in links {
        // /tmp of the root is covered by that of commands.
        let (dir, at) = match at.strip_prefix(TMP) {
            Ok(below) => (&tmp, below),
            Err(_) => (&root, below_root(&at)),
        };
        directory(dir, at.parent().unwrap_or(Path::new("")))?;
        symlinkat(&to, dir, at).step_with(|| format!("link `{}`", at.display()))?;
    }
    // Files are written by name first: later, a name can lead into an allowed directory.
    let copying = etc.put(&root, &|root| {
        if plan.answers_names {
            // Names have only IPv4 addresses (resolv.conf(5)); glibc from 2.36 on then skips IPv6
            // queries.
            etc::no_resolver(root, "nameserver 192.0.2.1\noptions no-aaaa\n")?;
            etc::own_names(root)?;
        } else if plan.network != Network::Host {
            etc::no_resolver(root, NO_RESOLVER)?;
        }
        if plan.private_home {
            etc::own_entry(root, home(plan))
        } else {
            Ok(())
        }
    })?;
    if let Some((place, tree)) = resolver {
        put(
            &root,
            &PendingMount {
                place,
                tree,
                is_dir: false,
                attributes: Some(MountAttributes::READ_ONLY),
            },
        )?;
    }
    shared_memory(&root, plan)?;
    directory(&root, Path::new("dev/pts"))?;
    for piece in pieces {
        put(&root, &piece)?;
    }
    rustix::process::fchdir(&root).step("fchdir")?;
    rustix::process::pivot_root(".", ".").step("pivot_root")?;
    unmount(".", UnmountFlags::DETACH).step("unmount the system's root")?;
    rustix::process::chdir("/").step("chdir /")?;
    other_names(plan)?;
    for way in ways {
        set(&open_path(&way)?, MountAttributes::READ_ONLY, false)
            .step("make the way to a directory read-only")?;
    }
    hidden_paths::cover(plan)?;
    if rustix::process::geteuid().is_root() {
        cover_private_of_sys(plan)?;
    }
    let root = open(
        "/",
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .step("open /")?;
    set(&root, MountAttributes::READ_ONLY, false).step("make the new root read-only")?;
    Ok(copying)
}

/// All paths of allowed directories.
fn names(plan: &Plan) -> impl Iterator<Item = &Path> {
    let true_ones = plan.roots.iter().map(|root| root.place.path.as_path());
    true_ones.chain(plan.other_names.iter().map(|(name, _)| name.as_path()))
}

/// Makes symlinks to allowed directories, for the operator's paths that lead through symlinks of
/// the system. Existing symlinks of the view are kept, and none is followed: contents of allowed
/// directories stay unchanged.
fn other_names(plan: &Plan) -> Result<(), Fault> {
    for (name, path) in &plan.other_names {
        let name = name.as_path();
        if !names(plan).any(|above| above != name && name.starts_with(above)) {
            other_name(name, path.as_path()).step_with(|| format!("link `{}`", name.display()))?;
        }
    }
    Ok(())
}

fn other_name(name: &Path, path: &Path) -> Result<(), Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut dir = open("/", flags, Mode::empty())?;
    for part in below_root(name).parent().into_iter().flatten() {
        match mkdirat(&dir, part, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        dir = match openat(&dir, part, flags, Mode::empty()) {
            Ok(next) => next,
            Err(Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(errno) => return Err(errno),
        };
    }
    match symlinkat(path, &dir, name.file_name().unwrap_or_default()) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Copies the system's own directories with all files owned by nobody, so that root may read only
/// world-readable files, as in /etc. Requires root's capabilities outside.
pub(crate) fn public_copies(plan: &Plan) -> Result<Vec<(PathBuf, OwnedFd)>, Fault> {
    let nobody = namespaces::of_nobody()?;
    let shown = shown_of_system(plan)
        .filter(|path| plan.public_only.iter().any(|own| own.as_path() == *path));
    let copy = |path: &Path| match clone_tree(path) {
        Ok(tree) => sys::map_owners(tree.as_fd(), read_only(), nobody.as_fd())
            .map(|()| Some((path.into(), tree))),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(errno.into()),
    };
    shown
        .filter_map(|path| {
            copy(path)
                .step_with(|| format!("copy `{}` for everybody", path.display()))
                .transpose()
        })
        .collect()
}

/// System paths that commands see directly: no symlinks, and none in an allowed directory.
fn shown_of_system(plan: &Plan) -> impl Iterator<Item = &Path> {
    let inside = |path: &Path| names(plan).any(|name| path.starts_with(name));
    plan.system
        .iter()
        .chain(&plan.devices.sysfs)
        .map(RawString::as_path)
        .filter(move |path| !is_link(path) && !inside(path))
}

/// Covers files of shown devices in sysfs that only root may read, such as the registers of a PCI
/// device (`resource0`). Root inside is the same user.
fn cover_private_of_sys(plan: &Plan) -> Result<(), Fault> {
    use std::os::unix::fs::MetadataExt as _;
    const OWNER_READS: u32 = 0o400;
    const ALL_READ: u32 = 0o004;
    let shown = plan.devices.sysfs.iter().map(RawString::as_path);
    let entries = shown
        .filter(|path| !is_link(path))
        .filter_map(|dir| std::fs::read_dir(dir).ok());
    for entry in entries.flatten().flatten() {
        let is_private = entry.metadata().is_ok_and(|status| {
            status.is_file() && status.mode() & (OWNER_READS | ALL_READ) == OWNER_READS
        });
        if is_private {
            let path = entry.path();
            cover(&open_path(&path)?, Path::new("/dev/null"))
                .step_with(|| format!("mask `{}`", path.display()))?;
        }
    }
    Ok(())
}

/// HOME of commands: a path apart from all allowed directories, since it would have to be created
/// in them.
pub fn home(plan: &Plan) -> &'static str {
    let apart = |home: &&str| {
        names(plan).all(|name| !name.starts_with(home) && !Path::new(home).starts_with(name))
    };
    HOMES.into_iter().find(apart).unwrap_or(HOMES[0])
}

/// Directories right below /tmp and HOME that lead to an allowed one. As plain directories they
/// could be moved away, and later commands would not find their working directory.
fn ways(plan: &Plan) -> Vec<PathBuf> {
    let roots = || plan.roots.iter().map(|root| root.place.path.as_path());
    let first = |root: &Path, above: &str| {
        let below = root.strip_prefix(above).ok()?;
        let way = Path::new(above).join(below.components().next()?);
        roots().all(|root| root != way).then_some(way)
    };
    let mut ways: Vec<PathBuf> = roots()
        .flat_map(|root| [TMP, home(plan)].map(|above| first(root, above)))
        .flatten()
        .collect();
    ways.sort();
    ways.dedup();
    ways
}

/// Paths that commands of a tier see beside HOME, allowed directories and programs.
#[derive(Clone, Copy, Debug)]
pub struct OwnPlaces {
    pub writable: &'static [&'static str],
    pub readable: &'static [&'static str],
}

impl OwnPlaces {
    /// The places of a tier with walls.
    pub const fn of(tier: Tier) -> Self {
        Self {
            writable: match tier {
                Tier::Namespaces => &[TMP, "/var/tmp", SHARED_MEMORY, "/dev/pts", "/dev/fd"],
                Tier::Landlock | Tier::Off => &["/dev/pts", "/dev/fd"],
            },
            readable: &["/etc", "/proc", "/sys"],
        }
    }
}

/// Unmounts the private directory in the view: a mount point cannot be removed.
pub(crate) fn leave(plan: &Plan) {
    let own = [Path::new(TMP), Path::new(home(plan))];
    for place in own
        .into_iter()
        .chain(plan.cargo_home.as_ref().map(RawString::as_path))
    {
        // An allowed directory may be mounted over it.
        while unmount(place, UnmountFlags::DETACH).is_ok() {}
    }
}

/// Mounts a new /proc over the launcher's. The caller is process 1 of its pid namespace and has its
/// own mount namespace. Unmounting the old one would wait for all processors (`namespace_unlock` in
/// the kernel's fs/namespace.c). No process inside can unmount the cover.
pub(crate) fn own_proc() -> Result<(), Fault> {
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let proc = file_system("proc", &[], flags)?;
    move_mount(
        &proc,
        "",
        CWD,
        "/proc",
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
    )
    .step("mount /proc")?;
    if rustix::process::geteuid().is_root() {
        for name in OF_ROOT {
            let path = Path::new("/proc").join(name);
            let nothing = clone_tree(Path::new("/dev/null")).step("mask a file of /proc")?;
            match move_mount(
                &nothing,
                "",
                CWD,
                &path,
                MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
            ) {
                // This kernel lacks the file.
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno).step_with(|| format!("mask `{}`", path.display())),
            }
        }
    }
    Ok(())
}

/// Mounts a private devpts. The caller has its own mount namespace.
pub(crate) fn own_terminals() -> Result<(), Fault> {
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let most = MAX_TERMINALS.to_string();
    let terminals = file_system(
        "devpts",
        &[("ptmxmode", "0666"), ("mode", "0620"), ("max", &most)],
        attributes,
    )?;
    move_mount(
        &terminals,
        "",
        CWD,
        "/dev/pts",
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
    )
    .step("mount /dev/pts")
}

/// Makes /proc read-only for good. Landlock refuses writes to it, but root's commands could still
/// change modes and owners, some of which belong to the system.
pub(crate) fn seal_proc() -> Result<(), Fault> {
    set(
        &open_path(Path::new("/proc"))?,
        MountAttributes::READ_ONLY,
        false,
    )
    .step("make /proc read-only")
}

/// Files of /proc about the whole machine. Root of the system may read them, and root inside is the
/// same user.
const OF_ROOT: [&str; 9] = [
    "kcore",
    "kmsg",
    "kpagecgroup",
    "kpagecount",
    "kpageflags",
    "pagetypeinfo",
    "slabinfo",
    "timer_list",
    "vmallocinfo",
];

/// Returns all mounts, parents first, and allowed directories over others at the same path.
fn pieces(plan: &Plan, public: Vec<(PathBuf, OwnedFd)>) -> Result<Vec<PendingMount>, Fault> {
    let read_only = read_only();
    let writable = MountAttributes::NO_SET_UID.and(MountAttributes::NO_DEVICES);
    let mut pieces = Vec::new();
    for path in shown_of_system(plan).filter(|path| public.iter().all(|(copied, _)| copied != path))
    {
        pieces.extend(piece(path, path, read_only)?);
    }
    for (place, tree) in public {
        let kind = FileType::from_raw_mode(fstat(&tree).step("fstat")?.st_mode);
        pieces.push(PendingMount {
            place,
            tree,
            is_dir: kind == FileType::Directory,
            attributes: None,
        });
    }
    pieces.extend(piece(
        Path::new(SHOWN_OF_SYS),
        Path::new(SHOWN_OF_SYS),
        read_only,
    )?);
    for device in DEVICES.map(Path::new) {
        // Owner and mode of a device are the system's. Writes to a device change no filesystem, so
        // it can be writable.
        pieces.extend(piece(
            device,
            device,
            MountAttributes::READ_ONLY.and(MountAttributes::NO_SET_UID),
        )?);
    }
    for device in &plan.devices.nodes {
        let path = device.path.as_path();
        let attributes = MountAttributes::READ_ONLY.and(MountAttributes::NO_SET_UID);
        let piece = piece(path, path, attributes)?.ok_or_else(|| missing(path))?;
        same(&piece.tree, device)?;
        pieces.push(piece);
    }
    pieces.extend(piece(Path::new("/proc"), Path::new("/proc"), writable)?);
    let scratch = plan.scratch.as_path();
    let cargo_home = plan
        .cargo_home
        .as_ref()
        .map(|place| ("home/.cargo", place.as_path()));
    for (name, place) in [("tmp", Path::new(TMP)), ("home", Path::new(home(plan)))]
        .into_iter()
        .chain(cargo_home)
    {
        let from = scratch.join(name);
        let piece = piece(&from, place, writable)?;
        pieces.push(piece.ok_or_else(|| missing(&from))?);
    }
    for (number, layer) in plan.layers.iter().enumerate() {
        pieces.push(PendingMount {
            place: Path::new(home(plan)).join(layer.below.as_path()),
            tree: layers::overlay(scratch, number, layer)?,
            is_dir: true,
            attributes: Some(writable),
        });
    }
    pieces.sort_by_key(|piece| piece.place.components().count());
    let mut roots: Vec<_> = plan.roots.iter().collect();
    roots.sort_by_key(|root| root.place.path.as_path().components().count());
    for root in roots {
        let path = root.place.path.as_path();
        let attributes = if root.writable { writable } else { read_only };
        let piece = piece(path, path, attributes)?.ok_or_else(|| missing(path))?;
        same(&piece.tree, &root.place)?;
        pieces.push(piece);
    }
    // A stable sort: of two paths of equal depth, the allowed directory stays last.
    pieces.sort_by_key(|piece| piece.place.components().count());
    Ok(pieces)
}

fn missing(path: &Path) -> Fault {
    Fault {
        step: format!("mount `{}`", path.display()),
        cause: Errno::NOENT.into(),
    }
}

/// Copies the mounts at and below `from`; `None` if it does not exist.
fn piece(
    from: &Path,
    place: &Path,
    attributes: MountAttributes,
) -> Result<Option<PendingMount>, Fault> {
    let fault = || format!("mount `{}`", from.display());
    let tree = match clone_tree(from) {
        Ok(tree) => tree,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(errno) => return Err(errno).step_with(fault),
    };
    let kind = FileType::from_raw_mode(fstat(&tree).step_with(fault)?.st_mode);
    let is_dir = kind == FileType::Directory;
    Ok(Some(PendingMount {
        place: place.into(),
        tree,
        is_dir,
        attributes: Some(attributes),
    }))
}

fn is_link(path: &Path) -> bool {
    rustix::fs::lstat(path)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

/// Symlinks among the system paths, such as `/bin -> usr/bin`, or a program of PATH that is one.
fn system_links(plan: &Plan) -> Vec<(PathBuf, PathBuf)> {
    let links = plan
        .system
        .iter()
        .chain(&plan.devices.sysfs)
        .map(RawString::as_path)
        .filter(|path| is_link(path));
    links
        .filter_map(|path| {
            let to = readlinkat(CWD, path, Vec::new()).ok()?;
            Some((OsStr::new(to.to_str().ok()?).into(), path.into()))
        })
        .collect()
}

/// Returns true if a symlink of the view leads this path elsewhere.
pub fn is_below_link(path: &Path) -> bool {
    SKELETON_LINKS
        .iter()
        .any(|(_, at)| below_root(path).starts_with(at))
}

/// Converts a path to one relative to the new root.
fn below_root(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

/// Attaches a mount at its mount point, which is created if missing.
fn put(root: &OwnedFd, piece: &PendingMount) -> Result<(), Fault> {
    let at = below_root(&piece.place);
    let fault = || format!("mount `{}`", piece.place.display());
    if piece.is_dir {
        directory(root, at)?;
    } else {
        if let Some(parent) = at.parent() {
            directory(root, parent)?;
        }
        match openat(
            root,
            at,
            OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC,
            Mode::RUSR,
        ) {
            Ok(_) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno).step_with(fault),
        }
    }
    move_mount(
        &piece.tree,
        "",
        root,
        at,
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
    )
    .step_with(fault)?;
    piece
        .attributes
        .map_or(Ok(()), |attributes| set(&piece.tree, attributes, true))
        .step_with(fault)
}

/// Mounts shared memory for the commands of this server.
fn shared_memory(root: &OwnedFd, plan: &Plan) -> Result<(), Fault> {
    // It belongs to all commands, so unmapped files count for no single one. A size of 0 would mean
    // no limit.
    let memory = plan
        .limits
        .memory_bytes
        .unwrap_or(u64::MAX)
        .clamp(1, SHARED_MEMORY_BYTES)
        .to_string();
    let shm = file_system(
        "tmpfs",
        &[("mode", "1777"), ("size", &memory), ("nr_inodes", "65536")],
        no_devices(),
    )?;
    directory(root, Path::new("dev/shm"))?;
    move_mount(
        &shm,
        "",
        root,
        "dev/shm",
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
    )
    .step("mount /dev/shm")
}
