//! Mount table of this process, and the kernel's pseudo filesystems.

use std::ffi::OsString;
use std::io::Read as _;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{fstatfs, makedev};

/// Usual upper bound of a mount table, in bytes.
const USUAL_TABLE_BYTES: usize = 32 * 1024;

/// Filesystems that store files but may report no capacity, by number (statfs(2), linux/magic.h):
///
/// - unbounded filesystems in memory
/// - filesystems that relay the answer of another filesystem, program or machine
const STORES: [u64; 13] = [
    0x0102_1994, // tmpfs
    0x8584_58F6, // ramfs
    0x794C_7630, // overlayfs
    0x6573_5546, // FUSE
    0x0102_1997, // 9p
    0x0000_6969, // NFS
    0xFF53_4D42, // CIFS
    0xFE53_4D42, // SMB2
    0x5346_414F, // AFS
    0x6B41_4653, // kAFS
    0x00C3_6400, // Ceph
    0x786F_4256, // vboxsf
    0x0000_0187, // autofs, which has nothing but places for others
];
/// The only pseudo filesystem that reports a capacity: the firmware's variables.
const EFIVARFS: u64 = 0xDE5E_81E4;
/// Filesystem type of device nodes. It reports the same magic number as a tmpfs, but has only one
/// instance.
const DEVTMPFS: &[u8] = b"devtmpfs";

/// A line of mountinfo (`proc_pid_mountinfo(5)`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Mount ID, as `STATX_MNT_ID` of statx(2) reports it.
    pub id: u64,
    /// ID of the parent mount.
    pub parent: u64,
    /// `st_dev` of stat(2) of its files, except on filesystems with several devices, such as btrfs.
    pub device: u64,
    /// Directory of the filesystem that is mounted.
    pub root: PathBuf,
    pub place: PathBuf,
    /// Filesystem type.
    pub kind: Vec<u8>,
}

impl Mount {
    /// Parses a line; `None` if it is malformed.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ');
        let number = |field: &[u8]| std::str::from_utf8(field).ok()?.parse::<u64>().ok();
        let (id, parent) = (number(fields.next()?)?, number(fields.next()?)?);
        let (major, minor) = std::str::from_utf8(fields.next()?).ok()?.split_once(':')?;
        let device = makedev(major.parse().ok()?, minor.parse().ok()?);
        let (root, place) = (unescaped(fields.next()?), unescaped(fields.next()?));
        // Optional fields end with a dash.
        fields.find(|field| *field == b"-")?;
        Some(Self {
            id,
            parent,
            device,
            root,
            place,
            kind: fields.next()?.to_owned(),
        })
    }

    /// Position of the mounted directory on its filesystem.
    pub fn position(&self) -> Position {
        Position {
            device: self.device,
            path: self.root.clone(),
        }
    }

    /// Returns true if this is a devtmpfs.
    pub fn is_of_devices(&self) -> bool {
        self.kind == DEVTMPFS
    }
}

/// Parses mountinfo; `None` if a line is malformed.
pub fn parse(text: &[u8]) -> Option<Vec<Mount>> {
    text.split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(Mount::parse)
        .collect()
}

/// Reads the mount table of this process's mount namespace.
#[expect(clippy::disallowed_methods, reason = "a table of the kernel's")]
pub fn table() -> std::io::Result<Vec<Mount>> {
    // The file reports no size, and many small reads are slow.
    let mut text = Vec::with_capacity(USUAL_TABLE_BYTES);
    std::fs::File::open("/proc/self/mountinfo")?.read_to_end(&mut text)?;
    parse(&text)
        .ok_or_else(|| std::io::Error::other("/proc/self/mountinfo has a line that is none"))
}

/// Returns true if a mount was added or removed since the last check of this open mountinfo, or
/// since it was opened. One system call.
pub fn has_changed(table: impl AsFd) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(table.as_fd(), PollFlags::PRI)];
    poll(&mut fds, Some(&Timespec::default())).is_ok_and(|changed| changed > 0)
}

/// Position of a file on its filesystem, independent of mount points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    device: u64,
    path: PathBuf,
}

impl Position {
    /// Position of a canonical path; `None` if no mount is known for it.
    pub fn of(path: &Path, table: &[Mount]) -> Option<Self> {
        let over = table.iter().filter(|mount| path.starts_with(&mount.place));
        // Of several mounts at one mount point the last one is visible.
        let mount = over.max_by_key(|mount| mount.place.as_os_str().len())?;
        Some(Self {
            device: mount.device,
            path: mount.root.join(path.strip_prefix(&mount.place).ok()?),
        })
    }

    /// Returns the path below `at` that leads to the same position as `real`, but by another mount.
    pub fn another_way(&self, real: &Path, at: &Path, table: &[Mount]) -> Option<PathBuf> {
        let base = Self::of(at, table).filter(|base| self.is_below(base))?;
        let way = at.join(self.path.strip_prefix(&base.path).ok()?);
        (way != real).then_some(way)
    }

    /// Returns the path relative to `other`, if this position is at or below it.
    pub fn below(&self, other: &Self) -> Option<&Path> {
        self.path
            .strip_prefix(&other.path)
            .ok()
            .filter(|_| self.device == other.device)
    }

    /// Returns true if this position is at or below the other one.
    pub fn is_below(&self, other: &Self) -> bool {
        self.device == other.device && self.path.starts_with(&other.path)
    }
}

/// Returns true if a file is on a pseudo filesystem of the kernel (proc, sysfs, cgroup, devpts and
/// similar). Its files are no stored data but an interface to the machine. Only
/// [`Mount::is_of_devices`] recognizes a devtmpfs.
///
/// A pseudo filesystem reports no capacity: `simple_statfs` in the kernel's fs/libfs.c leaves
/// `f_blocks` of statfs(2) at 0. An unknown filesystem counts as one, unless it has capacity for
/// files.
pub fn is_kernels(file: impl AsFd) -> rustix::io::Result<bool> {
    let said = fstatfs(file)?;
    let kind = u64::try_from(said.f_type).unwrap_or_default();
    Ok(kind == EFIVARFS || said.f_blocks == 0 && !STORES.contains(&kind))
}

/// Decodes a field of mountinfo: blanks, newlines and backslashes are three octal digits.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, more)) = rest.split_first() {
        let digits = more.get(..3).filter(|digits| {
            first == b'\\' && digits.iter().all(|digit| (b'0'..b'8').contains(digit))
        });
        if let Some(digits) = digits {
            bytes.push(
                digits
                    .iter()
                    .fold(0, |byte: u8, digit| byte << 3 | (digit - b'0')),
            );
            rest = &more[3..];
        } else {
            bytes.push(first);
            rest = more;
        }
    }
    OsString::from_vec(bytes).into()
}

/// Returns true if another mount covers `mount` or a directory on the way to it, so that its path
/// leads elsewhere.
pub fn is_covered(mount: &Mount, table: &[Mount]) -> bool {
    let mut below = vec![mount.id];
    while let Some(above) = table
        .iter()
        .find(|other| Some(&other.id) == below.last())
        .map(|known| known.parent)
    {
        if below.contains(&above) {
            break;
        }
        below.push(above);
    }
    table
        .iter()
        .any(|other| mount.place.starts_with(&other.place) && !below.contains(&other.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn mountinfo_line_is_parsed() {
        let line = br"36 35 98:0 /a /mnt/a\040b\134c rw,noatime master:1 shared:2 - fuse.sshfs host:/ rw,user_id=0";
        let place = PathBuf::from(r"/mnt/a b\c");
        let (id, parent, device) = (36, 35, makedev(98, 0));
        let kind = b"fuse.sshfs".to_vec();
        assert_eq!(
            Mount::parse(line),
            Some(Mount {
                id,
                parent,
                device,
                root: "/a".into(),
                place,
                kind
            })
        );
        let plain = Mount::parse(b"36 35 98:0 / /mnt rw - nfs4 host:/ rw").unwrap();
        assert_eq!((plain.place, plain.kind), ("/mnt".into(), b"nfs4".to_vec()));
        assert_eq!(parse(b"36 35 98:0 / /mnt rw\n"), None);
        assert_eq!(unescaped(br"a\04"), Path::new(r"a\04"));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "files of the system")]
    fn pseudo_filesystem_is_told_from_storage() {
        let is_kernels = |path: &str| is_kernels(std::fs::File::open(path).unwrap()).unwrap();
        assert_eq!(
            ["/proc", "/proc/self/environ", "/sys"].map(is_kernels),
            [true; 3]
        );
        assert_eq!(["/", "/etc/passwd", "/dev/shm"].map(is_kernels), [false; 3]);
    }

    #[test]
    fn covering_mount_hides_lower_mount() {
        let lines = b"1 0 8:1 / / rw - ext4 a rw\n2 1 0:9 / /w/proc rw - proc a rw\n3 2 0:9 / /w/proc/fs rw - a a rw\n\
                      4 2 8:1 /x /w/proc rw - ext4 a rw\n5 1 0:10 / /w/procs rw - tmpfs a rw\n";
        let table = parse(lines).unwrap();
        let covered: Vec<bool> = table
            .iter()
            .map(|mount| is_covered(mount, &table))
            .collect();
        assert_eq!(covered, [false, true, true, false, false]);
    }
}
