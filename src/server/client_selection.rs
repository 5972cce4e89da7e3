//! The profile by which a client is answered.

use replay_base::text::escape::show;
use replay_clients::{Client, Clients, FailureForm, ReplyProfile, ReplyStyle};
use replay_mcp::protocol::ReplyForm;
use replay_mcp::sessions::ClientInfo;

/// The operator's choice of the profile.
#[derive(Clone, Debug, Default)]
pub enum ClientChoice {
    /// By the name that a client gives of itself.
    #[default]
    ByName,
    /// This client of the table, whatever its name.
    Named(String),
    /// Each client as one that nobody knows.
    Unknown,
}

/// The profiles of clients, and the operator's choice among them.
#[derive(Debug, Default)]
pub struct ClientSelection {
    clients: Clients,
    choice: ClientChoice,
    errors: Option<FailureForm>,
    unknown: ReplyProfile,
}

impl ClientSelection {
    /// Creates a selection. `errors` and `style` hold for all clients, if given.
    pub fn new(
        clients: Clients,
        choice: ClientChoice,
        errors: Option<FailureForm>,
        style: Option<ReplyStyle>,
    ) -> Self {
        let unknown = ReplyProfile::default();
        let (clients, unknown) = match style {
            Some(style) => (clients.with_style(style), unknown.with_style(style)),
            None => (clients, unknown),
        };
        Self {
            clients,
            choice,
            errors,
            unknown,
        }
    }

    /// Returns the profile of a client; `None` if nobody knows it.
    pub fn known(&self, client: Option<&ClientInfo>) -> Option<&Client> {
        match &self.choice {
            ClientChoice::ByName => {
                let ClientInfo { name, version } = client?;
                self.clients.of(name, version)
            }
            ClientChoice::Named(id) => self.clients.named(id),
            ClientChoice::Unknown => None,
        }
    }

    /// Logs the profile of a client that opens a session.
    pub(super) fn log(&self, client: Option<&ClientInfo>) {
        let unnamed = ClientInfo::default();
        let ClientInfo { name, version } = client.unwrap_or(&unnamed);
        let profile = match self.known(client) {
            Some(Client { id, title, .. }) => format!("as {title} (--client {id})"),
            None => "as an unknown client".to_owned(),
        };
        tracing::info!(
            "client `{} {}` is answered {profile}",
            show(name.as_bytes()),
            show(version.as_bytes())
        );
    }

    /// Returns the form of replies to a client.
    pub(super) fn replies(&self, client: Option<&ClientInfo>) -> &ReplyProfile {
        self.known(client)
            .map_or(&self.unknown, |known| &known.replies)
    }

    /// Returns the form of failures for a client.
    pub(super) fn failure_form(&self, replies: &ReplyProfile) -> FailureForm {
        self.errors.unwrap_or(replies.errors)
    }
}

/// Returns the parts of a result that this profile has. `has_exited` is true if a program exited
/// with another status than 0.
pub(super) fn form(replies: &ReplyProfile, has_exited: bool) -> ReplyForm {
    ReplyForm {
        parts: replies.structured,
        has_one_block: replies.one_block,
        has_links: replies.resource_links,
        has_error: replies.exit_is_error || !has_exited,
    }
}
