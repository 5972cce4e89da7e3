//! Trust in servers: authorities, and the verification of certificates.

mod verify;

use std::sync::Arc;

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::crypto::ring;

pub use verify::{Verifier, reason};

/// Trust anchors for TLS connections.
#[derive(Clone, Debug)]
pub struct Trust {
    config: Arc<ClientConfig>,
    /// Option that trusts the certificates of a file.
    trusting: &'static str,
}

impl Trust {
    /// Returns the trust in these authorities, as PEM; other PEM items are ignored. Without any, no
    /// server is trusted. `trusting` is the option that trusts those of a file.
    pub fn of(authorities: &[u8], trusting: &'static str) -> Result<Self, String> {
        let trusted = CertificateDer::pem_slice_iter(authorities)
            .filter_map(Result::ok)
            .collect();
        let provider = Arc::new(ring::default_provider());
        let verifier = Verifier::new(Arc::clone(&provider), trusted);
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        // The verifier is webpki's with one addition of its own.
        let config = config
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        Ok(Self {
            config: Arc::new(config.with_no_client_auth()),
            trusting,
        })
    }

    /// Returns the configuration of a TLS client with this trust.
    pub fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.config)
    }

    /// Returns the option that trusts the certificates of a file.
    pub fn trusting(&self) -> &'static str {
        self.trusting
    }
}
