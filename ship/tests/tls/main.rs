//! Destinations with TLS: which certificates are trusted, and the errors for the others.

// On macOS, the variable `SSL_CERT_FILE` has no effect.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

#[path = "../support/certificates.rs"]
mod certificates;
#[path = "../support/engines.rs"]
mod engines;
#[path = "../support/http.rs"]
mod http;
mod stores;
#[path = "../support/stub.rs"]
mod stub;
#[path = "../support/mod.rs"]
mod support;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};

use certificates::{Certificate, authority, has_openssl, issue};
use engines::{Engine, S3, Server, engine};
use support::Machine;

/// A receiver in Python.
struct Receiver {
    port: u16,
    output: BufReader<ChildStdout>,
    server: Server,
}

impl Receiver {
    fn start(python: &Path, certificate: Option<&Certificate>) -> Receiver {
        let mut command = Command::new(python);
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls/server.py"));
        command.args(certificate.iter().flat_map(|files| [&files.certificate, &files.key]));
        Receiver::started(command)
    }

    /// The same, which forwards all connections to a server without TLS.
    fn before(python: &Path, Certificate { certificate, key }: &Certificate, port: u16) -> Receiver {
        let mut command = Command::new(python);
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls/front.py"));
        command.args([certificate, key]).arg(port.to_string());
        Receiver::started(command)
    }

    fn started(mut command: Command) -> Receiver {
        let mut server = Server(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
        let mut output = BufReader::new(server.0.stdout.take().unwrap());
        let mut port = String::new();
        output.read_line(&mut port).unwrap();
        Receiver { port: port.trim().parse().unwrap(), output, server }
    }

    /// Ends it. Returns the paths of all requests.
    fn requests(self) -> Vec<String> {
        drop(self.server);
        self.output.lines().map(Result::unwrap).collect()
    }
}

/// A machine with a run, and a CA.
struct Scene {
    machine: Machine,
    ca: Certificate,
}

impl Scene {
    fn new() -> Scene {
        let machine = Machine::new();
        machine.record("v328-inprocess");
        let ca = authority(&machine.dir, "ca");
        Scene { machine, ca }
    }

    fn issue(&self, names: &str) -> Certificate {
        issue(&self.ca, &self.machine.dir, "server", names)
    }

    /// Ships and returns the output. These certificates are trusted.
    fn ship(&self, trusted: &Path, environment: &[(&str, String)]) -> (bool, String) {
        let mut command = self.machine.shipper(&["--once"]);
        command.env("SSL_CERT_FILE", trusted).envs(environment.iter().cloned());
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    }

    fn ship_to(&self, receiver: &str, trusted: &Path) -> (bool, String) {
        self.machine.configure(&format!("otlp = \"{receiver}\""));
        self.ship(trusted, &[])
    }
}

/// The Python that runs the receiver, if it and openssl are there.
fn python() -> Option<std::path::PathBuf> {
    engine(Engine::Python).filter(|_| has_openssl())
}

#[test]
fn a_receiver_with_a_certificate_of_a_trusted_private_ca_gets_everything() {
    let Some(python) = python() else { return };
    let scene = Scene::new();
    let receiver = Receiver::start(&python, Some(&scene.issue("IP:127.0.0.1")));
    let (is_sent, text) =
        scene.ship_to(&format!("https://127.0.0.1:{}", receiver.port), &scene.ca.certificate);
    assert!(is_sent && text.contains(" and 1 run ("), "{text}");
    assert_eq!(receiver.requests(), ["/v1/logs"]);
}

#[test]
fn an_untrusted_receiver_gets_nothing_and_the_error_says_what_to_do() {
    let Some(python) = python() else { return };
    let scene = Scene::new();
    let other = authority(&scene.machine.dir, "other");
    let receiver = Receiver::start(&python, Some(&scene.issue("IP:127.0.0.1")));
    let base = format!("https://127.0.0.1:{}", receiver.port);
    let (is_sent, text) = scene.ship_to(&base, &other.certificate);
    let expected = format!("cannot send logs: {base}/v1/logs: invalid peer certificate: ");
    assert!(!is_sent && text.contains(&expected), "{text}");
    assert!(text.contains("hint: add the server's CA certificate"), "{text}");
    // The address has another name than the certificate.
    let (is_sent, text) =
        scene.ship_to(&format!("https://localhost:{}", receiver.port), &scene.ca.certificate);
    assert!(!is_sent && text.contains("hint: use a host name that the server's certificate lists"), "{text}");
    assert_eq!(receiver.requests(), [""; 0]);
}

#[test]
fn without_certificates_only_a_receiver_without_tls_gets_data() {
    let Some(python) = python() else { return };
    let scene = Scene::new();
    let receiver = Receiver::start(&python, None);
    let none = scene.machine.dir.join("none.pem");
    let (is_sent, text) = scene.ship_to(&format!("https://127.0.0.1:{}", receiver.port), &none);
    assert!(!is_sent && text.contains("hint: install CA certificates"), "{text}");
    let (is_sent, text) =
        scene.ship_to(&format!("https://127.0.0.1:{}", receiver.port), &scene.ca.certificate);
    assert!(!is_sent && text.contains("hint: the server does not use TLS at this port"), "{text}");
    let (is_sent, text) = scene.ship_to(&format!("http://127.0.0.1:{}", receiver.port), &none);
    assert!(is_sent && text.contains(" and 1 run ("), "{text}");
    assert_eq!(receiver.requests().len(), 1);
}

#[test]
fn an_object_store_needs_a_trusted_certificate() {
    let Some(weed) = engine(Engine::Weed).filter(|_| has_openssl()) else { return };
    let scene = Scene::new();
    let other = authority(&scene.machine.dir, "other");
    let Certificate { certificate, key } = scene.issue("IP:127.0.0.1");
    let s3 = S3::start_with_tls(&weed, &scene.machine.dir.join("s3"), &certificate, &key);
    scene.machine.configure("store = \"s3://bucket\"");
    let (is_sent, text) = scene.ship(&other.certificate, &s3.environment());
    assert!(!is_sent && text.contains("sent 0 events and 0 runs"), "{text}");
    assert!(text.contains(&s3.endpoint()) && text.contains("invalid peer certificate"), "{text}");
    assert!(text.contains("hint: add the server's CA certificate"), "{text}");
    let (is_sent, text) = scene.ship(&scene.ca.certificate, &s3.environment());
    assert!(is_sent && text.contains("and 1 run ("), "{text}");
}
