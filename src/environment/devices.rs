//! Devices of the machine for commands (`--device`): groups of the table, and single nodes.
//!
//! The kernel's numbers decide about a node, not its name: a node of any name can stand for the
//! memory of the machine.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use crate::definitions::{Definitions, DeviceGroup};
use crate::glob;

const DEVICES: &str = "/dev";
const SYSTEM: &str = "/sys";
/// Directories below `/dev` of which commands have their own.
const OWN_DIRECTORIES: [&str; 4] = ["/dev/pts", "/dev/shm", "/dev/fd", "/dev/mqueue"];
/// `MEM_MAJOR` of linux/major.h: memory, I/O ports and the kernel's log.
const MEMORY: u32 = 1;
/// null, zero, full, random and urandom of [`MEMORY`], which commands always have.
const HARMLESS: [u32; 5] = [3, 5, 7, 8, 9];
/// Subsystem of devices that are interfaces of the kernel, such as uinput and device-mapper.
const KERNEL_INTERFACES: &str = "misc";
/// Subsystem of terminals. Those of consoles are virtual, serial ones are not.
const TERMINALS: &str = "tty";
/// Subsystems of which commands get no device, each with its meaning.
const REFUSED: [(&str, &str); 11] = [
    ("mem", "memory and ports of the machine"),
    ("input", "its keyboards and mice"),
    ("hidraw", "its keyboards and mice"),
    ("vc", "the text of its consoles"),
    ("graphics", "its screens"),
    ("scsi_generic", "its disks"),
    ("scsi_tape", "its tapes"),
    ("bsg", "its disks"),
    ("nvme", "its disks"),
    ("nvme-generic", "its disks"),
    ("msr", "registers of its processors"),
];

/// Type of a file below `/dev`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeType {
    /// Major and minor number.
    Character(u32, u32),
    Block,
    Link,
    Other,
}

/// Entry of a character device in sysfs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceEntry {
    pub subsystem: String,
    /// True if no hardware belongs to it.
    pub is_virtual: bool,
}

/// Looks at the device nodes and at sysfs.
pub trait DeviceTree {
    /// Names in a directory; none if it cannot be read.
    fn names(&self, dir: &Path) -> Vec<OsString>;
    /// Type of a file. Does not follow a link.
    fn node(&self, path: &Path) -> std::io::Result<NodeType>;
    /// Path without links, if it exists.
    fn resolve(&self, path: &Path) -> Option<PathBuf>;
    /// Entry of a character device in sysfs, if it has one.
    fn entry(&self, major: u32, minor: u32) -> Option<DeviceEntry>;
}

/// Device nodes of commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Devices {
    /// Paths without links, each with the value of `--device` that gives it.
    pub nodes: Vec<(PathBuf, String)>,
    /// Paths below `/sys` that programs of these devices read. Some are links.
    pub system: Vec<PathBuf>,
    /// True if programs name their threads from other threads.
    pub names_threads: bool,
    /// Groups with a note that exist and are not given: the name and the note.
    pub unseen: Vec<(String, String)>,
}

/// Reason against a value of `--device`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    #[error(
        "--device `{given}` is neither a group of devices nor a path below /dev; give one of {groups}, \
         or a path such as /dev/ttyUSB0"
    )]
    Unknown { given: String, groups: String },
    #[error("--device {group}: this machine has no {node}; load its driver, or leave the flag out")]
    NoGroup { group: String, node: String },
    #[error(
        "--device `{path}`: {reason}; connect the device or load its driver, or leave the flag out"
    )]
    Missing { path: String, reason: String },
    #[error(
        "--device `{path}` leads through a symbolic link, which can lead elsewhere later; give the device itself{target}"
    )]
    Link { path: String, target: String },
    #[error("--device `{path}` is {found}; only a character device can be given: leave it out")]
    NotCharacter { path: String, found: &'static str },
    #[error("--device `{path}`: commands have their own in this directory; leave it out")]
    Own { path: String },
    #[error("--device `{path}` gives {meaning}, which commands never get; leave it out")]
    Refused { path: String, meaning: String },
    #[error(
        "--device `{path}` is an interface of the kernel (subsystem misc), which only a group gives; leave it out, \
         or name it in `nodes` of a [device.NAME] of your environment.toml"
    )]
    KernelInterface { path: String },
}

impl Devices {
    /// Finds the devices that are asked for: names of groups, and paths.
    pub fn find(
        definitions: &Definitions,
        asked: &[PathBuf],
        tree: &dyn DeviceTree,
    ) -> Result<Self, DeviceError> {
        let mut found = Self::default();
        let groups: Vec<_> = definitions.devices().collect();
        for given in asked {
            let group = groups.iter().find(|(name, _)| given.as_os_str() == *name);
            match group {
                Some((name, group)) => found.add_group(name, group, tree)?,
                None => found.add_path(given, &groups, tree)?,
            }
        }
        found.system = without_nested(&found.system, tree);
        found.note_unseen(&groups, tree);
        Ok(found)
    }

    /// Sentence for agents about these devices; `None` if there is nothing to say.
    pub fn describe(&self) -> Option<String> {
        let given: Vec<_> = self
            .nodes
            .iter()
            .map(|(path, _)| path.display().to_string())
            .collect();
        let unseen = self
            .unseen
            .iter()
            .map(|(name, note)| format!("; {note} of the machine is not shown (--device {name})"));
        let unseen: String = unseen.collect();
        let given = match given.join(", ") {
            given if !given.is_empty() => given,
            _ if unseen.is_empty() => return None,
            _ => "none".to_owned(),
        };
        Some(format!("devices: {given}{unseen}"))
    }

    fn add_group(
        &mut self,
        name: &str,
        group: &DeviceGroup,
        tree: &dyn DeviceTree,
    ) -> Result<(), DeviceError> {
        if !exists(group, tree) {
            return Err(DeviceError::NoGroup {
                group: name.to_owned(),
                node: group.nodes.first().cloned().unwrap_or_default(),
            });
        }
        for path in nodes(group, tree) {
            check(&path, true, tree)?;
            self.add_node(path, name.to_owned());
        }
        self.add_system(group, tree);
        Ok(())
    }

    fn add_path(
        &mut self,
        path: &Path,
        groups: &[(&str, &DeviceGroup)],
        tree: &dyn DeviceTree,
    ) -> Result<(), DeviceError> {
        let is_plain = path
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        if !is_plain || !path.starts_with(DEVICES) || path == Path::new(DEVICES) {
            let names: Vec<&str> = groups.iter().map(|(name, _)| *name).collect();
            return Err(DeviceError::Unknown {
                given: path.display().to_string(),
                groups: names.join(", "),
            });
        }
        let members: Vec<_> = groups
            .iter()
            .filter(|(_, group)| has_member(group, path))
            .collect();
        if !check(path, !members.is_empty(), tree)? {
            return Ok(());
        }
        self.add_node(path.to_owned(), path.display().to_string());
        for (_, group) in members {
            self.add_system(group, tree);
        }
        Ok(())
    }

    fn add_node(&mut self, path: PathBuf, by: String) {
        if self.nodes.iter().all(|(known, _)| *known != path) {
            self.nodes.push((path, by));
        }
    }

    fn add_system(&mut self, group: &DeviceGroup, tree: &dyn DeviceTree) {
        self.names_threads |= group.names_threads;
        let below = |path: &Path| path.starts_with(SYSTEM) && path != Path::new(SYSTEM);
        for path in group.system.iter().flat_map(|glob| expand(glob, tree)) {
            let Some(target) = tree.resolve(&path).filter(|target| below(target)) else {
                continue;
            };
            let is_own_link = target != path && is_link_itself(&path, tree);
            self.system.extend(is_own_link.then_some(path));
            self.system.push(target);
        }
    }

    /// Notes the groups that exist and have a node that is neither given nor noted before.
    fn note_unseen(&mut self, groups: &[(&str, &DeviceGroup)], tree: &dyn DeviceTree) {
        let mut known: Vec<PathBuf> = self.nodes.iter().map(|(path, _)| path.clone()).collect();
        for (name, group) in groups {
            let Some(note) = &group.note else { continue };
            let is_given = known.iter().any(|path| has_member(group, path));
            if is_given || !exists(group, tree) {
                continue;
            }
            known.extend(nodes(group, tree));
            self.unseen.push(((*name).to_owned(), note.clone()));
        }
    }
}

fn exists(group: &DeviceGroup, tree: &dyn DeviceTree) -> bool {
    let first = group.nodes.first();
    first.is_some_and(|glob| {
        expand(glob, tree)
            .iter()
            .any(|path| tree.node(path).is_ok())
    })
}

/// Existing nodes of a group.
fn nodes(group: &DeviceGroup, tree: &dyn DeviceTree) -> Vec<PathBuf> {
    let found = group.nodes.iter().flat_map(|glob| expand(glob, tree));
    found
        .filter(|path| has_member(group, path) && tree.node(path).is_ok())
        .collect()
}

/// Returns true if the path is a node of the group by its name.
fn has_member(group: &DeviceGroup, path: &Path) -> bool {
    let any = |globs: &[String]| globs.iter().any(|glob| matches_path(glob, path));
    any(&group.nodes) && !any(&group.except)
}

/// Checks a node. Returns false if commands have it anyway.
fn check(path: &Path, is_of_group: bool, tree: &dyn DeviceTree) -> Result<bool, DeviceError> {
    let shown = path.display().to_string();
    if OWN_DIRECTORIES.iter().any(|own| path.starts_with(own)) {
        return Err(DeviceError::Own { path: shown });
    }
    let node = tree.node(path).map_err(|error| DeviceError::Missing {
        path: shown.clone(),
        reason: error.to_string(),
    })?;
    let target = tree.resolve(path);
    if node == NodeType::Link || target.as_deref() != Some(path) {
        let target = target.map(|target| format!(": {}", target.display()));
        return Err(DeviceError::Link {
            path: shown,
            target: target.unwrap_or_default(),
        });
    }
    let (major, minor) = match node {
        NodeType::Character(major, minor) => (major, minor),
        NodeType::Block => {
            return Err(DeviceError::NotCharacter {
                path: shown,
                found: "a block device",
            });
        }
        NodeType::Link | NodeType::Other => {
            return Err(DeviceError::NotCharacter {
                path: shown,
                found: "no device",
            });
        }
    };
    if major == MEMORY && HARMLESS.contains(&minor) {
        return Ok(false);
    }
    let entry = tree.entry(major, minor);
    let subsystem = entry.as_ref().map_or("", |entry| entry.subsystem.as_str());
    let is_virtual = entry.as_ref().is_some_and(|entry| entry.is_virtual);
    let meaning = REFUSED
        .iter()
        .find(|(name, _)| *name == subsystem || major == MEMORY && *name == "mem")
        .map(|(_, meaning)| *meaning);
    let meaning = meaning.or((subsystem == TERMINALS && is_virtual).then_some("its consoles"));
    if let Some(meaning) = meaning {
        return Err(DeviceError::Refused {
            path: shown,
            meaning: meaning.to_owned(),
        });
    }
    if subsystem == KERNEL_INTERFACES && !is_of_group {
        return Err(DeviceError::KernelInterface { path: shown });
    }
    Ok(true)
}

/// Returns true if the path itself is a link, and nothing above it is one.
fn is_link_itself(path: &Path, tree: &dyn DeviceTree) -> bool {
    let parent = path.parent();
    tree.node(path).is_ok_and(|node| node == NodeType::Link)
        && parent.is_some_and(|parent| tree.resolve(parent).as_deref() == Some(parent))
}

/// Removes duplicates, and paths below others.
fn without_nested(paths: &[PathBuf], tree: &dyn DeviceTree) -> Vec<PathBuf> {
    let is_link = |path: &Path| tree.node(path).is_ok_and(|node| node == NodeType::Link);
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in paths {
        let is_below =
            |other: &PathBuf| other != path && path.starts_with(other) && !is_link(other);
        if !kept.contains(path) && !paths.iter().any(is_below) {
            kept.push(path.clone());
        }
    }
    kept
}

/// Paths that a glob stands for; those without a pattern need not exist.
fn expand(glob: &str, tree: &dyn DeviceTree) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("/")];
    for part in glob.split('/').filter(|part| !part.is_empty()) {
        let next = found.into_iter().flat_map(|dir| {
            let names = if part.contains(['*', '#']) {
                let mut names = tree.names(&dir);
                names.retain(|name| matches_name(part, name.as_bytes()));
                names.sort();
                names
            } else {
                vec![part.into()]
            };
            names.into_iter().map(move |name| dir.join(name))
        });
        found = next.collect();
    }
    found
}

fn matches_path(glob: &str, path: &Path) -> bool {
    let mut parts = glob.split('/').filter(|part| !part.is_empty());
    let mut names = path.iter().skip(1);
    loop {
        match (parts.next(), names.next()) {
            (None, None) => return true,
            (Some(part), Some(name)) if matches_name(part, name.as_bytes()) => {}
            _ => return false,
        }
    }
}

/// Matches a name against a glob, in which `*` stands for any text, and one `#` for a number.
fn matches_name(glob: &str, name: &[u8]) -> bool {
    let Some((before, after)) = glob.split_once('#') else {
        return glob::matches(glob, name);
    };
    let number = name
        .strip_prefix(before.as_bytes())
        .and_then(|rest| rest.strip_suffix(after.as_bytes()));
    number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}

/// The machine's own devices.
#[derive(Clone, Copy, Debug)]
pub struct MachineDevices;

#[expect(
    clippy::disallowed_methods,
    reason = "device nodes and sysfs, looked at when the server starts"
)]
impl DeviceTree for MachineDevices {
    fn names(&self, dir: &Path) -> Vec<OsString> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name()).collect()
    }

    fn node(&self, path: &Path) -> std::io::Result<NodeType> {
        use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
        let status = std::fs::symlink_metadata(path)?;
        let kind = status.file_type();
        let number = status.rdev();
        Ok(if kind.is_char_device() {
            NodeType::Character(rustix::fs::major(number), rustix::fs::minor(number))
        } else if kind.is_block_device() {
            NodeType::Block
        } else if kind.is_symlink() {
            NodeType::Link
        } else {
            NodeType::Other
        })
    }

    fn resolve(&self, path: &Path) -> Option<PathBuf> {
        std::fs::canonicalize(path).ok()
    }

    fn entry(&self, major: u32, minor: u32) -> Option<DeviceEntry> {
        let place = std::fs::canonicalize(format!("/sys/dev/char/{major}:{minor}")).ok()?;
        let subsystem = std::fs::read_link(place.join("subsystem")).ok()?;
        Some(DeviceEntry {
            subsystem: subsystem.file_name()?.to_str()?.to_owned(),
            is_virtual: place.starts_with("/sys/devices/virtual"),
        })
    }
}

#[cfg(test)]
mod tests;
