//! Verification of server certificates.

use std::sync::Arc;

use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::client::{WebPkiServerVerifier, verify_server_name};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError, RootCertStore,
    SignatureScheme,
};

/// Name of the webpki error for a server with a CA certificate (`webpki::Error`; that crate is no
/// direct dependency).
const CA_AS_SERVER: &str = "CaUsedAsEndEntity";

/// Certificate verifier: webpki, but a trusted server certificate is accepted even if it is marked
/// as a CA. `openssl req -x509` makes such certificates, and OpenSSL accepts them.
#[derive(Debug)]
pub struct Verifier {
    /// Verifier of chains; `None` if there is no trust anchor.
    chains: Option<Arc<WebPkiServerVerifier>>,
    trusted: Vec<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    /// Returns a verifier that trusts these certificates; other items are ignored.
    pub fn new(provider: Arc<CryptoProvider>, trusted: Vec<CertificateDer<'static>>) -> Self {
        let algorithms = provider.signature_verification_algorithms;
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(trusted.iter().cloned());
        let chains = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .ok();
        Self {
            chains,
            trusted,
            algorithms,
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chains) = &self.chains else {
            return Err(CertificateError::UnknownIssuer.into());
        };
        match chains.verify_server_cert(shown, between, name, ocsp, now) {
            // It has looked at the dates before, and not yet at the name.
            Err(Error::InvalidCertificate(reason))
                if is_authority(&reason) && self.trusted.contains(shown) =>
            {
                verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, shown, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, shown, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }

    fn root_hint_subjects(&self) -> Option<&[DistinguishedName]> {
        None
    }
}

fn is_authority(reason: &CertificateError) -> bool {
    matches!(reason, CertificateError::Other(OtherError(inner)) if inner.to_string() == CA_AS_SERVER)
}

/// Describes the fault of a certificate, with the next step if there is one. `trusting` is the
/// option that trusts the certificates of a file.
pub fn reason(fault: &CertificateError, trusting: &str) -> String {
    let words = match fault {
        CertificateError::UnknownIssuer => {
            return format!(
                "it is signed by an authority that this system does not trust; `{trusting}` adds \
                 the authorities in a file"
            );
        }
        fault if is_authority(fault) => {
            return format!(
                "it is self-signed, and this system does not trust it; `{trusting}` adds the \
                 certificates in a file"
            );
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet"
        }
        CertificateError::NotValidForNameContext { expected, .. } => {
            return format!("it is for another name than `{}`", expected.to_str());
        }
        CertificateError::NotValidForName => "it is for another name",
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "it is not for servers"
        }
        CertificateError::Revoked => "it was revoked",
        CertificateError::BadSignature => "its signature is wrong",
        CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "its signature algorithm is not supported"
        }
        CertificateError::UnhandledCriticalExtension => "it has an unsupported critical extension",
        CertificateError::BadEncoding => "it cannot be read",
        _ => "it cannot be verified",
    };
    words.to_owned()
}
