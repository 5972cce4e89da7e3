//! A simulated authorization server (OAuth 2.1), and the check of its tokens.
//!
//! `metadata` describes it, `clients` registers clients, `consent` answers the authorization
//! endpoint, `grants` the token endpoint, and `tokens` makes and checks access tokens.

mod clients;
mod consent;
mod grants;
mod metadata;
mod tokens;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hyper::StatusCode;
use hyper::header::{HeaderValue, WWW_AUTHENTICATE};
use replay_mock::{Authorization, Consent, HttpEvent, Refresh};
use serde_json::json;

use self::clients::Client;
use self::consent::Code;
use self::grants::{Device, RefreshGrant};
use self::tokens::{AccessToken, Signer};
use crate::faults::Faults;
use crate::note::Note;
use crate::reply::{Reply, json as json_reply};

/// Most clients, codes, devices and tokens, each.
const MAX_ENTRIES: usize = 10_000;

/// Authorization server and protected resource.
pub(crate) struct AuthorizationServer {
    settings: Authorization,
    /// Origin of the server, which is its issuer.
    issuer: String,
    /// URL of the MCP endpoint.
    resource: String,
    /// Another origin, which notes what arrives there.
    elsewhere: String,
    note: Note,
    signer: Signer,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    clients: HashMap<String, Client>,
    codes: HashMap<String, Code>,
    devices: HashMap<String, Device>,
    tokens: HashMap<String, AccessToken>,
    refreshes: HashMap<String, RefreshGrant>,
}

impl State {
    fn is_full(&self) -> bool {
        let sizes = [
            self.clients.len(),
            self.codes.len(),
            self.devices.len(),
            self.tokens.len(),
            self.refreshes.len(),
        ];
        sizes.into_iter().any(|size| size >= MAX_ENTRIES)
    }
}

/// An error of OAuth (RFC 6749, 5.2).
#[derive(Clone, Debug, PartialEq, Eq)]
struct OauthError {
    status: StatusCode,
    code: &'static str,
    description: String,
}

impl OauthError {
    fn new(code: &'static str, description: impl Into<String>) -> Self {
        let status = if code == "invalid_client" {
            StatusCode::UNAUTHORIZED
        } else {
            StatusCode::BAD_REQUEST
        };
        Self {
            status,
            code,
            description: description.into(),
        }
    }

    fn reply(&self) -> Reply {
        let value = json!({"error": self.code, "error_description": self.description});
        let mut reply = json_reply(self.status, &value);
        if self.status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Basic realm=\"mock\"");
            reply.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        reply
    }
}

impl AuthorizationServer {
    pub(crate) fn new(
        settings: Authorization,
        issuer: String,
        resource: String,
        elsewhere: String,
        note: Note,
    ) -> Result<Self, String> {
        let clients = settings
            .clients
            .iter()
            .map(|client| (client.client_id.clone(), Client::of(client)));
        let state = State {
            clients: clients.collect(),
            ..State::default()
        };
        Ok(Self {
            state: Mutex::new(state),
            signer: Signer::new()?,
            settings,
            issuer,
            resource,
            elsewhere,
            note,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request to an endpoint of the authorization server; `None` for other paths.
    pub(crate) fn answer(
        &self,
        method: &hyper::Method,
        uri: &hyper::Uri,
        authorization: Option<&str>,
        body: &[u8],
        faults: &Faults,
    ) -> Option<Reply> {
        let query = uri.query().unwrap_or_default();
        let is_post = method == hyper::Method::POST;
        let reply = match uri.path() {
            path if metadata::is_resource(path) => self.resource_metadata(path),
            path if metadata::is_server(path) => self.server_metadata(path, faults),
            "/jwks" => json_reply(StatusCode::OK, &self.signer.keys()),
            "/authorize" => {
                let decision = match self.settings.consent {
                    Consent::Page if is_post => Some(true),
                    Consent::Page => None,
                    Consent::Auto => Some(true),
                    Consent::Deny => Some(false),
                };
                self.authorize(query, decision, faults)
            }
            "/register" | "/token" | "/device_authorization" if !is_post => {
                let error = OauthError {
                    status: StatusCode::METHOD_NOT_ALLOWED,
                    ..OauthError::new("invalid_request", "use POST at this path")
                };
                error.reply()
            }
            "/register" => self.register(body),
            "/token" => self.token(authorization, body, faults),
            "/device_authorization" => self.device(authorization, body),
            "/device" => consent::device_page(),
            _ => return None,
        };
        Some(reply)
    }

    /// Checks the token of a request to the MCP endpoint, and its scopes for these tools. Returns
    /// the refusal.
    pub(crate) fn check(
        &self,
        authorization: Option<&str>,
        tools: &[&str],
    ) -> Result<(), Box<Reply>> {
        let mut needed = self.settings.scopes.clone();
        needed.extend(
            tools
                .iter()
                .filter_map(|tool| self.settings.tool_scopes.get(*tool))
                .flatten()
                .cloned(),
        );
        let token = match authorization {
            None => None,
            Some(value) => {
                let bearer = value
                    .split_once(' ')
                    .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
                    .map(|(_, token)| token.trim());
                let found = bearer
                    .ok_or("`Authorization` must be `Bearer TOKEN`")
                    .and_then(|token| self.known_token(token));
                match found {
                    Ok(token) => Some(token),
                    Err(reason) => return Err(Box::new(self.unauthorized(Some(reason)))),
                }
            }
        };
        let Some(token) = token else {
            return Err(Box::new(self.unauthorized(None)));
        };
        if needed.iter().all(|scope| token.scopes.contains(scope)) {
            return Ok(());
        }
        // Scopes that the client has already are needed as well.
        let all = token.scopes.iter().chain(&needed);
        let mut scopes: Vec<&str> = Vec::new();
        for scope in all {
            if !scopes.contains(&scope.as_str()) {
                scopes.push(scope);
            }
        }
        Err(Box::new(self.insufficient(&scopes.join(" "))))
    }

    /// Returns a 401 (RFC 6750, 3; RFC 9728, 5.1). `reason` tells what is wrong with the token.
    pub(crate) fn unauthorized(&self, reason: Option<&str>) -> Reply {
        let error = reason.map(|reason| ("invalid_token", reason));
        let scope = self.settings.scopes.join(" ");
        self.challenge(StatusCode::UNAUTHORIZED, error, &scope)
    }

    /// Returns a 403: the token lacks a scope.
    pub(crate) fn insufficient(&self, scope: &str) -> Reply {
        let error = ("insufficient_scope", "the token lacks a scope");
        self.challenge(StatusCode::FORBIDDEN, Some(error), scope)
    }

    fn challenge(&self, status: StatusCode, error: Option<(&str, &str)>, scope: &str) -> Reply {
        let mut parts = Vec::new();
        if let Some((code, reason)) = error {
            parts.push(format!("error=\"{code}\""));
            parts.push(format!("error_description=\"{reason}\""));
        }
        if !scope.is_empty() {
            parts.push(format!("scope=\"{scope}\""));
        }
        let metadata = format!("{}{}", self.issuer, metadata::RESOURCE);
        parts.push(format!("resource_metadata=\"{metadata}\""));
        let code = error.map_or("missing_token", |(code, _)| code);
        (self.note)(
            HttpEvent::Refused,
            json!({"status": status.as_u16(), "error": code, "scope": scope}),
        );
        let description = error.map_or("a token is needed", |(_, reason)| reason);
        let mut reply = json_reply(
            status,
            &json!({"error": code, "error_description": description}),
        );
        if let Ok(value) = HeaderValue::try_from(format!("Bearer {}", parts.join(", "))) {
            reply.headers_mut().insert(WWW_AUTHENTICATE, value);
        }
        reply
    }

    /// Checks `resource` of a request (RFC 8707, 2).
    fn check_resource<'a>(
        &self,
        mut given: impl Iterator<Item = &'a str>,
    ) -> Result<(), OauthError> {
        let is_own = |resource: &str| {
            let resource = resource.trim_end_matches('/');
            resource == self.resource || resource == self.issuer
        };
        let target = |description| Err(OauthError::new("invalid_target", description));
        match given.next() {
            None if self.settings.require_resource => target(format!(
                "`resource` is missing; it must be {}",
                self.resource
            )),
            Some(resource) if !is_own(resource) => target(format!(
                "`resource` is {resource}; it must be {}",
                self.resource
            )),
            _ => Ok(()),
        }
    }

    /// Returns all scopes that a client can have.
    fn scopes(&self) -> Vec<String> {
        let of_tools = self.settings.tool_scopes.values().flatten();
        let mut scopes: Vec<String> = Vec::new();
        for scope in self.settings.scopes.iter().chain(of_tools) {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        }
        if self.settings.refresh != Refresh::Never {
            scopes.push("offline_access".to_owned());
        }
        scopes
    }

    /// Returns the scopes of a request; by default those that every request needs.
    fn requested(&self, scope: Option<&str>) -> Result<Vec<String>, OauthError> {
        let known = self.scopes();
        let Some(scope) = scope else {
            return Ok(self.settings.scopes.clone());
        };
        let scopes: Vec<String> = scope.split_whitespace().map(str::to_owned).collect();
        match scopes.iter().find(|scope| !known.contains(scope)) {
            Some(unknown) => Err(OauthError::new(
                "invalid_scope",
                format!("`{unknown}` is no scope; valid: {}", known.join(", ")),
            )),
            None => Ok(scopes),
        }
    }

    fn has_room(&self) -> Result<MutexGuard<'_, State>, OauthError> {
        let state = self.state();
        if state.is_full() {
            return Err(OauthError {
                status: StatusCode::SERVICE_UNAVAILABLE,
                ..OauthError::new(
                    "temporarily_unavailable",
                    format!("the mock has {MAX_ENTRIES} clients, codes or tokens; restart it"),
                )
            });
        }
        Ok(state)
    }
}
