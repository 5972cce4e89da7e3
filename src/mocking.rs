//! `replay mock`: the files behind a mock are read here, as the operator's own, and watched.
#![expect(clippy::disallowed_methods, reason = "a manifest is the operator's file, named on the command line")]

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use tracing::level_filters::LevelFilter;

use crate::cli::{LogLevel, MockAction, MockServe};
use crate::config::level_filter;
use crate::limits::MAX_MANIFEST_BYTES;
use crate::mock::{Catalog, Fault, LoadError, Mock, PRESETS, Problem, STARTER, load, of_manifest, preset};

/// Where a mock comes from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A file, which may change.
    Manifest(PathBuf),
    /// A part of the program.
    Preset(&'static str),
}

/// What is logged: `--debug` and `--verbose` are short for levels.
pub fn log_level(serve: &MockServe, level: LogLevel) -> LevelFilter {
    match (serve.debug, serve.verbose) {
        (true, _) => LevelFilter::TRACE,
        (false, true) => LevelFilter::DEBUG,
        (false, false) => level_filter(level),
    }
}

/// The source that was named. The command line sees to it that there is exactly one.
pub fn source(serve: &MockServe) -> Result<Origin> {
    match (&serve.tools_from, &serve.preset) {
        (Some(path), _) => Ok(Origin::Manifest(path.clone())),
        (None, Some(name)) => {
            Ok(Origin::Preset(preset(name).with_context(|| format!("there is no preset `{name}`"))?.name))
        }
        (None, None) => bail!("one of --tools-from and --preset is required"),
    }
}

/// The mock of a source, and what watches its file for as long as it is kept.
pub fn mock(origin: &Origin, fault: Option<Fault>) -> Result<(Arc<Mock>, Option<()>)> {
    match origin {
        Origin::Manifest(path) => Ok((Mock::new(catalog(path)?, fault, false), None)),
        Origin::Preset(name) => {
            let text = preset(name).map(|preset| preset.text).unwrap_or_default();
            let (catalog, _) = build(name, text.as_bytes())?;
            Ok((Mock::new(catalog, fault, false), None))
        }
    }
}

/// The mock that is served beside the tools. Its file is read once: later the server may be behind its own walls.
pub fn beside(path: &Path) -> Result<Arc<Mock>> {
    Ok(Mock::new(catalog(path)?, None, false))
}

/// What `replay mock ACTION` prints, and whether all is well.
pub fn act(action: &MockAction) -> Result<(String, bool)> {
    match action {
        MockAction::Check { manifest } => check(manifest),
        MockAction::Init { file } => {
            let mut new = OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(file)
                .with_context(|| format!("`{}` cannot be created", file.display()))?;
            new.write_all(STARTER.as_bytes()).with_context(|| format!("`{}` cannot be written", file.display()))?;
            let file = file.display();
            Ok((format!("{file} is written; serve it with: replay mock --tools-from {file}\n"), true))
        }
        MockAction::Presets { name: Some(name) } => {
            Ok((preset(name).map(|preset| preset.text.to_owned()).unwrap_or_default(), true))
        }
        MockAction::Presets { name: None } => {
            let mut text = String::new();
            for preset in PRESETS {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "{:<14}{}", preset.name, preset.about);
            }
            Ok((text, true))
        }
        MockAction::Schema => Ok((format!("{:#}\n", of_manifest()), true)),
    }
}

fn check(path: &Path) -> Result<(String, bool)> {
    let name = path.display().to_string();
    let lines = |problems: Vec<Problem>, kind: &str| {
        let error = LoadError { file: name.clone(), problems };
        error.to_string().lines().map(|line| format!("{kind}{line}\n")).collect::<String>()
    };
    match build(&name, &read(path)?) {
        Err(error) => Ok((lines(error.problems, "error: "), false)),
        Ok((_, warnings)) if warnings.is_empty() => Ok((format!("{name}: good\n"), true)),
        Ok((_, warnings)) => Ok((lines(warnings, "warning: "), true)),
    }
}

fn catalog(path: &Path) -> Result<Catalog> {
    let (catalog, warnings) = build(&path.display().to_string(), &read(path)?)?;
    if !warnings.is_empty() {
        tracing::warn!("{}", LoadError { file: path.display().to_string(), problems: warnings });
    }
    Ok(catalog)
}

fn build(name: &str, bytes: &[u8]) -> Result<(Catalog, Vec<Problem>), LoadError> {
    let (manifest, source) = load(name, bytes)?;
    Catalog::build(&manifest, &source)
}

/// The whole file, but not more than one byte over what is allowed: what is too long is refused, not read.
fn read(path: &Path) -> Result<Vec<u8>> {
    let cannot = || format!("`{}` cannot be read", path.display());
    let file = File::open(path).with_context(cannot)?;
    let metadata = file.metadata().with_context(cannot)?;
    if metadata.is_file() && metadata.len() > MAX_MANIFEST_BYTES {
        bail!("`{}` is {} bytes; at most {MAX_MANIFEST_BYTES} are read", path.display(), metadata.len());
    }
    let mut bytes = Vec::new();
    file.take(MAX_MANIFEST_BYTES + 1).read_to_end(&mut bytes).with_context(cannot)?;
    Ok(bytes)
}
