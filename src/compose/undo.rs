//! Where what calls change is kept so that it can be undone: the place of the journal's store, and who must not see it.
#![expect(clippy::disallowed_methods, reason = "places of the operator's, looked at before any agent speaks")]

use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use rustix::fs::{AtFlags, CWD, StatxFlags, makedev, statx};
use sha2::{Digest as _, Sha256};

use super::undo_stores::{FoundStore, IN_STATE, Owner, ROOTS, VERSION, elsewhere, open_dir, private};
use crate::budget::Account;
use crate::config::{Config, UndoConfig};
use crate::hide::Globs;
use crate::journal::{self, Bounds, Bytes, Journal, Skips, Store, WhenFull};
use crate::policy::{Hidden, Policy, Repositories, Root};
use crate::sandbox::{Place, PlannedJournal, Tier};
use crate::text::escape::hex;
use crate::text::glob::{self, GlobError, GlobMatcher, with_names};
use crate::text::reasons::reasons;
use crate::tools::Commands;

/// What `--undo-skip` says, for who notes changes.
pub fn skips_of(globs: &[String]) -> Result<Skips, String> {
    let skips = GlobMatcher::new(globs, false).map_err(|error| error.to_string())?;
    Ok(Arc::new(move |_, path| skips.is_match(path.as_os_str().as_bytes())))
}

/// What `--hide` says: a name with brackets is hidden as that name, too, also if it appears later. A program may read a file on a filesystem
/// without letter case.
pub fn globs_of(globs: &[String]) -> Result<Globs, String> {
    let said = |error: GlobError| format!("{error}: {}", error.hint());
    globs.iter().try_for_each(|glob| glob::check(glob)).map_err(said)?;
    let both: Vec<_> = globs.iter().map(|glob| with_names(glob)).collect();
    let globs = GlobMatcher::new(&both, true).map_err(said)?;
    Ok(Arc::new(move |path| globs.is_match(path)))
}

/// Opens the journal, and makes its store. Hides what must not be seen. Where there is none, the reason.
pub fn open(config: &Config, policy: &mut Policy, account: &Account) -> Result<Arc<Journal>, String> {
    let undo = &config.undo;
    let found = if undo.is_on { first_place(undo, policy) } else { Err(anyhow!("it is switched off (--undo off)")) };
    // Also that of other servers of this user.
    let state = undo.state.as_ref().and_then(|state| std::fs::canonicalize(state.join(IN_STATE)).ok());
    for path in state.iter().chain(&found.as_ref().ok().cloned()) {
        hide(policy, path).map_err(|error| reasons(&error))?;
    }
    found.and_then(|place| make(undo, policy, &place, account)).map(Arc::new).map_err(|error| reasons(&error))
}

/// The same when it is known how commands run: what lies in an allowed directory can be hidden from them only by namespaces.
pub fn beside(
    journal: Result<Arc<Journal>, String>,
    policy: &Policy,
    commands: &Commands,
) -> Result<Arc<Journal>, String> {
    let journal = journal?;
    let store = journal.store.shown();
    let tier = commands.standing.tier.filter(|_| commands.launcher.is_some());
    match tier {
        Some(tier) if !is_kept_from(policy, store, tier) => Err(format!(
            "`{}` lies in an allowed directory, where only the tier of namespaces can hide it from commands; set XDG_STATE_HOME to a \
             directory elsewhere",
            store.display()
        )),
        _ => Ok(journal),
    }
}

/// What the launcher of this tier is told; `None` where commands are not recorded.
pub fn planned(
    config: &Config,
    journal: Option<&Journal>,
    policy: &Policy,
    tier: Tier,
) -> Result<Option<PlannedJournal>> {
    let journal = journal.filter(|journal| tier != Tier::Off && is_kept_from(policy, journal.store.shown(), tier));
    let Some(journal) = journal else { return Ok(None) };
    let at = |path: &Path, handle: rustix::fd::BorrowedFd<'_>| {
        let stat = rustix::fs::fstat(handle).with_context(|| format!("`{}` cannot be looked at", path.display()))?;
        Ok::<_, anyhow::Error>(Place { path: path.into(), dev: stat.st_dev, ino: stat.st_ino })
    };
    Ok(Some(PlannedJournal {
        store: at(journal.store.shown(), journal.store.handle())?,
        roots: writable(policy).iter().map(|root| at(root.path(), root.as_fd())).collect::<Result<_>>()?,
        skip: config.undo.skip.clone(),
        drops: config.undo.drops,
    }))
}

fn is_kept_from(policy: &Policy, store: &Path, tier: Tier) -> bool {
    tier == Tier::Namespaces || !policy.roots().iter().any(|root| store.starts_with(root.path()))
}

/// The places of the stores of those who come later, for the domain of the process: it lets them have no other.
pub fn undo_places(config: &Config, policy: &Policy) -> Vec<PathBuf> {
    let roots = writable(policy).into_iter().filter(|_| config.undo.is_on);
    let mut found: Vec<PathBuf> = roots.filter_map(|root| place(&config.undo, root).ok()).collect();
    found.sort();
    found.dedup();
    found
}

/// Where changes are noted: of the read-write directories those that lie in no other.
fn writable(policy: &Policy) -> Vec<&Root> {
    let all = || policy.roots().iter().filter(|root| root.writable());
    let is_inner =
        |root: &&Root| all().any(|other| other.path() != root.path() && root.path().starts_with(other.path()));
    all().filter(|root| !is_inner(root)).collect()
}

fn first_place(undo: &UndoConfig, policy: &Policy) -> Result<PathBuf> {
    place(undo, writable(policy).first().context("no directory may be written to")?)
}

/// The directory for the stores of this user on the filesystem of a directory, where links can be made; where that cannot be, the
/// user's usual one.
fn place(undo: &UndoConfig, root: &Root) -> Result<PathBuf> {
    let mount = mount(root.path())?;
    if let Some(places) = &undo.places {
        let same = places.iter().find(|place| self::mount(place).is_ok_and(|other| other == mount));
        return same.or(places.first()).cloned().context("the server has to be restarted to have a place for it");
    }
    let state = undo.state.as_ref().map(|state| state.join(IN_STATE));
    let state_mount = state.iter().flat_map(|state| state.ancestors()).find_map(|above| self::mount(above).ok());
    if let Some(state) = state.as_ref().filter(|_| state_mount == Some(mount)) {
        return make_private(state);
    }
    let allowed: Vec<PathBuf> = undo.allowed.iter().filter_map(|path| std::fs::canonicalize(path).ok()).collect();
    let above: Vec<&Path> = root.path().ancestors().skip(1).collect();
    let name = elsewhere();
    for dir in above.into_iter().rev() {
        let is_allowed = allowed.iter().any(|allowed| dir.starts_with(allowed));
        if !is_allowed
            && self::mount(dir).is_ok_and(|other| other == mount)
            && let Ok(place) = make_private(&dir.join(&name))
        {
            return Ok(place);
        }
    }
    make_private(&state.context("HOME says no directory, and XDG_STATE_HOME neither")?)
}

/// Which mount a path is on, and which device.
fn mount(path: &Path) -> Result<(u64, u64)> {
    let stat =
        statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).with_context(|| format!("`{}`", path.display()))?;
    Ok((stat.stx_mnt_id, makedev(stat.stx_dev_major, stat.stx_dev_minor)))
}

/// Makes a directory that is this user's alone, if there is none; its true path.
pub(super) fn make_private(path: &Path) -> Result<PathBuf> {
    let shown = path.display();
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).with_context(|| format!("making `{shown}`"))?;
    private(path)
}

/// Hides a directory if it lies in an allowed one.
fn hide(policy: &mut Policy, path: &Path) -> Result<()> {
    let is_inside = policy.roots().iter().any(|root| path.starts_with(root.path()));
    if !is_inside || policy.hidden().any(|hidden| hidden.path == path) {
        return Ok(());
    }
    let found = std::fs::metadata(path).with_context(|| format!("`{}`", path.display()))?;
    Ok(policy.hide(&[Hidden { path: path.to_owned(), id: (found.dev(), found.ino()) }])?)
}

fn make(undo: &UndoConfig, policy: &Policy, place: &Path, account: &Account) -> Result<Journal> {
    let roots = writable(policy);
    let mut hash = Sha256::new();
    for part in
        std::iter::once(undo.tenant.as_bytes()).chain(roots.iter().map(|root| root.path().as_os_str().as_bytes()))
    {
        hash.update(part);
        hash.update([0]);
    }
    let name = hex(&hash.finalize()[..8]);
    let dir = open_dir(place)?;
    let own = roots.iter().map(|root| {
        let handle = root.as_fd().try_clone_to_owned().with_context(|| format!("`{}`", root.path().display()))?;
        Ok(journal::Root { handle, shown: root.path().to_owned() })
    });
    let own: Vec<journal::Root> = own.collect::<Result<_>>()?;
    let store = place.join(&name);
    let is_known = store.join(ROOTS).exists();
    if is_known {
        // That of a later version is left as it is.
        FoundStore::read(&store)?;
    }
    let mut opened = Store::open(dir.as_fd(), name.as_ref(), &store, own.into())?;
    if !is_known {
        let roots = roots.iter().map(|root| Bytes(root.path().as_os_str().as_bytes().to_vec())).collect();
        let text = serde_json::to_string(&Owner { version: VERSION, tenant: undo.tenant.clone(), roots })?;
        let new = store.join(format!("{ROOTS}.{}", std::process::id()));
        let written = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, store.join(ROOTS)));
        written.with_context(|| format!("`{}`", store.join(ROOTS).display()))?;
    }
    if undo.drops {
        opened.keeping.when_full = WhenFull::Drop;
    }
    if !undo.skip.is_empty() {
        opened.keeping.skips = Some(skips_of(&undo.skip).map_err(|reason| anyhow!("--undo-skip: {reason}"))?);
    }
    opened.account = Some(account.clone());
    opened.hooks = Some(Arc::<Repositories>::clone(policy.repositories()));
    Ok(Journal::new(opened, Bounds { bytes: undo.bytes, age: undo.age }).freezing(undo.freezes))
}
