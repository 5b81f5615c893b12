//! The man pages and completions that `install.sh` puts in place.

use std::os::unix::fs::symlink;
use std::path::Path;

use insta::assert_snapshot;

use super::install_sh_sandbox::{Clone, ROOT};
use crate::support::install_home::result;
use crate::support::programs::write_program;

/// Puts the man pages and completions into the clone.
fn with_pages(clone: &Clone) {
    for dir in ["docs/man", "docs/completions"] {
        std::fs::create_dir_all(clone.at("clone").join(dir)).unwrap();
        for page in Path::new(ROOT).join(dir).read_dir().unwrap().flatten() {
            std::fs::copy(page.path(), clone.at("clone").join(dir).join(page.file_name())).unwrap();
        }
    }
}

#[test]
fn man_pages_and_completions_are_installed_and_removed() {
    let clone = Clone::new();
    with_pages(&clone);
    std::fs::create_dir_all(clone.at(".local/share/man/man1")).unwrap();
    std::fs::write(clone.at(".local/share/man/man1/other.1"), "mine").unwrap();
    assert!(clone.ok(&[]).contains("man pages and completions: ~/.local/share\n"));
    let places = [
        "share/man/man1/teamkeep.1",
        "share/man/man1/teamkeep-config-check.1",
        "share/bash-completion/completions/teamkeep",
        "share/zsh/site-functions/_teamkeep",
        "share/fish/vendor_completions.d/teamkeep.fish",
    ];
    for place in places {
        assert!(clone.at(".local").join(place).is_file(), "{place}");
    }
    // A page of a version that had another command.
    let gone = ".TH teamkeep-gone 1  teamkeep \n";
    std::fs::write(clone.at(".local/share/man/man1/teamkeep-gone.1"), gone).unwrap();
    clone.ok(&["--uninstall"]);
    for place in places.iter().chain(&["share/man/man1/teamkeep-gone.1", "share/zsh"]) {
        assert!(!clone.at(".local").join(place).exists(), "{place}");
    }
    assert_eq!(std::fs::read_to_string(clone.at(".local/share/man/man1/other.1")).unwrap(), "mine");
}

#[test]
fn install_sh_prints_the_zsh_completions_path_if_zsh_does_not_search_it() {
    let clone = Clone::new();
    with_pages(&clone);
    let zsh = Path::new(ROOT).join("tests/fixtures/zsh");
    symlink(zsh, clone.at("bin/zsh")).unwrap();
    let installed = |shell: &str, fpath: &str| {
        let mut command = clone.command("clone/install.sh", &["--no-hooks"]);
        let result = result(&clone.dir, command.env("SHELL", clone.at(shell)).env("FIXTURE_FPATH", fpath));
        assert_eq!(result.code, Some(0), "{}", result.err);
        let told = result.err.lines().filter(|line| line.contains("zsh")).map(str::to_owned);
        told.collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(installed("bin/zsh", "/usr/share/zsh/functions"), @"for completions in zsh, add to ~/.zshrc before compinit: fpath=(~/.local/share/zsh/site-functions $fpath)");
    assert_eq!(installed("bin/bash", ""), "");
    let place = clone.at(".local/share/zsh/site-functions");
    assert_eq!(installed("bin/zsh", &format!("/usr/share/zsh/functions {}", place.display())), "");
    std::fs::write(clone.at(".zshrc"), "fpath=(~/.local/share/zsh/site-functions $fpath)\n").unwrap();
    assert_eq!(installed("bin/zsh", ""), "");
}

#[test]
fn other_man_pages_are_unchanged() {
    let clone = Clone::new();
    with_pages(&clone);
    let own =
        ["share/man/man1/teamkeep-extras.1", "share/bash-completion/completions/teamkeep", "dot/precious"];
    for place in own {
        let place = clone.at(".local").join(place);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, "complete -W mine teamkeep").unwrap();
    }
    std::fs::create_dir_all(clone.at(".local/share/zsh/site-functions")).unwrap();
    let link = clone.at(".local/share/zsh/site-functions/_teamkeep");
    std::os::unix::fs::symlink(clone.at(".local/dot/precious"), &link).unwrap();
    let result = clone.ok(&[]);
    for place in ["bash-completion/completions/teamkeep", "zsh/site-functions/_teamkeep"] {
        assert!(result.contains(&format!("/share/{place} is not teamkeep's; left unchanged\n")), "{result}");
    }
    clone.ok(&["--uninstall"]);
    for place in own {
        let kept = std::fs::read_to_string(clone.at(".local").join(place)).unwrap();
        assert_eq!(kept, "complete -W mine teamkeep", "{place}");
    }
    assert!(link.is_symlink());
}

#[test]
fn install_sh_runs_nothing_from_the_current_directory_and_follows_no_link() {
    let clone = Clone::new();
    with_pages(&clone);
    std::fs::write(clone.at("victim"), "mine").unwrap();
    let man = clone.at(".local/share/man/man1");
    std::fs::create_dir_all(&man).unwrap();
    std::os::unix::fs::symlink(clone.at("victim"), man.join("teamkeep-install.1.new")).unwrap();
    std::fs::create_dir(clone.at("here")).unwrap();
    for tool in ["cat", "sed", "dirname", "cp", "mv"] {
        let trap = clone.at("here").join(tool);
        write_program(&trap, format!("#!/bin/sh\n: >{}/ran\n", clone.at("").display()));
    }
    let mut command = clone.command("clone/install.sh", &[]);
    let search = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, value)| value);
    let search = search.map_or_else(|| "/usr/bin:/bin".into(), |value| value.to_string_lossy().into_owned());
    let result = command.env("PATH", format!(".:{search}:")).current_dir(clone.at("here")).output().unwrap();
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    assert!(!clone.at("ran").exists());
    assert_eq!(std::fs::read_to_string(clone.at("victim")).unwrap(), "mine");
}
