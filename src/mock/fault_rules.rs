//! Faults from the command line, for all tools or for one.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::fault::MockFault;
use super::http_fault::{FaultRule, HttpFault};

/// `KIND` or `TOOL=KIND`: a fault of calls, or of requests over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskedFault {
    Call(ToolFault),
    /// The tool, or `None` for all requests.
    Http(Option<String>, HttpFault),
}

impl FromStr for AskedFault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // No kind has a `=`, but the name of a tool may have one.
        let (tool, kind) = match text.rsplit_once('=') {
            Some(("", _)) => return Err(format!("`{text}` names no tool; use TOOL=KIND or KIND")),
            Some((tool, kind)) => (Some(tool.to_owned()), kind),
            None => (None, text),
        };
        match (kind.parse::<MockFault>(), kind.parse()) {
            (Ok(fault), _) => Ok(Self::Call(ToolFault { tool, fault })),
            (_, Ok(fault)) => Ok(Self::Http(tool, fault)),
            (Err(reason), _) => Err(reason),
        }
    }
}

impl AskedFault {
    /// Returns the rule for requests over HTTP. Fails with the valid names if this is a fault that
    /// only calls have.
    pub fn over_http(&self, times: Option<u64>) -> Result<FaultRule, String> {
        let (tool, fault) = match self {
            Self::Call(ToolFault { tool, fault }) => (tool, fault.to_string().parse()?),
            Self::Http(tool, fault) => (tool, *fault),
        };
        Ok(FaultRule {
            fault,
            times,
            after: 0,
            method: None,
            tool: tool.clone(),
        })
    }
}

/// A fault of all tools, `KIND`, or of one, `TOOL=KIND`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFault {
    /// The tool; `None` for all that have no fault of their own.
    tool: Option<String>,
    fault: MockFault,
}

impl fmt::Display for ToolFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(tool) = &self.tool {
            write!(f, "{tool}=")?;
        }
        self.fault.fmt(f)
    }
}

/// The faults of the command line, and the number of calls that each was chosen for.
#[derive(Debug, Default)]
pub struct FaultRules {
    rules: Vec<(ToolFault, AtomicU64)>,
    /// Number of calls that each fault applies to; all if unset.
    times: Option<u64>,
}

impl FaultRules {
    /// Creates the rules for calls, without the faults of HTTP. Fails if two have the same tool.
    pub fn new(faults: &[AskedFault], times: Option<u64>) -> Result<Self, String> {
        let mut rules: Vec<(ToolFault, AtomicU64)> = Vec::new();
        for asked in faults {
            let AskedFault::Call(fault) = asked else {
                continue;
            };
            if let Some((other, _)) = rules.iter().find(|(other, _)| other.tool == fault.tool) {
                return Err(format!(
                    "--fault {other} and --fault {fault} exclude each other"
                ));
            }
            rules.push((fault.clone(), AtomicU64::new(0)));
        }
        Ok(Self { rules, times })
    }

    /// Counts a call of this tool, and returns its fault, if a rule has one.
    pub(crate) fn next(&self, tool: Option<&str>) -> Option<MockFault> {
        let of = |tool: Option<&str>| {
            let mut rules = self.rules.iter();
            rules.find(|(rule, _)| rule.tool.as_deref() == tool)
        };
        let (rule, calls) = tool.and_then(|tool| of(Some(tool))).or_else(|| of(None))?;
        let count = calls.fetch_add(1, Relaxed) + 1;
        let applies = self.times.is_none_or(|times| count <= times);
        applies.then(|| rule.fault.at(count))
    }

    /// Returns the faults that were chosen for no call.
    pub fn unused(&self) -> impl Iterator<Item = &ToolFault> {
        let unused = self
            .rules
            .iter()
            .filter(|(_, calls)| calls.load(Relaxed) == 0);
        unused.map(|(rule, _)| rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn rules(faults: &[&str], times: Option<u64>) -> FaultRules {
        let faults: Vec<AskedFault> = faults.iter().map(|text| text.parse().unwrap()).collect();
        FaultRules::new(&faults, times).unwrap()
    }

    #[test]
    fn fault_of_tool_precedes_that_of_all() {
        let rules = rules(&["silent", "a=none", "b=c=recover-after:1", "d=hang"], None);
        let of = |tool| rules.next(Some(tool));
        assert_eq!(
            [of("a"), of("b"), of("b=c"), of("b=c"), rules.next(None)],
            [
                Some(MockFault::None),
                Some(MockFault::Silent),
                Some(MockFault::Hang),
                Some(MockFault::None),
                Some(MockFault::Silent)
            ]
        );
        let unused: Vec<String> = rules.unused().map(ToString::to_string).collect();
        assert_eq!(unused, ["d=hang"]);
    }

    #[test]
    fn limited_fault_ends_after_its_calls() {
        let rules = rules(&["silent"], Some(2));
        let faults = [(); 3].map(|()| rules.next(Some("a")));
        assert_eq!(
            faults,
            [Some(MockFault::Silent), Some(MockFault::Silent), None]
        );
    }

    #[test]
    fn invalid_fault_flag_is_refused() {
        for (text, reason) in [
            ("=hang", "`=hang` names no tool; use TOOL=KIND or KIND"),
            ("a=slow", "`slow` needs milliseconds, as in `slow:500`"),
        ] {
            assert_eq!(text.parse::<AskedFault>(), Err(reason.to_owned()));
        }
        let twice = ["a=hang", "a=slow:5"].map(|text| text.parse().unwrap());
        assert_eq!(
            FaultRules::new(&twice, None).unwrap_err(),
            "--fault a=hang and --fault a=slow:5 exclude each other"
        );
    }
}
