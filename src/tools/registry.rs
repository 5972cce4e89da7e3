//! The tools that a process serves, in order and by name.

use replay_base::text::nearest::{nearest, shortened};
use replay_mcp::protocol::{Code, RpcError, Unsent};

use super::TOOLS;
use super::follow_command::FollowCommand;
use super::tool::{Callable, Hints, Tool as _, Toolset};
use super::undo_changes::UndoChanges;

/// Reason for the absence of tools that change files.
const READ_ONLY: &str = "every allowed directory is read-only; the operator can make one \
                         writable (--allow DIR:rw)";

/// Tools for tools/list and tools/call: declared tools, and any other [`Callable`].
pub struct Registry {
    tools: Vec<Box<dyn Callable>>,
    /// Names of existing tools that are not served, with the reason.
    absent: Vec<(String, &'static str)>,
    /// `true` if the operator enabled every set.
    has_all: bool,
}

impl Registry {
    /// Creates a registry of the declared tools of these sets. `follow_command` comes with each set
    /// whose calls may go on in the background. With `read_only`, tools that change
    /// files are absent. Commands are served if a kernel sandbox confines them (`walled`).
    pub fn declared(toolsets: &[Toolset], read_only: bool, walled: bool) -> Self {
        let mut registry = Self {
            tools: Vec::new(),
            absent: Vec::new(),
            has_all: Toolset::ALL.iter().all(|set| toolsets.contains(set)),
        };
        for make in TOOLS {
            let tool = make();
            let follows = tool.name() == FollowCommand::NAME;
            let is_enabled = if follows {
                toolsets.iter().any(|set| set.runs_commands())
            } else {
                toolsets.contains(&tool.toolset())
            };
            if !is_enabled {
                registry.absent.push((
                    tool.name().to_owned(),
                    "its toolset is not enabled; the operator can enable it (--tools, or the \
                     tools of the token)",
                ));
            } else if read_only
                && !(tool.hints() == Hints::Observes || walled && tool.hints() == Hints::Runs)
            {
                registry.absent.push((tool.name().to_owned(), READ_ONLY));
            } else {
                registry.tools.push(tool);
            }
        }
        registry
    }

    /// Appends a tool. Fails with its name if the name is taken.
    pub fn add(&mut self, tool: Box<dyn Callable>) -> Result<(), String> {
        if self.iter().any(|known| known.name() == tool.name()) {
            return Err(format!("there are two tools called `{}`", tool.name()));
        }
        self.tools.push(tool);
        Ok(())
    }

    /// Returns the tools in order.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Callable> {
        self.tools.iter().map(AsRef::as_ref)
    }

    /// Returns the tool of this name, if any.
    pub fn get(&self, name: &str) -> Option<&dyn Callable> {
        self.iter().find(|tool| tool.name() == name)
    }

    /// Returns true if every set is enabled.
    pub fn has_all(&self) -> bool {
        self.has_all
    }

    /// Returns true if the undo tool is served.
    pub fn can_undo(&self) -> bool {
        self.get(UndoChanges::NAME).is_some()
    }

    /// Returns true if `follow_command` is served.
    pub fn can_follow(&self) -> bool {
        self.get(FollowCommand::NAME).is_some()
    }

    /// Finds a tool by name. The error has the reason, and names the nearest tool.
    pub fn find(&self, name: &str) -> Result<&dyn Callable, RpcError> {
        if let Some(tool) = self.get(name) {
            return Ok(tool);
        }
        if let Some((_, reason)) = self.absent.iter().find(|(absent, _)| absent == name) {
            let code = if *reason == READ_ONLY {
                Code::NotAllowed
            } else {
                Code::InvalidParams
            };
            let message = format!("the tool `{name}` is not served: {reason}");
            let unsent = Some(Box::new(Unsent {
                is_denial: true,
                ..Unsent::default()
            }));
            return Err(RpcError {
                unsent,
                ..RpcError::new(code, message)
            });
        }
        let shown = shortened(name);
        let message = match nearest(name, self.iter().map(Callable::name)) {
            Some(known) => format!("no tool `{shown}`; the nearest one is `{known}`"),
            None => format!(
                "no tool `{shown}`; there are {}",
                self.iter()
                    .map(Callable::name)
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        };
        Err(RpcError::new(Code::InvalidParams, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_tool_name_is_truncated_in_error() {
        let registry = Registry::declared(&Toolset::ALL, false, true);
        let said = |name: &str| registry.find(name).err().map(|error| error.message);
        assert_eq!(
            said("raed_file").as_deref(),
            Some("no tool `raed_file`; the nearest one is `read_file`")
        );
        let message = said(&"a".repeat(20_000_000)).unwrap();
        let begin = format!("no tool `{}…`; there are ", "a".repeat(100));
        assert_eq!(
            (&message[..begin.len()], message.len() < 2000),
            (&*begin, true)
        );
    }

    #[test]
    fn read_only_registry_needs_sandbox_for_commands() {
        let served = |read_only, walled| {
            let registry = Registry::declared(&Toolset::ALL, read_only, walled);
            [
                "read_file",
                "write_file",
                "execute_command",
                "follow_command",
            ]
            .map(|name| registry.find(name).is_ok())
        };
        assert_eq!(served(false, false), [true, true, true, true]);
        assert_eq!(served(true, false), [true, false, false, false]);
        assert_eq!(served(true, true), [true, false, true, true]);
    }
}
