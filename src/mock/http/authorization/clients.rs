//! Clients: their registration and authentication.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::http::uri::PathAndQuery;
use hyper::{StatusCode, Uri};
use replay_mock::{HttpEvent, RegisteredClient, Registration};
use serde_json::Value;

use super::tokens::random;
use super::{AuthorizationServer, OauthError};
use crate::form::Form;
use crate::reply::{Reply, json as json_reply};

/// A client of the authorization server.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) id: String,
    /// `None` for a public client.
    secret: Option<String>,
    redirect_uris: Vec<String>,
}

impl Client {
    pub(super) fn of(registered: &RegisteredClient) -> Self {
        Self {
            id: registered.client_id.clone(),
            secret: registered.client_secret.clone(),
            redirect_uris: registered.redirect_uris.clone(),
        }
    }

    pub(super) fn is_public(&self) -> bool {
        self.secret.is_none()
    }

    /// Returns true for a registered redirect URI. The port of a loopback address may differ
    /// (RFC 8252, 7.3).
    pub(super) fn redirects_to(&self, uri: &str) -> bool {
        let plain = without_port(uri);
        self.redirect_uris
            .iter()
            .any(|known| known == uri || plain.is_some() && without_port(known) == plain)
    }
}

/// Returns a URI of a loopback address without its port; `None` for another URI.
fn without_port(uri: &str) -> Option<String> {
    if uri.contains(['#', '@']) {
        return None;
    }
    let parsed = uri.parse::<Uri>().ok()?;
    let host = parsed.host()?;
    let path = parsed.path_and_query().map(PathAndQuery::as_str);
    ["127.0.0.1", "[::1]", "localhost"]
        .contains(&host)
        .then(|| {
            let scheme = parsed.scheme_str().unwrap_or_default();
            format!("{scheme}://{host}{}", path.unwrap_or_default())
        })
}

impl AuthorizationServer {
    /// Registers a client (RFC 7591).
    pub(super) fn register(&self, body: &[u8]) -> Reply {
        match self.registered(body) {
            Ok(answer) => json_reply(StatusCode::CREATED, &answer),
            Err(error) => error.reply(),
        }
    }

    fn registered(&self, body: &[u8]) -> Result<Value, OauthError> {
        if !self.settings.registration.contains(&Registration::Dynamic) {
            let text = "this server registers no clients dynamically";
            return Err(OauthError::new("invalid_request", text));
        }
        let invalid = |text: String| OauthError::new("invalid_client_metadata", text);
        let mut asked: Value = serde_json::from_slice(body)
            .map_err(|error| invalid(format!("the body is no JSON: {error}")))?;
        let members = asked
            .as_object_mut()
            .ok_or_else(|| invalid("the body must be an object".to_owned()))?;
        let method = members
            .entry("token_endpoint_auth_method")
            .or_insert_with(|| "client_secret_basic".into())
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let secret = match method.as_str() {
            "none" => None,
            "client_secret_basic" | "client_secret_post" => Some(random()?),
            other => {
                return Err(invalid(format!(
                    "`token_endpoint_auth_method` is `{other}`; it must be none, \
                     client_secret_basic or client_secret_post"
                )));
            }
        };
        let redirect_uris: Vec<String> = members
            .get("redirect_uris")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|uri| uri.as_str().map(str::to_owned))
            .collect();
        if let Some(bad) = redirect_uris
            .iter()
            .find(|uri| !uri.contains(':') || uri.contains('#'))
        {
            return Err(OauthError::new(
                "invalid_redirect_uri",
                format!("`{bad}` must be an absolute URI without a fragment"),
            ));
        }
        let client = Client {
            id: format!("client-{}", random()?),
            secret,
            redirect_uris,
        };
        (self.note)(HttpEvent::Register, asked.clone());
        asked["client_id"] = client.id.as_str().into();
        if let Some(secret) = &client.secret {
            asked["client_secret"] = secret.as_str().into();
            asked["client_secret_expires_at"] = 0.into();
        }
        self.has_room()?.clients.insert(client.id.clone(), client);
        Ok(asked)
    }

    /// Returns the client with this id. A URL stands for a client with a metadata document, whose
    /// redirect URIs are at the same origin or at a loopback address.
    pub(super) fn client(&self, id: &str, redirect_uri: Option<&str>) -> Option<Client> {
        if let Some(client) = self.state().clients.get(id) {
            return Some(client.clone());
        }
        let url: Uri = id.parse().ok()?;
        let is_document = self.settings.registration.contains(&Registration::Document)
            && url.scheme_str() == Some("https")
            && url.path() != "/";
        let is_same = |uri: &Uri| uri.authority() == url.authority();
        let is_good = |uri: &&str| {
            without_port(uri).is_some() || uri.parse().is_ok_and(|uri: Uri| is_same(&uri))
        };
        is_document.then(|| Client {
            id: id.to_owned(),
            secret: None,
            redirect_uris: redirect_uri
                .filter(is_good)
                .map(str::to_owned)
                .into_iter()
                .collect(),
        })
    }

    /// Returns the client of a token request, after a check of its secret (RFC 6749, 2.3.1).
    pub(super) fn authenticated(
        &self,
        authorization: Option<&str>,
        form: &Form,
    ) -> Result<Client, OauthError> {
        let fail = |text: &str| OauthError::new("invalid_client", text);
        let basic = authorization
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"))
            .map(|(_, coded)| basic(coded).ok_or_else(|| fail("`Authorization` is malformed")))
            .transpose()?;
        let (id, secret) = match &basic {
            Some((id, secret)) => (id.as_str(), Some(secret.as_str())),
            None => (
                form.get("client_id")
                    .ok_or_else(|| fail("`client_id` is missing"))?,
                form.get("client_secret"),
            ),
        };
        let client = self
            .client(id, None)
            .ok_or_else(|| fail("the client is not registered"))?;
        if client.secret.is_some() && client.secret.as_deref() != secret {
            return Err(fail("the secret of the client is missing or wrong"));
        }
        Ok(client)
    }
}

/// Decodes a client id and its secret.
fn basic(coded: &str) -> Option<(String, String)> {
    let decoded = String::from_utf8(STANDARD.decode(coded.trim()).ok()?).ok()?;
    let (id, secret) = decoded.split_once(':')?;
    let plain = |text: &str| {
        let field = format!("x={text}");
        Form::parse(field.as_bytes()).get("x").map(str::to_owned)
    };
    Some((plain(id)?, plain(secret)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_port_of_loopback_address_may_differ() {
        let client = |uri: &str| Client {
            id: String::new(),
            secret: None,
            redirect_uris: vec![uri.to_owned()],
        };
        let cases = [
            ("http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb", true),
            ("http://127.0.0.1/cb", "http://127.0.0.1:2/cb", true),
            ("http://[::1]:1/cb?a=1", "http://[::1]/cb?a=1", true),
            ("http://127.0.0.1:1/cb", "http://127.0.0.1:1/other", false),
            ("http://127.0.0.1:1/cb", "https://127.0.0.1:1/cb", false),
            ("http://127.0.0.1:1/cb", "http://127.0.0.1:1@evil/cb", false),
            ("http://localhost:1/cb", "http://127.0.0.1:1/cb", false),
            ("http://127.0.0.1:1/cb", "http://127.0.0.1:1/cb#f", false),
            ("http://127.0.0.1:1/cb", "http://evil@127.0.0.1/cb", false),
            ("https://app.example/cb", "https://app.example:8/cb", false),
            ("app:/cb", "app:/cb", true),
            ("app:/cb", "app:/other", false),
        ];
        for (known, given, is_good) in cases {
            assert_eq!(
                client(known).redirects_to(given),
                is_good,
                "{known} {given}"
            );
        }
    }
}
