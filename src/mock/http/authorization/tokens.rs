//! Access tokens: opaque, or a JWT signed with ES256 (RFC 7518, 3.4).

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use replay_mock::{HttpFaultKind, Refresh, TokenForm};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::{AuthorizationServer, OauthError};
use crate::faults::Faults;

/// Id of the only key.
const KEY_ID: &str = "mock";

/// Longest lifetime of an access token, in seconds: what clocks can add.
const MAX_TOKEN_SECONDS: u64 = 1_000_000_000;

/// An access token.
#[derive(Clone, Debug)]
pub(super) struct AccessToken {
    pub(super) scopes: Vec<String>,
    /// URL of the resource that it is for.
    audience: String,
    /// End as the resource sees it.
    ends: Instant,
}

/// A request for a token that was granted.
#[derive(Clone, Debug)]
pub(super) struct Grantee {
    pub(super) client_id: String,
    pub(super) scopes: Vec<String>,
}

impl AuthorizationServer {
    /// Issues an access token. Returns the answer of the token endpoint, with the refresh token if
    /// there is one.
    pub(super) fn issue(
        &self,
        grantee: &Grantee,
        refresh: Option<String>,
        faults: &Faults,
    ) -> Result<Value, OauthError> {
        let wrong = faults.of_kind(HttpFaultKind::WrongAudience).is_some();
        let expired = faults.of_kind(HttpFaultKind::ExpiredToken).is_some();
        let audience = if wrong {
            self.elsewhere.clone()
        } else {
            self.resource.clone()
        };
        let lifetime = self.lifetime();
        let skew = Duration::from_secs(self.settings.clock_skew_seconds);
        let kept = if expired {
            Duration::ZERO
        } else {
            lifetime.saturating_sub(skew)
        };
        let token = AccessToken {
            scopes: grantee.scopes.clone(),
            audience,
            ends: Instant::now() + kept,
        };
        let value = match self.settings.tokens {
            TokenForm::Opaque => format!("mock-{}", random()?),
            TokenForm::Jwt => self.signer.sign(&self.claims(grantee, &token, kept)?)?,
        };
        let mut answer = json!({
            "access_token": value,
            "token_type": "Bearer",
            "expires_in": lifetime.as_secs(),
            "scope": grantee.scopes.join(" "),
        });
        if let Some(refresh) = refresh {
            answer["refresh_token"] = refresh.into();
        }
        self.has_room()?.tokens.insert(value, token);
        Ok(answer)
    }

    /// Returns the lifetime of an access token.
    pub(super) fn lifetime(&self) -> Duration {
        Duration::from_secs(self.settings.token_seconds.min(MAX_TOKEN_SECONDS))
    }

    /// Claims of a JWT (RFC 9068, 2.2).
    fn claims(
        &self,
        grantee: &Grantee,
        token: &AccessToken,
        kept: Duration,
    ) -> Result<Value, OauthError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default().as_secs();
        Ok(json!({
            "iss": self.issuer,
            "aud": token.audience,
            "sub": "mock-user",
            "client_id": grantee.client_id,
            "scope": grantee.scopes.join(" "),
            "iat": now,
            "exp": now + kept.as_secs(),
            "jti": random()?,
        }))
    }

    /// Returns a token that is good for this resource now, or what is wrong with it.
    pub(super) fn known_token(&self, value: &str) -> Result<AccessToken, &'static str> {
        let state = self.state();
        let token = state
            .tokens
            .get(value)
            .ok_or("the token is unknown to this server")?;
        if token.audience != self.resource {
            return Err("the token is for another resource");
        }
        if token.ends <= Instant::now() {
            return Err("the token has expired");
        }
        Ok(token.clone())
    }

    /// Returns true if the clients get refresh tokens.
    pub(super) fn refreshes(&self) -> bool {
        self.settings.refresh != Refresh::Never
    }
}

/// Key pair of the authorization server.
pub(super) struct Signer {
    key: EcdsaKeyPair,
    random: SystemRandom,
}

impl Signer {
    pub(super) fn new() -> Result<Self, String> {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random)
            .map_err(|_| "the system gives no random bytes")?;
        let key = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random)
            .map_err(|error| error.to_string())?;
        Ok(Self { key, random })
    }

    fn sign(&self, claims: &Value) -> Result<String, OauthError> {
        let head = json!({"alg": "ES256", "typ": "at+jwt", "kid": KEY_ID});
        let coded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", coded(&head), coded(claims));
        let signature = self
            .key
            .sign(&self.random, text.as_bytes())
            .map_err(|_| no_random())?;
        Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// Returns the public key (RFC 7517, 5).
    pub(super) fn keys(&self) -> Value {
        // A point without compression: 4, x and y (SEC 1, 2.3.3).
        let point = self.key.public_key().as_ref();
        let (x, y) = point[1..].split_at(point.len() / 2);
        json!({"keys": [{
            "kty": "EC",
            "crv": "P-256",
            "use": "sig",
            "alg": "ES256",
            "kid": KEY_ID,
            "x": URL_SAFE_NO_PAD.encode(x),
            "y": URL_SAFE_NO_PAD.encode(y),
        }]})
    }
}

fn no_random() -> OauthError {
    OauthError::new("server_error", "the system gives no random bytes")
}

/// Returns 128 random bits.
pub(super) fn random() -> Result<String, OauthError> {
    let mut bytes = [0; 16];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| no_random())?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    #[test]
    fn signed_token_is_verified_with_published_key() {
        let signer = Signer::new().unwrap();
        let claims = json!({"iss": "http://127.0.0.1:1", "exp": 1});
        let token = signer.sign(&claims).unwrap();
        let (text, signature) = token.rsplit_once('.').unwrap();
        let decode = |coded: &str| URL_SAFE_NO_PAD.decode(coded).unwrap();
        let parts: Vec<Value> = text
            .split('.')
            .map(|part| serde_json::from_slice(&decode(part)).unwrap())
            .collect();
        let head = json!({"alg": "ES256", "typ": "at+jwt", "kid": "mock"});
        assert_eq!(parts, [head, claims]);
        let key = &signer.keys()["keys"][0];
        let coordinate = |name: &str| decode(key[name].as_str().unwrap());
        let point = [vec![4], coordinate("x"), coordinate("y")].concat();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
        assert!(public.verify(text.as_bytes(), &decode(signature)).is_ok());
        assert!(public.verify(b"other", &decode(signature)).is_err());
    }
}
