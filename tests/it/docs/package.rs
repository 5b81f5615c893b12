//! What the crate has in it when it is published.

use std::path::Path;
use std::process::Command;

#[test]
fn the_crate_has_what_a_build_needs_and_nothing_that_only_the_repository_needs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(env!("CARGO"))
        .args(["package", "--list", "--allow-dirty", "--locked", "--offline"])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout).unwrap();
    let has = |path: &str| listed.lines().any(|line| line == path);
    for path in
        ["Cargo.lock", "LICENSE", "README.md", "CHANGELOG.md", "hooks/settings.example.json", "src/main.rs"]
    {
        assert!(has(path), "{path} is not in the crate");
    }
    let known = ["src/", "docs/", "hooks/settings.example.json"];
    let odd = listed
        .lines()
        .filter(|line| line.contains('/') && !known.iter().any(|known| line.starts_with(known)));
    assert_eq!(odd.collect::<Vec<_>>(), [""; 0]);
    let size: u64 =
        listed.lines().filter_map(|path| root.join(path).metadata().ok()).map(|file| file.len()).sum();
    assert!(size < 4 << 20, "{size} bytes");
}
