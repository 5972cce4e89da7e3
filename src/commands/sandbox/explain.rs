//! `replay sandbox explain`: prints the restrictions of commands, and their gaps.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use replay_files::policy::{Cause, Policy};
use replay_sandbox::Tier;
use replay_sandbox::explain::{Protected, Why, explain as text};

use crate::cli::Options;
use crate::compose::{alone, in_history, linked_git, plan};
use crate::config::Config;

/// Renders the explanation. If no walls can be built, explains those of the best tier.
pub(super) fn explain(options: &Options) -> Result<String> {
    let config = &Config::for_server(options)?;
    let server = alone(config)?;
    let (policy, commands) = (&server.services().policy, &server.services().commands);
    let standing = &commands.standing;
    let plan = plan(
        config,
        policy,
        None,
        standing.tier.unwrap_or(Tier::Namespaces),
        Path::new(""),
        commands.cache.as_ref(),
    )?;
    let protected: Vec<&Path> = policy.protected_by_operator().collect();
    let kernel = kernel();
    let asked = config.sandbox.explicit_requests(&protected);
    let protected = protected_paths(policy);
    let why = Why {
        kernel: &kernel,
        system: &config.sandbox.system,
        home: &config.sandbox.home_files,
        scripts: &config.sandbox.left_out_scripts,
        devices: &config.sandbox.devices,
        protected: &protected,
        asked,
    };
    let mut text = text(&plan, standing, &why);
    for (_, words) in linked_git::lines(policy, plan.tier)
        .into_iter()
        .filter(|(is_warning, _)| *is_warning)
    {
        let _ = writeln!(text, "  {words}");
    }
    if let Some(socket) = &config.sandbox.ssh_agent {
        let _ = writeln!(
            text,
            "  the ssh-agent at {} signs git commits and tags (--ssh-sign)",
            socket.display()
        );
    }
    let publish = &config.sandbox.publish;
    for port in publish.ports() {
        let (inside, link) = (port.inside, port.link());
        let _ = writeln!(
            text,
            "  {link} leads to port {inside} of commands, from 127.0.0.1 and [::1] (--publish)"
        );
    }
    if publish.is_automatic() {
        text.push_str(
            "  while a command listens on a port from 1024 on, 127.0.0.1 and [::1] lead to it \
             (--publish auto)\n",
        );
    }
    let upstream = commands
        .gate
        .as_ref()
        .and_then(|gate| gate.upstream_proxy());
    if let Some(proxy) = upstream {
        let _ = writeln!(text, "  allowed hosts are reached through {proxy}");
    }
    for path in policy
        .hidden_by_patterns()
        .iter()
        .flat_map(|hide| &hide.found.tracked)
    {
        let _ = writeln!(text, "  {}", in_history(path));
    }
    if policy.repositories().paths().is_partial {
        text.push_str("  only the first directories were searched for git repositories\n");
    }
    Ok(text)
}

/// Name, release and machine type of the kernel.
pub(crate) fn kernel() -> String {
    let uname = rustix::system::uname();
    let [name, release, machine] =
        [uname.sysname(), uname.release(), uname.machine()].map(|part| part.to_string_lossy());
    format!("{name} {release} ({machine})")
}

/// Paths that are read-only by default or by flags, and those found in git repositories.
fn protected_paths(policy: &Policy) -> Vec<Protected> {
    let named = policy.causes().map(|(path, cause)| {
        let (by, program) = match cause {
            Cause::Asked => ("--protect", None),
            Cause::Configures => ("configures this server", None),
            Cause::Default(program) => ("by default", Some(program)),
            Cause::Hidden => ("hidden", None),
        };
        Protected {
            path: path.into(),
            by,
            program,
        }
    });
    let mut all: Vec<Protected> = named.collect();
    for path in policy.repositories().paths().all() {
        if !all.iter().any(|known| known.path == path) {
            all.push(Protected {
                path: path.into(),
                by: "by default",
                program: Some("git"),
            });
        }
    }
    for path in &policy.repositories().paths().frozen {
        if !all.iter().any(|known| known.path == *path) {
            all.push(Protected {
                path: path.clone(),
                by: "--freeze-autorun",
                program: None,
            });
        }
    }
    all
}
