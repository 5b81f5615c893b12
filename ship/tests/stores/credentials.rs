//! Where credentials come from.

use std::path::PathBuf;

use chrono::{SecondsFormat, TimeDelta, Utc};

use crate::http::Got;
use crate::stub::{Answer, Bucket, Stub, status, with_body};
use crate::{Scene, write};

/// A machine whose profile names a program that runs this script, with a space in its path.
fn scene(script: &str, args: &str) -> (Scene, PathBuf) {
    scene_with(script, args, |got, bucket| bucket.answer(got))
}

fn scene_with(
    script: &str,
    args: &str,
    answer: impl FnMut(&Got, &Bucket) -> Answer + Send + 'static,
) -> (Scene, PathBuf) {
    let scene = Scene::s3(answer);
    let dir = scene.machine.home().join("my programs");
    std::fs::create_dir_all(&dir).unwrap();
    write(&dir.join("keys"), &format!("#!/bin/sh\n{script}\n"), 0o700);
    profile(&scene, &format!("credential_process = \"{}/keys\" {args}", dir.display()));
    (scene, dir)
}

fn profile(scene: &Scene, lines: &str) {
    std::fs::create_dir_all(scene.machine.home().join(".aws")).unwrap();
    let text = format!("[default]\nregion = eu-west-1\n{lines}\n");
    std::fs::write(scene.machine.home().join(".aws/config"), text).unwrap();
}

fn in_minutes(minutes: i64) -> String {
    (Utc::now() + TimeDelta::minutes(minutes)).to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// A script that counts its runs in a file `runs` and prints credentials.
fn printing(more: &str) -> String {
    let json = format!(r#"{{"Version": 1, "AccessKeyId": "PK", "SecretAccessKey": "PS"{more}}}"#);
    format!("echo run >> \"$(dirname \"$0\")/runs\"\necho a warning >&2\necho '{json}'")
}

#[test]
fn the_process_of_a_profile_prints_the_credentials_and_runs_once() {
    let expiration = in_minutes(60);
    for more in [
        format!(r#", "SessionToken": "PT", "Expiration": "{expiration}""#),
        r#", "SessionToken": "PT""#.to_owned(),
    ] {
        let (scene, dir) = scene(&printing(&more), "");
        let (is_sent, text) = scene.ship_with(&[]);
        assert!(is_sent, "{text}");
        for got in scene.stub.requests() {
            assert!(got.headers["authorization"].contains("Credential=PK/"));
            assert!(got.headers["authorization"].contains("/eu-west-1/"));
            assert_eq!(got.headers["x-amz-security-token"], "PT");
        }
        assert_eq!(std::fs::read_to_string(dir.join("runs")).unwrap(), "run\n");
    }
}

#[test]
fn credentials_are_replaced_before_they_expire() {
    let (scene, dir) = scene_with(
        &printing(&format!(r#", "Expiration": "{}""#, in_minutes(2))),
        "",
        // The first object exists, so that it is read, too.
        |got, bucket| match bucket.len() {
            0 => {
                bucket.answer(got);
                status("412 Precondition Failed")
            }
            _ => bucket.answer(got),
        },
    );
    let (is_sent, text) = scene.ship_with(&[]);
    assert!(is_sent, "{text}");
    let runs = std::fs::read_to_string(dir.join("runs")).unwrap().lines().count();
    let requests = scene.stub.requests();
    assert!(runs == requests.len() && runs > 1, "{runs}");
    assert!(requests.iter().all(|got| !got.headers.contains_key("x-amz-security-token")));
}

#[test]
fn no_shell_runs_the_process_and_its_arguments_are_split_as_by_one() {
    let script = format!("printf '%s\\n' \"$@\" > \"$(dirname \"$0\")/args\"\n{}", printing(""));
    let (scene, dir) = scene(&script, "--role 'a b' \"c d\" $HOME ; exit");
    let (is_sent, text) = scene.ship_with(&[]);
    assert!(is_sent, "{text}");
    assert_eq!(std::fs::read_to_string(dir.join("args")).unwrap(), "--role\na b\nc d\n$HOME\n;\nexit\n");
}

#[test]
fn static_keys_of_the_environment_or_the_profile_come_before_the_process() {
    let (scene, dir) = scene(&printing(""), "\naws_access_key_id = FK\naws_secret_access_key = FS");
    for (environment, key) in
        [(&[][..], "FK"), (&[("AWS_ACCESS_KEY_ID", "EK"), ("AWS_SECRET_ACCESS_KEY", "ES")], "EK")]
    {
        let (is_sent, text) = scene.ship_with(environment);
        assert!(is_sent, "{text}");
        let requests = scene.stub.requests();
        assert!(requests[0].headers["authorization"].contains(&format!("Credential={key}/")));
        scene.forget();
    }
    assert!(!dir.join("runs").exists());
}

#[test]
fn a_process_that_fails_is_named_with_its_words_and_no_request_is_made() {
    for (script, why) in [
        ("echo 'the session\nhas expired' >&2; exit 255", "exit code 255: the session has expired"),
        ("echo '{\"AccessKeyId\": \"made-up\"'", "it did not print JSON of version 1"),
        (
            "echo '{\"Version\":2,\"AccessKeyId\":\"made-up\",\"SecretAccessKey\":\"made-up\"}'",
            "it did not print JSON of version 1",
        ),
        ("yes made-up", "its output is too large"),
    ] {
        let (scene, _) = scene(script, "");
        let (is_sent, text) = scene.ship_with(&[]);
        assert!(!is_sent && text.contains("my programs/keys\": ") && text.contains(why), "{text}");
        assert!(!text.contains("made-up"), "{text}");
        assert!(scene.stub.requests().is_empty());
    }
    let missing = Scene::s3(|got, bucket| bucket.answer(got));
    profile(&missing, "credential_process = /no/such/program");
    assert!(missing.ship_with(&[]).1.contains("credential_process \"/no/such/program\": "));
    profile(&missing, "credential_process = '");
    assert!(missing.ship_with(&[]).1.contains("credential_process \"\": "));
}

#[test]
fn a_profile_with_a_login_or_a_role_has_a_hint() {
    let scene = Scene::s3(|got, bucket| bucket.answer(got));
    for line in ["sso_session = corp", "sso_start_url = https://x", "role_arn = arn:aws:iam::1:role/r"] {
        profile(&scene, line);
        let (is_sent, text) = scene.ship_with(&[]);
        assert!(!is_sent && text.contains("the profile \"default\" has no keys"), "{text}");
        let hint = "credential_process = aws configure export-credentials --profile default --format process";
        assert!(text.contains(hint), "{text}");
    }
    assert!(scene.stub.requests().is_empty());
}

/// Credentials as the service of a container answers them.
fn issued() -> String {
    let expiration = in_minutes(60);
    format!(r#"{{"AccessKeyId":"CK","SecretAccessKey":"CS","Token":"CT","Expiration":"{expiration}"}}"#)
}

#[test]
fn a_container_gets_credentials_from_the_address_in_its_environment() {
    let json = issued();
    let source = Stub::start(move |_| with_body("200 OK", json.clone()));
    let scene = Scene::s3(|got, bucket| bucket.answer(got));
    let token = scene.machine.home().join("token");
    std::fs::write(&token, "made-up").unwrap();
    let address = format!("{}/credentials", source.base);
    let token = token.to_str().unwrap();
    let environment = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", address.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token),
    ];
    let (is_sent, text) = scene.ship_with(&environment);
    assert!(is_sent, "{text}");
    let asked = source.requests();
    assert_eq!((asked.len(), asked[0].headers["authorization"].as_str()), (1, "made-up"));
    let got = &scene.stub.requests()[0];
    assert!(got.headers["authorization"].contains("Credential=CK/"));
    assert_eq!(got.headers["x-amz-security-token"], "CT");
}

#[test]
fn an_identity_in_the_environment_that_is_incomplete_makes_no_request() {
    let scene = Scene::s3(|got, bucket| bucket.answer(got));
    for environment in [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/token"),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/r"),
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:9"),
    ] {
        let (is_sent, text) = scene.ship_with(&[environment]);
        assert!(!is_sent && text.contains("there are no credentials for the object store"), "{text}");
    }
    assert!(scene.stub.requests().is_empty());
}

#[test]
fn a_service_that_gives_credentials_is_asked_again_when_it_is_busy() {
    let json = issued();
    let mut is_busy = true;
    let source = Stub::start(move |_| match std::mem::take(&mut is_busy) {
        true => status("503 Service Unavailable"),
        false => with_body("200 OK", json.clone()),
    });
    let scene = Scene::s3(|got, bucket| bucket.answer(got));
    let token = scene.machine.home().join("token");
    std::fs::write(&token, "made-up").unwrap();
    let (is_sent, text) = scene.ship_with(&[
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", source.base.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token.to_str().unwrap()),
    ]);
    assert!(is_sent, "{text}");
    assert_eq!(source.requests().len(), 2);
}
