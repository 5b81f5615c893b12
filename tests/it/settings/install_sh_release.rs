//! `install.sh` with a binary beside it, as a release has one.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use insta::assert_snapshot;

use super::install_sh_sandbox::Clone;
use crate::support::install_home::MINE;
use crate::support::programs::{copy_programs, write_program};

#[test]
fn binary_next_to_the_script_is_installed_without_a_build() {
    let clone = Clone::new();
    std::fs::remove_file(clone.at("bin/cargo")).unwrap();
    copy_programs(&clone.at("clone"));
    let result = clone.ok(&[]);
    assert!(result.starts_with("using ~/clone/teamkeep\ninstalled teamkeep"), "{result}");
    clone.ok(&["--uninstall"]);
    assert!(!clone.at(".local/bin").exists() && clone.at("clone/teamkeep").exists());
    std::fs::rename(clone.at("clone/teamkeep-hook"), clone.at("clone/away")).unwrap();
    assert!(clone.fails(&[]).starts_with("error: this release has no teamkeep-hook\n"));
    std::fs::rename(clone.at("clone/away"), clone.at("clone/teamkeep-hook")).unwrap();
    std::fs::write(clone.at("clone/teamkeep"), "#!/no/such/interpreter\n").unwrap();
    let result = clone.run(&[]);
    assert_eq!(result.code, Some(1));
    assert!(result.err.contains("~/clone/teamkeep does not run on this machine\nhint: "), "{}", result.err);
}

#[test]
fn binary_with_a_wrong_checksum_is_rejected() {
    let clone = Clone::new();
    copy_programs(&clone.at("clone"));
    let sum = Command::new("sha256sum").arg("teamkeep").current_dir(clone.at("clone")).output().unwrap();
    std::fs::write(clone.at("clone/teamkeep.sha256"), &sum.stdout).unwrap();
    assert!(clone.ok(&[]).starts_with("using ~/clone/teamkeep\n"));
    clone.ok(&["--uninstall"]);
    for wrong in ["", "\n", &"0".repeat(64)] {
        std::fs::write(clone.at("clone/teamkeep.sha256"), wrong).unwrap();
        assert_eq!(
            clone.fails(&[]),
            "error: checksum mismatch: ~/clone/teamkeep does not match teamkeep.sha256\n\
             hint: download the release again\n"
        );
        assert!(!clone.at(".local/bin").exists());
        assert_eq!(clone.home.read(), MINE);
    }
}

#[test]
fn binary_for_another_machine_is_rejected_and_not_run() {
    let clone = Clone::new();
    // What a shell that takes it for a script would run.
    let mut program = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xf3\0\ntouch ran\n".to_vec();
    copy_programs(&clone.at("clone"));
    std::fs::remove_file(clone.at("clone/teamkeep")).unwrap();
    std::fs::write(clone.at("clone/teamkeep"), &program).unwrap();
    assert_snapshot!(clone.fails(&[]), @"
    error: ~/clone/teamkeep cannot be executed
    hint: to fix it: chmod +x ~/clone/teamkeep
    ");
    std::fs::set_permissions(clone.at("clone/teamkeep"), Permissions::from_mode(0o755)).unwrap();
    let here = std::env::consts::ARCH;
    let other = if here == "x86_64" { ("aarch64", 0xb7) } else { ("x86_64", 0x3e) };
    for (of, number) in [("another architecture", 0xf3), other] {
        program[18] = number;
        std::fs::write(clone.at("clone/teamkeep"), &program).unwrap();
        let refused = format!(
            "error: ~/clone/teamkeep is for {of}, but this machine is {here}\nhint: download the release for this \
             machine, or build teamkeep from source\n"
        );
        assert_eq!(clone.fails(&[]), refused);
    }
    assert!(!clone.at("ran").exists() && !clone.at(".local/bin").exists());
}

#[test]
fn a_release_without_teamkeep_ship_cannot_install_it() {
    let clone = Clone::new();
    copy_programs(&clone.at("clone"));
    assert_eq!(
        clone.fails(&["--with-ship"]),
        "using ~/clone/teamkeep\nerror: this release has no teamkeep-ship\nhint: build teamkeep from source\n"
    );
    assert!(!clone.at(".local/bin").exists());
    let ship = clone.at("clone/teamkeep-ship");
    write_program(&ship, "#!/bin/sh\n");
    assert!(clone.ok(&["--with-ship"]).contains("\ninstalled ~/.local/bin/teamkeep-ship\n"));
    std::fs::write(clone.at("clone/teamkeep-ship.sha256"), "0").unwrap();
    assert!(clone.fails(&["--with-ship"]).contains("teamkeep-ship does not match teamkeep-ship.sha256\n"));
}
