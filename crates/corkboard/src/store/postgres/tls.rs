//! TLS with rustls, and the checks that `sslmode` requests.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Whether connections are encrypted.
#[derive(Clone)]
pub(super) enum Tls {
    Off,
    On(MakeRustlsConnect),
}

/// Which servers to trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TlsTrust {
    /// `no-verify` and `prefer`, and `require` on this machine: any server. Protects against eavesdropping, not against
    /// impostors.
    Anyone,
    /// `verify-ca`: a server with a certificate of a known authority, for any name.
    Authority,
    /// `verify-full`, and `require` on other machines: a server with a certificate of a known authority for its name.
    AuthorityAndName,
}

impl Tls {
    /// `roots` is a file with the authorities; the default is the system's.
    pub(super) fn new(trust: TlsTrust, roots: Option<&Path>) -> Result<Self, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let known = match (trust, roots) {
            (TlsTrust::Anyone, _) => None,
            (_, Some(file)) => Some(read(file)?),
            (_, None) => Some(rustls_native_certs::load_native_certs().certs),
        };
        let authorities = known.as_deref().map(|known| authorities(known, &provider)).transpose()?;
        let verifier = Verifier { trust, known: known.unwrap_or_default(), authorities, provider: provider.clone() };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(Self::On(MakeRustlsConnect::new(config)))
    }
}

fn read(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("sslrootcert {}: {error}", file.display());
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| unreadable(&error))?;
    let certificates = certificates.collect::<Result<Vec<_>, _>>().map_err(|error| unreadable(&error))?;
    if certificates.is_empty() { Err(unreadable(&"it contains no certificate")) } else { Ok(certificates) }
}

fn authorities(
    known: &[CertificateDer<'static>],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(known.iter().cloned());
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build().map_err(|error| {
        format!("no certificate authority to verify the server by; name one with sslrootcert=FILE: {error}")
    })
}

#[derive(Debug)]
struct Verifier {
    trust: TlsTrust,
    known: Vec<CertificateDer<'static>>,
    authorities: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authorities) = &self.authorities else { return Ok(ServerCertVerified::assertion()) };
        // A self-signed certificate, as created in PostgreSQL's manual: it is trusted if the user named it as a root.
        if self.known.iter().any(|known| known == certificate) {
            if self.trust == TlsTrust::AuthorityAndName {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
            }
            return Ok(ServerCertVerified::assertion());
        }
        match authorities.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            // Names are checked last: everything else is valid.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.trust == TlsTrust::Authority => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
