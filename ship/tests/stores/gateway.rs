//! A gateway of the organization.

use std::time::Duration;

use object_store::ObjectStoreExt;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::signer::Signer;
use reqwest::Method;

use crate::Scene;
use crate::engines::{Engine, S3, engine};
use crate::stub::{Answer, Bucket, Stub, status, with_body};

#[test]
fn each_object_is_one_request_with_the_headers_of_the_file() {
    for created in ["200 OK", "201 Created", "204 No Content"] {
        let scene = Scene::gateway(move |got, bucket| Answer { status: created, ..bucket.answer(got) });
        scene.ship_all();
        let requests = scene.stub.requests();
        assert_eq!(requests.len(), scene.bucket.len());
        for got in requests {
            assert!(got.line.starts_with("PUT /teamkeep/"), "{}", got.line);
            let header = |name: &str| got.headers.get(name).map(String::as_str).unwrap_or_default();
            assert_eq!(header("if-none-match"), "*");
            assert_eq!(header("content-type"), "application/gzip");
            assert_eq!((header("authorization"), header("x-team")), ("Bearer made-up-token", "red"));
        }
    }
}

#[test]
fn a_redirect_to_another_host_is_followed_without_the_headers() {
    for redirect in ["307 Temporary Redirect", "308 Permanent Redirect"] {
        let bucket = Bucket::default();
        let of_store = bucket.clone();
        let store = Stub::start(move |got| of_store.answer(got));
        let base = store.base.clone();
        let scene = Scene::gateway(move |got, _| {
            status(redirect).header("Location", format!("{base}{}?signature=made-up", got.path()))
        });
        let (is_sent, text) = scene.ship();
        assert!(is_sent, "{text}");
        let (asked, sent) = (scene.stub.requests(), store.requests());
        assert!(!sent.is_empty() && asked.len() == sent.len() && bucket.len() == sent.len());
        assert!(asked.iter().all(|got| got.headers.contains_key("authorization")));
        for got in sent {
            assert!(got.path().ends_with("?signature=made-up") && got.headers["if-none-match"] == "*");
            assert!(!["authorization", "x-team"].iter().any(|name| got.headers.contains_key(*name)));
        }
    }
}

#[test]
fn a_redirect_within_the_gateway_keeps_the_headers() {
    let scene = Scene::gateway(|got, bucket| match got.path().strip_prefix("/teamkeep/") {
        Some(name) => status("307 Temporary Redirect").header("Location", format!("/v2/{name}")),
        None => bucket.answer(got),
    });
    scene.ship_all();
    let requests = scene.stub.requests();
    assert!(requests.iter().all(|got| got.headers["authorization"] == "Bearer made-up-token"));
}

#[test]
fn a_redirect_that_cannot_be_followed_is_an_error_without_its_signature() {
    let too_often = "http://127.0.0.1:PORT/x?signature=made-up";
    for (location, why) in [
        (too_often, "too many redirects"),
        ("http://store.example.com/x?signature=made-up", "a redirect to store.example.com without TLS"),
        ("ftp://127.0.0.1/x?signature=made-up", "without TLS"),
        ("", "a redirect without a valid address"),
    ] {
        let scene = Scene::gateway(move |got, _| {
            let port = got.headers["host"].rsplit(':').next().unwrap();
            let answer = status("307 Temporary Redirect");
            if location.is_empty() {
                return answer;
            }
            answer.header("Location", location.replace("PORT", port))
        });
        let text = scene.ship_in_vain();
        assert!(text.contains(why) && !text.contains("made-up"), "{text}");
    }
}

#[test]
fn a_refusal_has_a_hint_and_a_web_page_is_not_a_store() {
    let refused = |answer: Answer| Scene::gateway(move |_, _| answer.clone()).ship_in_vain();
    for status in ["401 Unauthorized", "403 Forbidden"] {
        let text = refused(with_body(status, "no such token made-up-token"));
        assert!(text.contains(&format!("HTTP status {status}")) && !text.contains("made-up"), "{text}");
        assert!(text.contains("hint: check ship.store and ship.store-headers-file"), "{text}");
    }
    let page = refused(with_body("200 OK", "<html>").header("Content-Type", "text/html; charset=utf-8"));
    assert!(page.contains("the response is a web page"), "{page}");
    let found = refused(status("302 Found").header("Location", "https://login.example.com"));
    assert!(found.contains("HTTP status 302 Found"), "{found}");
}

#[test]
fn a_file_with_headers_that_others_can_read_or_that_is_invalid_sends_nothing() {
    let scene = Scene::gateway(|got, bucket| bucket.answer(got));
    for (text, mode, why) in
        [("A: b", 0o644, "other users have access"), ("no header", 0o600, "invalid header in line 1")]
    {
        scene.headers(text, mode);
        let error = scene.ship_in_vain();
        assert!(error.contains("cannot use `ship.store-headers-file`") && error.contains(why), "{error}");
    }
    assert!(scene.stub.requests().is_empty());
}

#[test]
fn a_gateway_can_redirect_to_presigned_addresses_of_an_object_store_which_replace_nothing() {
    let Some(weed) = engine(Engine::Weed) else { return };
    let dir = tempfile::tempdir().unwrap();
    let s3 = S3::start(&weed, dir.path());
    // For the requests of this process.
    let _ = rustls::crypto::ring::default_provider().install_default();
    for exists in [false, true] {
        let builder = s3.environment().into_iter().fold(AmazonS3Builder::new(), |builder, (key, value)| {
            builder.with_config(key.to_lowercase().parse().unwrap(), value)
        });
        let store = builder.with_bucket_name(format!("bucket-{exists}")).build().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let scene = Scene::gateway(move |got, bucket| {
            let method = Method::from_bytes(got.method().as_bytes()).unwrap();
            let name = Path::from(got.path().trim_start_matches("/teamkeep/"));
            bucket.answer(got);
            let redirect = async {
                if exists && method == Method::PUT {
                    store.put(&name, "other".into()).await.unwrap();
                }
                store.signed_url(method, &name, Duration::from_secs(60)).await.unwrap()
            };
            let url = runtime.block_on(redirect);
            status("307 Temporary Redirect").header("Location", url.as_str())
        });
        if exists {
            assert!(scene.ship_in_vain().contains("exists with other content"));
        } else {
            scene.ship_all();
        }
    }
}
