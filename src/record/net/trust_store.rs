//! Key store with only certificates, for Java: PKCS #12 (RFC 7292) without password or checksum.
//!
//! Java trusts a certificate whose bag has Oracle's attribute `trustedKeyUsage`. Its `friendlyName`
//! is its alias (`sun.security.pkcs12.PKCS12KeyStore`).

use rustls_pki_types::CertificateDer;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const OID: u8 = 0x06;
const BMP_STRING: u8 = 0x1E;
const EXPLICIT_0: u8 = 0xA0;

/// pkcs7-data, 1.2.840.113549.1.7.1.
const DATA: [u8; 9] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01];
/// certBag, 1.2.840.113549.1.12.10.1.3.
const CERTIFICATE_BAG: [u8; 11] = [
    0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x0C, 0x0A, 0x01, 0x03,
];
/// x509Certificate, 1.2.840.113549.1.9.22.1.
const X509: [u8; 10] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x16, 0x01];
/// friendlyName, 1.2.840.113549.1.9.20.
const FRIENDLY_NAME: [u8; 9] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x14];
/// trustedKeyUsage, 2.16.840.1.113894.746875.1.1.
const TRUSTED: [u8; 12] = [
    0x60, 0x86, 0x48, 0x01, 0x86, 0xF9, 0x66, 0xAD, 0xCA, 0x7B, 0x01, 0x01,
];
/// anyExtendedKeyUsage, 2.5.29.37.0.
const ANY_USE: [u8; 4] = [0x55, 0x1D, 0x25, 0x00];

pub(super) fn pkcs12(certificates: &[CertificateDer<'_>]) -> Vec<u8> {
    let bags: Vec<u8> = certificates
        .iter()
        .enumerate()
        .flat_map(|(at, der)| bag(at, der))
        .collect();
    let contents = der(SEQUENCE, &data(&der(SEQUENCE, &bags)));
    der(SEQUENCE, &[der(INTEGER, &[3]), data(&contents)].concat())
}

/// Returns a `ContentInfo` of plain data.
fn data(bytes: &[u8]) -> Vec<u8> {
    der(
        SEQUENCE,
        &[der(OID, &DATA), der(EXPLICIT_0, &der(OCTETS, bytes))].concat(),
    )
}

fn bag(at: usize, certificate: &[u8]) -> Vec<u8> {
    let value = der(
        SEQUENCE,
        &[der(OID, &X509), der(EXPLICIT_0, &der(OCTETS, certificate))].concat(),
    );
    let name: Vec<u8> = format!("authority-{at}")
        .encode_utf16()
        .flat_map(u16::to_be_bytes)
        .collect();
    let named = der(
        SEQUENCE,
        &[der(OID, &FRIENDLY_NAME), der(SET, &der(BMP_STRING, &name))].concat(),
    );
    let trusted = der(
        SEQUENCE,
        &[der(OID, &TRUSTED), der(SET, &der(OID, &ANY_USE))].concat(),
    );
    let attributes = der(SET, &[named, trusted].concat());
    der(
        SEQUENCE,
        &[
            der(OID, &CERTIFICATE_BAG),
            der(EXPLICIT_0, &value),
            attributes,
        ]
        .concat(),
    )
}

/// Encodes one value in the distinguished encoding rules (X.690).
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    if content.len() < 0x80 {
        out.push(content.len() as u8);
    } else {
        let length = content.len().to_be_bytes();
        let skipped = length.iter().take_while(|byte| **byte == 0).count();
        out.push(0x80 | (length.len() - skipped) as u8);
        out.extend_from_slice(&length[skipped..]);
    }
    out.extend_from_slice(content);
    out
}
