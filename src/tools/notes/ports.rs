//! Notes on TCP ports of commands: which of them are new, and which command holds one.

use replay_base::text::escape::show;
use replay_proxy::{PublishedPort, Publisher};
use replay_sandbox::exec::ListeningPort;
use serde::Serialize;

use crate::tools::services::Commands;

/// Longest command line in a note, in characters.
const MAX_LINE_CHARS: usize = 60;
/// Most listening ports in a reply.
const MAX_LISTED_PORTS: usize = 64;
/// Most ports in one note.
const MAX_TOLD_PORTS: usize = 8;
/// Words of the kernel and of programs for an address in use, in lower case.
const ADDRESS_IN_USE: [&str; 2] = ["eaddrinuse", "address already in use"];
/// Words that also tell other things than ports, such as containers.
const IN_USE: &str = "is already in use";

/// Listening port in a structured reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Listening {
    port: u16,
    /// First address of the port.
    address: String,
    program: String,
    /// Id of the background command that listens.
    #[serde(rename = "commandId", skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// Link for a browser of the operator, if the port is published.
    #[serde(skip_serializing_if = "Option::is_none")]
    published: Option<String>,
}

impl Listening {
    fn of(port: &ListeningPort, published: &[PublishedPort]) -> Self {
        let address = port.addresses.first();
        Self {
            port: port.port,
            address: address.map(ToString::to_string).unwrap_or_default(),
            program: port.program.clone(),
            command: port.command.clone(),
            published: published_port(port, published).map(PublishedPort::link),
        }
    }
}

/// News about ports, for one reply.
#[derive(Debug, Default)]
pub(crate) struct PortNews {
    pub(crate) note: Option<String>,
    /// All ports that are listened on; empty if nothing has changed.
    pub(crate) listening: Vec<Listening>,
}

/// Returns the ports on which commands listen that outlive their calls.
pub(crate) fn listening_ports(commands: &Commands) -> Vec<ListeningPort> {
    let Some(ports) = commands
        .launcher
        .as_ref()
        .and_then(|launcher| launcher.ports())
        .filter(|ports| ports.has_lasting_commands())
    else {
        return Vec::new();
    };
    if let Some(publisher) = &commands.publisher {
        publisher.refresh();
    }
    // The kernel may lack the list. Then nothing is told.
    let mut listening = ports.listening().unwrap_or_default();
    listening.retain(|port| port.is_lasting);
    listening.truncate(MAX_LISTED_PORTS);
    listening
}

/// Returns the published ports.
pub(crate) fn published_ports(commands: &Commands) -> Vec<PublishedPort> {
    let publisher = commands.publisher.as_ref();
    publisher.map(Publisher::published).unwrap_or_default()
}

/// Returns all listening ports for the page and `list_allowed_directories`.
pub(crate) fn listening_now(commands: &Commands) -> Vec<Listening> {
    let ports = listening_ports(commands);
    let published = published_ports(commands);
    ports
        .iter()
        .map(|port| Listening::of(port, &published))
        .collect()
}

/// Describes the listening and the published ports in one line; `None` if there are none.
pub(crate) fn ports_in_words(commands: &Commands) -> Option<String> {
    let (ports, published) = (listening_ports(commands), published_ports(commands));
    let mut words: Vec<String> = ports
        .iter()
        .map(|port| {
            let shown = with_program(port);
            match published_port(port, &published) {
                Some(open) => format!("{shown} at {}", open.link()),
                None if is_hidden(commands, port) => format!("{shown}, {UNREACHED}"),
                None => format!("{shown}, which only commands reach"),
            }
        })
        .collect();
    let is_idle = |open: &&PublishedPort| ports.iter().all(|port| port.port != open.inside);
    words.extend(published.iter().filter(is_idle).map(|open| {
        format!(
            "nothing listens on {}, published at {}",
            open.inside,
            open.link()
        )
    }));
    if commands
        .publisher
        .as_ref()
        .is_some_and(Publisher::is_automatic)
    {
        words.push("each port from 1024 on is published while a command listens".to_owned());
    }
    (!words.is_empty()).then(|| format!("ports of commands: {}", words.join("; ")))
}

/// Tells the ports on which commands have begun to listen since the last reply.
pub(crate) fn port_news(commands: &Commands) -> PortNews {
    let ports = listening_ports(commands);
    let published = published_ports(commands);
    let outside = |port: &ListeningPort| published_port(port, &published).map(|open| open.outside);
    let now = ports
        .iter()
        .map(|port| (port.port, outside(port)))
        .collect();
    let new = commands.told_ports.exchange(now);
    if new.is_empty() {
        return PortNews::default();
    }
    let new: Vec<&ListeningPort> = ports
        .iter()
        .filter(|port| new.contains(&port.port))
        .collect();
    let (hidden, new): (Vec<_>, Vec<_>) = new
        .into_iter()
        .partition(|port| is_hidden(commands, port) && published_port(port, &published).is_none());
    let hidden = hidden
        .iter()
        .map(|port| format!("listening on {}, {UNREACHED}", with_program(port)));
    let others = (!new.is_empty()).then(|| news(&new, &published));
    PortNews {
        note: Some(hidden.chain(others).collect::<Vec<_>>().join("; ")),
        listening: ports
            .iter()
            .map(|port| Listening::of(port, &published))
            .collect(),
    }
}

fn published_port(port: &ListeningPort, published: &[PublishedPort]) -> Option<PublishedPort> {
    published
        .iter()
        .find(|known| known.inside == port.port && port.is_on_loopback())
        .copied()
}

/// Words for a port whose address rules lead elsewhere.
const UNREACHED: &str =
    "which nobody reaches: --allow-host leads this port of 127.0.0.1 to the machine";

/// Returns true if rules lead the address of a port to the machine.
fn is_hidden(commands: &Commands, port: &ListeningPort) -> bool {
    let gate = commands.gate.as_ref();
    gate.is_some_and(|gate| gate.leads_to_machine(port.port))
}

/// Returns a port with its program and background command, such as `8123 (python3 of c1)`.
fn with_program(port: &ListeningPort) -> String {
    match &port.command {
        Some(command) => format!("{} ({} of {command})", port.port, port.program),
        None => format!("{} ({})", port.port, port.program),
    }
}

/// Describes new ports in one line.
fn news(ports: &[&ListeningPort], published: &[PublishedPort]) -> String {
    let (mut links, mut closed, mut flags) = (Vec::new(), Vec::new(), Vec::new());
    for port in ports.iter().take(MAX_TOLD_PORTS) {
        if let Some(open) = published_port(port, published) {
            links.push(format!("port {} at {}", with_program(port), open.link()));
        } else {
            let number = port.port;
            closed.push(with_program(port));
            flags.push(format!("--publish {number}"));
        }
    }
    let mut parts = Vec::new();
    match &*links {
        [] => {}
        links => parts.push(format!("open to the person: {}", links.join(" and "))),
    }
    if !closed.is_empty() {
        let them = if closed.len() == 1 { "it" } else { "them" };
        parts.push(format!(
            "listening on {}, which only commands reach; the operator can open {them} with {}",
            closed.join(" and "),
            flags.join(" ")
        ));
    }
    let more = ports.len().saturating_sub(MAX_TOLD_PORTS);
    if more > 0 {
        parts.push(format!("{more} more ports"));
    }
    parts.join("; ")
}

/// Names the background command that holds the port which a program could not get. `texts` are the
/// output and the command line; `own` is the id of the failed command, if it has one.
pub(crate) fn conflict_note(
    commands: &Commands,
    texts: &[&str],
    line: &str,
    own: Option<&str>,
) -> Option<String> {
    let lower: Vec<String> = texts.iter().map(|text| text.to_lowercase()).collect();
    let contains = |sign: &str| lower.iter().any(|text| text.contains(sign));
    let is_address = ADDRESS_IN_USE.into_iter().any(contains);
    if !is_address && !contains(IN_USE) {
        return None;
    }
    let ports = listening_ports(commands);
    let held: Vec<&ListeningPort> = ports
        .iter()
        .filter(|port| port.command.is_some() && port.command.as_deref() != own)
        .collect();
    let texts = lower.iter().map(String::as_str);
    let texts: Vec<&str> = texts.chain([line]).collect();
    // Python names no port.
    let alone = if is_address { &held[..] } else { &[] };
    let port = named_port(&held, &texts).or(match alone {
        [port] => Some(*port),
        _ => None,
    })?;
    let id = port.command.as_deref()?;
    let background = commands.background.as_ref()?.find(id)?;
    let shown: String = background.line().chars().take(MAX_LINE_CHARS).collect();
    Some(format!(
        "port {} is held by {id} ({}); follow_command with commandId \"{id}\" and `end: true` ends it",
        port.port,
        show(shown.as_bytes())
    ))
}

/// Returns the held port that a text names.
fn named_port<'p>(held: &[&'p ListeningPort], texts: &[&str]) -> Option<&'p ListeningPort> {
    let is_named = |port: &&&ListeningPort| {
        let number = port.port.to_string();
        texts
            .iter()
            .flat_map(|text| text.split(|sign: char| !sign.is_ascii_digit()))
            .any(|word| word == number)
    };
    held.iter().find(is_named).copied()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn port(port: u16, address: &str, program: &str) -> ListeningPort {
        ListeningPort {
            port,
            addresses: vec![address.parse().unwrap()],
            program: program.to_owned(),
            command: Some("c1".to_owned()),
            is_lasting: true,
        }
    }

    fn opened(inside: u16, outside: u16) -> PublishedPort {
        PublishedPort { inside, outside }
    }

    #[test]
    fn note_tells_flag_or_link() {
        let (one, two) = (
            port(8123, "127.0.0.1", "python3"),
            port(5173, "::1", "node"),
        );
        let closed = "listening on 8123 (python3 of c1), which only commands reach; the operator can open \
                      it with --publish 8123";
        assert_eq!(news(&[&one], &[]), closed);
        assert_eq!(
            news(&[&two, &one], &[]),
            "listening on 5173 (node of c1) and 8123 (python3 of c1), which only commands reach; the operator can \
             open them with --publish 5173 --publish 8123"
        );
        let open = "open to the person: port 5173 (node of c1) at http://replay.localhost:3000/";
        assert_eq!(news(&[&two], &[opened(5173, 3000)]), open);
        assert_eq!(
            news(&[&two, &one], &[opened(5173, 3000)]),
            format!("{open}; {closed}")
        );
        assert_eq!(
            news(&[&two, &one], &[opened(5173, 5173), opened(8123, 8123)]),
            "open to the person: port 5173 (node of c1) at http://replay.localhost:5173/ and port 8123 (python3 of c1) at \
             http://replay.localhost:8123/"
        );
    }

    #[test]
    fn held_port_is_found_by_number() {
        let (one, two) = (port(80, "127.0.0.1", "a"), port(8080, "127.0.0.1", "b"));
        let texts = ["listen EADDRINUSE: address already in use :::8080"];
        assert_eq!(named_port(&[&one, &two], &texts), Some(&two));
        assert_eq!(named_port(&[&one, &two], &["no number"]), None);
        assert_eq!(named_port(&[&one], &["port 8"]), None);
        assert_eq!(named_port(&[], &texts), None);
    }
}
