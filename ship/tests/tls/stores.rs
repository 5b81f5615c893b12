//! Identities that are exchanged for credentials, and a gateway, with TLS.

use chrono::{SecondsFormat, TimeDelta, Utc};

use super::stub::{Bucket, Stub, status, with_body};
use super::{Receiver, Scene, python};

/// A response of AWS's security token service.
fn session() -> String {
    let expiration = (Utc::now() + TimeDelta::minutes(60)).to_rfc3339_opts(SecondsFormat::Secs, true);
    format!(
        "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>\
         <SessionToken>WT</SessionToken><SecretAccessKey>WS</SecretAccessKey>\
         <Expiration>{expiration}</Expiration><AccessKeyId>WK</AccessKeyId>\
         </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
    )
}

/// The variables of a web identity, whose token is in a file.
fn identity(scene: &Scene) -> Vec<(&'static str, String)> {
    let token = scene.machine.home().join("token");
    std::fs::write(&token, "made-up-identity").unwrap();
    vec![
        ("AWS_WEB_IDENTITY_TOKEN_FILE", token.display().to_string()),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/ship".to_owned()),
        ("AWS_REGION", "eu-west-1".to_owned()),
    ]
}

#[test]
fn a_web_identity_is_exchanged_for_credentials_of_a_role() {
    let Some(python) = python() else { return };
    let scene = Scene::new();
    let mut is_busy = true;
    let service = Stub::start(move |_| match std::mem::take(&mut is_busy) {
        true => status("503 Service Unavailable"),
        false => with_body("200 OK", session()),
    });
    let bucket = Bucket::default();
    let of_store = bucket.clone();
    let store = Stub::start(move |got| of_store.answer(got));
    let certificate = scene.issue("IP:127.0.0.1");
    let front = Receiver::before(&python, &certificate, service.port);
    scene.machine.configure("store = \"s3://bucket\"");
    let mut environment = identity(&scene);
    environment.extend([
        ("AWS_ENDPOINT_URL_STS", format!("https://127.0.0.1:{}", front.port)),
        ("AWS_ENDPOINT_URL", store.base.clone()),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
    ]);
    let (is_sent, text) = scene.ship(&scene.ca.certificate, &environment);
    assert!(is_sent && bucket.len() > 0, "{text}");
    let asked = service.requests();
    assert_eq!(asked.len(), 2);
    for part in ["Action=AssumeRoleWithWebIdentity", "made-up-identity", "role%2Fship"] {
        assert!(asked[1].line.contains(part), "{}", asked[1].line);
    }
    for got in store.requests() {
        assert!(got.headers["authorization"].contains("Credential=WK/"));
        assert_eq!(got.headers["x-amz-security-token"], "WT");
    }
}

#[test]
fn a_rejected_web_identity_is_an_error_without_the_token() {
    let Some(python) = python() else { return };
    let scene = Scene::new();
    let service = Stub::start(|_| {
        let error = "<ErrorResponse><Error><Code>ExpiredTokenException</Code></Error></ErrorResponse>";
        with_body("400 Bad Request", error)
    });
    let front = Receiver::before(&python, &scene.issue("IP:127.0.0.1"), service.port);
    scene.machine.configure("store = \"s3://bucket\"");
    let mut environment = identity(&scene);
    environment.push(("AWS_ENDPOINT_URL_STS", format!("https://127.0.0.1:{}", front.port)));
    let (is_sent, text) = scene.ship(&scene.ca.certificate, &environment);
    assert!(!is_sent && text.contains("ExpiredTokenException") && !text.contains("made-up"), "{text}");
}

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
