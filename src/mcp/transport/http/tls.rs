//! TLS 1.2 and 1.3 towards clients, with the operator's certificate.

use std::sync::{Arc, PoisonError, RwLock};

use rustls_pki_types::pem::{self, PemObject as _};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{self, ServerConfig};

/// Error of a certificate or its key.
#[derive(Debug, Error)]
pub enum TlsError {
    /// The certificate chain.
    #[error("the certificate cannot be read: {0}")]
    Certificate(String),
    #[error("the key cannot be read: {0}")]
    Key(String),
    #[error("{0}")]
    Pair(&'static str),
}

/// Explains an error of rustls in terms of the operator's files.
fn pair(error: &rustls::Error) -> TlsError {
    TlsError::Pair(match error {
        rustls::Error::InconsistentKeys(_) => {
            "the key does not belong to the first certificate of the chain; give the matching key"
        }
        rustls::Error::InvalidCertificate(_) => {
            "the first certificate of the chain is damaged or unsupported; it must be X.509, \
             version 3"
        }
        _ => "the key is damaged or unsupported; use RSA of at least 2048 bits, ECDSA or Ed25519",
    })
}

/// Describes the fault of a PEM text.
fn flaw(error: &pem::Error) -> String {
    match error {
        pem::Error::MissingSectionEnd { .. } => "a section has no `-----END ...-----`".to_owned(),
        pem::Error::IllegalSectionStart { .. } => {
            "a line `-----BEGIN ...-----` is cut off".to_owned()
        }
        pem::Error::Base64Decode(_) => "a section is not valid base64".to_owned(),
        _ => "it is not PEM text".to_owned(),
    }
}

/// TLS configuration of new connections, which can be replaced at any time.
#[derive(Debug)]
pub struct Encryption(RwLock<Arc<ServerConfig>>);

impl Encryption {
    /// Creates it with an initial configuration.
    pub fn new(config: Arc<ServerConfig>) -> Arc<Self> {
        Arc::new(Self(RwLock::new(config)))
    }

    /// Returns the configuration for a new connection.
    pub fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the configuration for later connections.
    pub fn replace(&self, config: Arc<ServerConfig>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = config;
    }
}

/// Builds the configuration from a certificate chain and its key, both as PEM. Offers HTTP/2 before
/// HTTP/1.1.
pub fn server_config(chain: &[u8], key: &[u8]) -> Result<Arc<ServerConfig>, TlsError> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(chain)
        .collect::<Result<_, _>>()
        .map_err(|error| TlsError::Certificate(flaw(&error)))?;
    if chain.is_empty() {
        return Err(TlsError::Certificate(
            "it has no `BEGIN CERTIFICATE`".to_owned(),
        ));
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| match error {
        pem::Error::NoItemsFound => TlsError::Key("it has no `BEGIN PRIVATE KEY`".to_owned()),
        error => TlsError::Key(flaw(&error)),
    })?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| pair(&error))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| pair(&error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
