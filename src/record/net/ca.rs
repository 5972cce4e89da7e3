//! Certificate authority of one recording or one server. It exists in memory, and only programs
//! under test receive it, never the system.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use thiserror::Error;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::crypto::ring::{default_provider, sign::any_ecdsa_type};
use tokio_rustls::rustls::sign::CertifiedKey;

use crate::net::trust_store;

/// Days for which certificates of a recording are valid: some clients accept no more than 398.
const CERTIFICATE_DAYS: u32 = 90;
/// Certificates of one recording that are kept.
const MAX_CERTIFICATES: usize = 4096;

const DAY: Duration = Duration::from_hours(24);

#[derive(Debug, Error)]
#[error("cannot make a certificate: {0}")]
pub struct CaError(String);

impl CaError {
    fn new(reason: impl std::fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

pub struct Authority {
    certificate: CertificateDer<'static>,
    pem: String,
    issuer: Issuer<'static, KeyPair>,
    /// One key for all leaf certificates: generating keys is slow, and a reader of one could read
    /// all.
    leaf_key: KeyPair,
    leaves: Mutex<HashMap<String, Arc<CertifiedKey>>>,
    provider: Arc<CryptoProvider>,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl Authority {
    pub fn new() -> Result<Self, CaError> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(CaError::new)?;
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::OrganizationName, "replay");
        params
            .distinguished_name
            .push(DnType::CommonName, "replay: authority of one run");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        valid(&mut params);
        let certificate = params.self_signed(&key).map_err(CaError::new)?;
        Ok(Self {
            pem: certificate.pem(),
            certificate: certificate.der().clone(),
            issuer: Issuer::new(params, key),
            leaf_key: KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(CaError::new)?,
            leaves: Mutex::default(),
            provider: Arc::new(default_provider()),
        })
    }

    /// Returns the CA certificate as PEM, for programs that add authorities to their own
    /// (`NODE_EXTRA_CA_CERTS`).
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Returns the system's authorities (PEM) plus this one, for programs that read a file instead
    /// of their own authorities.
    pub fn bundle(&self, system: &[u8]) -> Vec<u8> {
        let end: &[u8] = if system.is_empty() || system.ends_with(b"\n") {
            b""
        } else {
            b"\n"
        };
        [system, end, self.pem.as_bytes()].concat()
    }

    /// Returns the same certificates as [`Self::bundle`] in a key store for Java, which cannot read
    /// PEM.
    pub fn trust_store(&self, system: &[u8]) -> Vec<u8> {
        let mut certificates = certificates(system);
        certificates.push(self.certificate.clone());
        trust_store::pkcs12(&certificates)
    }

    /// Returns a certificate for a host name or an address, with its key.
    pub fn leaf(&self, host: &str) -> Result<Arc<CertifiedKey>, CaError> {
        let mut leaves = self.leaves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leaf) = leaves.get(host) {
            return Ok(Arc::clone(leaf));
        }
        // `new` sorts names and addresses by themselves.
        let mut params = CertificateParams::new(vec![host.to_owned()]).map_err(CaError::new)?;
        // A common name has at most 64 characters (RFC 5280, A.1). Verifiers read the alternative
        // names.
        params.distinguished_name.push(
            DnType::CommonName,
            host.chars().take(64).collect::<String>(),
        );
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        valid(&mut params);
        let leaf = params
            .signed_by(&self.leaf_key, &self.issuer)
            .map_err(CaError::new)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.leaf_key.serialize_der()));
        let key = any_ecdsa_type(&key).map_err(CaError::new)?;
        let leaf = Arc::new(CertifiedKey::new(
            vec![leaf.der().clone(), self.certificate.clone()],
            key,
        ));
        if leaves.len() >= MAX_CERTIFICATES {
            leaves.clear();
        }
        leaves.insert(host.to_owned(), Arc::clone(&leaf));
        Ok(leaf)
    }

    /// Returns the cryptography provider for both sides of a connection.
    pub fn provider(&self) -> Arc<CryptoProvider> {
        Arc::clone(&self.provider)
    }
}

/// Sets the validity: from yesterday, because clocks differ, up to the lifetime that clients
/// accept.
fn valid(params: &mut CertificateParams) {
    let now = SystemTime::now();
    params.not_before = (now - DAY).into();
    params.not_after = (now + DAY * CERTIFICATE_DAYS).into();
}

/// Parses the certificates of a PEM text and skips invalid parts.
pub fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem)
        .filter_map(Result::ok)
        .collect()
}

/// Paths of the files that the variables of [`environment`] name, as the program sees them.
#[derive(Clone, Copy, Debug)]
pub struct TrustFiles<'a> {
    /// File with [`Authority::bundle`].
    pub bundle: &'a str,
    /// File with [`Authority::pem`].
    pub authority: &'a str,
    /// File with [`Authority::trust_store`].
    pub java: &'a str,
}

/// Returns environment variables that make programs trust the authority.
///
/// The caller prepends an existing value of `JAVA_TOOL_OPTIONS`, with a space between. The caller
/// should also unset `SSL_CERT_DIR`. Go and OpenSSL read it in addition to the file, but some
/// programs read it instead.
pub fn environment(files: TrustFiles<'_>) -> Vec<(&'static str, String)> {
    // Each variable replaces the reader's own authorities, so each names the whole bundle.
    const WHOLE: [&str; 12] = [
        "SSL_CERT_FILE",      // OpenSSL, Go, Python's ssl, Ruby, rustls-native-certs
        "CURL_CA_BUNDLE",     // curl, also where it was not built with OpenSSL
        "REQUESTS_CA_BUNDLE", // Python's requests
        "PIP_CERT",           // pip
        "AWS_CA_BUNDLE",      // the AWS tools
        "GIT_SSL_CAINFO",     // git
        "CARGO_HTTP_CAINFO",  // cargo
        "NIX_SSL_CERT_FILE",  // programs of Nix
        "PGSSLROOTCERT",      // libpq
        "HEX_CACERTS_PATH",   // Elixir's hex
        "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", // gRPC's C core
        "npm_config_cafile",  // npm
    ];
    let whole = WHOLE.iter().map(|name| (*name, files.bundle.to_owned()));
    let added = ["NODE_EXTRA_CA_CERTS", "DENO_CERT"].map(|name| (name, files.authority.to_owned()));
    let java = format!(
        "-Djavax.net.ssl.trustStore={} -Djavax.net.ssl.trustStoreType=PKCS12",
        files.java
    );
    whole
        .chain(added)
        .chain([("JAVA_TOOL_OPTIONS", java)])
        .collect()
}

/// Returns the name for a leaf certificate: the requested server name, else the connected host.
pub fn leaf_name<'a>(asked: Option<&'a str>, host: &'a str) -> &'a str {
    asked.unwrap_or(if host.is_empty() { "localhost" } else { host })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaf_certificates_are_cached_per_host() {
        let authority = Authority::new().unwrap();
        for host in [
            "api.example.com",
            "127.0.0.1",
            "::1",
            "under_score.example",
            &"a".repeat(200),
        ] {
            let leaf = authority.leaf(host).unwrap();
            assert_eq!(leaf.cert.len(), 2, "{host}");
            assert!(Arc::ptr_eq(&leaf, &authority.leaf(host).unwrap()), "{host}");
        }
        assert!(authority.leaf("näme.example").is_err());
    }

    #[test]
    fn bundle_includes_system_authorities() {
        let (system, own) = (Authority::new().unwrap(), Authority::new().unwrap());
        let bundle = own.bundle(system.pem().trim_end().as_bytes());
        assert_eq!(
            certificates(&bundle),
            [system.certificate.clone(), own.certificate.clone()]
        );
        assert_eq!(
            (certificates(&bundle).len(), certificates(b"no pem").len()),
            (2, 0)
        );
        let store = own.trust_store(system.pem().as_bytes());
        for certificate in [&system.certificate, &own.certificate] {
            assert!(memchr::memmem::find(&store, certificate).is_some());
        }
        // The DER header holds the total length.
        assert_eq!(
            store.len(),
            4 + usize::from(u16::from_be_bytes([store[2], store[3]]))
        );
    }

    #[test]
    fn trust_variables_name_matching_files() {
        let variables = environment(TrustFiles {
            bundle: "/b.pem",
            authority: "/a.pem",
            java: "/j.p12",
        });
        let value = |name: &str| {
            variables
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.as_str())
        };
        assert_eq!(value("SSL_CERT_FILE"), Some("/b.pem"));
        assert_eq!(value("CURL_CA_BUNDLE"), Some("/b.pem"));
        assert_eq!(value("NODE_EXTRA_CA_CERTS"), Some("/a.pem"));
        assert_eq!(
            value("JAVA_TOOL_OPTIONS"),
            Some("-Djavax.net.ssl.trustStore=/j.p12 -Djavax.net.ssl.trustStoreType=PKCS12")
        );
    }
}
