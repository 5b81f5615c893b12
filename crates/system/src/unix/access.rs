//! Who can access a file.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Access, access};
use rustix::process::geteuid;

use super::files::open;
use crate::fs::kinds::OpenMode;

/// Everyone can read a file, and only its owner can change it.
const PUBLIC_FILE: u32 = 0o644;
/// Everyone can use a directory, and only its owner can change it.
const PUBLIC_DIR: u32 = 0o755;
const STICKY: u32 = 0o1000;

/// The number of this user.
pub fn user_id() -> u32 {
    geteuid().as_raw()
}

/// Whether this process can change what applies to every user.
pub fn is_administrator() -> bool {
    geteuid().is_root()
}

/// The number of the owner, if that is another user.
pub fn other_owner(metadata: &Metadata) -> Option<u32> {
    (metadata.uid() != user_id()).then(|| metadata.uid())
}

/// The mode, if other users have any access.
pub fn open_mode(metadata: &Metadata) -> Option<u32> {
    let mode = metadata.mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

/// Whether other users can write with this mode.
pub fn is_writable(mode: u32) -> bool {
    mode & 0o022 != 0
}

/// How others can write to a file, if they can.
pub fn written_by_others(metadata: &Metadata) -> Option<String> {
    let (mode, owner) = (metadata.mode() & 0o777, metadata.uid());
    (is_writable(mode) || owner != user_id()).then(|| format!("mode {mode:o}, owner {owner}"))
}

/// Whether this user can execute a file.
pub fn can_execute(path: &Path) -> bool {
    access(path, Access::EXEC_OK).is_ok()
}

/// Checks that this user can write to a file.
pub fn check_writable(path: &Path) -> io::Result<()> {
    Ok(access(path, Access::WRITE_OK)?)
}

/// Checks that this user can list, enter and change a directory.
pub fn check_usable(dir: &Path) -> io::Result<()> {
    Ok(access(dir, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK)?)
}

/// Makes a file private.
pub fn make_private(path: &Path) -> io::Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(0o600))
}

/// Removes the permissions of others from a file or directory of this user. Links and files of others are left unchanged.
pub fn restrict(path: &Path) -> io::Result<()> {
    let file = open(path, OpenMode::Read)?;
    let metadata = file.metadata()?;
    if other_owner(&metadata).is_some() {
        return Err(io::Error::other("it belongs to another user"));
    }
    file.set_permissions(Permissions::from_mode(metadata.mode() & 0o700))
}

/// Lets everyone read a file, whatever the umask is.
pub fn make_public(file: &File) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(PUBLIC_FILE))
}

/// Lets everyone use a directory, whatever the umask is.
pub fn make_public_dir(dir: &Path) -> io::Result<()> {
    std::fs::set_permissions(dir, Permissions::from_mode(PUBLIC_DIR))
}

/// Why others than root can change a file or a directory.
pub fn exposure(metadata: &Metadata) -> Option<String> {
    let (mode, uid, gid) = (metadata.mode(), metadata.uid(), metadata.gid());
    if uid != 0 {
        return Some(format!("belongs to user {uid}"));
    }
    // In such a directory, users can only replace their own files.
    let is_sticky = metadata.is_dir() && mode & STICKY != 0;
    if mode & 0o002 != 0 && !is_sticky {
        return Some(format!("is writable by everyone (mode {:o})", mode & 0o7777));
    }
    (mode & 0o020 != 0 && gid != 0 && !is_sticky).then(|| format!("is writable by group {gid}"))
}

/// The mode, if not everyone can read a file, or run a program and enter a directory.
pub fn closed_mode(metadata: &Metadata, is_to_read: bool) -> Option<u32> {
    let needed = if is_to_read { 0o004 } else { 0o001 };
    let mode = metadata.mode();
    (mode & needed == 0).then_some(mode & 0o7777)
}
