//! The packages for Debian and RPM, and the units in them.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::packaging::{ROOT, Release, TARGETS};
use crate::support::programs::write_program;

const PACKAGES: [(&str, &str); 2] = [("teamkeep", ""), ("teamkeep-ship", "ship/")];
/// Where the two kinds of packages have files that they need both.
const PLACES: [(&str, &str); 2] = [
    ("usr/share/zsh/vendor-completions/", "usr/share/zsh/site-functions/"),
    ("usr/lib/systemd/user/", "usr/lib/systemd/user/"),
];

/// The description of the packages in the manifest of a crate.
fn metadata(name: &str) -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version=1", "--locked", "--offline"])
        .current_dir(ROOT)
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    packages.iter().find(|package| package["name"] == name).unwrap()["metadata"].clone()
}

/// A path without the directories that lead back.
fn plain(dir: &str, path: &str) -> String {
    let path = format!("{dir}{path}");
    path.strip_prefix("ship/../").unwrap_or(&path).to_owned()
}

/// Source, place and mode of each file. The license is a field of a package for Debian.
fn files(name: &str, dir: &str, kind: &str) -> BTreeSet<[String; 3]> {
    let described = metadata(name)[kind]["assets"].clone();
    let assets = described.as_array().unwrap().iter().map(|asset| {
        let [source, place, mode] = match asset {
            Value::Array(parts) => [0, 1, 2].map(|index| parts[index].as_str().unwrap()),
            parts => ["source", "dest", "mode"].map(|key| parts[key].as_str().unwrap()),
        };
        // cargo-deb looks for files from the crate's directory, cargo-generate-rpm from that of the workspace.
        let from = if source.starts_with("target/") || kind == "generate-rpm" { "" } else { dir };
        let place = place.trim_start_matches('/');
        let common =
            PLACES.iter().find(|(_, rpm)| place.starts_with(rpm)).map_or(place, |(debian, _)| debian);
        [plain(from, source), common.to_owned(), mode.to_owned()]
    });
    assets.filter(|[source, ..]| source != "LICENSE").collect()
}

#[test]
fn packages_for_debian_and_rpm_have_the_same_files_and_all_of_these_exist() {
    for (name, dir) in PACKAGES {
        let debian = files(name, dir, "deb");
        assert_eq!(debian, files(name, dir, "generate-rpm"));
        for [source, _, mode] in debian {
            let is_program = source.starts_with("target/release/teamkeep");
            assert_eq!(mode, if is_program { "755" } else { "644" }, "{source}");
            let (folder, file) = source.rsplit_once('/').unwrap();
            let folder = Path::new(ROOT).join(folder);
            let found = if file.starts_with('*') { folder.is_dir() } else { folder.join(file).is_file() };
            assert!(is_program || found, "{source}");
        }
        let license = metadata(name)["deb"]["license-file"][0].as_str().unwrap().to_owned();
        assert!(Path::new(ROOT).join(dir).join(license).is_file());
    }
}

#[test]
fn packages_of_the_shipper_need_teamkeep_in_the_same_version() {
    let version = env!("CARGO_PKG_VERSION");
    let shipper = metadata("teamkeep-ship");
    assert_eq!(shipper["deb"]["depends"], format!("teamkeep (= {version})"));
    assert_eq!(shipper["generate-rpm"]["requires"]["teamkeep"], format!("= {version}"));
}

#[test]
fn packages_run_no_scripts_and_enable_no_unit() {
    for (name, _) in PACKAGES {
        let metadata = metadata(name);
        for (kind, keys) in [
            ("deb", &["maintainer-scripts", "systemd-units", "triggers-file"][..]),
            (
                "generate-rpm",
                &[
                    "pre_install_script",
                    "post_install_script",
                    "pre_uninstall_script",
                    "post_uninstall_script",
                ],
            ),
        ] {
            assert!(keys.iter().all(|key| metadata[kind].get(key).is_none()), "{name}");
        }
    }
}

/// The settings in a unit.
fn unit(name: &str) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(Path::new(ROOT).join("packaging/systemd").join(name)).unwrap();
    let settings = text.lines().filter_map(|line| line.split_once('='));
    settings.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

#[test]
fn timers_start_the_installed_shipper_once_with_an_exit_code() {
    let service = unit("teamkeep-ship.service");
    assert_eq!(service["ExecStart"], "/usr/bin/teamkeep-ship --once --quiet");
    assert_eq!(service["Type"], "oneshot");
    // These need a namespace, which not every system gives to a user.
    for key in ["PrivateTmp", "ProtectSystem", "ProtectHome", "PrivateDevices", "ReadWritePaths"] {
        assert!(!service.contains_key(key), "{key}");
    }
    assert!(unit("teamkeep-ship.timer").contains_key("RandomizedDelaySec"));
    let agent = Path::new(ROOT).join("packaging/launchd/teamkeep.ship.plist");
    let agent = std::fs::read_to_string(agent).unwrap();
    let strings: Vec<&str> =
        agent.split("<string>").skip(1).map(|rest| rest.split('<').next().unwrap()).collect();
    assert_eq!(strings, ["teamkeep.ship", "/usr/local/bin/teamkeep-ship", "--once", "--quiet", "Background"]);
}

#[test]
fn systemd_accepts_the_units() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["teamkeep-ship.service", "teamkeep-ship.timer"] {
        let text = std::fs::read_to_string(Path::new(ROOT).join("packaging/systemd").join(name)).unwrap();
        // It checks that the program exists.
        std::fs::write(dir.path().join(name), text.replace("/usr/bin/teamkeep-ship", "/bin/true")).unwrap();
    }
    let mut command = Command::new("systemd-analyze");
    command.args(["verify", "--user", "--man=no", "teamkeep-ship.timer", "teamkeep-ship.service"]);
    command.current_dir(&dir).env("XDG_RUNTIME_DIR", dir.path());
    let Ok(output) = command.output() else {
        // Without systemd there is nothing that could check them.
        return;
    };
    let problems = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && problems.is_empty(), "{problems}");
}

#[test]
fn each_architecture_has_its_own_c_compiler() {
    let release = Release::new();
    release.run("scripts/release.sh");
    let built = std::fs::read_to_string(release.at("built")).unwrap();
    let machine = release.run("uname -m");
    for target in TARGETS {
        let architecture = target.split('-').next().unwrap();
        let other = format!("{architecture}-linux-gnu-gcc");
        let compiler = if architecture == machine.trim() { "cc" } else { &other };
        let line = built.lines().find(|line| line.starts_with(target)).unwrap();
        assert!(
            line.ends_with(&format!(" {compiler}")) || line.ends_with(&format!("/{compiler}")),
            "{built}"
        );
    }
}

#[test]
fn a_program_that_is_not_static_is_not_released() {
    for program in ["teamkeep", "teamkeep-hook", "teamkeep-ship"] {
        let release = Release::new();
        let readelf = format!("#!/bin/sh\ncase $2 in */{program}) echo INTERP ;; esac\n");
        write_program(&release.at("bin/readelf"), readelf);
        let refused = release.run("scripts/release.sh 2>&1 || true");
        assert!(refused.contains(&format!("/{program} is not static\n")), "{refused}");
        assert!(!release.made("SHA256SUMS").exists());
    }
}

/// Uses the real tools, which `scripts/packages.sh` has installed. Without them the test is skipped.
fn real_packages() -> Option<Release> {
    let tools = Path::new(ROOT).join("target/tools/bin");
    let names = ["cargo-deb", "cargo-generate-rpm"];
    if !names.iter().all(|name| tools.join(name).is_file()) {
        return None;
    }
    let release = Release::new();
    let manifests = format!(
        "cp -r --parents Cargo.lock src crates ship/src ship/tests benches ship/Cargo.toml ship/benches \
         ship/LICENSE ship/README.md tests/it/main.rs tests/live/main.rs {0} && cd {0} && git add . && \
         git -c user.name=a -c user.email=a@example.com commit -qm b",
        release.at("clone").display()
    );
    let status = Command::new("/bin/sh").args(["-ec", &manifests]).current_dir(ROOT).status().unwrap();
    assert!(status.success());
    for name in names {
        let place = release.at("clone/target/tools/bin").join(name);
        std::fs::remove_file(&place).unwrap();
        symlink(tools.join(name), place).unwrap();
    }
    release.run("scripts/release.sh && scripts/packages.sh");
    Some(release)
}

#[test]
fn debian_packages_have_the_programs_of_their_architecture_the_pages_and_the_units() {
    let Some(release) = real_packages() else { return };
    let version = env!("CARGO_PKG_VERSION");
    for (architecture, machine) in [("amd64", "x86_64"), ("arm64", "aarch64")] {
        release.run("rm -rf ../root");
        for package in ["teamkeep", "teamkeep-ship"] {
            let file = format!("target/release-files/{package}_{version}_{architecture}.deb");
            let fields = release.run(&format!("dpkg-deb --field {file} Package Version Architecture"));
            assert_eq!(
                fields,
                format!("Package: {package}\nVersion: {version}\nArchitecture: {architecture}\n")
            );
            assert_eq!(
                release.run(&format!("dpkg-deb --ctrl-tarfile {file} | tar -t")).matches("inst").count(),
                0
            );
            release.run(&format!("dpkg-deb --extract {file} ../root"));
            let ran = release.run(&format!("../root/usr/bin/{package}"));
            assert_eq!(ran.trim(), format!("{package} {machine}-unknown-linux-musl"));
        }
        let files = release.run("cd ../root && find . -type f");
        for path in [
            "./usr/bin/teamkeep-hook",
            "./usr/share/man/man1/teamkeep.1.gz",
            "./usr/share/man/man1/teamkeep-ship.1.gz",
            "./usr/share/bash-completion/completions/teamkeep",
            "./usr/share/zsh/vendor-completions/_teamkeep",
            "./usr/share/fish/vendor_completions.d/teamkeep.fish",
            "./usr/share/doc/teamkeep/copyright",
            "./usr/share/doc/teamkeep-ship/copyright",
            "./usr/lib/systemd/user/teamkeep-ship.service",
            "./usr/lib/systemd/user/teamkeep-ship.timer",
        ] {
            assert!(files.lines().any(|file| file == path), "{path}: {files}");
        }
        assert!(!files.contains(".wants/"), "{files}");
    }
}

#[test]
fn packages_of_the_same_commit_have_the_same_bytes() {
    let Some(release) = real_packages() else { return };
    let sums = std::fs::read(release.made("SHA256SUMS")).unwrap();
    release.run("find . -name '*.1' -exec touch {} + && scripts/packages.sh");
    assert_eq!(sums, std::fs::read(release.made("SHA256SUMS")).unwrap());
}
