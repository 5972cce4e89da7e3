//! Decides which requests get a fault.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use replay_mock::{FaultPlace, FaultRule, HttpEvent, HttpFault, HttpFaultKind};
use serde_json::{Value, json};

use crate::message::ClientRequest;
use crate::note::Note;

/// Rules with the number of requests that each has matched.
pub(crate) struct Faults {
    rules: Vec<(FaultRule, AtomicU64)>,
    note: Note,
}

impl Faults {
    pub(crate) fn new(rules: Vec<FaultRule>, note: Note) -> Self {
        let rules = rules.into_iter().map(|rule| (rule, AtomicU64::new(0)));
        Self {
            rules: rules.collect(),
            note,
        }
    }

    /// Returns the fault of a request to the MCP endpoint at one of these places.
    pub(crate) fn of_request(
        &self,
        places: &[FaultPlace],
        request: &ClientRequest,
    ) -> Option<HttpFault> {
        let shown = json!({"method": request.method, "tool": request.tool});
        self.first(shown, |rule| {
            let is_same = |wanted: &Option<String>, given: Option<&str>| {
                wanted.as_deref().is_none_or(|wanted| given == Some(wanted))
            };
            let place = rule.fault.place();
            places.contains(&place)
                && (rule.fault.kind != HttpFaultKind::ForgetSession || request.has_session)
                && (place == FaultPlace::Request
                    || request.is_handshake() == (place == FaultPlace::Handshake))
                && is_same(&rule.method, Some(&request.method))
                && is_same(&rule.tool, request.tool.as_deref())
        })
    }

    /// Returns the fault of a request to the authorization server.
    pub(crate) fn at(&self, place: FaultPlace) -> Option<HttpFault> {
        self.first(json!({}), |rule| rule.fault.place() == place)
    }

    /// Returns the fault of this kind, if a request gets it.
    pub(crate) fn of_kind(&self, kind: HttpFaultKind) -> Option<HttpFault> {
        self.first(json!({}), |rule| rule.fault.kind == kind)
    }

    /// Counts a request for each rule that it matches, and returns the first fault that is due.
    /// Other faults that are due wait for the next request. `shown` describes the request to
    /// observers.
    fn first(&self, mut shown: Value, matches: impl Fn(&FaultRule) -> bool) -> Option<HttpFault> {
        let mut due: Option<HttpFault> = None;
        for (rule, count) in self.rules.iter().filter(|(rule, _)| matches(rule)) {
            let is_due = |before: u64| {
                before >= rule.after && rule.times.is_none_or(|times| before - rule.after < times)
            };
            let counted = count.fetch_update(Relaxed, Relaxed, |before| {
                let waits = is_due(before) && due.is_some();
                (!waits).then_some(before + 1)
            });
            if counted.is_ok_and(is_due) {
                due = Some(rule.fault);
            }
        }
        if let Some(fault) = due {
            shown["fault"] = fault.to_string().into();
            (self.note)(HttpEvent::Fault, shown);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn due_faults_come_one_after_the_other() {
        let rule = |fault: &str, after: u64, times: Option<u64>| {
            let rule = json!({"fault": fault, "after": after, "times": times});
            serde_json::from_value(rule).unwrap()
        };
        let rules = vec![
            rule("mix-up", 0, Some(1)),
            rule("wrong-state", 0, Some(1)),
            rule("open-redirect", 4, None),
        ];
        let faults = Faults::new(rules, Arc::new(|_, _| {}));
        let found = [(); 6].map(|()| {
            let fault = faults.at(FaultPlace::Authorize);
            fault.map(|fault| fault.to_string())
        });
        let found = found.each_ref().map(Option::as_deref);
        let redirect = Some("open-redirect");
        assert_eq!(
            found,
            [
                Some("mix-up"),
                Some("wrong-state"),
                None,
                None,
                redirect,
                redirect
            ]
        );
    }
}
