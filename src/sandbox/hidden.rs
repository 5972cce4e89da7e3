//! Files below allowed directories that commands must not reach, such as the audit log: an empty file that cannot be written
//! is mounted over each, which programs that go through all files (`git add`, `cp -r`) get on with, and the directories above
//! are mounted on themselves.
//!
//! Done once, in the view that every command gets a copy of, before any command runs. What something is mounted on cannot be
//! moved, removed or replaced in that mount namespace, by whatever name of a directory above (`rename(2)`, EBUSY), and no
//! command may unmount. That no second name leads there (a hard link, another mount of the same tree) is seen to by who makes
//! the plan.
#![expect(clippy::disallowed_methods, reason = "looks at the view of commands from inside it")]

use std::path::Path;

use rustix::fs::{Mode, OFlags, fstat, open, openat, unlink};

use super::fault::{Fault, Step};
use super::plan::{Place, Plan};
use super::view;

/// A name in the root of the view that nothing else has.
const EMPTY: &str = "/.replay-empty";

/// Covers everything that the plan hides. This process lives in the view. Fails if something else is found there.
pub fn cover(plan: &Plan) -> Result<(), Fault> {
    if plan.hidden.is_empty() {
        return Ok(());
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    drop(open(EMPTY, flags, Mode::RUSR | Mode::RGRP | Mode::ROTH).step("make an empty file")?);
    let covered = plan.hidden.iter().try_for_each(|hidden| one(plan, hidden));
    // What was mounted stays when the name goes.
    unlink(EMPTY).step("remove the name of an empty file")?;
    covered
}

fn one(plan: &Plan, hidden: &Place) -> Result<(), Fault> {
    let path = hidden.path.as_path();
    let fault = || format!("hide `{}`", path.display());
    let other = || Fault::because(fault(), "something else took its name while the server started");
    let roots = plan.roots.iter().map(|root| root.place.path.as_path());
    let outermost = roots.filter(|root| path.starts_with(root)).min_by_key(|root| root.as_os_str().len());
    let (Some(root), Some(name)) = (outermost, path.file_name()) else { return Ok(()) };
    let handle = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut dir = open(root, handle | OFlags::DIRECTORY, Mode::empty()).step_with(fault)?;
    for part in path.parent().and_then(|parent| parent.strip_prefix(root).ok()).unwrap_or(Path::new("")) {
        let below = openat(&dir, part, handle | OFlags::DIRECTORY, Mode::empty()).step_with(fault)?;
        dir = view::nail(&dir, below)?.ok_or_else(other)?;
    }
    let file = openat(&dir, name, handle, Mode::empty()).step_with(fault)?;
    let stat = fstat(&file).step_with(fault)?;
    if (stat.st_dev, stat.st_ino) != (hidden.dev, hidden.ino) {
        return Err(other());
    }
    view::cover(&file, Path::new(EMPTY)).step_with(fault)
}
