//! Hints for TLS connections that fail. Trying again soon does not help.

use std::error::Error;
use std::io;

use rustls::{CertificateError, Error as TlsError, InvalidMessage};

/// How to trust a private CA.
const TRUST: &str = "add the certificate of the server's CA to those of the system, or set SSL_CERT_FILE to a PEM file with all \
                     certificates to trust";
/// The hint for a system without certificates.
pub const NO_CERTIFICATES: &str = "install the certificates of the system (package ca-certificates), or set SSL_CERT_FILE to a PEM file with certificates";

/// The innermost cause of an error.
pub fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    std::iter::successors(Some(error), |error| source(*error)).last().unwrap_or(error)
}

/// Whether an error is one of TLS, or was caused by one.
pub fn is_tls(error: &(dyn Error + 'static)) -> bool {
    tls_error(error).is_some()
}

/// The hint for an error that one of TLS has caused.
pub fn hint(error: &(dyn Error + 'static)) -> Option<&'static str> {
    match tls_error(error)? {
        TlsError::InvalidCertificate(error) => Some(certificate_hint(error)),
        TlsError::InvalidMessage(InvalidMessage::InvalidContentType) => {
            Some("the server does not use TLS at this port: check the port, or use http://")
        }
        _ => None,
    }
}

fn certificate_hint(error: &CertificateError) -> &'static str {
    match error {
        CertificateError::UnknownIssuer => TRUST,
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "renew the certificate of the server, or check the clock of this machine"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "check the clock of this machine"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "use an address with a name that the certificate of the server has"
        }
        _ => "the server needs another certificate, which a CA has issued",
    }
}

fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a TlsError> {
    let mut errors = std::iter::successors(Some(error), |error| source(*error));
    errors.find_map(|error| error.downcast_ref())
}

/// The cause of an error. That of an I/O error is its content, which `source` leaves out.
fn source<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(content) => Some(content),
        None => error.source(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_found_inside_others() {
        let tls = || TlsError::InvalidCertificate(CertificateError::UnknownIssuer);
        let error = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, tls()));
        assert_eq!(hint(&error), Some(TRUST));
        assert_eq!(innermost(&error).to_string(), tls().to_string());
        let expired = TlsError::InvalidCertificate(CertificateError::Expired);
        assert!(hint(&io::Error::other(expired)).unwrap().starts_with("renew the certificate"));
        let other = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert!(!is_tls(&other) && hint(&other).is_none());
    }
}
