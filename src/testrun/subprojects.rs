//! Projects below a directory that is no project itself or lacks a program: suggestions for `cwd`.

use std::path::Path;

use replay_base::text::escape::show_path;

use super::context::RunContext;
use super::detection;
use super::listing::listed;
use super::tool::ToolKind;

/// Projects below a directory that a hint names; the others are counted.
const MAX_NAMED_PROJECTS: usize = 8;

/// Lists the projects below `cwd`. Those with the named files come first, then those whose tool
/// suits such files, then the others. Returns `None` if there are none.
pub(crate) fn projects<T: ToolKind + ?Sized>(
    context: &RunContext<'_>,
    cwd: &Path,
    files: &[String],
) -> Option<String> {
    let disk = context.disk();
    let is_there = |dir: &str, file: &String| {
        let path = file.split("::").next().unwrap_or(file);
        context.policy.is_there(cwd.join(dir).join(path))
    };
    let mut ranked: Vec<(u8, String, &'static str)> = detection::below::<T>(&disk, cwd)
        .into_iter()
        .filter_map(|(dir, tools)| {
            let suits = tools
                .iter()
                .find(|tool| files.iter().all(|file| tool.suits(file)));
            let rank = match suits {
                Some(_) if files.iter().all(|file| is_there(&dir, file)) => 0,
                Some(_) => 1,
                None => 2,
            };
            let tool = suits.or_else(|| tools.first())?;
            Some((rank, cwd_argument(context, &cwd.join(&dir)), tool.name()))
        })
        .collect();
    ranked.sort_by_key(|(rank, ..)| *rank);
    let named = ranked
        .into_iter()
        .map(|(_, dir, what)| format!("`{dir}` ({what})"))
        .collect();
    listed(named, MAX_NAMED_PROJECTS)
}

/// Returns the next step if a missing tool is installed in projects below. Returns `None` if it is
/// in none.
pub(crate) fn projects_with_tool<T: ToolKind + ?Sized>(
    context: &RunContext<'_>,
    cwd: &Path,
    tool: &T,
) -> Option<String> {
    let disk = context.disk();
    let has_tool = |tools: &[&T]| tools.iter().any(|known| known.name() == tool.name());
    let named = detection::below::<T>(&disk, cwd)
        .into_iter()
        .filter(|(dir, tools)| has_tool(tools) && tool.is_in(disk, &cwd.join(dir)))
        .map(|(dir, _)| format!("`{}`", cwd_argument(context, &cwd.join(dir))))
        .collect();
    listed(named, MAX_NAMED_PROJECTS).map(|named| {
        format!(
            "{} is not here, but projects below have it: give one of these as `cwd`: {named}",
            tool.name()
        )
    })
}

/// Returns a directory as `cwd` takes it: relative to where relative paths begin, or absolute.
fn cwd_argument(context: &RunContext<'_>, dir: &Path) -> String {
    let below = context.policy.base();
    let below = below.and_then(|base| dir.strip_prefix(base).ok());
    show_path(below.unwrap_or(dir)).to_string()
}
