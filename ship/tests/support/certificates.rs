//! Certificate authorities and certificates of servers, made with the program openssl.

#![allow(dead_code, clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A certificate and its key, in PEM.
#[derive(Debug, Clone)]
pub struct Certificate {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Whether there is the program openssl. Without it the test is skipped, unless `TEAMKEEP_NEED_ENGINES` is 1: then it fails.
pub fn has_openssl() -> bool {
    let found = Command::new("openssl").arg("version").output().is_ok();
    if !found {
        let is_needed = std::env::var_os("TEAMKEEP_NEED_ENGINES").is_some_and(|value| value == "1");
        assert!(!is_needed, "install openssl");
        println!("skipped: install openssl");
    }
    found
}

/// Makes a certificate authority with that name.
pub fn authority(dir: &Path, name: &str) -> Certificate {
    let made = files(dir, name);
    let mut command = new_key(&made, name);
    command.args(["-x509", "-days", "30", "-out"]).arg(&made.certificate);
    command.args([
        "-addext",
        "basicConstraints=critical,CA:TRUE",
        "-addext",
        "keyUsage=critical,keyCertSign",
    ]);
    run(command);
    made
}

/// Makes a certificate for a server with these names, such as `IP:127.0.0.1`.
pub fn issue(authority: &Certificate, dir: &Path, name: &str, names: &str) -> Certificate {
    let made = files(dir, name);
    let [request, extensions] = ["csr", "ext"].map(|extension| dir.join(format!("{name}.{extension}")));
    let mut command = new_key(&made, name);
    command.arg("-out").arg(&request);
    run(command);
    std::fs::write(&extensions, format!("subjectAltName={names}\nbasicConstraints=critical,CA:FALSE\n"))
        .unwrap();
    let mut command = Command::new("openssl");
    command.args(["x509", "-req", "-days", "30", "-CAcreateserial", "-in"]).arg(&request);
    command.arg("-CA").arg(&authority.certificate).arg("-CAkey").arg(&authority.key);
    command.arg("-extfile").arg(&extensions).arg("-out").arg(&made.certificate);
    run(command);
    made
}

fn files(dir: &Path, name: &str) -> Certificate {
    Certificate { certificate: dir.join(format!("{name}.pem")), key: dir.join(format!("{name}.key")) }
}

fn new_key(made: &Certificate, name: &str) -> Command {
    let mut command = Command::new("openssl");
    command.args(["req", "-newkey", "rsa:2048", "-nodes", "-subj", &format!("/CN={name}")]);
    command.arg("-keyout").arg(&made.key);
    command
}

fn run(mut command: Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
