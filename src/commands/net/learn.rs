//! `replay net learn`: finds the network rules that a program needs.
#![expect(
    clippy::disallowed_methods,
    reason = "a file that a person names on the command line"
)]

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use replay_base::text::escape::show;

use crate::cli::Options;
use crate::commands::process::tell;
use crate::commands::sandbox::run_program;
use crate::config::Config;
use replay_proxy::Learned;

/// Proxy variables (curl(1), ENVIRONMENT).
const PROXIES: [&str; 6] = [
    "https_proxy",
    "HTTPS_PROXY",
    "http_proxy",
    "HTTP_PROXY",
    "all_proxy",
    "ALL_PROXY",
];

/// Proxy variables that are set, with their values without credentials.
fn proxies(environment: &[(OsString, OsString)]) -> Vec<(&'static str, String)> {
    let value = |name: &str| {
        environment
            .iter()
            .find(|(known, value)| known == name && !value.is_empty())
    };
    let named = PROXIES
        .into_iter()
        .filter_map(|name| Some((name, value(name)?.1.to_string_lossy())));
    named
        .map(|(name, value)| {
            // Removes user name and password.
            let (scheme, rest) = value.split_once("://").unwrap_or(("http", &value));
            let address = rest.rsplit_once('@').map_or(rest, |(_, address)| address);
            (
                name,
                show(format!("{scheme}://{address}").as_bytes()).into_owned(),
            )
        })
        .collect()
}

pub(super) fn learn(
    options: Options,
    out: Option<&Path>,
    program: &[OsString],
) -> Result<ExitCode> {
    // Fail before the program runs for minutes.
    let file = out
        .filter(|path| *path != Path::new("-"))
        .map(|path| File::create(path).with_context(|| format!("--out `{}`", path.display())))
        .transpose()?;
    let learned = Arc::new(Learned::default());
    let config = Config::for_learning(options, Arc::clone(&learned))?;
    // Commands have a proxy only by --env.
    let proxies = proxies(&config.sandbox.environment);
    let upstream = config.sandbox.upstream_proxy.clone();
    let status = run_program(config, program)?;
    let mut err = io::stderr();
    for (name, why) in learned.unresolved() {
        tell(format!("replay: the name {name} was not resolved: {why}"));
    }
    let rules = learned.rules().map_err(|why| anyhow!(why))?;
    if !proxies.is_empty() {
        let names: Vec<&str> = proxies.iter().map(|(name, _)| *name).collect();
        let _ = writeln!(
            err,
            "replay: the program had the proxy of {}, so the hosts behind it are unknown, and a \
             rule for the proxy would allow all of them; learn without --env {}",
            proxies
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect::<Vec<_>>()
                .join(", "),
            names.join(" and --env "),
        );
    } else if rules.is_empty() {
        let _ = writeln!(
            err,
            "replay: the program reached no host; servers of this machine need --allow-host \
             ADDRESS:PORT while learning"
        );
    } else if let Some(proxy) = upstream {
        let _ = writeln!(
            err,
            "replay: hosts were reached through {proxy}; without it a name that leads to a private \
             address needs another rule"
        );
    }
    let mut to: Box<dyn io::Write> =
        file.map_or_else(|| Box::new(io::stdout()) as _, |file| Box::new(file) as _);
    for rule in rules {
        writeln!(to, "--allow-host {rule}")?;
    }
    Ok(ExitCode::from(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_shown_without_passwords() {
        let environment = [
            ("HTTPS_PROXY", "http://me:pass@proxy:3128"),
            ("ALL_PROXY", ""),
            ("http_proxy", "10.0.0.1:8080"),
            ("A", "b"),
        ];
        let environment: Vec<_> = environment
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let expected = [
            ("HTTPS_PROXY", "http://proxy:3128".to_owned()),
            ("http_proxy", "http://10.0.0.1:8080".to_owned()),
        ];
        assert_eq!(proxies(&environment), expected);
    }
}
