//! Resolves declared credentials, and puts placeholders into the environment of commands.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::cli::DeclaredCredential;
use crate::secrets::{identity, reading};
use replay_network::rules::{
    Credential, CredentialTarget, Credentials, MAX_SECRET_BYTES, Rules, Secret,
};

/// Default user name for git. GitHub and others accept any name.
const GIT_USER: &str = "x-access-token";
/// Number of settings in the environment (git-config(1)).
const GIT_COUNT: &str = "GIT_CONFIG_COUNT";

/// Resolves the credentials. Also returns the files that secrets were read from.
pub(super) fn resolve(
    declared: &[DeclaredCredential],
    rules: &Rules,
    here: &Path,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<(Credentials, Vec<PathBuf>)> {
    let (mut all, mut files): (Vec<Credential>, Vec<PathBuf>) = (Vec::new(), Vec::new());
    for DeclaredCredential {
        credential,
        targets,
    } in declared
    {
        // Do not repeat the argument, since it may be a secret.
        let Some((name, from)) = credential.split_once('=') else {
            bail!("--credential must be NAME=env:VARIABLE or NAME=file:PATH; one has no `=`");
        };
        let said = || format!("--credential {name}");
        check_name(name).with_context(said)?;
        if all.iter().any(|other| other.name == name) {
            bail!(
                "--credential {name} is given twice; to use it at a second place add another \
                --for"
            );
        }
        if targets.is_empty() {
            bail!(
                "--credential {name} needs a --for after it, such as --for https://example.com/**"
            );
        }
        let secret = match from.split_once(':') {
            Some(("env", named)) => {
                let value = variable(named);
                value
                    .with_context(|| {
                        format!("--credential {name}: the variable `{named}` is not set")
                    })?
                    .into_vec()
            }
            Some(("file", path)) => {
                let path = super::absolute(here, Path::new(path));
                let secret = read(&path).with_context(said)?;
                files.push(path);
                secret
            }
            _ => bail!("--credential {name} must be read from env:VARIABLE or file:PATH"),
        };
        let targets = targets
            .iter()
            .map(|place| place_of(place, rules))
            .collect::<Result<_>>()
            .with_context(said)?;
        let credential = Credential::new(name.to_owned(), Secret::new(secret), targets);
        all.push(credential.with_context(|| format!("--credential {name}: its value"))?);
    }
    for one in &all {
        let others = || all.iter().filter(|other| other.name != one.name);
        if let Some(other) = others()
            .find(|other| memchr::memmem::find(other.secret.bytes(), one.secret.bytes()).is_some())
        {
            let (one, other) = (&one.name, &other.name);
            bail!(
                "the value of --credential {other} contains that of {one}; declare it once, with \
                 a --for for each place"
            );
        }
    }
    Ok((Credentials::new(all), files))
}

/// Checks the name of a variable by the rules of shells.
fn check_name(name: &str) -> Result<()> {
    let is_name = !name.starts_with(|first: char| first.is_ascii_digit())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if name.is_empty() || !is_name {
        bail!("it is not a valid variable name");
    }
    Ok(())
}

fn place_of(text: &str, rules: &Rules) -> Result<CredentialTarget> {
    let place: CredentialTarget = text
        .parse()
        .map_err(|error| anyhow::anyhow!("--for: {error}"))?;
    if !place.is_within(rules) {
        let rule = place.reaching();
        bail!("--for `{text}`: commands cannot reach it; add a rule, such as --allow-host {rule}");
    }
    Ok(place)
}

/// Reads a secret without its trailing newline.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    let shown = path.display();
    let (file, is_regular) = reading::open(path)?;
    if !is_regular {
        bail!("`{shown}` is not a regular file");
    }
    identity(path, &file).with_context(|| format!("`{shown}`"))?;
    // Editors may end the line with CRLF.
    let read = reading::of(&file, is_regular, MAX_SECRET_BYTES as u64 + 2)
        .with_context(|| format!("`{shown}`"))?;
    if read.mode & 0o077 != 0 {
        bail!(
            "other users can read or change `{shown}` (mode {:04o}); run chmod 600 on it",
            read.mode & 0o777
        );
    }
    let mut bytes = read.bytes;
    for end in [b'\n', b'\r'] {
        if bytes.last() == Some(&end) {
            bytes.pop();
        }
    }
    Ok(bytes)
}

/// Replaces secrets in the environment of commands by placeholders, wherever they occur. Adds the
/// variables of the credentials, which replace existing ones.
pub(super) fn stand_in(
    environment: &mut Vec<(OsString, OsString)>,
    credentials: &Credentials,
) -> Result<()> {
    if credentials.is_empty() {
        return Ok(());
    }
    let concealer = credentials.conceals();
    for (name, value) in environment.iter_mut() {
        let concealed = concealer.whole(value.as_bytes());
        *value = OsString::from_vec(
            concealed.with_context(|| format!("`{}` cannot be looked at", name.display()))?,
        );
    }
    for Credential { name, stand_in, .. } in credentials.iter() {
        environment.retain(|(known, _)| known != name.as_str());
        environment.push((name.into(), stand_in.into()));
    }
    let targets = credentials.iter().flat_map(|credential| {
        credential
            .targets
            .iter()
            .map(move |place| (credential, place))
    });
    let helpers = targets.filter(|(_, place)| place.scheme.login_port().is_none()).map(|(credential, place)| {
        let (scheme, stand_in) = (place.scheme.word(), &credential.stand_in);
        let user = place.user.as_deref().unwrap_or(GIT_USER);
        let helper = format!("!f() {{ test \"$1\" != get || printf '%s\\n' username={user} password={stand_in}; }}; f");
        (format!("credential.{scheme}://{}.helper", place.authority), helper)
    });
    configure_git(environment, helpers)
}

/// Adds git settings to those already in the environment (git-config(1), `GIT_CONFIG_COUNT`).
pub(crate) fn configure_git<Text: Into<OsString>>(
    environment: &mut Vec<(OsString, OsString)>,
    settings: impl Iterator<Item = (Text, Text)>,
) -> Result<()> {
    let count = environment
        .iter()
        .find(|(name, _)| name == GIT_COUNT)
        .map(|(_, value)| value.clone());
    let first: usize = match &count {
        None => 0,
        Some(count) => count
            .to_str()
            .and_then(|count| count.parse().ok())
            .with_context(|| {
                format!(
                    "--env {GIT_COUNT} of commands is `{}`; it must be a number",
                    count.display()
                )
            })?,
    };
    let mut last = first;
    for (key, value) in settings {
        environment.push((format!("GIT_CONFIG_KEY_{last}").into(), key.into()));
        environment.push((format!("GIT_CONFIG_VALUE_{last}").into(), value.into()));
        last += 1;
    }
    if last > first {
        environment.retain(|(name, _)| name != GIT_COUNT);
        environment.push((GIT_COUNT.into(), last.to_string().into()));
    }
    Ok(())
}
