//! `install_packages`: installs packages for one Python session.

use std::path::Path;
use std::time::Duration;

use replay_mcp::sessions::Weight;
use replay_python::packages::{
    ALL_THERE, NO_ENVIRONMENT, NO_PIP, NOT_THERE, is_path, missing_builder, script, shortened,
    split_module_dir, split_unimportable,
};
use replay_python::{PythonError, shorten};
use replay_sandbox::exec::{self, Blocked, Denied, ExecError, place_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::notes::changes::changes_made;
use super::notes::command::exit_code;
use super::open_object::Open;
use super::python::{has_network, host, private_directory, session};
use super::status_line::Status;
use super::{BadResult, Context, HandOver, Hints, Reply, Tool, Toolset};
use crate::error::Error;

/// Default timeout for the installation of packages, in seconds.
const DEFAULT_INSTALL_SECS: u64 = 120;
/// Longest that packages may take to be installed, in seconds.
const MAX_INSTALL_SECS: u64 = 1800;
/// Packages in one call.
const MAX_PACKAGES: usize = 100;

pub(super) struct InstallPackages;

/// Arguments of `install_packages`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Params {
    /// Packages: names as for pip, with optional versions, or paths of wheels and source trees
    #[schemars(length(min = 1, max = MAX_PACKAGES), extend("x-aliases" = ["package"]))]
    packages: Vec<String>,
    /// Seconds until it is ended (default 120)
    #[schemars(range(min = 1, max = MAX_INSTALL_SECS), extend("x-aliases" = ["timeout_secs"]))]
    timeout: Option<u64>,
    /// Session that gets them (default: the active one)
    #[schemars(extend("x-aliases" = ["session"]))]
    session_id: Option<String>,
}

/// Result of the installation.
#[derive(Debug, Serialize)]
pub(super) struct Output {
    success: bool,
    session_id: String,
    packages: Vec<String>,
    #[serde(rename = "output")]
    said: String,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blocked: Vec<Blocked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_more: Option<u64>,
}

impl Tool for InstallPackages {
    type Params = Params;
    type Output = Open<Output>;
    const NAME: &'static str = "install_packages";
    const TITLE: &'static str = "Install Python packages";
    const DESCRIPTION: &'static str = "Install packages with pip for one session, into an \
        environment that lives as long as the server. The session can import them at once and \
        keeps its variables; other sessions and run_tests do not see them. Names need a network \
        (--allow-hosts pypi); wheels and source trees in the allowed directories do not.";
    const HINTS: Hints = Hints::Runs;
    const TOOLSET: Toolset = Toolset::Python;
    const WEIGHT: Weight = Weight::Heavy;
    const HAND_OVER: HandOver = HandOver::GoesOn;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Open<Output>>, Error> {
        let host = host(context, Self::NAME)?;
        let services = context.services;
        let session = session(context, params.session_id.as_deref())?;
        let offline = !has_network(context);
        let wanted = params
            .packages
            .iter()
            .map(|package| pip_argument(context, package))
            .collect::<Result<Vec<_>, _>>()?;
        let Some(directory) = private_directory(context) else {
            return Err(ExecError::NoLauncher.into());
        };
        let own = directory.join(format!("python-{}", session.number()));
        let line = script(&session.settings().python, &own, &wanted, offline);
        let dir = place_of(session.directory(&services.policy)?)?;
        let command = exec::Command {
            changes: context.changes,
            line: &line,
            dir,
            terminal: None,
            path: session.path(),
        };
        let timeout = Duration::from_secs(params.timeout.unwrap_or(DEFAULT_INSTALL_SECS));
        let foreground = services
            .commands
            .foreground(host.launcher, context.cancel, timeout);
        let outcome = foreground.run(&command, &mut |done, stage| {
            context.progress.stage(done, timeout, stage);
        });
        let outcome = outcome.map_err(PythonError::Exec)?;
        if outcome.cancelled {
            return Err(Error::Cancelled);
        }
        let (stdout, code) = (outcome.stdout.text(), exit_code(outcome.exit));
        let (modules, said) = split_module_dir(&stdout);
        let (unimportable, said) = split_unimportable(said);
        if code == NOT_THERE && !outcome.timed_out {
            return Err(not_there(context, &wanted));
        }
        let is_there = code == ALL_THERE && !outcome.timed_out;
        let success = is_there || code == 0 && !outcome.timed_out && modules.is_some();
        let success = success && unimportable.is_empty();
        let mut message = match code {
            0 | ALL_THERE if !unimportable.is_empty() => format!(
                "installed, but the session cannot import {}",
                unimportable.join(", ")
            ),
            _ if outcome.timed_out => format!("ended after its timeout of {} s", timeout.as_secs()),
            ALL_THERE => "nothing to do: the session can import them".to_owned(),
            0 if success => "installed; the session can import them".to_owned(),
            NO_ENVIRONMENT => {
                "this interpreter cannot create an environment for packages (python -m venv \
                 failed); use another one (create_session with `python`)"
                    .to_owned()
            }
            NO_PIP => {
                "this interpreter has neither pip nor ensurepip, so nothing can be installed; use \
                 another one (create_session with `python`)"
                    .to_owned()
            }
            _ if offline && let Some(builder) = missing_builder(&outcome.stderr.text()) => {
                let who = if builder == "wheel" {
                    "setuptools before 70.1 needs to build"
                } else {
                    "builds"
                };
                format!(
                    "pip failed with exit code {code}: `{builder}`, which {who} the source tree, \
                     is not installed, and there is no network. First install a wheel of \
                     `{builder}` by its path, or install a wheel of the package"
                )
            }
            _ if offline => format!(
                "pip failed with exit code {code}; there is no network, so name the packages' \
                 dependencies by their paths, too; the operator can allow downloads with \
                 --allow-hosts pypi"
            ),
            _ => format!("pip failed with exit code {code}"),
        };
        let (blocked, blocked_more) = (
            Blocked::among(&outcome.denied),
            Blocked::more(&outcome.denied),
        );
        for blocked in outcome.denied.iter().filter_map(Denied::blocked_in_words) {
            message = format!("{message}; {blocked}");
        }
        if let Some((Some(note), _)) = changes_made(context) {
            message = format!("{message}; {note}");
        }
        if code == 0
            && !outcome.timed_out
            && let Some(modules) = modules
        {
            session.use_packages(&own, wanted.clone());
            if let Some(kernel) = session.live()
                && let Err(error) = kernel.add_packages(modules, context.cancel)
            {
                message = format!(
                    "installed; the session can import them after restart_session ({error})"
                );
            }
        }
        let said = [said.as_str(), &outcome.stderr.text()]
            .join("\n")
            .trim()
            .to_owned();
        let said = if success {
            said
        } else {
            shortened(&said).into_owned()
        };
        let session_id = session.name().to_owned();
        let packages = wanted;
        let output = Output {
            success,
            session_id,
            packages,
            said,
            message,
            blocked,
            blocked_more,
        };
        let mut reply = if context.is_lean() {
            let said = if output.success {
                String::new()
            } else {
                output.said
            };
            let mut status = Status::default();
            status.add(output.message);
            status.reply(said, Vec::new())
        } else {
            Reply::json(&Open(output), Vec::new())?
        };
        reply.bad = (!success).then_some(BadResult::Program);
        Ok(reply)
    }
}

/// Error for names that are not installed and cannot be fetched without a network.
fn not_there(context: &Context<'_>, wanted: &[String]) -> Error {
    let names: Vec<String> = wanted
        .iter()
        .filter(|package| !is_path(package))
        .map(|package| format!("`{}`", shorten(package)))
        .collect();
    let names = shorten(&names.join(", ")).into_owned();
    // pip takes such a word for a name as well.
    let is_there =
        |package: &&String| !is_path(package) && context.services.policy.is_there(package);
    if let Some(package) = wanted.iter().find(is_there) {
        return Error::params(format!(
            "`{0}` of `packages` is a package name, and there is no network to download it; write \
             `./{0}` for the file or directory of that name",
            shorten(package)
        ));
    }
    Error::Refused {
        what: "install_packages",
        reason: format!("{names} must be downloaded, and there is no network"),
        hint: "use an environment that has them (create_session with `python`, such as .venv/bin/python), or name a wheel \
               or a source tree in an allowed directory; the operator can allow them with --allow-hosts pypi",
    }
}

/// Returns a package argument for pip: a path is checked, and made absolute.
fn pip_argument(context: &Context<'_>, package: &str) -> Result<String, Error> {
    let package = package.trim();
    if package.is_empty() || package.starts_with('-') || package.chars().any(char::is_control) {
        return Err(Error::params(format!(
            "`packages` of install_packages has `{}`; give package names, such as \
             `requests==2.32`, or paths of wheels and source trees",
            shorten(package)
        )));
    }
    if is_path(package) {
        let file = context
            .services
            .policy
            .read(Path::new(package))
            .map_err(PythonError::Policy)?;
        return file
            .display_path()
            .to_str()
            .map(str::to_owned)
            .ok_or_else(|| {
                Error::params(
                    "`packages` of install_packages has a path that is not UTF-8, which pip \
                does not take; rename the file",
                )
            });
    }
    Ok(package.to_owned())
}
