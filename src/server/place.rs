//! Where a server's calls work, for a person who looks on.

use serde_json::{Value, json};

use super::tool_server::Server;
use crate::exec::{BackgroundCommands, State};
use crate::limits::RECENT_SUBJECT_BYTES;

impl Server {
    /// What its tools may reach, what holds commands back, and the background commands that run:
    /// `{roots: [{path, access}], walls, background: [{id, command, seconds, bytes}]}`.
    pub fn place(&self) -> Value {
        let roots = self.services.policy.roots().iter().map(|root| {
            let access = if root.writable() { "rw" } else { "ro" };
            json!({"path": root.path().display().to_string(), "access": access})
        });
        let background = self.services.commands.background.as_ref().map_or_else(Vec::new, BackgroundCommands::list);
        let running = background.iter().filter(|command| command.state() == State::Running).map(|command| {
            let line = command.line();
            json!({
                "id": command.id(),
                "command": &line[..line.floor_char_boundary(RECENT_SUBJECT_BYTES)],
                "seconds": command.age().as_secs(),
                "bytes": command.written(),
            })
        });
        json!({
            "roots": roots.collect::<Vec<_>>(),
            "walls": self.services.commands.standing.word(),
            "background": running.collect::<Vec<_>>(),
        })
    }
}
