//! Commands of Redis, and which of their arguments choose what is answered.

use sha1::{Digest as _, Sha1};

use super::{Parts, Piece, Taken};
use crate::record::protocol::redis::command;
use crate::text::escape::hex;

/// What an argument chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record::matching) enum Chooses {
    /// It is a key.
    Key,
    /// It is a field, a member, a number in a list: a part of what is under a key.
    Part,
    /// It is an end of a range, and a time.
    Time,
    /// It is what is written, a time, an option.
    Nothing,
}

/// Commands whose arguments are all keys (`redis.io/docs/latest/commands`).
const KEYS: [&str; 18] = [
    "DEL",
    "UNLINK",
    "EXISTS",
    "TOUCH",
    "MGET",
    "WATCH",
    "SINTER",
    "SUNION",
    "SDIFF",
    "SINTERSTORE",
    "SUNIONSTORE",
    "SDIFFSTORE",
    "PFCOUNT",
    "PFMERGE",
    "RENAME",
    "RENAMENX",
    "RPOPLPUSH",
    "SUBSCRIBE",
];
/// Commands whose first two arguments are keys.
const TWO_KEYS: [&str; 5] = ["SMOVE", "LMOVE", "BLMOVE", "BRPOPLPUSH", "COPY"];
/// Commands whose second argument is a part.
const PART: [&str; 16] = [
    "HGET",
    "HEXISTS",
    "HSTRLEN",
    "HSETNX",
    "HINCRBY",
    "HINCRBYFLOAT",
    "SISMEMBER",
    "ZSCORE",
    "ZRANK",
    "ZREVRANK",
    "LINDEX",
    "LSET",
    "GETBIT",
    "SETBIT",
    "SETRANGE",
    "JSON.GET",
];
/// Commands whose arguments behind the key are all parts.
const PARTS: [&str; 9] = ["HMGET", "HDEL", "SADD", "SREM", "SMISMEMBER", "ZMSCORE", "ZREM", "LRANGE", "GETRANGE"];
/// Commands that are given a part of what is in order: by numbers of places or scores, by names, by times.
const RANGES: [&str; 13] = [
    "ZRANGE",
    "ZREVRANGE",
    "ZRANGEBYSCORE",
    "ZREVRANGEBYSCORE",
    "ZRANGEBYLEX",
    "ZREVRANGEBYLEX",
    "ZCOUNT",
    "ZLEXCOUNT",
    "ZREMRANGEBYSCORE",
    "ZREMRANGEBYRANK",
    "ZREMRANGEBYLEX",
    "XRANGE",
    "XREVRANGE",
];
/// Fewest digits of a time: seconds since 1970 have as many from 2001 to 2286.
const TIME_DIGITS: usize = 10;
/// Commands with keys, or fields, and values in turns.
const PAIRS: [(&str, usize); 4] = [("MSET", 1), ("MSETNX", 1), ("HSET", 2), ("HMSET", 2)];
/// Commands that are given a script, or its hash, and how many keys follow.
const SCRIPTS: [&str; 6] = ["EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO"];

/// What an argument of a command chooses, by its number from 1.
fn chooses(command: &str, number: usize, arguments: &[&[u8]]) -> Chooses {
    let is = |known: &[&str]| known.contains(&command);
    let pairs = PAIRS.iter().find(|(pairs, _)| *pairs == command).map(|(_, first)| *first);
    let keys = || std::str::from_utf8(arguments.get(1)?).ok()?.parse::<usize>().ok();
    match number {
        1 => Chooses::Key,
        _ if is(&KEYS) || number == 2 && is(&TWO_KEYS) || pairs == Some(1) && number % 2 == 1 => Chooses::Key,
        2 if is(&SCRIPTS) => Chooses::Part,
        _ if is(&SCRIPTS) && keys().is_some_and(|keys| number - 3 < keys) => Chooses::Key,
        _ if is(&RANGES) && arguments.get(number - 1).is_some_and(|argument| is_time(argument)) => Chooses::Time,
        _ if is(&RANGES) => Chooses::Part,
        3 if command == "ZINCRBY" => Chooses::Part,
        _ if command == "ZADD" && is_member(number, arguments) => Chooses::Part,
        _ if is(&PARTS) || number == 2 && is(&PART) || pairs == Some(2) && number.is_multiple_of(2) => Chooses::Part,
        _ => Chooses::Nothing,
    }
}

/// Whether an end of a range is a time: a number of many digits, of a stream with another one behind it.
fn is_time(argument: &[u8]) -> bool {
    let number = argument.strip_prefix(b"(").unwrap_or(argument);
    let digits = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits >= TIME_DIGITS && number[digits..].iter().all(|byte| byte.is_ascii_digit() || b".-".contains(byte))
}

/// Whether this argument of `ZADD key [option ...] score member ...` is a member, and no score.
fn is_member(number: usize, arguments: &[&[u8]]) -> bool {
    const OPTIONS: [&str; 6] = ["NX", "XX", "GT", "LT", "CH", "INCR"];
    let is_option = |argument: &&&[u8]| OPTIONS.iter().any(|option| argument.eq_ignore_ascii_case(option.as_bytes()));
    let options = arguments.iter().skip(1).take_while(is_option).count();
    (number - 1).checked_sub(1 + options).is_some_and(|place| place % 2 == 1)
}

impl Taken {
    /// A command and its arguments, which are counted through all commands of a transaction.
    pub(super) fn redis(&mut self, bytes: &[u8]) -> Option<()> {
        let (words, rest) = command(bytes)?;
        let (command, arguments) = words.split_first().filter(|_| rest.is_empty())?;
        // Of a line it is the first letter.
        self.head(if bytes.first() == Some(&b'*') { b"*" } else { b"" });
        self.text(command);
        let command = String::from_utf8_lossy(command).to_ascii_uppercase();
        for (at, argument) in arguments.iter().enumerate() {
            self.counts.arguments += 1;
            self.text(b" ");
            let chooses = chooses(&command, at + 1, arguments);
            self.value_in_text(format!("arg.{}", self.counts.arguments), argument, chooses);
        }
        Some(())
    }
}

impl Parts {
    /// The same with the hash of each script in its place: a server that does not know the hash is sent the script.
    pub(in crate::record::matching) fn by_hash(mut self) -> Self {
        let (mut is_command, mut is_script) = (false, false);
        for piece in &mut self.pieces {
            match piece {
                Piece::Message => (is_command, is_script) = (true, false),
                Piece::Text(text) if std::mem::take(&mut is_command) => {
                    let command = text.to_ascii_uppercase();
                    is_script = matches!(command.as_slice(), b"EVAL" | b"EVAL_RO");
                    if is_script {
                        *text = [b"EVALSHA", &command[b"EVAL".len()..]].concat();
                    }
                }
                Piece::Value(script) if std::mem::take(&mut is_script) => {
                    script.text = hex(&Sha1::digest(&script.bytes));
                    script.bytes = script.text.clone().into_bytes();
                }
                Piece::Head(_) | Piece::Text(_) | Piece::Value(_) => {}
            }
        }
        self
    }
}
