//! A machine whose clock is off.

use chrono::{TimeDelta, Utc};

use crate::Scene;
use crate::stub::{Answer, with_body};

/// A response of a server whose clock has another time.
fn at(minutes: i64, status: &'static str, code: &str) -> Answer {
    let date = (Utc::now() + TimeDelta::minutes(minutes)).format("%a, %d %b %Y %H:%M:%S GMT");
    with_body(status, format!("<Error><Code>{code}</Code></Error>")).header("Date", date.to_string())
}

#[test]
fn the_error_says_by_how_much_the_clock_is_off_and_what_to_do() {
    for (minutes, side) in [(30, "behind that"), (-30, "ahead of that")] {
        for code in ["RequestTimeTooSkewed", "SignatureExpired", "AccessDenied"] {
            let text = Scene::s3(move |_, _| at(minutes, "403 Forbidden", code)).ship_in_vain();
            let names = |minutes: i64| {
                text.contains(&format!("the clock of this machine is {minutes} minutes {side} of the store"))
            };
            assert!(names(30) || names(29), "{text}");
            assert!(text.contains(code) && text.contains("hint: set the clock"), "{text}");
        }
    }
}

#[test]
fn a_gateway_that_accepts_no_token_because_of_the_time_is_the_same() {
    let scene = Scene::gateway(|_, _| at(-12, "401 Unauthorized", ""));
    let text = scene.ship_in_vain();
    assert!(text.contains(" minutes ahead of that of the store"), "{text}");
    let status = String::from_utf8(scene.machine.ship(&["status"]).stdout).unwrap();
    assert!(status.contains(" minutes ahead of that of the store"), "{status}");
}

#[test]
fn the_clock_is_not_named_if_it_is_right_or_cannot_be_the_reason() {
    let too_long = |answer: Answer| answer.header("Retry-After", "600");
    for answer in [
        at(0, "403 Forbidden", "AccessDenied"),
        at(4, "403 Forbidden", "AccessDenied"),
        at(60, "404 Not Found", "NoSuchBucket"),
        too_long(at(60, "503 Service Unavailable", "SlowDown")),
    ] {
        let text = Scene::s3(move |_, _| answer.clone()).ship_in_vain();
        assert!(!text.contains("clock"), "{text}");
    }
}
