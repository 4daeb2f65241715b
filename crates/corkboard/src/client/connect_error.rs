//! Explains why a server could not be reached.

use std::error::Error;
use std::io;

use rustls::CertificateError;

use crate::error::error_chain;
use crate::net::is_refused;
use crate::store::ConnectError;

/// hyper's error for an answer that is not HTTP, such as the alert of a TLS server.
const NOT_HTTP: &str = "invalid HTTP version parsed";

pub(super) fn connect_error(error: &(dyn Error + 'static)) -> ConnectError {
    match tls_error(error) {
        Some(rustls::Error::InvalidCertificate(reason)) => ConnectError::Certificate(certificate(reason)),
        Some(rustls::Error::InvalidMessage(_)) => ConnectError::NotEncrypted,
        _ => {
            let text = error_chain(error);
            match is_refused(error) {
                true => ConnectError::Away("connection refused".into()),
                false if text.contains("dns error") => ConnectError::Away("host not found".into()),
                false if text.contains(NOT_HTTP) => ConnectError::NotHttp,
                false => ConnectError::Away(text),
            }
        }
    }
}

fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // `io::Error::source` skips the error that it wraps.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

fn certificate(error: &CertificateError) -> String {
    match error {
        // A trusted certificate of the same name but with another key gives a wrong signature.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "its certificate is not signed by an authority that this machine trusts".into()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for other names (subjectAltName)".into()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "its certificate has expired".into(),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet".into()
        }
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            "its certificate is a CA certificate (CA:TRUE), not a server certificate".into()
        }
        CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "its certificate is not signed by an authority that this machine trusts".into()
        }
        other => format!("its certificate is not accepted: {other}"),
    }
}
