//! Flags of credentials. Each `--for` belongs to the `--credential` before it, so both are parsed
//! together.

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::help::WALLS;

/// A credential as written on the command line, in a profile or in a token file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeclaredCredential {
    /// `NAME=env:VARIABLE` or `NAME=file:PATH`
    pub credential: String,
    /// Requests that may use the secret, as in --for
    #[serde(rename = "for")]
    pub targets: Vec<String>,
}

#[derive(Args)]
#[expect(clippy::doc_markdown, reason = "help shows an address as it is typed")]
struct Flags {
    /// Let commands use a secret that they cannot read
    ///
    /// Repeatable. The variable NAME of commands holds a placeholder. The server puts the secret
    /// into the head of requests that a following --for names. It reads the secret at the start.
    #[arg(long, help_heading = WALLS, value_name = "NAME=env:VARIABLE|NAME=file:PATH")]
    credential: Vec<String>,
    /// Name the requests that may use the --credential before it, such as
    /// `https://api.github.com/**`
    ///
    /// Repeatable. RULE is a rule of --allow-host that begins with https://, or with http:// to
    /// send the secret without TLS. --allow-host must allow the host. For git, https://NAME@HOST/**
    /// replaces the user name x-access-token.
    #[arg(long = "for", help_heading = WALLS, value_name = "RULE", hide_short_help = true)]
    targets: Vec<String>,
}

/// Credentials of the command line.
#[derive(Clone, Debug, Default)]
pub struct CredentialArgs {
    pub credentials: Vec<DeclaredCredential>,
    /// `true` if the credentials of a profile are not added to these.
    pub are_all: bool,
}

impl Args for CredentialArgs {
    fn augment_args(command: Command) -> Command {
        Flags::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Flags::augment_args_for_update(command)
    }
}

impl FromArgMatches for CredentialArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let placed = |id| {
            let values = matches.get_many::<String>(id).into_iter().flatten();
            matches
                .indices_of(id)
                .into_iter()
                .flatten()
                .zip(values.cloned())
        };
        let mut credentials: Vec<(usize, DeclaredCredential)> = placed("credential")
            .map(|(at, credential)| {
                (
                    at,
                    DeclaredCredential {
                        credential,
                        targets: Vec::new(),
                    },
                )
            })
            .collect();
        for (at, place) in placed("targets") {
            let Some((_, of)) = credentials
                .iter_mut()
                .rev()
                .find(|(before, _)| *before < at)
            else {
                let said =
                    format!("--for `{place}` must follow the --credential that it belongs to");
                return Err(Error::raw(ErrorKind::MissingRequiredArgument, said));
            };
            of.targets.push(place);
        }
        let credentials = credentials
            .into_iter()
            .map(|(_, credential)| credential)
            .collect();
        Ok(Self {
            credentials,
            are_all: false,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
