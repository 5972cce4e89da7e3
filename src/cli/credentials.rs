//! Flags of credentials. Each `--for` belongs to the `--credential` before it, so both are parsed
//! together.

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::help::WALLS;

/// One as it was written, on the command line, in a profile or in a line of the file of tokens.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeclaredCredential {
    /// `NAME=env:VARIABLE` or `NAME=file:PATH`
    pub credential: String,
    /// What it is for
    #[serde(rename = "for")]
    pub places: Vec<String>,
}

#[derive(Args)]
#[expect(clippy::doc_markdown, reason = "help shows an address as it is typed")]
struct Flags {
    /// Let commands use a secret that they cannot read
    ///
    /// Repeatable. The variable NAME of commands holds a stand-in, and the secret takes its place
    /// in the head of requests to what the flags --for behind it name. It is read when the server
    /// starts.
    #[arg(long, help_heading = WALLS, value_name = "NAME=env:VARIABLE|NAME=file:PATH")]
    credential: Vec<String>,
    /// Name what the --credential before it is for, such as `https://api.github.com/**`
    ///
    /// Repeatable. RULE is one of --allow-host that begins with https://, or with http:// to send it
    /// without TLS. --allow-host has to allow the host. https://NAME@HOST/** gives git this name of
    /// a user instead of x-access-token.
    #[arg(long = "for", help_heading = WALLS, value_name = "RULE", hide_short_help = true)]
    places: Vec<String>,
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
                        places: Vec::new(),
                    },
                )
            })
            .collect();
        for (at, place) in placed("places") {
            let Some((_, of)) = credentials
                .iter_mut()
                .rev()
                .find(|(before, _)| *before < at)
            else {
                let said = format!(
                    "--for `{place}` has no --credential before it, to which it would belong"
                );
                return Err(Error::raw(ErrorKind::MissingRequiredArgument, said));
            };
            of.places.push(place);
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
