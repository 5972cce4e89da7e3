//! Judges the requests of one opened connection.

use http::header::UPGRADE;
use http::request;
use http::uri::Scheme;

use super::door::RuledDoor;
use crate::egress::{Destination, RequestLine, Verdict};
use crate::exec::ProgramName;
use crate::limits::MAX_SHOWN_URL_BYTES;
use crate::record::Target;
use crate::record::proxy::{Inspector, Misfit, Refusal};

pub(super) struct Judge {
    pub(super) door: RuledDoor,
    pub(super) target: Target,
    pub(super) to: Destination,
    pub(super) by: ProgramName,
}

impl Inspector for Judge {
    fn request(&self, head: &mut request::Parts) -> Result<(), Refusal> {
        let (is_tls, may_switch) = (head.uri.scheme() == Some(&Scheme::HTTPS), head.headers.contains_key(UPGRADE));
        let line = RequestLine { is_tls, method: head.method.as_str(), path: head.uri.path(), may_switch };
        let url = head.uri.to_string();
        let url = url.split('?').next().unwrap_or_default();
        let end = url.floor_char_boundary(MAX_SHOWN_URL_BYTES);
        let rest = if end < url.len() { "..." } else { "" };
        let asked = format!("{} {}{rest}", line.method, &url[..end]);
        let missing = || Some(self.to.rule_for(line).to_string());
        let (why, rule) = match self.door.rules.judge(&self.to, line) {
            Verdict::Allowed => {
                self.door.allow(self.to.transport, &self.target, Some(&asked), None, self.by);
                return Ok(());
            }
            Verdict::Missing => (None, missing()),
            Verdict::OddPath => (Some("servers read its path in several ways"), missing()),
            Verdict::OddMethod => (Some("a method is in capital letters"), None),
            Verdict::Denied => (Some("--deny-net names it"), None),
        };
        let blocked = self.door.add(&self.target, Some(asked), None, why.map(str::to_owned), self.by, rule);
        Err(Refusal(blocked.to_string()))
    }

    fn misfit(&self, misfit: Misfit) -> Refusal {
        Refusal(self.door.end(&self.target, &misfit, self.by).to_string())
    }
}
