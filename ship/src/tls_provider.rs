//! The implementation of cryptography for TLS.

/// Selects `ring` for the connections that are made from now on. Also for those without TLS: the HTTP client needs one.
pub fn install() {
    // An error means that it is selected already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
