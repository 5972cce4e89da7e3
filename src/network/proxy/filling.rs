//! Credentials on one intercepted connection: requests get the real values, answers lose them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, HeaderMap, HeaderValue, RANGE, TRANSFER_ENCODING, UPGRADE,
};
use http::uri::Scheme as UriScheme;
use http::{StatusCode, request, response};
use hyper::ext::ReasonPhrase;

use super::blocked_list::shorten_request;
use replay_network::rules::{Concealer, Credentials, Destination, Pair, RequestLine};
use replay_record::proxy::{Inspector, Misfit, Refusal, Rewriter};

/// Most forms of a credential on one connection: users of Basic.
const MAX_WRITTEN: usize = 64;

/// Turns a reason into a refusal, and reports it.
pub(super) type Refuse = Box<dyn Fn(&str) -> Refusal + Send + Sync>;

pub(super) struct Filling {
    /// Inspector that judges each request first.
    judge: Arc<dyn Inspector>,
    to: Destination,
    refuse: Refuse,
    credentials: Arc<Credentials>,
    /// Secrets that were written on this connection in another encoding.
    written: Mutex<Vec<Pair>>,
}

impl Filling {
    pub(super) fn new(
        judge: Arc<dyn Inspector>,
        to: Destination,
        refuse: Refuse,
        credentials: Arc<Credentials>,
    ) -> Self {
        Self {
            judge,
            to,
            refuse,
            credentials,
            written: Mutex::default(),
        }
    }

    fn written(&self) -> MutexGuard<'_, Vec<Pair>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inspector for Filling {
    fn request(&self, head: &mut request::Parts) -> Result<(), Refusal> {
        self.judge.request(head)?;
        // After an upgrade the protocol is no longer HTTP, and a secret in it would not be seen.
        if head.headers.contains_key(UPGRADE) {
            return Err((self.refuse)(
                "a connection with a credential cannot be upgraded to another protocol",
            ));
        }
        let is_tls = head.uri.scheme() == Some(&UriScheme::HTTPS);
        let line = RequestLine {
            is_tls,
            method: head.method.as_str(),
            path: head.uri.path(),
            may_switch: false,
        };
        let stray = |value: &HeaderValue| self.credentials.astray(&self.to, line, value.as_bytes());
        if let Some(name) = head.headers.values().find_map(stray) {
            return Err((self.refuse)(&format!(
                "{name} was sent in {}, which no --for of the credential allows",
                shorten_request(head)
            )));
        }
        let mut written = self.written();
        for value in head.headers.values_mut() {
            let mut bytes = value.as_bytes().to_vec();
            self.credentials
                .fill(&self.to, line, &mut bytes, &mut written);
            if bytes != value.as_bytes() {
                let filled = HeaderValue::from_bytes(&bytes);
                *value = filled.map_err(|_| {
                    (self.refuse)("the value of the credential is not allowed in an HTTP header")
                })?;
                value.set_sensitive(true);
            }
        }
        if written.len() > MAX_WRITTEN {
            return Err((self.refuse)(
                "one connection used credentials for too many host names",
            ));
        }
        drop(written);
        // An answer that is coded, or that comes in parts, could hold what nobody would see.
        head.headers
            .insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        head.headers.remove(RANGE);
        Ok(())
    }

    fn misfit(&self, misfit: Misfit) -> Refusal {
        self.judge.misfit(misfit)
    }

    fn answer(&self, head: &mut response::Parts) -> Result<Option<Box<dyn Rewriter>>, Refusal> {
        // The words behind the status.
        head.extensions.remove::<ReasonPhrase>();
        let is_coded = |name, plain: &str| {
            head.headers
                .get_all(name)
                .iter()
                .any(|value: &HeaderValue| !value.as_bytes().eq_ignore_ascii_case(plain.as_bytes()))
        };
        let has_body = ![StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&head.status);
        if has_body && is_coded(CONTENT_ENCODING, "identity")
            || is_coded(TRANSFER_ENCODING, "chunked")
        {
            return Err((self.refuse)(
                "the answer is compressed, so a credential in it could not be found",
            ));
        }
        if head.status == StatusCode::PARTIAL_CONTENT {
            return Err((self.refuse)(
                "the answer is an unrequested part, so a credential in it could not be found",
            ));
        }
        let mut concealing =
            Concealing(self.credentials.concealer(&self.to, self.written().clone()));
        concealing.trailers(&mut head.headers);
        Ok(Some(Box::new(concealing)))
    }
}

/// Body from which secrets are removed.
struct Concealing(Concealer);

impl Rewriter for Concealing {
    fn piece(&mut self, bytes: Bytes) -> Bytes {
        self.0.take(&bytes).unwrap_or_default().into()
    }

    fn rest(&mut self) -> Bytes {
        self.0.end().unwrap_or_default().into()
    }

    fn trailers(&mut self, fields: &mut HeaderMap) {
        let names: Vec<_> = fields
            .keys()
            .filter(|name| self.0.knows_name(name.as_str()))
            .cloned()
            .collect();
        for name in names {
            fields.remove(name);
        }
        for value in fields.values_mut() {
            let concealed = self.0.whole(value.as_bytes()).unwrap_or_default();
            if concealed != value.as_bytes() {
                // It was one, and what stands for a secret is text.
                *value =
                    HeaderValue::from_bytes(&concealed).unwrap_or(HeaderValue::from_static(""));
            }
        }
    }
}
