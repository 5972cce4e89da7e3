//! Answers for paths.
#![expect(
    clippy::disallowed_methods,
    reason = "a person asks, who may look at the disk"
)]

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use replay_files::autorun::{Compared, rule_for_path};
use replay_files::policy::{self, Cause, Grant, Policy, PolicyError, Quoted};

use super::{RuleAnswer, absolute, is_socket, socket};
use crate::commands::process::quoted_path;
use crate::config::Config;

/// Answer for reading a path.
pub(super) fn read(config: &Config, policy: &Policy, path: &Path) -> RuleAnswer {
    let path = absolute(path);
    if is_socket(&path) {
        return socket(config, &path);
    }
    let seen = config
        .sandbox
        .system
        .iter()
        .find(|seen| path.starts_with(&seen.path));
    let seen = seen.map(|seen| {
        format!(
            "commands can read it, since it belongs to the system directories: {} ({})",
            seen.path.display(),
            seen.why
        )
    });
    match policy.look(&path) {
        Ok(_) => RuleAnswer::allowed(allowed_by(policy, &path)),
        Err(error) => refused(policy, &path, &error, "")
            .deny_cache(config, &path)
            .with_home(config, &path),
    }
    .with_notes(seen)
}

/// Answer for writing a path.
pub(super) fn write(config: &Config, policy: &Policy, path: &Path) -> RuleAnswer {
    let path = absolute(path);
    if is_socket(&path) {
        return socket(config, &path);
    }
    let found = match policy.try_write(&path).map(drop) {
        Err(PolicyError::IsDirectory { .. }) => policy.create_dir(&path).map(drop),
        found => found,
    };
    let rule = path
        .parent()
        .and_then(|_| rule_for_path(path.as_os_str().as_bytes()));
    let frozen = rule.filter(|_| config.undo.freezes).map(|(rule, _)| {
        format!(
            "the parts that {} runs cannot be changed (--freeze-autorun)",
            rule.obeyed_by
        )
    });
    match (found, frozen) {
        (Ok(()), Some(frozen))
            if rule.is_some_and(|(rule, _)| rule.compared == Compared::Whole) =>
        {
            RuleAnswer::denied(frozen).with_flag(
                "no --freeze-autorun",
                "commands and tools can change files that programs outside the walls run",
            )
        }
        (Ok(()), frozen) => RuleAnswer::allowed(allowed_by(policy, &path)).with_notes(frozen),
        (Err(error), _) => refused(policy, &path, &error, ":rw").deny_cache(config, &path),
    }
}

/// Names the allowed directory of a path.
pub(super) fn allowed_by(policy: &Policy, path: &Path) -> String {
    let root = policy.governing(path).ok().flatten();
    root.map_or_else(String::new, |root| {
        let rights = if root.writable() {
            "read-write"
        } else {
            "read-only"
        };
        format!(
            "it lies in the allowed directory {} ({rights})",
            Quoted(root.path())
        )
    })
}

fn refused(policy: &Policy, path: &Path, error: &PolicyError, suffix: &str) -> RuleAnswer {
    let denied = RuleAnswer::denied(error.to_string());
    match error {
        PolicyError::NotFound { .. } => {
            RuleAnswer::allowed(allowed_by(policy, path)).with_notes([error.to_string()])
        }
        PolicyError::Denied { .. } => {
            let is_dir = |path: &Path| path.is_dir() && path != Path::new("/");
            let Some(dir) = path.ancestors().find(|above| is_dir(above)) else {
                return denied;
            };
            let grant = Grant {
                path: dir.to_owned(),
                access: policy::Access::ReadOnly,
            };
            if let Err(refusal) = Policy::open(&[grant], &[]) {
                return denied.with_notes([format!("no flag allows it: {refusal}")]);
            }
            let does = if suffix.is_empty() {
                "read"
            } else {
                "read and change"
            };
            let holds_sockets = dir
                .read_dir()
                .is_ok_and(|entries| entries.flatten().any(|entry| is_socket(&entry.path())));
            let note = format!(
                "{} has unix sockets; commands connect to none of them without --allow-socket",
                Quoted(dir)
            );
            let is_home = std::env::var_os("HOME").is_some_and(|home| Path::new(&home) == dir);
            let home_note = "this is your home directory, with keys and tokens in it; copy the file into an allowed directory instead".to_owned();
            denied
                .with_flag(
                    format!("--allow {}{suffix}", quoted_path(dir)),
                    format!(
                        "tools and commands can {does} everything in {}",
                        Quoted(dir)
                    ),
                )
                .with_notes(holds_sockets.then_some(note))
                .with_notes(is_home.then_some(home_note))
        }
        PolicyError::ReadOnly { .. } => {
            let Some(root) = policy.governing(path).ok().flatten() else {
                return denied;
            };
            denied.with_flag(
                format!("--allow {}:rw", quoted_path(root.path())),
                format!(
                    "tools and commands can change everything in {}, except protected paths",
                    Quoted(root.path())
                ),
            )
        }
        PolicyError::Protected { protected, why, .. } => {
            let flag = match why {
                Cause::Default(_) => format!("--unprotect {}", quoted_path(protected)),
                Cause::Asked => format!("no --protect {}", quoted_path(protected)),
                Cause::Configures | Cause::Hidden => return denied,
            };
            let obeyed = if let Cause::Default(program) = why {
                format!(", which {program} obeys")
            } else {
                String::new()
            };
            denied.with_flag(
                flag,
                format!(
                    "tools and commands can change everything at or below {}{obeyed}",
                    Quoted(protected)
                ),
            )
        }
        _ => denied,
    }
}
