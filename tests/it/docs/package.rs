//! The crates have what they need when they are published.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::support::sandbox::below;

/// The crates of the workspace, with their directories.
const CRATES: [(&str, &str); 12] = [
    ("teamkeep", ""),
    ("teamkeep-model", "crates/model"),
    ("teamkeep-system", "crates/system"),
    ("teamkeep-config", "crates/config"),
    ("teamkeep-store", "crates/store"),
    ("teamkeep-policy", "crates/policy"),
    ("teamkeep-hook", "crates/hook"),
    ("teamkeep-redact", "crates/redact"),
    ("teamkeep-history", "crates/history"),
    ("teamkeep-settings", "crates/settings"),
    ("teamkeep-terminal", "crates/terminal"),
    ("teamkeep-ship", "ship"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The paths in a crate.
fn packaged(name: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["package", "--list", "--allow-dirty", "--locked", "--offline", "--package", name])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The path of a file that a source names relative to itself, from the crate's directory.
fn resolved(source: &Path, named: &str) -> PathBuf {
    let mut path = source.parent().unwrap().to_owned();
    for part in Path::new(named).components() {
        match part {
            Component::ParentDir if path.pop() => {}
            part => path.push(part),
        }
    }
    path
}

#[test]
fn each_crate_has_every_file_that_its_sources_include() {
    let (mut count, mut missing) = (0, Vec::new());
    for (name, dir) in CRATES {
        let (dir, listed) = (root().join(dir), packaged(name));
        let sources = below(&dir.join("src"));
        for path in sources.iter().filter(|path| path.extension().is_some_and(|kind| kind == "rs")) {
            let source = path.strip_prefix(&dir).unwrap();
            assert!(listed.contains(source.to_str().unwrap()), "{name} has no {}", source.display());
            let text = std::fs::read_to_string(path).unwrap();
            let calls = ["include_str!(\"", "include_bytes!(\""].map(|call| text.split(call).skip(1));
            for named in calls.into_iter().flatten().map(|rest| rest.split('"').next().unwrap()) {
                count += 1;
                let file = resolved(source, named);
                if !listed.contains(file.to_str().unwrap()) {
                    missing.push(format!("{name}: {} includes {named}", source.display()));
                }
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(count > 20, "{count}");
}

#[test]
fn each_crate_has_its_license_and_a_readme_and_nothing_that_only_the_repository_needs() {
    for (name, dir) in CRATES {
        let (dir, listed) = (root().join(dir), packaged(name));
        for path in ["Cargo.lock", "LICENSE", "README.md"] {
            assert!(listed.contains(path), "{path} is not in {name}");
        }
        let known = ["src/", "docs/", "hooks/settings.example.json", "skills/"];
        let odd = listed
            .iter()
            .filter(|path| path.contains('/') && !known.iter().any(|known| path.starts_with(known)));
        assert_eq!(odd.collect::<Vec<_>>(), [""; 0], "{name}");
        let size: u64 =
            listed.iter().filter_map(|path| dir.join(path).metadata().ok()).map(|file| file.len()).sum();
        assert!(size < 4 << 20, "{name}: {size} bytes");
    }
}

#[test]
fn each_crate_has_the_fields_that_a_registry_shows() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version=1", "--locked", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert_eq!(packages.len(), CRATES.len());
    for package in packages {
        for field in ["description", "license", "repository", "readme"] {
            assert!(package[field].is_string(), "{} has no {field}", package["name"]);
        }
        for field in ["keywords", "categories"] {
            let count = package[field].as_array().unwrap().len();
            assert!((1..=5).contains(&count), "{}: {count} {field}", package["name"]);
        }
    }
}
