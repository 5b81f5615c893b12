//! The files of a release: archives, and the packages that are made from them. Stubs replace the compiler.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::support::programs::write_program;

pub(super) const ROOT: &str = env!("CARGO_MANIFEST_DIR");
pub(super) const TARGETS: [&str; 2] = ["aarch64-unknown-linux-musl", "x86_64-unknown-linux-musl"];
const WINDOWS: &str = "x86_64-pc-windows-gnu";

/// Writes programs that print their name and their target, and notes the compiler for them. The tools that it would install are
/// there.
const CARGO: &str = r#"#!/bin/sh
case $1 in
    install) exit ;;
    metadata) exec "$CARGO" "$@" ;;
esac
programs="teamkeep teamkeep-hook"
while [ $# -gt 0 ]; do
    case $1 in --target) target=$2 ;; teamkeep-ship) programs="$programs $1" ;; esac
    shift
done
mkdir -p "target/$target/release"
case $target in *-windows-*) suffix=.exe ;; esac
for program in $programs; do
    program=$program${suffix:-}
    printf '#!/bin/sh\necho %s %s "$@"\n' "$program" "$target" >"target/$target/release/$program"
    chmod +x "target/$target/release/$program"
done
eval "compiler=\$CC_$(echo "$target" | tr - _)"
echo "$target $compiler" >>../built
"#;
/// Instead of cargo-deb and cargo-generate-rpm: writes the arguments into a file that is named after them.
const PACKAGER: &str = r#"#!/bin/sh
line="$*" kind=${0##*-}
while [ $# -gt 0 ]; do
    case $1 in --target) target=$2 ;; --package) package=$2 ;; --output) out=$2 ;; esac
    shift
done
echo "$line" >"${out}teamkeep-$package-$target.$kind"
"#;
const RUSTC: &str = "#!/bin/sh\ncase $1 in -vV) echo 'host: here' ;; *) echo \"$SYSROOT\" ;; esac\n";

/// A release in a scratch repository.
pub(super) struct Release {
    dir: TempDir,
    version: &'static str,
}

impl Release {
    pub(super) fn new() -> Release {
        let release = Release { dir: tempfile::tempdir().unwrap(), version: env!("CARGO_PKG_VERSION") };
        for path in ["bin", "clone"] {
            std::fs::create_dir(release.at(path)).unwrap();
        }
        let programs = [
            ("cargo", CARGO),
            ("rustc", RUSTC),
            ("readelf", "#!/bin/sh\n"),
            ("aarch64-linux-gnu-gcc", "#!/bin/sh\n"),
            ("x86_64-w64-mingw32-gcc", "#!/bin/sh\n"),
        ];
        for (name, text) in programs {
            write_program(&release.at("bin").join(name), text);
        }
        for target in TARGETS.iter().chain(&[WINDOWS]) {
            std::fs::create_dir_all(release.at("sysroot/lib/rustlib").join(target)).unwrap();
        }
        let copied = format!(
            "cp -r --parents .gitignore .cargo scripts packaging docs/man docs/completions Cargo.toml install.sh install.ps1 README.md LICENSE {0} \
             && cd {0} && printf '## {1} - 2026-01-02\\n' >CHANGELOG.md && git init -q && git add . \
             && git -c user.name=a -c user.email=a@example.com commit -qm a",
            release.at("clone").display(),
            release.version
        );
        release.shell(Path::new(ROOT), &copied);
        let tools = release.at("clone/target/tools/bin");
        std::fs::create_dir_all(&tools).unwrap();
        for name in ["cargo-deb", "cargo-generate-rpm"] {
            write_program(&tools.join(name), PACKAGER);
        }
        release
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// Runs a line of the shell and returns its output.
    fn shell(&self, dir: &Path, line: &str) -> String {
        let search = format!("{}:/usr/bin:/bin", self.at("bin").display());
        let output = Command::new("/bin/sh")
            .args(["-ec", line])
            .current_dir(dir)
            .env_clear()
            .env("HOME", self.dir.path())
            .env("PATH", search)
            .env("SYSROOT", self.at("sysroot"))
            .env("CARGO", env!("CARGO"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub(super) fn run(&self, line: &str) -> String {
        self.shell(&self.at("clone"), line)
    }

    pub(super) fn made(&self, name: &str) -> PathBuf {
        self.at("clone/target/release-files").join(name)
    }
}

/// A value of the manifest, with the variables of `cargo binstall` replaced.
fn binstall(key: &str, target: &str, bin: &str) -> String {
    let manifest = std::fs::read_to_string(Path::new(ROOT).join("Cargo.toml")).unwrap();
    let start = format!("{key} = \"");
    let template = manifest.lines().find_map(|line| line.strip_prefix(&start)?.strip_suffix('"')).unwrap();
    let values = [
        ("{ repo }", "https://example.com/r"),
        ("{ name }", "teamkeep"),
        ("{ version }", env!("CARGO_PKG_VERSION")),
        ("{ target }", target),
        ("{ bin }", bin),
    ];
    values.iter().fold(template.to_owned(), |text, (variable, value)| text.replace(variable, value))
}

#[test]
fn packages_are_made_from_the_archives_of_a_release() {
    let release = Release::new();
    release.run("scripts/release.sh && scripts/packages.sh");
    release.run("cd target/release-files && sha256sum --check --quiet SHA256SUMS");
    let sums = std::fs::read_to_string(release.made("SHA256SUMS")).unwrap();
    let formula = std::fs::read_to_string(release.made("teamkeep.rb")).unwrap();
    assert!(
        !formula.contains('@') && formula.contains(&format!("version \"{}\"", release.version)),
        "{formula}"
    );
    for target in TARGETS {
        // cargo binstall finds the archive, and the programs in it.
        let url = binstall("pkg-url", target, "");
        let name = url.rsplit('/').next().unwrap();
        assert!(url.starts_with(&format!("https://example.com/r/releases/download/v{}/", release.version)));
        let files = release.run(&format!("tar -tzf target/release-files/{name}"));
        let programs = ["teamkeep", "teamkeep-hook", "teamkeep-ship"]
            .map(|program| binstall("bin-dir", target, program));
        let others =
            ["container/Containerfile", "launchd/teamkeep.ship.plist", "systemd/teamkeep-ship.timer"]
                .map(|file| binstall("bin-dir", target, &format!("packaging/{file}")));
        for path in programs.iter().chain(&others) {
            assert!(files.lines().any(|file| file == path), "{name} has no {path}");
        }
        let system = ["teamkeep", "teamkeep-ship"].map(|package| format!("teamkeep-{package}-{target}.deb"));
        assert!(system.iter().all(|name| sums.contains(name)), "{sums}");
        // The formula names the archive with its checksum.
        let sum = sums.lines().find(|line| line.ends_with(name)).unwrap().split(' ').next().unwrap();
        assert!(formula.contains(&format!("{name}\"\n    sha256 \"{sum}\"")), "{formula}");
    }
}

#[test]
fn the_archive_for_windows_has_what_its_script_installs() {
    let release = Release::new();
    release.run("scripts/release.sh");
    let name = format!("teamkeep-{}-{WINDOWS}", release.version);
    let archive = format!("target/release-files/{name}.zip");
    let files = release.run(&format!("python3 -m zipfile -l {archive}"));
    let script = std::fs::read_to_string(Path::new(ROOT).join("install.ps1")).unwrap();
    let programs = script.lines().find_map(|line| line.strip_prefix("$programs = ")).unwrap();
    for file in programs.split(", ").map(|quoted| quoted.trim_matches('\'')).chain(["install.ps1"]) {
        assert!(files.contains(&format!("{name}/{file} ")), "no {file}: {files}");
    }
    release.run(&format!(
        "python3 -m zipfile -e {archive} .. && cd ../{name} && sha256sum --check --quiet *.sha256"
    ));
    let first = std::fs::read(release.made(&format!("{name}.zip"))).unwrap();
    release.run("scripts/release.sh");
    assert!(first == std::fs::read(release.made(&format!("{name}.zip"))).unwrap(), "the same bytes");
}

#[test]
fn npm_package_runs_the_programs_of_the_machine_and_names_its_platforms() {
    let release = Release::new();
    release.run("scripts/release.sh && scripts/packages.sh");
    release.run(&format!("tar -xzf target/release-files/teamkeep-{}-npm.tgz -C ..", release.version));
    let package = std::fs::read_to_string(release.at("package/package.json")).unwrap();
    let package: serde_json::Value = serde_json::from_str(&package).unwrap();
    assert_eq!(package["version"], release.version);
    assert_eq!(package["os"], serde_json::json!(["linux"]));
    assert_eq!(package["cpu"], serde_json::json!(["arm64", "x64"]));
    assert!(package.get("scripts").is_none() && package.get("dependencies").is_none());
    for program in ["teamkeep", "teamkeep-hook"] {
        let path = release.at("package").join(package["bin"][program].as_str().unwrap());
        // As npm installs it.
        symlink(path, release.at("bin").join(program)).unwrap();
        let machine = release.run("uname -m");
        let expected = format!("{program} {}-unknown-linux-musl list --json\n", machine.trim());
        assert_eq!(release.run(&format!("{program} list --json")), expected);
        release.run("printf '#!/bin/sh\\necho riscv64\\n' >../bin/uname && chmod +x ../bin/uname");
        let refused = release.run(&format!("{program} 2>&1 || true"));
        assert!(refused.ends_with("has no program for riscv64 on riscv64\n"), "{refused}");
        std::fs::remove_file(release.at("bin/uname")).unwrap();
    }
}

#[test]
fn packages_of_one_architecture_name_only_that_one() {
    let release = Release::new();
    std::fs::remove_dir(release.at("sysroot/lib/rustlib").join(TARGETS[0])).unwrap();
    release.run("printf '#!/bin/sh\\nexit 1\\n' >../bin/rustup && chmod +x ../bin/rustup");
    release.run("scripts/release.sh && scripts/packages.sh");
    let formula = std::fs::read_to_string(release.made("teamkeep.rb")).unwrap();
    assert!(formula.contains("on_intel do") && !formula.contains("on_arm"), "{formula}");
    let listed = release.run("tar -tzf target/release-files/*-npm.tgz");
    assert!(listed.contains("native/x86_64/teamkeep-hook") && !listed.contains("aarch64"), "{listed}");
}

#[test]
fn packages_without_archives_of_this_version_are_not_made() {
    let release = Release::new();
    release.run("mkdir -p target/release-files && touch target/release-files/teamkeep-0.0.0-x86_64-unknown-linux-musl.tar.gz");
    let refused = release.run("scripts/packages.sh 2>&1 || true");
    assert!(refused.contains("has no archives of"), "{refused}");
    assert!(!release.made("teamkeep.rb").exists());
}
