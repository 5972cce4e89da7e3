//! What a command means for the connection: how it is answered, and what of it is compared.

use super::resp::{array, words};

/// How a command is answered, and what it is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// One reply.
    Plain,
    /// One reply, the same for every connection: what libraries send when they connect.
    Session,
    /// `MULTI`.
    Begin,
    /// `EXEC` or `DISCARD`.
    Finish,
    /// As many confirmations as it names channels (0: as many as there are), then whatever is published.
    Subscription(usize),
    /// One reply, and the connection ends.
    Quit,
    /// `RESET`: one reply, and the connection is as it was at the beginning.
    Reset,
    /// `CLIENT REPLY ON`, `OFF` or `SKIP`.
    Replies(Replies),
    /// Nothing at all: an empty line.
    Empty,
    /// No replies from here on but a stream of another kind (`MONITOR`, `SYNC`, `PSYNC`).
    Foreign,
}

/// Which commands are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replies {
    /// All.
    On,
    /// None.
    Off,
    /// All but the next.
    Skip,
}

/// A command as it is looked up, and its manner.
pub(super) fn read(command: Vec<u8>) -> (Vec<u8>, Manner) {
    let manner = manner(&words(&command));
    (command, manner)
}

fn manner(words: &[&[u8]]) -> Manner {
    let word = |index: usize| words.get(index).map(|word| word.to_ascii_uppercase()).unwrap_or_default();
    match word(0).as_slice() {
        b"" => Manner::Empty,
        b"MULTI" => Manner::Begin,
        b"EXEC" | b"DISCARD" => Manner::Finish,
        b"SUBSCRIBE" | b"PSUBSCRIBE" | b"SSUBSCRIBE" => Manner::Subscription((words.len() - 1).max(1)),
        b"UNSUBSCRIBE" | b"PUNSUBSCRIBE" | b"SUNSUBSCRIBE" => Manner::Subscription(words.len() - 1),
        b"QUIT" => Manner::Quit,
        b"RESET" => Manner::Reset,
        b"MONITOR" | b"SYNC" | b"PSYNC" => Manner::Foreign,
        b"HELLO" | b"AUTH" | b"SELECT" | b"COMMAND" | b"INFO" | b"PING" | b"READONLY" | b"READWRITE" | b"ASKING"
        | b"CLUSTER" | b"SENTINEL" => Manner::Session,
        b"CLIENT" => match (word(1).as_slice(), word(2).as_slice()) {
            (b"REPLY", b"ON") => Manner::Replies(Replies::On),
            (b"REPLY", b"OFF") => Manner::Replies(Replies::Off),
            (b"REPLY", b"SKIP") => Manner::Replies(Replies::Skip),
            _ => Manner::Session,
        },
        _ => Manner::Plain,
    }
}

/// The database that a command selects; `None` if it is no `SELECT`.
fn selected(command: &[u8]) -> Option<u64> {
    match words(command).as_slice() {
        [name, number] if name.eq_ignore_ascii_case(b"SELECT") => std::str::from_utf8(number).ok()?.parse().ok(),
        _ => None,
    }
}

/// The user that a command logs in as: `default` if it names none (`redis.io/docs/latest/commands/auth`). `None` if it is no
/// login.
fn logs_in(command: &[u8]) -> Option<Vec<u8>> {
    let words = words(command);
    let is = |index: usize, name: &[u8]| words.get(index).is_some_and(|word: &&[u8]| word.eq_ignore_ascii_case(name));
    if is(0, b"AUTH") {
        return Some(if words.len() > 2 { words[1].to_vec() } else { DEFAULT_USER.to_vec() });
    }
    let at = (1..words.len()).find(|index| is(0, b"HELLO") && is(*index, b"AUTH"))?;
    words.get(at + 1).map(|user| user.to_vec())
}

/// Who everybody is at first.
const DEFAULT_USER: &[u8] = b"default";

/// The version of the protocol that a command chooses: replies have other forms in each (`redis.io/docs/latest/commands/hello`).
fn speaks(command: &[u8]) -> Option<u64> {
    match words(command).as_slice() {
        [name, version, ..] if name.eq_ignore_ascii_case(b"HELLO") => std::str::from_utf8(version).ok()?.parse().ok(),
        _ => None,
    }
}

/// The version that is spoken at first.
const FIRST_VERSION: u64 = 2;

/// What a connection has chosen: the database, who it is, and the version of the protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    database: u64,
    user: Option<Vec<u8>>,
    version: Option<u64>,
}

impl State {
    /// What a call begins with: `SELECT n`, behind which stands `AUTH user` for another user than the usual one, and `HELLO n`
    /// for another version. None in the state that every connection begins in.
    pub(super) fn message(&self) -> Option<Vec<u8>> {
        let (number, version) = (self.database.to_string(), self.version.map(|version| version.to_string()));
        let mut words = vec![&b"SELECT"[..], number.as_bytes()];
        words.extend(self.user.iter().flat_map(|user| [&b"AUTH"[..], user]));
        words.extend(version.iter().flat_map(|version| [&b"HELLO"[..], version.as_bytes()]));
        (words.len() > 2 || self.database != 0).then(|| array(&words))
    }

    /// Takes over what these commands chose, if they were carried out; whether they chose anything. Without an answer it is
    /// not known, so they count as carried out.
    pub(super) fn follow(&mut self, commands: &[&[u8]], answer: Option<&[u8]>) -> bool {
        let refused = answer.is_some_and(|answer| answer.starts_with(b"-"));
        let version = commands.first().filter(|_| commands.len() == 1 && !refused).and_then(|command| speaks(command));
        if let Some(version) = version {
            self.version = Some(version).filter(|version| *version != FIRST_VERSION);
        }
        if let [command] = commands
            && let Some(user) = logs_in(command)
        {
            if !refused {
                self.user = Some(user).filter(|user| user != DEFAULT_USER);
            }
            return !refused;
        }
        match commands.iter().filter_map(|command| selected(command)).next_back() {
            Some(database) if carried_out(commands.len(), answer) => {
                self.database = database;
                true
            }
            _ => version.is_some(),
        }
    }

    /// Bytes that it takes.
    pub(super) fn size(&self) -> usize {
        self.user.as_ref().map_or(0, Vec::len)
    }
}

/// Whether what a call of so many commands asks for was carried out. Of those without an answer nothing tells, so
/// they count as carried out; a transaction is answered with a list, and that is null if nothing of it was carried out.
fn carried_out(commands: usize, answer: Option<&[u8]>) -> bool {
    match answer {
        None => true,
        Some(answer) if commands > 1 => answer.first() == Some(&b'*') && !answer.starts_with(b"*-1"),
        Some(answer) => answer == b"+OK\r\n",
    }
}

/// Whether the answer depends on the database.
pub(super) fn is_of_database(manner: Manner) -> bool {
    matches!(manner, Manner::Plain | Manner::Begin)
}
