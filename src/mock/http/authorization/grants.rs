//! The token endpoint (RFC 6749, 3.2) and devices (RFC 8628).

use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::StatusCode;
use replay_mock::{Grant, HttpEvent, HttpFaultKind, Refresh};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::clients::Client;
use super::tokens::{Grantee, random};
use super::{AuthorizationServer, OauthError};
use crate::faults::Faults;
use crate::form::Form;
use crate::reply::{Reply, json as json_reply};

/// Lifetime of a device code, in seconds.
const DEVICE_SECONDS: u64 = 600;
/// Interval of the polls of a device, in seconds.
const DEVICE_INTERVAL: u64 = 1;

/// Adds `ok`, and the `error` if there is one.
pub(super) fn with_outcome(mut shown: Value, error: Option<&OauthError>) -> Value {
    shown["ok"] = error.is_none().into();
    if let Some(error) = error {
        shown["error"] = error.code.into();
    }
    shown
}

/// A device that waits for its user.
#[derive(Clone, Debug)]
pub(super) struct Device {
    grantee: Grantee,
    polls_left: u64,
}

/// A refresh token.
#[derive(Clone, Debug)]
pub(super) struct RefreshGrant {
    grantee: Grantee,
    /// Identifies all refresh tokens of one consent.
    family: String,
    /// End of the access token, as its client was told.
    access_ends: Instant,
    /// `true` once another token has taken its place.
    is_used: bool,
}

impl AuthorizationServer {
    pub(super) fn token(&self, authorization: Option<&str>, body: &[u8], faults: &Faults) -> Reply {
        let form = Form::parse(body);
        let mut shown = form.shown(&["client_id", "resource", "scope"]);
        shown["grant_type"] = form.get("grant_type").unwrap_or_default().into();
        let answer = self.granted(authorization, &form, faults, &mut shown);
        self.answered(HttpEvent::Token, shown, answer)
    }

    /// Notes a request with its outcome, and answers it.
    fn answered(&self, event: HttpEvent, shown: Value, answer: Result<Value, OauthError>) -> Reply {
        (self.note)(event, with_outcome(shown, answer.as_ref().err()));
        match answer {
            Ok(answer) => json_reply(StatusCode::OK, &answer),
            Err(error) => error.reply(),
        }
    }

    /// Grants a request for a token. Adds what distinguishes a good client to `shown`.
    fn granted(
        &self,
        authorization: Option<&str>,
        form: &Form,
        faults: &Faults,
        shown: &mut Value,
    ) -> Result<Value, OauthError> {
        if let Some(name) = form.repeated() {
            let text = format!("`{name}` occurs twice");
            return Err(OauthError::new("invalid_request", text));
        }
        let client = self.authenticated(authorization, form)?;
        shown["client_id"] = client.id.as_str().into();
        let grants = &self.settings.grants;
        let asked = form.get("grant_type").unwrap_or_default();
        let grant = grants.iter().find(|grant| grant.name() == asked);
        let Some(grant) = grant else {
            let names: Vec<&str> = grants.iter().map(|grant| grant.name()).collect();
            let text = format!(
                "`grant_type` is `{asked}`; it must be one of {}",
                names.join(", ")
            );
            return Err(OauthError::new("unsupported_grant_type", text));
        };
        self.check_resource(form.all("resource"))?;
        match grant {
            Grant::AuthorizationCode => {
                let grantee = self.redeem(&client, form, shown)?;
                self.issue_with_refresh(&grantee, faults)
            }
            Grant::RefreshToken => self.refresh(&client, form, faults, shown),
            Grant::ClientCredentials if client.is_public() => Err(OauthError::new(
                "unauthorized_client",
                "a client without a secret has no credentials",
            )),
            Grant::ClientCredentials => {
                let grantee = Grantee {
                    client_id: client.id,
                    scopes: self.requested(form.get("scope"))?,
                };
                self.issue(&grantee, None, faults)
            }
            Grant::DeviceCode => {
                let grantee = self.poll_device(&client, form)?;
                self.issue_with_refresh(&grantee, faults)
            }
        }
    }

    /// Exchanges a code, once.
    fn redeem(
        &self,
        client: &Client,
        form: &Form,
        shown: &mut Value,
    ) -> Result<Grantee, OauthError> {
        let invalid = |text: &str| OauthError::new("invalid_grant", text);
        let verifier = form.get("code_verifier");
        let mut state = self.state();
        let code = form
            .get("code")
            .and_then(|code| state.codes.get_mut(code))
            .ok_or_else(|| invalid("the code is unknown"))?;
        if std::mem::replace(&mut code.is_used, true) {
            return Err(invalid("the code was used before"));
        }
        if code.grantee.client_id != client.id {
            return Err(invalid("the code is of another client"));
        }
        if form
            .get("redirect_uri")
            .is_some_and(|uri| uri != code.redirect_uri)
        {
            return Err(invalid("`redirect_uri` differs from that of the code"));
        }
        let is_verified = verifier.is_some_and(|verifier| {
            URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)) == code.challenge
        });
        shown["pkce"] = is_verified.into();
        if !is_verified {
            return Err(invalid("`code_verifier` does not fit the challenge"));
        }
        Ok(code.grantee.clone())
    }

    fn issue_with_refresh(&self, grantee: &Grantee, faults: &Faults) -> Result<Value, OauthError> {
        let family = random()?;
        let refresh = self.new_refresh(grantee, family)?;
        self.issue(grantee, refresh, faults)
    }

    /// Makes a refresh token, if this server has any.
    fn new_refresh(&self, grantee: &Grantee, family: String) -> Result<Option<String>, OauthError> {
        if !self.refreshes() {
            return Ok(None);
        }
        let value = format!("refresh-{}", random()?);
        let entry = RefreshGrant {
            grantee: grantee.clone(),
            family,
            access_ends: self.access_end(),
            is_used: false,
        };
        self.has_room()?.refreshes.insert(value.clone(), entry);
        Ok(Some(value))
    }

    fn access_end(&self) -> Instant {
        Instant::now() + self.lifetime()
    }

    fn refresh(
        &self,
        client: &Client,
        form: &Form,
        faults: &Faults,
        shown: &mut Value,
    ) -> Result<Value, OauthError> {
        let invalid = |text: &str| OauthError::new("invalid_grant", text);
        let value = form
            .get("refresh_token")
            .ok_or_else(|| invalid("`refresh_token` is missing"))?
            .to_owned();
        let (grantee, granted, family) = {
            let mut state = self.state();
            let grant = state
                .refreshes
                .get_mut(&value)
                .filter(|grant| grant.grantee.client_id == client.id)
                .ok_or_else(|| invalid("the refresh token is unknown"))?;
            shown["early"] = (Instant::now() < grant.access_ends).into();
            if faults.of_kind(HttpFaultKind::RefreshFails).is_some() {
                return Err(invalid("the refresh token was revoked"));
            }
            let (mut grantee, family) = (grant.grantee.clone(), grant.family.clone());
            if grant.is_used {
                // Somebody else may have it (RFC 9700, 4.14.2).
                state.refreshes.retain(|_, other| other.family != family);
                return Err(invalid("the refresh token was used before"));
            }
            // A refused request leaves the token good.
            if let Some(scope) = form.get("scope") {
                let scopes = self.requested(Some(scope))?;
                if let Some(more) = scopes.iter().find(|scope| !grantee.scopes.contains(scope)) {
                    let text = format!("`{more}` was not granted before");
                    return Err(OauthError::new("invalid_scope", text));
                }
                grantee.scopes = scopes;
            }
            if self.settings.refresh == Refresh::Rotate {
                grant.is_used = true;
            } else {
                grant.access_ends = self.access_end();
            }
            (grantee, grant.grantee.clone(), family)
        };
        let next = match self.settings.refresh {
            // The next token has the scopes of this one (RFC 6749, 6).
            Refresh::Rotate => self.new_refresh(&granted, family)?,
            Refresh::Keep | Refresh::Never => Some(value),
        };
        self.issue(&grantee, next, faults)
    }

    /// Begins the authorization of a device (RFC 8628, 3.1).
    pub(super) fn device(&self, authorization: Option<&str>, body: &[u8]) -> Reply {
        let form = Form::parse(body);
        let mut shown = form.shown(&["client_id", "resource", "scope"]);
        let answer = self.new_device(authorization, &form, &mut shown);
        self.answered(HttpEvent::Device, shown, answer)
    }

    fn new_device(
        &self,
        authorization: Option<&str>,
        form: &Form,
        shown: &mut Value,
    ) -> Result<Value, OauthError> {
        let client = self.authenticated(authorization, form)?;
        shown["client_id"] = client.id.as_str().into();
        self.check_resource(form.all("resource"))?;
        let device = Device {
            grantee: Grantee {
                client_id: client.id,
                scopes: self.requested(form.get("scope"))?,
            },
            polls_left: self.settings.device_polls,
        };
        let code = random()?;
        self.has_room()?.devices.insert(code.clone(), device);
        Ok(json!({
            "device_code": code,
            "user_code": "MOCK-CODE",
            "verification_uri": format!("{}/device", self.issuer),
            "expires_in": DEVICE_SECONDS,
            "interval": DEVICE_INTERVAL,
        }))
    }

    /// Answers a poll of a device (RFC 8628, 3.5).
    fn poll_device(&self, client: &Client, form: &Form) -> Result<Grantee, OauthError> {
        let code = form.get("device_code").unwrap_or_default();
        let mut state = self.state();
        let device = state
            .devices
            .get_mut(code)
            .filter(|device| device.grantee.client_id == client.id);
        let Some(device) = device else {
            return Err(OauthError::new(
                "invalid_grant",
                "the device code is unknown",
            ));
        };
        if self.settings.consent == replay_mock::Consent::Deny {
            return Err(OauthError::new(
                "access_denied",
                "the user does not consent",
            ));
        }
        if device.polls_left > 0 {
            device.polls_left -= 1;
            return Err(OauthError::new(
                "authorization_pending",
                "the user has not consented yet",
            ));
        }
        let grantee = device.grantee.clone();
        state.devices.remove(code);
        Ok(grantee)
    }
}
