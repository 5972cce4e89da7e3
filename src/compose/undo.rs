//! Location of the journal's store, and its protection from agents.
#![expect(
    clippy::disallowed_methods,
    reason = "places of the operator's, looked at before any agent speaks"
)]

use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use replay_base::budget::Account;
use replay_base::limits::MAX_LINKS;
use replay_base::text::escape::hex;
use replay_base::text::glob::{self, GlobError, GlobMatcher, with_names};
use replay_files::hide::Globs;
use replay_files::journal::{self, Bounds, Bytes, Journal, STORES, Skips, Store, WhenFull};
use replay_files::policy::{Hidden, Policy, Repositories, Root};
use replay_sandbox::{CanonicalPath, PlannedJournal, Tier};
use rustix::fs::{AtFlags, CWD, StatxFlags, makedev, statx};
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest as _, Sha256};

use super::undo_stores::{
    FoundStore, IN_STATE, Owner, ROOTS, VERSION, elsewhere, note, note_of, noted_stores,
    open_plain, private, store_of_note,
};
use crate::config::reasons;
use crate::config::{Config, UndoConfig};
use crate::tools::Commands;

/// Matcher of `--undo-skip` for the journal.
pub fn skips_of(globs: &[String]) -> Result<Skips, String> {
    let skips = GlobMatcher::new(globs, false).map_err(|error| error.to_string())?;
    Ok(Arc::new(move |_, path| {
        skips.is_match(path.as_os_str().as_bytes())
    }))
}

/// Matchers of `--hide`. A pattern with brackets also matches the literal name, even if the file
/// appears later. A program may read a file on a filesystem that ignores letter case.
pub fn globs_of(globs: &[String]) -> Result<Globs, String> {
    let said = |error: GlobError| format!("{error}: {}", error.hint());
    globs
        .iter()
        .try_for_each(|glob| glob::check(glob))
        .map_err(said)?;
    let both: Vec<_> = globs.iter().map(|glob| with_names(glob)).collect();
    let globs = GlobMatcher::new(&both, true).map_err(said)?;
    Ok(Arc::new(move |path| globs.is_match(path)))
}

/// Opens the journal, creates its store and hides all stores. Fails if they cannot be hidden. The
/// inner error is the reason why changes are not recorded.
pub(super) fn open(
    config: &Config,
    policy: &mut Policy,
    account: &Account,
) -> Result<Result<Arc<Journal>, String>> {
    let undo = &config.undo;
    let states = state_directories(undo, policy)?;
    let found = if undo.is_on {
        first_place(undo, policy)
    } else {
        Err(anyhow!("it is switched off (--undo off)"))
    };
    // Includes stores of the user's other servers.
    let noted = states
        .iter()
        .flat_map(|state| noted_stores(state))
        .flatten();
    let noted: Vec<PathBuf> = noted
        .filter_map(|store| Some(store.parent()?.to_owned()))
        .collect();
    let beside = policy
        .roots()
        .iter()
        .flat_map(|root| stores_in(root.path()))
        .collect();
    for path in [states, noted, beside, found.iter().cloned().collect()].concat() {
        hide(policy, &path)?;
    }
    Ok(found
        .and_then(|place| create_journal(undo, policy, &place, account))
        .map(Arc::new)
        .map_err(|error| reasons(&error)))
}

/// Creates the directories whose stores `replay changes` trusts, before an agent can. Returns their
/// canonical paths.
fn state_directories(undo: &UndoConfig, policy: &Policy) -> Result<Vec<PathBuf>> {
    let mut made = Vec::new();
    let states = undo
        .state
        .iter()
        .map(|state| (state, true))
        .chain(undo.default_state.iter().map(|state| (state, false)));
    for (state, is_used) in states {
        let path = state.join(IN_STATE);
        let landing = landing(&path);
        let root = policy
            .roots()
            .iter()
            .find(|root| root.writable() && landing.starts_with(root.path()));
        if root.is_none() && !is_used {
            continue;
        }
        // After the walls of the process are built, the directory exists or cannot be created.
        let done = if undo.places.is_some() {
            Ok(())
        } else {
            make_dir(&path)
        };
        match (done.and_then(|()| std::fs::canonicalize(&path)), root) {
            (Ok(path), _) => made.push(path),
            (Err(error), Some(root)) => {
                let (shown, root) = (path.display(), root.path().display());
                return Err(error).with_context(|| {
                    format!(
                        "`{shown}` cannot be created, and an agent could create it in the \
                         read-write directory `{root}`: create it yourself, or allow a smaller \
                         directory"
                    )
                });
            }
            // No agent of this server can create it.
            (Err(_), None) => {}
        }
    }
    Ok(made)
}

/// Resolves a path whose last components may not exist yet.
fn landing(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let real = |above: &Path| {
            Some((
                std::fs::canonicalize(above).ok()?,
                path.strip_prefix(above).ok()?.to_owned(),
            ))
        };
        let Some((there, missing)) = path.ancestors().find_map(real) else {
            break;
        };
        let mut names = missing.iter();
        let next = there.join(names.next().unwrap_or_default());
        // A dangling symlink.
        match std::fs::read_link(&next) {
            Ok(target) => path = there.join(target).join(names.as_path()),
            Err(_) => return there.join(&missing),
        }
    }
    path
}

/// Checks the journal again when the tier of commands is known. Only namespaces can hide a store in
/// an allowed directory from commands.
pub(super) fn check_hidden(
    journal: Result<Arc<Journal>, String>,
    policy: &Policy,
    commands: &Commands,
) -> Result<Arc<Journal>, String> {
    let journal = journal?;
    let store = journal.store.display_path();
    let tier = commands
        .standing
        .tier
        .filter(|_| commands.launcher.is_some());
    match tier {
        Some(tier) if !is_store_protected(policy, store, tier) => Err(format!(
            "`{}` is in an allowed directory, where hiding it from commands needs the namespaces \
             tier; set XDG_STATE_HOME to another directory",
            store.display()
        )),
        _ => Ok(journal),
    }
}

/// Journal settings for the launcher of this tier. `None` if changes of commands are not recorded.
pub(super) fn planned(
    config: &Config,
    journal: Option<&Journal>,
    policy: &Policy,
    tier: Tier,
) -> Result<Option<PlannedJournal>> {
    let journal = journal.filter(|journal| {
        tier != Tier::Off && is_store_protected(policy, journal.store.display_path(), tier)
    });
    let Some(journal) = journal else {
        return Ok(None);
    };
    let at = |path: &Path, handle: rustix::fd::BorrowedFd<'_>| {
        let stat = rustix::fs::fstat(handle)
            .with_context(|| format!("`{}` cannot be looked at", path.display()))?;
        Ok::<_, anyhow::Error>(CanonicalPath {
            path: path.into(),
            dev: stat.st_dev,
            ino: stat.st_ino,
        })
    };
    Ok(Some(PlannedJournal {
        store: at(journal.store.display_path(), journal.store.handle())?,
        roots: writable(policy)
            .iter()
            .map(|root| at(root.path(), root.as_fd()))
            .collect::<Result<_>>()?,
        skip: config.undo.skip.clone(),
        drops: config.undo.drops,
    }))
}

/// Entries of a directory whose names begin like directories of stores.
fn stores_in(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let stores =
        entries.filter(|entry| entry.file_name().as_bytes().starts_with(STORES.as_bytes()));
    stores.map(|entry| entry.path()).collect()
}

fn is_store_protected(policy: &Policy, store: &Path, tier: Tier) -> bool {
    tier == Tier::Namespaces
        || !policy
            .roots()
            .iter()
            .any(|root| store.starts_with(root.path()))
}

/// Directories of notes and stores for tokens that are added later. The Landlock domain allows no
/// others.
pub(crate) fn undo_places(config: &Config, policy: &Policy) -> Result<Vec<PathBuf>> {
    let mut found = state_directories(&config.undo, policy)?;
    let roots = writable(policy).into_iter().filter(|_| config.undo.is_on);
    found.extend(roots.filter_map(|root| place(&config.undo, root).ok()));
    found.sort();
    found.dedup();
    Ok(found)
}

/// Directories whose changes are recorded: read-write directories that are not inside another one.
fn writable(policy: &Policy) -> Vec<&Root> {
    let all = || policy.roots().iter().filter(|root| root.writable());
    let is_inner = |root: &&Root| {
        all().any(|other| other.path() != root.path() && root.path().starts_with(other.path()))
    };
    all().filter(|root| !is_inner(root)).collect()
}

fn first_place(undo: &UndoConfig, policy: &Policy) -> Result<PathBuf> {
    place(
        undo,
        writable(policy)
            .first()
            .context("no directory is read-write")?,
    )
}

/// Chooses the user's directory for stores on the filesystem of `root`, since hard links do not
/// cross mounts. Falls back to the default directory.
fn place(undo: &UndoConfig, root: &Root) -> Result<PathBuf> {
    let mount = mount(root.path())?;
    if let Some(places) = &undo.places {
        let same = places
            .iter()
            .find(|place| self::mount(place).is_ok_and(|other| other == mount));
        return same
            .or(places.first())
            .cloned()
            .context("restart the server, which then creates a store for the directory");
    }
    let state = undo.state.as_ref().map(|state| state.join(IN_STATE));
    let state_mount = state
        .iter()
        .flat_map(|state| state.ancestors())
        .find_map(|above| self::mount(above).ok());
    if let Some(state) = state.as_ref().filter(|_| state_mount == Some(mount)) {
        return make_private(state);
    }
    let allowed: Vec<PathBuf> = undo
        .allowed
        .iter()
        .filter_map(|path| std::fs::canonicalize(path).ok())
        .collect();
    let above: Vec<&Path> = root.path().ancestors().skip(1).collect();
    let name = elsewhere();
    for dir in above.into_iter().rev() {
        let is_allowed = allowed.iter().any(|allowed| dir.starts_with(allowed));
        if !is_allowed
            && self::mount(dir).is_ok_and(|other| other == mount)
            && let Ok(place) = make_private(&dir.join(&name))
            // An agent could have created a symlink.
            && place == dir.join(&name)
        {
            return Ok(place);
        }
    }
    make_private(&state.context("neither HOME nor XDG_STATE_HOME names a directory")?)
}

/// Mount ID and device of a path.
fn mount(path: &Path) -> Result<(u64, u64)> {
    let stat = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID)
        .with_context(|| format!("`{}`", path.display()))?;
    Ok((
        stat.stx_mnt_id,
        makedev(stat.stx_dev_major, stat.stx_dev_minor),
    ))
}

/// Creates a directory that only this user can access, if it does not exist. Returns its canonical
/// path.
pub(super) fn make_private(path: &Path) -> Result<PathBuf> {
    make_dir(path).with_context(|| format!("making `{}`", path.display()))?;
    private(path)
}

fn make_dir(path: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

/// Hides a directory if it is inside an allowed one.
fn hide(policy: &mut Policy, path: &Path) -> Result<()> {
    let is_inside = policy
        .roots()
        .iter()
        .any(|root| path.starts_with(root.path()));
    if !is_inside || policy.hidden().any(|hidden| hidden.path == path) {
        return Ok(());
    }
    let found = std::fs::symlink_metadata(path).with_context(|| format!("`{}`", path.display()))?;
    Ok(policy.hide(&[Hidden {
        path: path.to_owned(),
        id: (found.dev(), found.ino()),
    }])?)
}

/// Creates a directory for a store, with a random name.
fn create_store_directory(place: &Path, hash: &str) -> Result<String> {
    let mut random = [0; 8];
    getrandom(&mut random, GetRandomFlags::empty()).context("random bytes")?;
    let name = format!("{hash}-{}", hex(&random));
    let store = place.join(&name);
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&store)
        .with_context(|| format!("making `{}`", store.display()))?;
    Ok(name)
}

fn create_journal(
    undo: &UndoConfig,
    policy: &Policy,
    place: &Path,
    account: &Account,
) -> Result<Journal> {
    let roots = writable(policy);
    let mut hash = Sha256::new();
    for part in std::iter::once(undo.tenant.as_bytes())
        .chain(roots.iter().map(|root| root.path().as_os_str().as_bytes()))
    {
        hash.update(part);
        hash.update([0]);
    }
    let name = hex(&hash.finalize()[..8]);
    let dir = open_plain(place)?;
    let own = roots.iter().map(|root| {
        let handle = root
            .as_fd()
            .try_clone_to_owned()
            .with_context(|| format!("`{}`", root.path().display()))?;
        Ok(journal::Root {
            handle,
            shown: root.path().to_owned(),
        })
    });
    let own: Vec<journal::Root> = own.collect::<Result<_>>()?;
    let state = undo
        .state
        .as_ref()
        .and_then(|state| private(&state.join(IN_STATE)).ok());
    // Beside a tree only the store of the note is trusted. Without a note, create another store.
    let beside = (state.as_deref() != Some(place)).then_some(&name);
    let state = state.context(
        "the stores of servers cannot be verified without a private state directory \
         (XDG_STATE_HOME)",
    );
    let (name, state) = match beside {
        None => (name.clone(), None),
        Some(hash) => {
            let state = state?;
            let known = store_of_note(&note_of(&state, hash))
                .ok()
                .filter(|store| store.parent() == Some(place));
            let known = known.and_then(|store| Some(store.file_name()?.to_str()?.to_owned()));
            match known {
                Some(name) => (name, None),
                None => (create_store_directory(place, hash)?, Some(state)),
            }
        }
    };
    let store = place.join(&name);
    let is_known = store.join(ROOTS).exists();
    if is_known {
        // A store of a later version is left unchanged.
        FoundStore::read(&store)?;
    }
    let mut opened = Store::open(dir.as_fd(), name.as_ref(), &store, own.into())?;
    if !is_known {
        let roots = roots
            .iter()
            .map(|root| Bytes(root.path().as_os_str().as_bytes().to_vec()))
            .collect();
        let text = serde_json::to_string(&Owner {
            version: VERSION,
            tenant: undo.tenant.clone(),
            roots,
        })?;
        let new = store.join(format!("{ROOTS}.{}", std::process::id()));
        let written =
            std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, store.join(ROOTS)));
        written.with_context(|| format!("`{}`", store.join(ROOTS).display()))?;
    }
    if let (Some(state), Some(hash)) = (state, beside) {
        note(&state, hash, &store)?;
    }
    if undo.drops {
        opened.keeping.when_full = WhenFull::Drop;
    }
    if !undo.skip.is_empty() {
        opened.keeping.skips =
            Some(skips_of(&undo.skip).map_err(|reason| anyhow!("--undo-skip: {reason}"))?);
    }
    opened.changer = Some(policy.changer());
    opened.account = Some(account.clone());
    opened.hooks = Some(Arc::<Repositories>::clone(policy.repositories()));
    Ok(Journal::new(
        opened,
        Bounds {
            bytes: undo.bytes,
            age: undo.age,
        },
    )
    .freezing(undo.freezes))
}
