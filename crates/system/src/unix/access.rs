//! Who can access a file, and the owner and mode of one that is replaced.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

use rustix::fs::{Access, access, flistxattr, fremovexattr};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::files::open;
use crate::fs::kinds::OpenMode;

/// Whether this module can tell which other users have access.
pub const FINDS_OTHERS: bool = true;

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

/// The access control list of a file. With a list, the group bits of the mode are its mask; a mode without its list
/// would grant access to others.
const ACCESS_LIST: &str = "system.posix_acl_access";
/// The kernel's limit for all names, in bytes.
const MAX_XATTR_BYTES: usize = 64 * 1024;

/// Gives `new` the owner and mode of `old`. Returns `false` if `new` must not replace it: it cannot have that owner, or `old`
/// has hard links, an access control list or attributes of the user. The new file never grants more access than the old one.
pub fn copy_access(old: &File, new: &File) -> io::Result<bool> {
    let then = old.metadata()?;
    if then.nlink() > 1 || has_attributes(old) {
        return Ok(false);
    }
    // Only a privileged user can change the owner, or set a group of others.
    let _ = fchown(new, Some(then.uid()), Some(then.gid()));
    let now = new.metadata()?;
    if (now.uid(), now.gid()) != (then.uid(), then.gid()) {
        return Ok(false);
    }
    // The directory may have given it a default list.
    match fremovexattr(new, ACCESS_LIST) {
        Ok(()) | Err(Errno::NODATA | Errno::NOTSUP) => {}
        Err(_) => return Ok(false),
    }
    new.set_permissions(Permissions::from_mode(then.mode() & 0o7777))?;
    Ok(new.metadata()?.mode() & 0o7777 == then.mode() & 0o7777)
}

/// Whether it has a list or attributes that somebody set. The system gives others, such as labels, to the new file too.
fn has_attributes(file: &File) -> bool {
    let mut names = vec![0; MAX_XATTR_BYTES];
    let length = match flistxattr(file, names.as_mut_slice()) {
        Err(Errno::NOTSUP) => 0,
        Err(_) => return true,
        Ok(length) => length,
    };
    let mut names = names.get(..length).unwrap_or_default().split(|byte| *byte == 0);
    names.any(|name| name == ACCESS_LIST.as_bytes() || name.starts_with(b"user."))
}
