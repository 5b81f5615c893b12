//! Stores in trouble: which requests are repeated, and when they are given up.

use crate::Scene;
use crate::stub::{Answer, status, with_body};

const CONFLICT: &str = "<Error><Code>ConditionalRequestConflict</Code></Error>";

/// The methods of the requests for the first object.
fn first(scene: &Scene) -> Vec<String> {
    let requests = scene.stub.requests();
    let path = requests[0].path().to_owned();
    requests.iter().filter(|got| got.path() == path).map(|got| got.method().to_owned()).collect()
}

#[test]
fn a_store_gets_the_object_when_it_has_recovered() {
    let mut faults = vec![
        status("429 Too Many Requests").header("Retry-After", "0"),
        Answer::default(),
        status("503 Service Unavailable"),
    ];
    let scene = Scene::s3(move |got, bucket| faults.pop().unwrap_or_else(|| bucket.answer(got)));
    scene.ship_all();
    assert_eq!(first(&scene), ["PUT"; 4]);
}

#[test]
fn a_gateway_gets_the_object_when_it_has_recovered() {
    let mut faults = vec![Answer::default(), status("502 Bad Gateway")];
    let scene = Scene::gateway(move |got, bucket| faults.pop().unwrap_or_else(|| bucket.answer(got)));
    scene.ship_all();
    assert_eq!(first(&scene), ["PUT"; 3]);
}

#[test]
fn a_request_whose_response_was_lost_has_created_the_object() {
    let mut is_first = true;
    let scene = Scene::s3(move |got, bucket| {
        let answer = bucket.answer(got);
        if std::mem::take(&mut is_first) { Answer::default() } else { answer }
    });
    scene.ship_all();
    assert_eq!(first(&scene), ["PUT", "PUT", "GET"]);
}

#[test]
fn a_conflict_with_another_request_is_repeated_because_that_one_can_fail() {
    let mut is_first = true;
    let scene = Scene::s3(move |got, bucket| match std::mem::take(&mut is_first) {
        true => with_body("409 Conflict", CONFLICT),
        false => bucket.answer(got),
    });
    scene.ship_all();
    assert_eq!(first(&scene), ["PUT", "PUT"]);
}

#[test]
fn a_lasting_conflict_is_an_error_and_nothing_counts_as_sent() {
    let conflict = || status("409 Conflict").header("Retry-After", "600");
    for scene in [Scene::s3(move |_, _| conflict()), Scene::gateway(move |_, _| conflict())] {
        assert!(scene.ship_in_vain().contains("409 Conflict"));
        assert_eq!(first(&scene), ["PUT"]);
    }
}

#[test]
fn a_store_that_asks_for_a_longer_pause_than_a_minute_is_given_up() {
    for fault in ["429 Too Many Requests", "503 Service Unavailable"] {
        let scene = Scene::s3(move |_, _| status(fault).header("Retry-After", "600"));
        assert!(scene.ship_in_vain().contains(fault));
        assert_eq!(first(&scene), ["PUT"]);
    }
}

#[test]
fn a_request_that_a_store_rejects_is_not_repeated() {
    for rejection in ["400 Bad Request", "403 Forbidden", "404 Not Found", "501 Not Implemented"] {
        let scene = Scene::s3(move |_, _| status(rejection));
        assert!(scene.ship_in_vain().contains("cannot create "));
        assert_eq!(first(&scene), ["PUT"], "{rejection}");
    }
}
