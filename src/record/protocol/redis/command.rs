//! Classification of commands: form of the answer, effect on the connection, and parts to compare.

use std::time::Duration;

use super::resp::{self, words};
use crate::call::{Side, Wire};
use crate::protocol::part_list::{PartList, Role};

/// Form of a command's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandKind {
    Plain,
    /// One reply, the same for every connection: commands that libraries send when they connect.
    Session,
    Begin,
    /// `EXEC` or `DISCARD`.
    Finish,
    /// One confirmation per named channel (0: one per subscribed channel), then published messages.
    Subscription(usize),
    /// One reply, then the connection ends.
    Quit,
    /// `RESET`: one reply, and the connection returns to its initial state.
    Reset,
    /// An empty line, without a reply.
    Empty,
    /// No more replies, or a stream of another kind (`MONITOR`, `SYNC`, `PSYNC`, `CLIENT REPLY`).
    Foreign,
}

pub(super) fn command_kind(command: &[u8]) -> CommandKind {
    let words = words(command);
    let word = |index: usize| {
        words
            .get(index)
            .map(|word| word.to_ascii_uppercase())
            .unwrap_or_default()
    };
    match word(0).as_slice() {
        b"" => CommandKind::Empty,
        b"MULTI" => CommandKind::Begin,
        b"EXEC" | b"DISCARD" => CommandKind::Finish,
        b"SUBSCRIBE" | b"PSUBSCRIBE" | b"SSUBSCRIBE" => {
            CommandKind::Subscription((words.len() - 1).max(1))
        }
        b"UNSUBSCRIBE" | b"PUNSUBSCRIBE" | b"SUNSUBSCRIBE" => {
            CommandKind::Subscription(words.len() - 1)
        }
        b"QUIT" => CommandKind::Quit,
        b"RESET" => CommandKind::Reset,
        b"MONITOR" | b"SYNC" | b"PSYNC" => CommandKind::Foreign,
        b"CLIENT" if word(1) == b"REPLY" => CommandKind::Foreign,
        b"HELLO" | b"AUTH" | b"SELECT" | b"COMMAND" | b"INFO" | b"PING" | b"READONLY"
        | b"READWRITE" | b"ASKING" | b"CLUSTER" | b"SENTINEL" | b"CLIENT" => CommandKind::Session,
        _ => CommandKind::Plain,
    }
}

/// Returns the number after the name of a command; empty if it is the initial value. For `SELECT`
/// it is the database. For `HELLO` it is the protocol version, which changes the form of replies
/// (`redis.io/docs/latest/commands/hello`).
fn number(command: &[u8], name: &[u8], first: u64) -> Option<Vec<u8>> {
    let words = words(command);
    let number: u64 = std::str::from_utf8(words.get(1).filter(|_| is(&words, 0, name))?)
        .ok()?
        .parse()
        .ok()?;
    Some(if number == first {
        Vec::new()
    } else {
        number.to_string().into_bytes()
    })
}

/// Returns the protocol version that a command selects.
pub(super) fn protocol_version(command: &[u8]) -> Option<Vec<u8>> {
    let words = words(command);
    let version = words.get(1).filter(|_| is(&words, 0, b"HELLO"));
    version.map(|version| version.to_vec())
}

/// Returns the user that a command logs in as (`redis.io/docs/latest/commands/auth`); empty for the
/// default user. `None` if it is not a login.
fn logs_in(command: &[u8]) -> Option<Vec<u8>> {
    let words = words(command);
    let at = if is(&words, 0, b"AUTH") {
        (words.len() > 2).then_some(1)
    } else {
        Some(
            (1..words.len())
                .find(|index| is(&words, 0, b"HELLO") && is(&words, *index, b"AUTH"))?
                + 1,
        )
    };
    let Some(at) = at else {
        return Some(Vec::new());
    };
    words.get(at).map(|user| {
        if *user == b"default" {
            Vec::new()
        } else {
            user.to_vec()
        }
    })
}

fn is(words: &[&[u8]], index: usize, name: &[u8]) -> bool {
    words
        .get(index)
        .is_some_and(|word| word.eq_ignore_ascii_case(name))
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SelectedState {
    /// `true` if the connection returns to its initial state.
    pub(crate) resets: bool,
    /// Database, user and protocol version, each with its value; empty for the initial value.
    pub(crate) context: Vec<(&'static str, Vec<u8>)>,
}

/// Returns the state that a successful call selects. A call without an answer counts as successful.
pub(crate) fn selected_state(wire: &Wire) -> SelectedState {
    let commands: Vec<&[u8]> = wire.messages_by(Side::Client).collect();
    let answer = wire.messages_by(Side::Server).next_back();
    let resets = commands
        .last()
        .is_some_and(|last| is(&words(last), 0, b"RESET"));
    let mut context = Vec::new();
    if let [command] = commands[..]
        && !answer.is_some_and(|answer| answer.starts_with(b"-"))
    {
        context.extend(number(command, b"HELLO", 2).map(|version| ("version", version)));
        context.extend(logs_in(command).map(|user| ("user", user)));
    }
    let selected = commands
        .iter()
        .filter_map(|command| number(command, b"SELECT", 0))
        .next_back();
    // A transaction is answered with a list, which is null if it was aborted.
    let selected = selected.filter(|_| match answer {
        None => true,
        Some(answer) if commands.len() > 1 => {
            answer.first() == Some(&b'*') && !answer.starts_with(b"*-1")
        }
        Some(answer) => answer == b"+OK\r\n",
    });
    context.extend(selected.map(|database| ("database", database)));
    SelectedState { resets, context }
}

/// Commands that only read, and commands that set expiry times, which programs repeat
/// (`redis.io/docs/latest/commands`).
const READS: &str = "\
    GET MGET STRLEN GETRANGE EXISTS TYPE TTL PTTL EXPIRETIME PEXPIRETIME KEYS SCAN DBSIZE HGET HMGET HGETALL
    HEXISTS HKEYS HVALS HLEN HSCAN LRANGE LINDEX LLEN SMEMBERS SISMEMBER SMISMEMBER SCARD SINTER SUNION SDIFF
    SSCAN ZRANGE ZREVRANGE ZRANGEBYSCORE ZREVRANGEBYSCORE ZSCORE ZCARD ZCOUNT ZRANK ZREVRANK XRANGE XREVRANGE XLEN
    JSON.GET EXPIRE PEXPIRE";

fn single_command(wire: &Wire) -> Vec<&[u8]> {
    let mut commands = wire.messages_by(Side::Client);
    match (commands.next(), commands.next()) {
        (Some(one), None) => words(one),
        _ => Vec::new(),
    }
}

/// Commands whose last argument is the longest wait for an item, in seconds.
const WAITING_LAST: &str = "BLPOP BRPOP BRPOPLPUSH BLMOVE BZPOPMIN BZPOPMAX";
/// Commands whose first argument is that.
const WAITING_FIRST: &str = "BLMPOP BZMPOP";

/// Returns the longest wait of a command for an item that another client adds; zero without a limit
/// (`redis.io/docs/latest/commands/blpop`). `None` if it does not wait.
pub(super) fn longest_wait(command: &[u8]) -> Option<Duration> {
    let words = words(command);
    let is_any = |names: &str| {
        let mut names = names.split(' ');
        names.any(|name| is(&words, 0, name.as_bytes()))
    };
    let is_stream = is_any("XREAD XREADGROUP");
    let block = words
        .iter()
        .position(|word| word.eq_ignore_ascii_case(b"BLOCK"));
    let (at, unit) = match block {
        Some(at) if is_stream => (at + 1, 0.001),
        _ if is_any(WAITING_LAST) => (words.len() - 1, 1.0),
        _ if is_any(WAITING_FIRST) => (1, 1.0),
        _ => return None,
    };
    let number: f64 = str::from_utf8(words.get(at)?).ok()?.parse().ok()?;
    Duration::try_from_secs_f64(number * unit).ok()
}

/// Returns true if a call is one of [`READS`].
pub(crate) fn reads(wire: &Wire) -> bool {
    let words = single_command(wire);
    READS
        .split_ascii_whitespace()
        .any(|known| is(&words, 0, known.as_bytes()))
}

/// Returns true if a call sets a key unconditionally, so that repeating it changes nothing: `SET`
/// with at most a time.
pub(crate) fn sets(wire: &Wire) -> bool {
    const TIMES: [&str; 5] = ["EX", "PX", "EXAT", "PXAT", "KEEPTTL"];
    let words = single_command(wire);
    let is_time = |word: &&[u8]| {
        word.iter().all(u8::is_ascii_digit)
            || TIMES
                .iter()
                .any(|time| word.eq_ignore_ascii_case(time.as_bytes()))
    };
    is(&words, 0, b"SET") && words.get(3..).is_some_and(|rest| rest.iter().all(is_time))
}

/// Returns true if the answer to a call depends on the database and the user.
pub(crate) fn is_of_context(wire: &Wire) -> bool {
    let first = wire.messages_by(Side::Client).next();
    first
        .is_some_and(|first| matches!(command_kind(first), CommandKind::Plain | CommandKind::Begin))
}

/// Parses a command and its arguments. The first argument identifies an object.
pub(super) fn parts(bytes: &[u8], taken: &mut PartList) -> Option<()> {
    let (words, rest) = resp::command(bytes)?;
    let (command, arguments) = words.split_first().filter(|_| rest.is_empty())?;
    // Inline commands have no marker.
    taken.head(if bytes.first() == Some(&b'*') {
        b"*"
    } else {
        b""
    });
    taken.text(command);
    for (at, argument) in arguments.iter().enumerate() {
        taken.text(b" ");
        taken.value_in_text(
            if at == 0 { Role::Key } else { Role::Literal },
            "arg",
            argument,
        );
    }
    Some(())
}
