//! Objects that exist when they are sent.

use crate::Scene;
use crate::http::Got;
use crate::stub::{Answer, Bucket, status};

/// A store in which the first object exists already, with its own content or this one. `reading` is the response to its reader.
fn existing(
    exists: &'static str,
    other: Option<&'static [u8]>,
    reading: Option<Answer>,
) -> impl FnMut(&Got, &Bucket) -> Answer + Send + 'static {
    let mut is_first = true;
    move |got, bucket| {
        let answer = bucket.answer(got);
        if std::mem::take(&mut is_first) {
            let other = other.map(|content| (got.path().to_owned(), content.to_vec()));
            bucket.0.lock().unwrap().extend(other);
            return status(exists);
        }
        if got.method() == "GET" { reading.clone().unwrap_or(answer) } else { answer }
    }
}

/// The methods of the first two requests.
fn methods(scene: &Scene) -> Vec<String> {
    scene.stub.requests().iter().take(2).map(|got| got.method().to_owned()).collect()
}

#[test]
fn an_object_that_exists_is_read_and_compared() {
    let exists = || existing("412 Precondition Failed", None, None);
    for scene in [Scene::s3(exists()), Scene::gateway(exists())] {
        scene.ship_all();
        assert_eq!(methods(&scene), ["PUT", "GET"]);
    }
}

#[test]
fn an_object_with_other_content_is_an_error_that_names_it_and_nothing_replaces_it() {
    let other = || existing("412 Precondition Failed", Some(b"other"), None);
    for scene in [Scene::s3(other()), Scene::gateway(other())] {
        let text = scene.ship_in_vain();
        let path = scene.stub.requests()[0].path().to_owned();
        let name = path.trim_start_matches("/bucket/p/").trim_start_matches("/teamkeep/").replace("%3D", "=");
        assert!(
            text.contains(&format!("{name} in ")) && text.contains("exists with other content"),
            "{text}"
        );
        assert!(text.contains("hint: find out who changed it"), "{text}");
        assert_eq!(scene.bucket.0.lock().unwrap()[&path], b"other");
    }
}

#[test]
fn an_object_that_may_not_be_read_counts_as_sent() {
    let unread = |why| existing("412 Precondition Failed", Some(b"other"), Some(status(why)));
    for denied in ["401 Unauthorized", "403 Forbidden"] {
        let scene = Scene::s3(unread(denied));
        scene.ship_all();
        assert_eq!(methods(&scene), ["PUT", "GET"]);
    }
    // A gateway can have no way to read.
    for denied in ["404 Not Found", "405 Method Not Allowed", "302 Found", "501 Not Implemented"] {
        let scene = Scene::gateway(unread(denied));
        scene.ship_all();
        assert_eq!(methods(&scene), ["PUT", "GET"]);
    }
}

#[test]
fn an_object_that_cannot_be_read_because_of_a_fault_is_sent_again_later() {
    let fault = || status("503 Service Unavailable").header("Retry-After", "600");
    let unread = || existing("412 Precondition Failed", None, Some(fault()));
    for scene in [Scene::s3(unread()), Scene::gateway(unread())] {
        assert!(scene.ship_in_vain().contains("cannot read "));
    }
}
