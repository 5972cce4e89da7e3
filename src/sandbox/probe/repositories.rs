//! Symlinks in git directories, through which git would write for the operator.

use std::fs;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, RenameFlags};

use super::attempt::{Attempt, attempt};
use super::outcome::{Try, blocked, each, through};
use super::stage::Stage;

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt(
        "link below .git",
        "symlink(2), by path, from a descriptor, and through a link to the directory",
        |s| {
            let git = directory(s)?;
            let to = s.beyond("written");
            let open = fs::File::open(&git)?;
            each([
                ("symlink", &|| Ok(symlink(&to, git.join("COMMIT_EDITMSG"))?)),
                ("symlinkat", &|| {
                    Ok(rustix::fs::symlinkat(&to, &open, "MERGE_MSG")?)
                }),
                ("/proc/self/fd", &|| {
                    Ok(symlink(
                        &to,
                        format!("/proc/self/fd/{}/SQUASH_MSG", open.as_raw_fd()),
                    )?)
                }),
                ("through a link", &|| {
                    let way = s.rw.join("link-to-git");
                    symlink(".git", &way)?;
                    Ok(symlink(&to, way.join("logs/HEAD"))?)
                }),
            ])
        },
    ),
    attempt(
        "move a link below .git",
        "rename(2), renameat2(2) with RENAME_EXCHANGE, and link(2) of a symlink",
        |s| {
            let git = directory(s)?;
            let link = |name: &str| -> std::io::Result<PathBuf> {
                let link = s.rw.join(name);
                symlink(s.beyond("written"), &link).map(|()| link)
            };
            each([
                ("rename", &|| {
                    Ok(fs::rename(link("to-rename")?, git.join("ORIG_HEAD"))?)
                }),
                ("exchange", &|| {
                    fs::write(git.join("index"), "")?;
                    let from = link("to-exchange-git")?;
                    Ok(rustix::fs::renameat_with(
                        CWD,
                        from,
                        CWD,
                        git.join("index"),
                        RenameFlags::EXCHANGE,
                    )?)
                }),
                ("link", &|| {
                    Ok(rustix::fs::linkat(
                        CWD,
                        link("to-link")?,
                        CWD,
                        git.join("FETCH_HEAD"),
                        AtFlags::empty(),
                    )?)
                }),
            ])
        },
    ),
    attempt(
        "move a directory with a link onto .git",
        "rename(2) of one that holds a symlink, onto and below .git",
        |s| {
            let git = directory(s)?;
            let with_link = |name: &str| -> std::io::Result<PathBuf> {
                let dir = s.rw.join(name);
                fs::create_dir_all(dir.join("logs"))?;
                symlink(s.beyond("written"), dir.join("logs/HEAD")).map(|()| dir)
            };
            fs::create_dir_all(s.rw.join("moved-git"))?;
            each([
                ("below", &|| {
                    Ok(fs::rename(
                        with_link("holds-link-1")?,
                        git.join("rebase-merge"),
                    )?)
                }),
                ("onto", &|| {
                    Ok(fs::rename(
                        with_link("holds-link-2")?,
                        s.rw.join("moved-git/.git"),
                    )?)
                }),
                ("exchange", &|| {
                    let from = with_link("holds-link-3")?;
                    Ok(rustix::fs::renameat_with(
                        CWD,
                        from,
                        CWD,
                        &git,
                        RenameFlags::EXCHANGE,
                    )?)
                }),
            ])
        },
    ),
    attempt(
        "race a directory onto .git",
        "symlink(2) into a directory while another process renames it to .git",
        |s| race(&s.rw.join("raced-git"), &s.beyond("written")),
    ),
];

/// A git directory in an allowed one.
fn directory(stage: &Stage) -> std::io::Result<PathBuf> {
    let git = stage.rw.join(".git");
    fs::create_dir_all(git.join("logs"))?;
    Ok(git)
}

/// Makes links in a directory that comes and goes as `.git`.
fn race(base: &Path, to: &Path) -> Try {
    const ROUNDS: usize = 300;
    let (plain, git) = (base.join("plain"), base.join(".git"));
    fs::create_dir_all(&plain)?;
    let is_done = std::sync::atomic::AtomicBool::new(false);
    let found = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = fs::rename(&plain, &git);
                let _ = fs::rename(&git, &plain);
            }
        });
        let found = (0..ROUNDS).any(|_| {
            let _ = symlink(to, plain.join("COMMIT_EDITMSG"));
            let is_there = fs::symlink_metadata(git.join("COMMIT_EDITMSG")).is_ok();
            let _ = fs::remove_file(plain.join("COMMIT_EDITMSG"));
            is_there
        });
        is_done.store(true, std::sync::atomic::Ordering::Relaxed);
        found
    });
    if found {
        through("a symlink in .git")
    } else {
        blocked("none came there")
    }
}
