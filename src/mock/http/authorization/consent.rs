//! The authorization endpoint and the page of consent.

use hyper::StatusCode;
use replay_mock::{FaultPlace, HttpEvent, HttpFaultKind};

use super::grants::with_outcome;
use super::tokens::{Grantee, random};
use super::{AuthorizationServer, OauthError};
use crate::faults::Faults;
use crate::form::{Form, with_query};
use crate::reply::{Reply, escape, page, redirect};

/// An authorization code.
#[derive(Clone, Debug)]
pub(super) struct Code {
    pub(super) grantee: Grantee,
    pub(super) redirect_uri: String,
    /// Hash of the verifier, in base64url (RFC 7636, 4.2).
    pub(super) challenge: String,
    /// `true` once it was exchanged.
    pub(super) is_used: bool,
}

impl AuthorizationServer {
    /// Answers a request for a code. `decision` is that of the user; `None` asks with a page.
    pub(super) fn authorize(&self, query: &str, decision: Option<bool>, faults: &Faults) -> Reply {
        let form = Form::parse(query.as_bytes());
        // Without a known client and redirect URI there is no place to send an error to (RFC 6749,
        // 4.1.2.1).
        let mut shown = form.shown(&[
            "client_id",
            "redirect_uri",
            "response_type",
            "scope",
            "resource",
            "code_challenge_method",
        ]);
        shown["state"] = form.get("state").is_some().into();
        let fail = |text: &str| {
            let error = OauthError::new("invalid_request", text);
            (self.note)(
                HttpEvent::Authorize,
                with_outcome(shown.clone(), Some(&error)),
            );
            let text = format!("<p>{}", escape(text));
            page(
                StatusCode::BAD_REQUEST,
                "The request cannot be authorized",
                &text,
            )
        };
        let (Some(id), Some(redirect_uri)) = (form.get("client_id"), form.get("redirect_uri"))
        else {
            return fail("`client_id` or `redirect_uri` is missing, or occurs twice.");
        };
        let Some(client) = self.client(id, Some(redirect_uri)) else {
            return fail("The client is not registered.");
        };
        if !client.redirects_to(redirect_uri) {
            return fail("The redirect URI is not registered for this client.");
        }
        if decision.is_none() {
            return consent_page(&client.id, form.get("scope"), query);
        }
        let outcome = self.code(&form, &client.id, redirect_uri, decision == Some(true));
        let error = outcome.as_ref().err();
        (self.note)(HttpEvent::Authorize, with_outcome(shown.clone(), error));
        let kind = faults.at(FaultPlace::Authorize).map(|fault| fault.kind);
        let state = match kind {
            Some(HttpFaultKind::WrongState) => Some("another"),
            _ => form.get("state"),
        };
        let issuer = match kind {
            Some(HttpFaultKind::MixUp) => &self.elsewhere,
            _ => &self.issuer,
        };
        let base = match kind {
            Some(HttpFaultKind::OpenRedirect) => &format!("{}/callback", self.elsewhere),
            _ => redirect_uri,
        };
        let mut fields = match &outcome {
            Ok(code) => vec![("code", code.as_str())],
            Err(error) => vec![
                ("error", error.code),
                ("error_description", &error.description),
            ],
        };
        fields.extend(state.map(|state| ("state", state)));
        // RFC 9207.
        fields.push(("iss", issuer));
        redirect(StatusCode::FOUND, &with_query(base, fields))
    }

    fn code(
        &self,
        form: &Form,
        client_id: &str,
        redirect_uri: &str,
        consents: bool,
    ) -> Result<String, OauthError> {
        let invalid = |text: String| Err(OauthError::new("invalid_request", text));
        if let Some(name) = form.repeated() {
            return invalid(format!("`{name}` occurs twice"));
        }
        match form.get("response_type") {
            Some("code") => {}
            other => {
                let text = format!(
                    "`response_type` is {}; it must be code",
                    other.unwrap_or("missing")
                );
                return Err(OauthError::new("unsupported_response_type", text));
            }
        }
        let (challenge, method) = (
            form.get("code_challenge"),
            form.get("code_challenge_method"),
        );
        let (Some(challenge), Some("S256")) = (challenge, method) else {
            return invalid("PKCE with `code_challenge_method=S256` is required".to_owned());
        };
        let scopes = self.requested(form.get("scope"))?;
        self.check_resource(form.all("resource"))?;
        if !consents {
            return Err(OauthError::new(
                "access_denied",
                "the user does not consent",
            ));
        }
        let code = random()?;
        let entry = Code {
            grantee: Grantee {
                client_id: client_id.to_owned(),
                scopes,
            },
            redirect_uri: redirect_uri.to_owned(),
            challenge: challenge.to_owned(),
            is_used: false,
        };
        self.has_room()?.codes.insert(code.clone(), entry);
        Ok(code)
    }
}

fn consent_page(client_id: &str, scope: Option<&str>, query: &str) -> Reply {
    let body = format!(
        "<p>The client <code>{}</code> asks for: <code>{}</code>\
         <form method=post action=\"/authorize?{}\"><button>Allow</button></form>",
        escape(client_id),
        escape(scope.unwrap_or("no scopes")),
        escape(query)
    );
    page(StatusCode::OK, "Allow access?", &body)
}

/// The page that a device sends its user to. The user approves without it.
pub(super) fn device_page() -> Reply {
    let text = "<p>The device is approved after some polls (<code>device_polls</code>).";
    page(StatusCode::OK, "A device asks for access", text)
}
