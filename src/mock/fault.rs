//! Faults that a mock injects on purpose.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use replay_base::limits::MAX_MOCK_HANG_MS;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

use super::http_fault::HttpFault;

/// A fault of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MockFault {
    /// No fault.
    #[default]
    None,
    /// No answer; a cancellation ends the call.
    Hang,
    /// No answer, even after a cancellation.
    Wedged,
    /// The answer is delayed by this time.
    Slow(Duration),
    /// The first calls, up to this number, hang.
    RecoverAfter(u64),
    /// The call waits for its cancellation, and is answered this long after it. The protocol
    /// forbids that.
    ReplyAfterCancel(Duration),
    /// The call ends at once without an answer.
    Silent,
    /// A line that is not JSON.
    BadJson,
    /// The first half of the answer, as a whole line.
    Truncated,
    /// The answer has an id that no request had.
    WrongId,
    Duplicate,
    /// The answer is sent a byte at a time, with pauses.
    SlowLoris,
    /// A line that is not a message precedes the answer, like the output of a stray print.
    StdoutNoise,
    /// The process ends in the middle of the call.
    Exit,
}

impl MockFault {
    /// Valid names, as an error message lists them.
    pub const NAMES: &'static str = "none, hang, wedged, slow:MS, recover-after:N, reply-after-cancel:MS, silent, \
        badjson, truncated, wrong-id, duplicate, slowloris, stdout-noise, exit";

    /// Descriptions of the faults, for `replay mock presets --faults`.
    pub const MEANINGS: [(&'static str, &'static str); 14] = [
        (
            "none",
            "no fault, also where --fault or an outer answer has one",
        ),
        ("hang", "no answer; a cancellation ends the call"),
        ("wedged", "no answer, and a cancellation changes nothing"),
        ("slow:MS", "the answer is delayed by MS milliseconds"),
        (
            "recover-after:N",
            "the first N calls hang, later calls are answered",
        ),
        (
            "reply-after-cancel:MS",
            "the call waits to be cancelled, and is answered MS milliseconds later all the same",
        ),
        ("silent", "the call ends at once, without an answer"),
        ("badjson", "a line that is not JSON"),
        ("truncated", "the first half of the answer, as a whole line"),
        ("wrong-id", "the answer with an id that no request had"),
        ("duplicate", "the answer twice"),
        ("slowloris", "the answer a byte at a time"),
        (
            "stdout-noise",
            "a line that is not a message before the answer",
        ),
        (
            "exit",
            "the process ends in the middle of the call, as in a crash",
        ),
    ];

    /// Returns the fault of call number `count`, from 1, where this one depends on the number.
    pub(crate) fn at(self, count: u64) -> Self {
        match self {
            Self::RecoverAfter(calls) if count <= calls => Self::Hang,
            Self::RecoverAfter(_) => Self::None,
            fault => fault,
        }
    }

    /// Returns true if a call with this fault gets no answer, whatever its arguments.
    pub fn is_deaf(self) -> bool {
        matches!(self, Self::Hang | Self::Wedged | Self::Silent | Self::Exit)
    }

    /// Returns true if a call with this fault takes time.
    pub fn waits(self) -> bool {
        matches!(
            self,
            Self::Hang
                | Self::Wedged
                | Self::Slow(_)
                | Self::RecoverAfter(_)
                | Self::ReplyAfterCancel(_)
                | Self::SlowLoris
        )
    }
}

impl FromStr for MockFault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = match text.split_once(':') {
            Some((name, number)) => (name, Some(number)),
            None => (text, None),
        };
        let unknown = || {
            if text.parse::<HttpFault>().is_ok() {
                return format!(
                    "`{text}` is a fault of HTTP; put it into `faults` of a manifest, and serve it \
                     with --http"
                );
            }
            format!("`{text}` is not a fault; valid: {}", Self::NAMES)
        };
        let count = |needed: &str, example: &str| {
            let read = number.and_then(|number| number.parse::<u64>().ok());
            read.ok_or_else(|| format!("`{text}` needs {needed}, as in `{name}:{example}`"))
        };
        let time = || {
            let ms = count("milliseconds", "500")?;
            if ms > MAX_MOCK_HANG_MS {
                return Err(format!("`{text}`: at most {MAX_MOCK_HANG_MS} milliseconds"));
            }
            Ok(Duration::from_millis(ms))
        };
        match name {
            "slow" => return time().map(Self::Slow),
            "recover-after" => return count("a number of calls", "2").map(Self::RecoverAfter),
            "reply-after-cancel" => return time().map(Self::ReplyAfterCancel),
            _ if number.is_some() => return Err(unknown()),
            _ => {}
        }
        Ok(match name {
            "none" => Self::None,
            "hang" => Self::Hang,
            "wedged" => Self::Wedged,
            "silent" => Self::Silent,
            "badjson" => Self::BadJson,
            "truncated" => Self::Truncated,
            "wrong-id" => Self::WrongId,
            "duplicate" => Self::Duplicate,
            "slowloris" => Self::SlowLoris,
            "stdout-noise" => Self::StdoutNoise,
            "exit" => Self::Exit,
            _ => return Err(unknown()),
        })
    }
}

impl fmt::Display for MockFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Hang => f.write_str("hang"),
            Self::Wedged => f.write_str("wedged"),
            Self::Slow(time) => write!(f, "slow:{}", time.as_millis()),
            Self::RecoverAfter(count) => write!(f, "recover-after:{count}"),
            Self::ReplyAfterCancel(time) => write!(f, "reply-after-cancel:{}", time.as_millis()),
            Self::Silent => f.write_str("silent"),
            Self::BadJson => f.write_str("badjson"),
            Self::Truncated => f.write_str("truncated"),
            Self::WrongId => f.write_str("wrong-id"),
            Self::Duplicate => f.write_str("duplicate"),
            Self::SlowLoris => f.write_str("slowloris"),
            Self::StdoutNoise => f.write_str("stdout-noise"),
            Self::Exit => f.write_str("exit"),
        }
    }
}

impl<'de> Deserialize<'de> for MockFault {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for MockFault {
    fn schema_name() -> Cow<'static, str> {
        "Fault".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": format!("One of {}.", Self::NAMES),
            "pattern": "^(none|hang|wedged|slow:\\d+|recover-after:\\d+|reply-after-cancel:\\d+|silent|badjson|truncated|\
                wrong-id|duplicate|slowloris|stdout-noise|exit)$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_names_round_trip() {
        let all = [
            "none",
            "hang",
            "wedged",
            "slow:20",
            "recover-after:2",
            "reply-after-cancel:5",
            "silent",
            "badjson",
            "truncated",
            "wrong-id",
            "duplicate",
            "slowloris",
            "stdout-noise",
            "exit",
        ];
        for (text, (name, _)) in all.into_iter().zip(MockFault::MEANINGS) {
            assert_eq!(text.split(':').next(), name.split(':').next());
            assert_eq!(text.parse::<MockFault>().unwrap().to_string(), text);
        }
        for wrong in [
            "",
            "slow",
            "slow:",
            "slow:-1",
            "slow:1s",
            "hang:5",
            "slow:600001",
            "Hang",
        ] {
            assert!(wrong.parse::<MockFault>().is_err(), "{wrong}");
        }
    }
}
