//! The `auth` part of a manifest: an authorization server and a protected resource.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// Lifetime of an access token by default, in seconds.
const TOKEN_SECONDS: u64 = 3600;

/// Authorization (OAuth 2.1) of a mock over HTTP. It is a simulation: its user and its keys are
/// made at the start.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Authorization {
    /// Decision of the user.
    pub consent: Consent,
    /// Ways in which unknown clients register; all by default.
    pub registration: Vec<Registration>,
    /// Clients that are registered from the start.
    pub clients: Vec<RegisteredClient>,
    /// Grants of the token endpoint; all by default.
    pub grants: Vec<Grant>,
    /// Metadata documents of the authorization server; all by default.
    pub discovery: Vec<Discovery>,
    /// Scopes that every request needs.
    pub scopes: Vec<String>,
    /// Further scopes that a tool needs, by its name. A token without them gets
    /// `insufficient_scope`.
    pub tool_scopes: BTreeMap<String, Vec<String>>,
    /// Form of the access tokens.
    pub tokens: TokenForm,
    /// Lifetime of an access token.
    #[schemars(range(min = 1))]
    pub token_seconds: u64,
    /// Refresh tokens.
    pub refresh: Refresh,
    /// Time by which the clock of the resource is ahead of the clock of the authorization server.
    /// Tokens end earlier by this time than their client was told.
    pub clock_skew_seconds: u64,
    /// Reject requests for tokens without `resource` (RFC 8707).
    pub require_resource: bool,
    /// Number of polls before the user has approved a device.
    pub device_polls: u64,
}

impl Default for Authorization {
    fn default() -> Self {
        Self {
            consent: Consent::Auto,
            registration: vec![Registration::Dynamic, Registration::Document],
            clients: Vec::new(),
            grants: vec![
                Grant::AuthorizationCode,
                Grant::RefreshToken,
                Grant::ClientCredentials,
                Grant::DeviceCode,
            ],
            discovery: vec![Discovery::Oauth, Discovery::Openid],
            scopes: Vec::new(),
            tool_scopes: BTreeMap::new(),
            tokens: TokenForm::Opaque,
            token_seconds: TOKEN_SECONDS,
            refresh: Refresh::Rotate,
            clock_skew_seconds: 0,
            require_resource: false,
            device_polls: 1,
        }
    }
}

/// Decision of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    /// Consent without a page.
    #[default]
    Auto,
    /// A page with a button.
    Page,
    /// No consent (`access_denied`).
    Deny,
}

/// A way in which a client registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Registration {
    /// Dynamic registration (RFC 7591).
    Dynamic,
    /// A client id that is the URL of a metadata document. The document is not fetched.
    Document,
}

/// A client that is registered from the start.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisteredClient {
    /// Client id.
    pub client_id: String,
    /// Secret; without one the client is public.
    #[serde(default)]
    pub client_secret: Option<String>,
    /// Redirect URIs. The port of a loopback address is not compared (RFC 8252, 7.3).
    #[serde(default)]
    pub redirect_uris: Vec<String>,
}

/// A grant of the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    AuthorizationCode,
    RefreshToken,
    ClientCredentials,
    DeviceCode,
}

impl Grant {
    /// The `grant_type` of a token request.
    pub fn name(self) -> &'static str {
        match self {
            Self::AuthorizationCode => "authorization_code",
            Self::RefreshToken => "refresh_token",
            Self::ClientCredentials => "client_credentials",
            Self::DeviceCode => "urn:ietf:params:oauth:grant-type:device_code",
        }
    }
}

/// A metadata document of the authorization server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Discovery {
    /// `/.well-known/oauth-authorization-server` (RFC 8414).
    Oauth,
    /// `/.well-known/openid-configuration`.
    Openid,
}

/// Form of the access tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenForm {
    #[default]
    Opaque,
    /// A JWT (RFC 9068), signed with ES256.
    Jwt,
}

/// Refresh tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Refresh {
    /// A new one at each use. The use of an old one ends all of them.
    #[default]
    Rotate,
    /// The same one again.
    Keep,
    /// None.
    Never,
}
