//! Stores that a test programs: their credentials, faults and answers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod credentials;
#[path = "../support/engines.rs"]
mod engines;
mod existing;
mod faults;
mod gateway;
#[path = "../support/http.rs"]
mod http;
#[path = "../support/stub.rs"]
mod stub;
#[path = "../support/mod.rs"]
mod support;

use std::path::Path;

use stub::{Answer, Bucket, Stub};
use support::Machine;

/// A machine with a run, and the server that it ships to.
struct Scene {
    machine: Machine,
    stub: Stub,
    bucket: Bucket,
}

impl Scene {
    /// A machine that ships to a bucket of this server.
    fn s3(answer: impl FnMut(&http::Got, &Bucket) -> Answer + Send + 'static) -> Scene {
        let scene = Scene::new(answer);
        scene.machine.configure("store = \"s3://bucket/p\"");
        scene
    }

    /// A machine that ships to this gateway, with headers.
    fn gateway(answer: impl FnMut(&http::Got, &Bucket) -> Answer + Send + 'static) -> Scene {
        let scene = Scene::new(answer);
        scene.headers("Authorization: Bearer made-up-token\nX-Team: red\n", 0o600);
        scene.machine.configure(&format!(
            "store = \"{}/teamkeep\"\nstore-headers-file = \"~/headers\"",
            scene.stub.base
        ));
        scene
    }

    fn new(mut answer: impl FnMut(&http::Got, &Bucket) -> Answer + Send + 'static) -> Scene {
        let machine = Machine::new();
        machine.record("v328-headless");
        let bucket = Bucket::default();
        let of_stub = bucket.clone();
        Scene { machine, stub: Stub::start(move |got| answer(got, &of_stub)), bucket }
    }

    fn headers(&self, text: &str, mode: u32) {
        write(&self.machine.home().join("headers"), text, mode);
    }

    /// Ships. Returns whether everything was sent, and the messages.
    fn ship(&self) -> (bool, String) {
        let keys = [("AWS_ACCESS_KEY_ID", "AK"), ("AWS_SECRET_ACCESS_KEY", "SK")];
        self.ship_with(&keys)
    }

    fn ship_with(&self, environment: &[(&str, &str)]) -> (bool, String) {
        let mut command = self.machine.shipper(&["--once"]);
        command.env("AWS_ENDPOINT_URL", &self.stub.base).env("AWS_ALLOW_HTTP", "true");
        let output = command.envs(environment.iter().copied()).output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    }

    fn ship_in_vain(&self) -> String {
        let (is_sent, text) = self.ship();
        assert!(!is_sent, "{text}");
        text
    }

    fn ship_all(&self) {
        let (is_sent, text) = self.ship();
        assert!(is_sent && self.bucket.len() > 0, "{text}");
    }

    /// Forgets that anything was sent.
    fn forget(&self) {
        std::fs::remove_file(self.machine.store().join("shipping.json")).unwrap();
        self.stub.requests();
    }
}

fn write(path: &Path, text: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}
