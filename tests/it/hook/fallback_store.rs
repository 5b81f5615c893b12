//! The store of a hook call without a home: a private directory below the temporary one.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::unusable_paths::STOP;
use crate::support::access::assert_mode;
use crate::support::sandbox::{CommandResult, Sandbox, below, feed};

/// A call without any home, with this directory for what is temporary.
fn homeless(sandbox: &Sandbox, tmp: &Path) -> CommandResult {
    let mut command = sandbox.command(&["hook", "stop"]);
    command.env_remove("HOME").env_remove("TEAMKEEP_HOME").env_remove("TEAMKEEP_CONFIG").env("TMPDIR", tmp);
    feed(&mut command, STOP)
}

/// Where a call without any home records.
fn refuge(tmp: &Path) -> PathBuf {
    tmp.join(format!("teamkeep-{}", rustix::process::getuid().as_raw()))
}

#[test]
fn without_a_home_a_private_directory_below_the_temporary_one_is_used() {
    let (sandbox, tmp) = (Sandbox::new(), tempfile::tempdir().unwrap());
    let store = refuge(tmp.path());
    for _ in 0..2 {
        let result = homeless(&sandbox, tmp.path());
        let told = format!("teamkeep: HOME is not set: recording to {}\n", store.display());
        assert_eq!((result.code, result.out.as_str(), result.err), (Some(0), "", told));
    }
    assert_mode(&store, 0o700);
    let logged: Vec<PathBuf> = below(&store.join("sessions"));
    let log = logged.iter().find(|path| path.extension().is_some_and(|kind| kind == "jsonl")).unwrap();
    assert_eq!(std::fs::read_to_string(log).unwrap().lines().count(), 2);
    let noted = below(&store.join("diagnostics"))
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect::<String>();
    assert!(noted.contains(&format!("HOME is not set: recording to {}", store.display())), "{noted}");
}

/// What an attacker made in our place before us is not used.
fn is_refused(make: impl Fn(&Path), why: &str) {
    let (sandbox, tmp) = (Sandbox::new(), tempfile::tempdir().unwrap());
    let store = refuge(tmp.path());
    make(&store);
    let before = below(tmp.path());
    let result = homeless(&sandbox, tmp.path());
    assert_eq!((result.code, result.out.as_str()), (Some(1), ""), "{result:?}");
    let first = result.err.lines().next().unwrap();
    assert!(first.starts_with("teamkeep: ") && first.contains(why), "{}", result.err);
    assert!(result.err.ends_with("; hint: set HOME or TEAMKEEP_HOME\n"), "{}", result.err);
    assert_eq!(result.err.lines().count(), 1);
    assert_eq!(below(tmp.path()), before, "nothing was written there");
    let mut reading = sandbox.command(&["teams"]);
    reading
        .env_remove("HOME")
        .env_remove("TEAMKEEP_HOME")
        .env_remove("TEAMKEEP_CONFIG")
        .env("TMPDIR", tmp.path());
    let result = feed(&mut reading, b"");
    assert!(result.code == Some(1) && result.err.contains(why), "and it is not read: {result:?}");
}

#[test]
fn a_fallback_store_that_is_a_link_is_rejected() {
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::set_permissions(elsewhere.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    is_refused(|path| symlink(elsewhere.path(), path).unwrap(), "is a symlink");
    assert!(below(elsewhere.path()).is_empty());
}

#[test]
fn a_fallback_store_that_others_can_write_is_rejected() {
    let open = |mode: u32| {
        move |path: &Path| {
            std::fs::create_dir(path).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    is_refused(open(0o777), "is open to other users (mode 777)");
    is_refused(open(0o750), "is open to other users (mode 750)");
}

#[test]
fn a_fallback_store_of_another_user_is_rejected() {
    // Only root can give a directory away.
    if !rustix::process::getuid().is_root() {
        return;
    }
    let give = |path: &Path| {
        std::fs::create_dir(path).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).unwrap();
        std::os::unix::fs::chown(path, Some(12_345), None).unwrap();
    };
    is_refused(give, "belongs to another user (12345)");
}

#[test]
fn a_fallback_store_that_is_a_file_is_rejected() {
    is_refused(|path| std::fs::write(path, "").unwrap(), "is not a directory");
}
