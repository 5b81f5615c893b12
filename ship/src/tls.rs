//! Hints for TLS connections that fail.

use rustls::{CertificateError, Error as TlsError, InvalidMessage};
use std::error::Error;
use std::io;

/// How to trust a private CA.
const TRUST: &str = "add the server's CA certificate to the system's trust store, or (Linux) set SSL_CERT_FILE to a PEM file \
                     with all certificates to trust";
/// The hint for a system without certificates.
pub const NO_CERTIFICATES: &str = "install CA certificates (package ca-certificates), and check SSL_CERT_FILE and SSL_CERT_DIR if they are set";

/// The innermost cause of an error.
pub fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    std::iter::successors(Some(error), |error| source(*error)).last().unwrap_or(error)
}

/// Whether an error is one of TLS, or was caused by one.
pub fn is_tls(error: &(dyn Error + 'static)) -> bool {
    tls_error(error).is_some()
}

/// The hint for a lasting error of TLS: the certificate is invalid, or the server does not use TLS. Others,
/// such as an alert of a load balancer that restarts, have no hint.
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
            "renew the server's certificate, or check the clock of this machine"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "check the clock of this machine"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "use a host name that the server's certificate lists"
        }
        _ => "replace the server's certificate with one that a CA issued for a server",
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

// The implementation of cryptography for TLS.

/// Selects `ring` for the connections that are made from now on. Also for those without TLS: the HTTP client needs one.
pub fn install() {
    // An error means that it is selected already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

#[cfg(test)]
mod tests {
    use rustls::AlertDescription;

    use super::*;

    #[test]
    fn the_error_is_found_inside_others() {
        let tls = || TlsError::InvalidCertificate(CertificateError::UnknownIssuer);
        let error = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, tls()));
        assert_eq!(hint(&error), Some(TRUST));
        assert_eq!(innermost(&error).to_string(), tls().to_string());
        let expired = TlsError::InvalidCertificate(CertificateError::Expired);
        assert!(hint(&io::Error::other(expired)).unwrap().starts_with("renew the server's certificate"));
        let alert = io::Error::other(TlsError::AlertReceived(AlertDescription::InternalError));
        assert!(is_tls(&alert) && hint(&alert).is_none());
        let other = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert!(!is_tls(&other) && hint(&other).is_none());
    }
}
