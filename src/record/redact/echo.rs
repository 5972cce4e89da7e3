//! Secrets of a request that its answer repeats.

use memchr::memmem;

use super::placeholder::{Marks, known};
use super::walk::{Form, Secret};
use super::{in_request, resize};
use crate::limits::MIN_ECHOED_BYTES;
use crate::record::exchange::{HttpRequest, HttpResponse};

/// Whether a body repeats one.
pub(super) fn is_in(request: &HttpRequest, body: &[u8]) -> bool {
    secrets(request).iter().any(|(secret, _)| memmem::find(body, secret).is_some())
}

/// Replaces them. Where a length changes, only in texts: other bodies may have it beside what they hold.
pub(super) fn replace(request: &HttpRequest, response: &mut HttpResponse, marks: &Marks) {
    for (secret, guessable) in secrets(request) {
        let other = marks.stand_in(&secret, guessable);
        for (_, value) in response.headers.iter_mut().chain(&mut response.trailers) {
            if let Some(without) = replaced(value, &secret, &other) {
                *value = without;
            }
        }
        if (other.len() == secret.len() || std::str::from_utf8(&response.body).is_ok())
            && let Some(without) = replaced(&response.body, &secret, &other)
        {
            resize(&mut response.headers, response.body.len(), without.len());
            response.body = without;
        }
    }
}

/// The longest first: one may be a part of another one.
fn secrets(request: &HttpRequest) -> Vec<(Vec<u8>, bool)> {
    let mut found = Vec::new();
    in_request(request, &mut |secret: &Secret<'_>| {
        let is_one = secret.value.len() >= MIN_ECHOED_BYTES && !matches!(secret.form, Form::Number | Form::Caller);
        if is_one && known(secret.value).is_none() {
            found.push((secret.value.to_vec(), secret.guessable));
        }
        None
    });
    found.sort_by_key(|(secret, _)| std::cmp::Reverse(secret.len()));
    found.dedup();
    found
}

fn replaced(bytes: &[u8], secret: &[u8], other: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut kept = 0;
    for at in memmem::find_iter(bytes, secret) {
        out.extend_from_slice(&bytes[kept..at]);
        out.extend_from_slice(other);
        kept = at + secret.len();
    }
    out.extend_from_slice(if kept == 0 { &[] } else { &bytes[kept..] });
    (kept > 0).then_some(out)
}
