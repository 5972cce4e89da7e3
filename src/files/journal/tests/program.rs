//! Random sequences of file operations, each announced to the recorder.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags, RenameFlags, XattrFlags};

use super::super::{At, Recorder, Writing};
use super::picture::walk;

/// One operation and its random arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step(
    pub(super) u8,
    pub(super) u16,
    pub(super) u16,
    pub(super) u16,
);

/// Number of operation kinds.
pub(super) const KINDS: u8 = 42;
/// Kinds that create hard links.
pub(super) const LINKING: [u8; 2] = [22, 38];

pub(super) struct Actor<'a> {
    pub(super) roots: &'a [PathBuf],
    /// Recorder of the changes; `None` to change the tree unrecorded.
    pub(super) recorder: Option<&'a mut Recorder>,
    pub(super) made: u32,
    /// Marker in the written content.
    pub(super) who: &'a str,
}

struct NameHandle {
    dir: OwnedFd,
    root: usize,
    path: PathBuf,
    name: OsString,
}

impl NameHandle {
    fn at(&self) -> At<'_> {
        At {
            dir: self.dir.as_fd(),
            name: &self.name,
            root: self.root,
            path: &self.path,
            seen: None,
        }
    }
}

fn access_list() -> Vec<u8> {
    let words: [(u16, u16, u32); 5] = [
        (1, 6, u32::MAX),
        (2, 4, 1001),
        (4, 4, u32::MAX),
        (16, 6, u32::MAX),
        (32, 0, u32::MAX),
    ];
    let mut value = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, who) in words {
        value.extend(tag.to_le_bytes());
        value.extend(rights.to_le_bytes());
        value.extend(who.to_le_bytes());
    }
    value
}

impl Actor<'_> {
    pub(super) fn run(&mut self, steps: &[Step]) {
        for step in steps {
            // Many operations fail, as in real programs.
            let _ = self.step(*step);
        }
    }

    fn open_name(&self, path: &Path) -> Option<NameHandle> {
        let (root, below) = self
            .roots
            .iter()
            .enumerate()
            .find_map(|(root, at)| Some((root, path.strip_prefix(at).ok()?)))?;
        let (dir, name, path) = if below.as_os_str().is_empty() {
            (path, OsStr::new(""), below)
        } else {
            (path.parent()?, below.file_name()?, below.parent()?)
        };
        let dir = rustix::fs::open(dir, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).ok()?;
        Some(NameHandle {
            dir,
            root,
            path: path.into(),
            name: name.into(),
        })
    }

    fn tell(&mut self, path: &Path, note: impl FnOnce(&mut Recorder, At<'_>)) {
        if let Some(held) = self.open_name(path)
            && let Some(recorder) = self.recorder.as_mut()
        {
            note(recorder, held.at());
        }
    }

    fn before_create(&mut self, path: &Path) {
        self.tell(path, |recorder, at| recorder.before_create(at).unwrap());
    }

    fn before_remove(&mut self, path: &Path) {
        self.tell(path, |recorder, at| recorder.before_remove(at).unwrap());
    }

    fn content(&mut self, path: &Path) {
        self.tell(path, |recorder, at| {
            recorder.content(at, Writing::Anywhere).unwrap();
        });
    }

    fn appends(&mut self, path: &Path) {
        self.tell(path, |recorder, at| {
            recorder.content(at, Writing::Appends).unwrap();
        });
    }

    fn metadata(&mut self, path: &Path) {
        self.tell(path, |recorder, at| recorder.metadata(at).unwrap());
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path, flags: RenameFlags) -> io::Result<()> {
        if let (Some(source), Some(target)) = (self.open_name(from), self.open_name(to))
            && let Some(recorder) = self.recorder.as_mut()
        {
            recorder
                .before_rename(
                    source.at(),
                    target.at(),
                    flags.contains(RenameFlags::EXCHANGE),
                )
                .unwrap();
        }
        Ok(rustix::fs::renameat_with(CWD, from, CWD, to, flags)?)
    }

    fn link(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        if let (Some(source), Some(target)) = (self.open_name(from), self.open_name(to))
            && let Some(recorder) = self.recorder.as_mut()
        {
            recorder.links(source.at(), target.at()).unwrap();
        }
        fs::hard_link(from, to)
    }

    pub(super) fn mkdir(&mut self, path: &Path) -> io::Result<()> {
        self.before_create(path);
        fs::create_dir(path)
    }

    pub(super) fn write(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.before_create(path);
        self.content(path);
        // The record is about the name. A symlink would lead to another file, and a FIFO would
        // block.
        let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap();
        let mut options = OpenOptions::new();
        options
            .write(true)
            .create(true)
            .truncate(true)
            .custom_flags(flags)
            .open(path)?
            .write_all(bytes)
    }

    pub(super) fn unlink(&mut self, path: &Path) -> io::Result<()> {
        self.before_remove(path);
        fs::remove_file(path)
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        for path in walk(path).into_iter().rev() {
            if path.symlink_metadata()?.is_dir() {
                self.before_remove(&path);
                fs::remove_dir(&path)?;
            } else {
                self.unlink(&path)?;
            }
        }
        Ok(())
    }

    fn all(&self, is: impl Fn(&fs::Metadata) -> bool) -> Vec<PathBuf> {
        let all = self.roots.iter().flat_map(|root| walk(root));
        all.filter(|path| {
            !self.roots.contains(path) && path.symlink_metadata().is_ok_and(|stat| is(&stat))
        })
        .collect()
    }

    fn pick(from: &[PathBuf], by: u16) -> io::Result<PathBuf> {
        let chosen = from.get(usize::from(by) % from.len().max(1));
        chosen
            .cloned()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn file(&self, by: u16) -> io::Result<PathBuf> {
        Self::pick(&self.all(fs::Metadata::is_file), by)
    }

    fn dir(&self, by: u16) -> io::Result<PathBuf> {
        Self::pick(&self.all(fs::Metadata::is_dir), by)
    }

    fn any(&self, by: u16) -> io::Result<PathBuf> {
        Self::pick(&self.all(|_| true), by)
    }

    fn fresh(&mut self, by: u16) -> PathBuf {
        self.made += 1;
        let mut dirs = self.all(fs::Metadata::is_dir);
        dirs.extend(self.roots.iter().cloned());
        let names = ["f", "ü", "a b", "-x", "new\nline", "%41", ".hid"];
        let name = format!(
            "{}{}{}",
            names[usize::from(by) % names.len()],
            self.who,
            self.made
        );
        Self::pick(&dirs, by / 7).unwrap().join(name)
    }

    fn bytes(&mut self, by: u16) -> Vec<u8> {
        self.made += 1;
        format!("{} {} ", self.who, self.made)
            .repeat(usize::from(by) % 700 + 1)
            .into_bytes()
    }

    #[expect(clippy::too_many_lines, reason = "one arm an operation")]
    fn step(&mut self, Step(kind, a, b, c): Step) -> io::Result<()> {
        let odd = c % 2 == 1;
        match kind {
            0 => {
                let (path, bytes) = (self.fresh(a), self.bytes(b));
                self.write(&path, &bytes)
            }
            1 => {
                let (path, bytes) = (self.file(a)?, self.bytes(b));
                self.write(&path, &bytes)
            }
            2 => {
                let path = self.file(a)?;
                self.content(&path);
                OpenOptions::new()
                    .read(true)
                    .write(true)
                    .open(path)
                    .map(drop)
            }
            3 => {
                let (path, bytes) = (self.file(a)?, self.bytes(b % 30));
                self.content(&path);
                OpenOptions::new()
                    .write(true)
                    .open(path)?
                    .write_all_at(&bytes, u64::from(c % 5000))
            }
            4 => {
                let (path, bytes) = (self.file(a)?, self.bytes(b % 300));
                self.appends(&path);
                OpenOptions::new()
                    .append(true)
                    .open(path)?
                    .write_all(&bytes)
            }
            5 => {
                let path = self.file(a)?;
                self.appends(&path);
                let mut file = OpenOptions::new().append(true).open(&path)?;
                file.write_all(b"appended")?;
                self.content(&path);
                file.set_len(u64::from(b % 1000))
            }
            6 => {
                let path = self.file(a)?;
                self.content(&path);
                OpenOptions::new()
                    .write(true)
                    .open(path)?
                    .set_len(u64::from(b % 10_000))
            }
            7 => {
                let (path, bytes) = (self.file(a)?, self.bytes(b));
                let temp = path.with_file_name("temporary");
                self.write(&temp, &bytes)?;
                self.rename(&temp, &path, RenameFlags::empty())
            }
            8 => {
                let (path, bytes) = (self.file(a)?, self.bytes(b));
                let backup = path.with_file_name("backup~");
                self.rename(&path, &backup, RenameFlags::empty())?;
                self.write(&path, &bytes)?;
                if odd { self.unlink(&backup) } else { Ok(()) }
            }
            9 => {
                let (path, bytes) = (self.fresh(a), self.bytes(b));
                let flags = i32::try_from(OFlags::TMPFILE.bits()).unwrap();
                let mut file = OpenOptions::new()
                    .write(true)
                    .custom_flags(flags)
                    .open(path.parent().unwrap())?;
                file.write_all(&bytes)?;
                self.before_create(&path);
                let magic = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
                Ok(rustix::fs::linkat(
                    CWD,
                    magic,
                    CWD,
                    path,
                    AtFlags::SYMLINK_FOLLOW,
                )?)
            }
            10 => {
                let path = self.any(a)?;
                self.unlink(&path)
            }
            11 => {
                let (from, to) = (self.file(a)?, self.fresh(b));
                self.rename(&from, &to, RenameFlags::empty())
            }
            12 => {
                let (from, to) = (self.file(a)?, self.file(b)?);
                self.rename(&from, &to, RenameFlags::empty())
            }
            13 => {
                let (from, to) = (self.dir(a)?, self.fresh(b));
                self.rename(&from, &to, RenameFlags::empty())
            }
            14 => {
                let (from, to) = (self.dir(a)?, self.dir(b)?);
                self.rename(&from, &to, RenameFlags::empty())
            }
            15 => {
                let (from, to) = (self.any(a)?, self.any(b)?);
                self.rename(&from, &to, RenameFlags::empty())
            }
            16 => {
                let (from, to) = (self.any(a)?, self.any(b)?);
                self.rename(&from, &to, RenameFlags::EXCHANGE)
            }
            17 => {
                let path = self.fresh(a);
                self.mkdir(&path)
            }
            18 => {
                let path = self.fresh(a);
                self.mkdir(&path)?;
                self.mkdir(&path.join("x"))?;
                self.mkdir(&path.join("x/y"))?;
                for number in 0..b % 4 {
                    let bytes = self.bytes(number);
                    self.write(&path.join(format!("x/{number}")), &bytes)?;
                }
                let to = self.fresh(c);
                if odd {
                    self.rename(&path.join("x"), &to, RenameFlags::empty())
                } else {
                    Ok(())
                }
            }
            19 => {
                let (path, moved) = (self.fresh(a), self.any(b)?);
                self.mkdir(&path)?;
                self.rename(&moved, &path.join("in"), RenameFlags::empty())?;
                let to = self.fresh(c);
                if odd {
                    self.rename(&path, &to, RenameFlags::empty())
                } else {
                    Ok(())
                }
            }
            20 => {
                let path = self.dir(a)?;
                self.before_remove(&path);
                fs::remove_dir(path)
            }
            21 => {
                let path = self.dir(a)?;
                self.remove(&path)
            }
            22 => {
                let (from, to) = (self.file(a)?, self.fresh(b));
                self.link(&from, &to)
            }
            23 => {
                let (path, target) = (self.fresh(a), self.any(b)?);
                self.before_create(&path);
                symlink(if odd { Path::new("nowhere") } else { &target }, path)
            }
            24 => {
                let path = self.fresh(a);
                self.before_create(&path);
                Ok(rustix::fs::mkfifoat(CWD, path, Mode::RUSR)?)
            }
            25 => {
                let path = self.file(a)?;
                self.metadata(&path);
                let mode = [0o600, 0o644, 0o755, 0o444][usize::from(b) % 4];
                fs::set_permissions(path, fs::Permissions::from_mode(mode))
            }
            26 => {
                let path = self.dir(a)?;
                self.metadata(&path);
                let modes = [0o700, 0o755, 0o750, 0o555, 0o600, 0o300, 0o000];
                let mode = modes[usize::from(b) % modes.len()];
                fs::set_permissions(path, fs::Permissions::from_mode(mode))
            }
            27 => {
                let path = self.any(a)?;
                self.metadata(&path);
                std::os::unix::fs::lchown(
                    path,
                    Some([0, 1, 1001][usize::from(b) % 3]),
                    Some([0, 1001][usize::from(c) % 2]),
                )
            }
            28 => {
                let path = self.any(a)?;
                let handle =
                    rustix::fs::open(&path, OFlags::PATH | OFlags::NOFOLLOW, Mode::empty())?;
                self.metadata(&path);
                Ok(super::super::object::set_mtime(
                    handle,
                    i64::from(b) * 1_000_000_007,
                )?)
            }
            29 => {
                let path = self.file(a)?;
                self.metadata(&path);
                File::open(&path)?.set_modified(std::time::SystemTime::now())
            }
            30 | 31 => {
                let path = if kind == 30 {
                    self.file(a)?
                } else {
                    self.dir(a)?
                };
                let value = self.bytes(b % 10);
                self.metadata(&path);
                let name = if odd { "user.a" } else { "user.b" };
                Ok(rustix::fs::setxattr(
                    path,
                    name,
                    &value,
                    XattrFlags::empty(),
                )?)
            }
            32 => {
                let path = self.file(a)?;
                self.metadata(&path);
                let _ = rustix::fs::removexattr(&path, "user.a");
                Ok(rustix::fs::removexattr(&path, "user.b")?)
            }
            33 => {
                let path = self.file(a)?;
                self.metadata(&path);
                Ok(rustix::fs::setxattr(
                    path,
                    "system.posix_acl_access",
                    &access_list(),
                    XattrFlags::empty(),
                )?)
            }
            34 => {
                let (from, to) = (self.dir(a)?, self.fresh(b));
                self.rename(&from, &to, RenameFlags::empty())?;
                let bytes = self.bytes(c);
                self.write(&to.join("through"), &bytes)?;
                for path in walk(&to).into_iter().skip(1).take(3) {
                    let _ = self.unlink(&path);
                }
                Ok(())
            }
            35 => {
                let path = self.fresh(a);
                self.before_create(&path);
                let mut file = File::create(path)?;
                file.seek(SeekFrom::Start(u64::from(b) * 10))?;
                file.write_all(b"end")
            }
            36 => {
                let path = self.file(a)?;
                self.content(&path);
                let file = OpenOptions::new().read(true).write(true).open(&path)?;
                self.unlink(&path)?;
                file.write_all_at(b"after its end", u64::from(b % 100))
            }
            37 => {
                let (from, to) = (self.file(a)?, self.file(b)?);
                self.content(&to);
                let (from, to) = (File::open(from)?, OpenOptions::new().write(true).open(to)?);
                let mut at = u64::from(c % 4000);
                rustix::fs::copy_file_range(from, Some(&mut 0), to, Some(&mut at), 3000)?;
                Ok(())
            }
            38 => {
                let (path, file, bytes) = (self.fresh(a), self.file(b)?, self.bytes(c));
                self.mkdir(&path)?;
                self.link(&file, &path.join("linked"))?;
                self.write(&path.join("linked"), &bytes)
            }
            39 => {
                let path = self.file(a)?;
                self.content(&path);
                let file = OpenOptions::new().read(true).write(true).open(path)?;
                Ok(rustix::fs::fallocate(
                    file,
                    FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
                    0,
                    4096,
                )?)
            }
            40 => {
                let (path, bytes) = (self.dir(a)?, self.bytes(b));
                self.remove(&path)?;
                self.mkdir(&path)?;
                self.write(&path.join("anew"), &bytes)
            }
            _ => {
                let root = self.roots[usize::from(a) % self.roots.len()].clone();
                self.metadata(&root);
                fs::set_permissions(
                    root,
                    fs::Permissions::from_mode(if odd { 0o755 } else { 0o750 }),
                )
            }
        }
    }
}
