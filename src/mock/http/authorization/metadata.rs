//! Metadata of the resource (RFC 9728) and of the authorization server (RFC 8414).

use hyper::StatusCode;
use replay_mock::{Discovery, FaultPlace, HttpEvent, HttpFaultKind, Refresh, Registration};
use serde_json::{Value, json};

use super::AuthorizationServer;
use crate::faults::Faults;
use crate::reply::{Reply, json as json_reply};

/// Path of the metadata of the MCP endpoint.
pub(super) const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
/// Documents of the authorization server.
const SERVER: [(&str, Discovery); 2] = [
    ("/.well-known/oauth-authorization-server", Discovery::Oauth),
    ("/.well-known/openid-configuration", Discovery::Openid),
];

pub(super) fn is_resource(path: &str) -> bool {
    path == RESOURCE || Some(path) == RESOURCE.strip_suffix("/mcp")
}

pub(super) fn is_server(path: &str) -> bool {
    SERVER.iter().any(|(known, _)| *known == path)
}

impl AuthorizationServer {
    pub(super) fn resource_metadata(&self, path: &str) -> Reply {
        (self.note)(HttpEvent::Discovery, json!({"path": path}));
        let document = json!({
            "resource": self.resource,
            "authorization_servers": [self.issuer],
            "scopes_supported": self.settings.scopes,
            "bearer_methods_supported": ["header"],
            "resource_name": "a mock of replay",
        });
        json_reply(StatusCode::OK, &document)
    }

    pub(super) fn server_metadata(&self, path: &str, faults: &Faults) -> Reply {
        (self.note)(HttpEvent::Discovery, json!({"path": path}));
        let is_served = |(known, kind): &(&str, Discovery)| {
            *known == path && self.settings.discovery.contains(kind)
        };
        if !SERVER.iter().any(is_served) {
            return json_reply(StatusCode::NOT_FOUND, &json!({"error": "not_found"}));
        }
        let fault = faults.at(FaultPlace::Metadata);
        let (issuer, base) = match fault.map(|fault| fault.kind) {
            Some(HttpFaultKind::WrongIssuer) => (self.elsewhere.as_str(), self.issuer.as_str()),
            Some(HttpFaultKind::LinkLocal) => (self.issuer.as_str(), "http://169.254.169.254"),
            _ => (self.issuer.as_str(), self.issuer.as_str()),
        };
        json_reply(StatusCode::OK, &self.document(issuer, base))
    }

    fn document(&self, issuer: &str, base: &str) -> Value {
        let grants: Vec<&str> = self.settings.grants.iter().map(|it| it.name()).collect();
        let has = |way| self.settings.registration.contains(&way);
        let mut document = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"),
            "device_authorization_endpoint": format!("{base}/device_authorization"),
            "jwks_uri": format!("{base}/jwks"),
            "response_types_supported": ["code"],
            "grant_types_supported": grants,
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported":
                ["none", "client_secret_basic", "client_secret_post"],
            "scopes_supported": self.scopes(),
            "authorization_response_iss_parameter_supported": true,
            "client_id_metadata_document_supported": has(Registration::Document),
            // OpenID discovery requires these as well.
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        });
        if has(Registration::Dynamic) {
            document["registration_endpoint"] = format!("{base}/register").into();
        }
        if self.settings.refresh == Refresh::Never {
            document["grant_types_supported"]
                .as_array_mut()
                .into_iter()
                .for_each(|grants| grants.retain(|grant| grant != "refresh_token"));
        }
        document
    }
}
