//! A gateway with TLS.

use super::stub::{Bucket, Stub, status};
use super::{Receiver, Scene, python};

#[test]
fn a_gateway_with_tls_gets_everything_and_does_not_redirect_to_a_store_without_tls() {
    let Some(python) = python() else { return };
    let scene = Scene::new();
    let bucket = Bucket::default();
    let of_store = bucket.clone();
    let store = Stub::start(move |got| of_store.answer(got));
    let base = store.base.clone();
    let of_gateway = bucket.clone();
    let gateway = Stub::start(move |got| match got.path().starts_with("/plain/") {
        true => status("307 Temporary Redirect").header("Location", format!("{base}{}", got.path())),
        false => of_gateway.answer(got),
    });
    let front = Receiver::before(&python, &scene.issue("IP:127.0.0.1"), gateway.port);
    let configure = |path: &str| {
        let address = format!("https://127.0.0.1:{}/{path}", front.port);
        scene.machine.configure(&format!("store = \"{address}\""));
    };
    configure("plain");
    let (is_sent, text) = scene.ship(&scene.ca.certificate, &[]);
    assert!(!is_sent && text.contains("a redirect to 127.0.0.1 without TLS"), "{text}");
    assert!(store.requests().is_empty() && bucket.len() == 0);
    configure("p");
    let other = super::authority(&scene.machine.dir, "other");
    gateway.requests();
    let (is_sent, text) = scene.ship(&other.certificate, &[]);
    assert!(!is_sent && text.contains("hint: add the server's CA certificate"), "{text}");
    assert!(gateway.requests().is_empty());
    let (is_sent, text) = scene.ship(&scene.ca.certificate, &[]);
    assert!(is_sent && bucket.len() > 0, "{text}");
}
