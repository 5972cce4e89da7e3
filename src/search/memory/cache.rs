//! Cache file of the search memory, for the next session.
//!
//! A record stays true as long as the clock is trusted ([`super`]). So the file holds the boot ID,
//! and the offset of the clock to one that cannot be set. After a reboot, or if the clock was set
//! in between, the file is ignored. A small drift is allowed, less than the age that a record
//! requires. A clock that was set and set back to exactly the same time between two sessions is not
//! detected.
//!
//! The file also holds the identity of its writer (program, user, groups, capabilities), since
//! others may read other files. Only a regular file of this user without permissions for others is
//! read, and each part has a checksum.
//!
//! A search reads the part of a directory after it has opened that directory, so the file does not
//! decide where a search goes. It is never mapped, so truncation cannot crash a server. A new file
//! is written beside it and renamed over it. A server that has the old one open keeps using it.
#![expect(
    clippy::disallowed_methods,
    reason = "a file of the operator's, in a directory that no agent reaches"
)]

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use replay_base::limits::{
    LIST_BUFFER_BYTES, MAX_SEARCH_CACHE_AGE, REMEMBERED_PATTERNS, SEARCH_CACHE_DRIFT_NANOS,
};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RawDir, fstat, openat, renameat, statat, unlinkat,
};
use rustix::process::geteuid;
use rustix::rand::{GetRandomFlags, getrandom};

use super::Inner;
use super::patterns::{Keys, PatternKeys};
use super::store::{PackedDirectory, PackedFiles};

/// Most that all files of the search cache take, in bytes.
const MAX_SEARCH_CACHES_BYTES: u64 = 1024 * 1024 * 1024;
/// One that was begun so long ago, in seconds, is not finished any more.
const STALE_SEARCH_CACHE_SECS: i64 = 3600;

/// Location of the cache file.
#[derive(Debug)]
pub struct CacheLocation {
    /// Directory of this user that no agent can reach.
    pub dir: OwnedFd,
    /// Name of the cache file for these trees.
    pub name: String,
    /// Hash of the boot ID and of everything else that must match.
    pub identity: [u8; 32],
}

/// Cache file of a memory.
#[derive(Debug, Default)]
pub(super) struct Cache {
    place: Option<CacheLocation>,
    /// Cache file at the first search.
    found: OnceLock<Option<CacheFile>>,
    /// The bits that still stand for the patterns of the file.
    bits: AtomicU64,
}

/// Accepted cache file.
#[derive(Debug)]
struct CacheFile {
    file: File,
    inode: u64,
    /// [`super::Clock::ahead`] when it was begun.
    ahead: i64,
    keys: PatternKeys,
    /// By device and inode number.
    parts: Vec<CachePart>,
}

/// Position of a directory's two parts in the file: its listing, and the records of its files.
#[derive(Debug, Clone, Copy)]
struct CachePart {
    key: (u64, u64),
    at: u64,
    listing: Piece,
    /// Behind the listing.
    files: Piece,
    /// Number of rewrites since the part was last used.
    age: u32,
}

/// Length and checksum of bytes in the file.
#[derive(Debug, Clone, Copy)]
struct Piece {
    bytes: u32,
    checksum: u32,
}

impl Piece {
    fn of(bytes: &[u8]) -> io::Result<Self> {
        Ok(Self {
            bytes: u32::try_from(bytes.len()).map_err(io::Error::other)?,
            checksum: crc32fast::hash(bytes),
        })
    }
}

impl CachePart {
    fn bytes(&self) -> u64 {
        u64::from(self.listing.bytes) + u64::from(self.files.bytes)
    }
}

/// Format version. It changes with the format or the search.
const MAGIC: [u8; 8] = *b"RPSRCH\x00\x02";
/// Magic, identity, clock offset, and the table's position, length and checksum.
const HEAD_BYTES: usize = 64;
const PART_BYTES: usize = 44;
/// Prefix of the names of unfinished files.
const UNFINISHED: &str = ".new-";

impl Cache {
    pub(super) fn new(place: Option<CacheLocation>) -> Self {
        Self {
            place,
            ..Self::default()
        }
    }

    pub(super) fn directory(&self) -> Option<BorrowedFd<'_>> {
        self.place.as_ref().map(|place| place.dir.as_fd())
    }

    /// Reads the file once. `adopt` gets its patterns before any search can.
    pub(super) fn look(&self, ahead: i64, adopt: impl FnOnce(PatternKeys)) {
        self.found.get_or_init(|| {
            let mut found = self.place.as_ref()?.open(ahead)?;
            let keys = std::mem::take(&mut found.keys);
            self.bits.store(bits_of(&keys), Ordering::SeqCst);
            adopt(keys);
            Some(found)
        });
    }

    /// Records that bits were given to other patterns. Must be called before these bits are cleared
    /// in all records.
    pub(super) fn forget_bits(&self, bits: u64) {
        self.bits.fetch_and(!bits, Ordering::SeqCst);
    }

    pub(super) fn bits(&self) -> u64 {
        self.bits.load(Ordering::SeqCst)
    }

    /// Returns true if the file has content.
    pub(super) fn is_there(&self) -> bool {
        self.found.get().is_some_and(Option::is_some)
    }

    /// Returns the listing of a directory.
    pub(super) fn read(&self, key: (u64, u64)) -> Option<PackedDirectory> {
        let (found, part) = self.find(key)?;
        let bytes = found.read(part.at, part.listing)?;
        PackedDirectory::unpack(&bytes).filter(|packed| packed.key() == key)
    }

    /// Returns the records of the files in a directory.
    pub(super) fn read_files(&self, key: (u64, u64)) -> Option<PackedFiles> {
        let (found, part) = self.find(key)?;
        found.read_files(part)
    }

    fn find(&self, key: (u64, u64)) -> Option<(&CacheFile, &CachePart)> {
        let found = self.found.get()?.as_ref()?;
        let at = found.parts.binary_search_by_key(&key, |part| part.key);
        Some((found, &found.parts[at.ok()?]))
    }
}

impl CacheFile {
    fn read(&self, at: u64, piece: Piece) -> Option<Vec<u8>> {
        let mut bytes = vec![0; piece.bytes as usize];
        self.file.read_exact_at(&mut bytes, at).ok()?;
        (crc32fast::hash(&bytes) == piece.checksum).then_some(bytes)
    }

    fn read_files(&self, part: &CachePart) -> Option<PackedFiles> {
        let at = part.at + u64::from(part.listing.bytes);
        PackedFiles::unpack(&self.read(at, part.files)?)
    }
}

impl CacheLocation {
    /// Opens the file, if it is private to this user and of this boot, program and clock.
    fn open(&self, ahead: i64) -> Option<CacheFile> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(&self.dir, &*self.name, flags, Mode::empty()).ok()?);
        let stat = fstat(&file).ok()?;
        let is_own = stat.st_uid == geteuid().as_raw()
            && stat.st_mode & 0o7777 == 0o600
            && stat.st_nlink == 1;
        if !is_own || FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return None;
        }
        let mut head = [0; HEAD_BYTES];
        file.read_exact_at(&mut head, 0).ok()?;
        let mut rest = &head[..];
        if rest.split_off(..8)? != MAGIC || rest.split_off(..32)? != self.identity {
            return None;
        }
        let then = i64::from_le_bytes(array(&mut rest)?);
        let (at, length) = (
            u64::from_le_bytes(array(&mut rest)?),
            u32::from_le_bytes(array(&mut rest)?),
        );
        if then.abs_diff(ahead) > SEARCH_CACHE_DRIFT_NANOS
            || at.checked_add(length.into())? > stat.st_size.cast_unsigned()
        {
            return None;
        }
        let mut table = vec![0; length as usize];
        file.read_exact_at(&mut table, at).ok()?;
        if u32::from_le_bytes(array(&mut rest)?) != checksum(&head[..HEAD_BYTES - 4], &table) {
            return None;
        }
        let (keys, parts) = unpack_table(&table)?;
        let inside = |part: &CachePart| {
            part.at
                .checked_add(part.bytes())
                .is_some_and(|end| end <= at)
        };
        parts.iter().all(inside).then_some(CacheFile {
            file,
            inode: stat.st_ino,
            ahead: then,
            keys,
            parts,
        })
    }

    /// Removes unfinished files older than an hour. Also removes the oldest files if all are too
    /// large together. Other servers write and remove here too.
    fn trim(&self, now: i64) -> io::Result<()> {
        let (mut buffer, mut files) = (Vec::with_capacity(LIST_BUFFER_BYTES), Vec::new());
        let dir = openat(
            &self.dir,
            ".",
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let mut entries = RawDir::new(&dir, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let name = entry?.file_name().to_owned();
            let of_hex = name
                .to_bytes()
                .strip_prefix(UNFINISHED.as_bytes())
                .unwrap_or(name.to_bytes());
            // The directory may be a link to one with other files.
            if matches!(of_hex.len(), 16 | 32)
                && of_hex.iter().all(u8::is_ascii_hexdigit)
                && let Ok(stat) = statat(&self.dir, &name, AtFlags::SYMLINK_NOFOLLOW)
                && FileType::from_raw_mode(stat.st_mode) != FileType::Directory
            {
                files.push((stat.st_mtime, stat.st_size.cast_unsigned(), name));
            }
        }
        files.sort();
        let mut all: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        for (modified, bytes, name) in files {
            let is_left_over = name.as_bytes().starts_with(UNFINISHED.as_bytes())
                && modified < now - STALE_SEARCH_CACHE_SECS;
            if is_left_over || all > MAX_SEARCH_CACHES_BYTES {
                all -= bytes;
                // Another may have been quicker.
                let _ = unlinkat(&self.dir, &name, AtFlags::empty());
            }
        }
        Ok(())
    }
}

/// A file while it is written.
struct Writing {
    out: BufWriter<File>,
    at: u64,
    parts: Vec<CachePart>,
}

impl Writing {
    fn add(&mut self, key: (u64, u64), listing: &[u8], files: &[u8], age: u32) -> io::Result<()> {
        self.out.write_all(listing)?;
        self.out.write_all(files)?;
        let part = CachePart {
            key,
            at: self.at,
            listing: Piece::of(listing)?,
            files: Piece::of(files)?,
            age,
        };
        self.at += part.bytes();
        self.parts.push(part);
        Ok(())
    }
}

impl Inner {
    /// Rewrites the file with all records, and with the old file's parts of directories that this
    /// session has not met. `pause` is called between directories. Does nothing while the clock is
    /// untrusted.
    pub(super) fn save(&self, pause: impl Fn()) -> io::Result<()> {
        let Some(place) = &self.cache.place else {
            return Ok(());
        };
        if !self.watch_clock() {
            return Ok(());
        }
        let epoch = self.epoch.load(Ordering::SeqCst);
        let before = self.patterns().keys();
        let known = self.cache.found.get().and_then(Option::as_ref);
        let known = known.filter(|_| epoch == 0);
        let now = self.clock.ahead();
        let mut random = [0; 8];
        getrandom(&mut random[..], GetRandomFlags::empty())?;
        let unfinished = format!("{UNFINISHED}{:016x}", u64::from_le_bytes(random));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = File::from(openat(
            &place.dir,
            &*unfinished,
            flags,
            Mode::RUSR | Mode::WUSR,
        )?);
        let written = (|| {
            let mut writing = Writing {
                out: BufWriter::new(file),
                at: HEAD_BYTES as u64,
                parts: Vec::new(),
            };
            writing.out.write_all(&[0; HEAD_BYTES])?;
            self.store.each_packed(|key, listing, files| {
                pause();
                writing.add(key, listing, files, 0)
            })?;
            // Once the clock was set, only what was found out since is true.
            if epoch == 0
                && let Some(old) = place.open(known.map_or(now, |known| known.ahead))
            {
                let is_known = known.is_some_and(|known| known.inode == old.inode);
                self.carry_over(&old, is_known, &mut writing, &pause)?;
            }
            let keys = lasting(before, &self.patterns().keys());
            writing.parts.sort_unstable_by_key(|part| part.key);
            let table = pack_table(&keys, &writing.parts)?;
            writing.out.write_all(&table)?;
            let mut head = [&MAGIC[..], &place.identity].concat();
            head.extend_from_slice(&known.map_or(now, |known| known.ahead).to_le_bytes());
            head.extend_from_slice(&writing.at.to_le_bytes());
            head.extend_from_slice(
                &u32::try_from(table.len())
                    .map_err(io::Error::other)?
                    .to_le_bytes(),
            );
            let checksum = checksum(&head, &table);
            head.extend_from_slice(&checksum.to_le_bytes());
            let file = writing
                .out
                .into_inner()
                .map_err(io::IntoInnerError::into_error)?;
            file.write_all_at(&head, 0)
        })();
        // Records from before the clock was set do not belong to the time in the new file.
        let is_true = self.watch_clock() && self.epoch.load(Ordering::SeqCst) == epoch;
        let written = written.and(
            is_true
                .then_some(())
                .ok_or(io::Error::other("the clock was set")),
        );
        let placed = written.and_then(|()| {
            Ok(renameat(
                &place.dir,
                &*unfinished,
                &place.dir,
                &*place.name,
            )?)
        });
        if placed.is_err() {
            let _ = unlinkat(&place.dir, &*unfinished, AtFlags::empty());
        }
        placed.and_then(|()| place.trim(self.clock.now()))
    }

    /// Copies another file's parts of missing directories, as far as there is room. Those that this
    /// session has met are as good as new. `is_known`: its bits still have the patterns that they
    /// have here.
    fn carry_over(
        &self,
        old: &CacheFile,
        is_known: bool,
        writing: &mut Writing,
        pause: &impl Fn(),
    ) -> io::Result<()> {
        let mut there: Vec<_> = writing.parts.iter().map(|part| part.key).collect();
        there.sort_unstable();
        let mut bytes = Vec::new();
        for part in &old.parts {
            let is_full = writing.at + part.bytes() > self.store.cap_bytes() as u64;
            let age = match self.store.get(part.key) {
                Some(_) => 0,
                None => part.age + 1,
            };
            if there.binary_search(&part.key).is_ok() || age > MAX_SEARCH_CACHE_AGE || is_full {
                continue;
            }
            pause();
            let (Some(listing), Some(mut files)) =
                (old.read(part.at, part.listing), old.read_files(part))
            else {
                continue;
            };
            files.keep_bits(if is_known { self.cache.bits() } else { 0 });
            bytes.clear();
            files.pack(&mut bytes);
            writing.add(part.key, &listing, &bytes, age)?;
        }
        Ok(())
    }
}

fn bits_of(keys: &[Option<Box<[u8]>>]) -> u64 {
    keys.iter()
        .enumerate()
        .fold(0, |bits, (at, key)| bits | u64::from(key.is_some()) << at)
}

/// Returns the patterns whose bits have not changed in between.
fn lasting(before: Keys, now: &Keys) -> PatternKeys {
    let now = now.iter().chain(std::iter::repeat(&None));
    before
        .into_iter()
        .zip(now)
        .map(|(then, now)| Some(then.filter(|then| now.as_ref() == Some(then))?.1))
        .collect()
}

fn checksum(head: &[u8], table: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(table);
    hasher.finalize()
}

fn array<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    bytes.split_off(..N)?.try_into().ok()
}

/// Patterns by their bits, each with its length in front, and all parts.
fn pack_table(keys: &[Option<Box<[u8]>>], parts: &[CachePart]) -> io::Result<Vec<u8>> {
    let mut table = vec![u8::try_from(keys.len()).map_err(io::Error::other)?];
    for key in keys {
        let length = key.as_ref().map_or(Ok(u32::MAX), |key| {
            u32::try_from(key.len()).map_err(io::Error::other)
        })?;
        table.extend_from_slice(&length.to_le_bytes());
        table.extend_from_slice(key.as_deref().unwrap_or_default());
    }
    for CachePart {
        key: (device, inode),
        at,
        listing,
        files,
        age,
    } in parts
    {
        for number in [device, inode, at] {
            table.extend_from_slice(&number.to_le_bytes());
        }
        for number in [
            &listing.bytes,
            &listing.checksum,
            &files.bytes,
            &files.checksum,
            age,
        ] {
            table.extend_from_slice(&number.to_le_bytes());
        }
    }
    Ok(table)
}

fn unpack_table(mut table: &[u8]) -> Option<(PatternKeys, Vec<CachePart>)> {
    let count = usize::from(*table.split_off_first()?);
    let key = |_| match u32::from_le_bytes(array(&mut table)?) {
        u32::MAX => Some(None),
        length => Some(Some(table.split_off(..length as usize)?.into())),
    };
    let keys = (0..count).map(key).collect::<Option<PatternKeys>>()?;
    let (parts, rest) = table.as_chunks::<PART_BYTES>();
    let part = |mut bytes: &[u8]| {
        let mut number = || Some(u64::from_le_bytes(array(&mut bytes)?));
        let (key, at) = ((number()?, number()?), number()?);
        let mut number = || Some(u32::from_le_bytes(array(&mut bytes)?));
        let mut piece = || {
            let (bytes, checksum) = (number()?, number()?);
            Some(Piece { bytes, checksum })
        };
        let (listing, files) = (piece()?, piece()?);
        Some(CachePart {
            key,
            at,
            listing,
            files,
            age: number()?,
        })
    };
    let parts = parts
        .iter()
        .map(|bytes| part(bytes))
        .collect::<Option<Vec<_>>>()?;
    (rest.is_empty() && keys.len() <= REMEMBERED_PATTERNS).then_some((keys, parts))
}
