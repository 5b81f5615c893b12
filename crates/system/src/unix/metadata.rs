//! The owner and mode of a file that is replaced.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

use rustix::fs::{flistxattr, fremovexattr};
use rustix::io::Errno;

/// The access control list of a file. With a list, the group bits of the mode are its mask; a mode without its list
/// would grant access to others.
const ACCESS: &str = "system.posix_acl_access";
/// The kernel's limit for all names, in bytes.
const MAX_XATTR_BYTES: usize = 64 * 1024;

/// Gives `new` the owner and mode of `old`. Returns `false` if `new` must not replace it: it cannot have that owner, or `old`
/// has hard links, an access control list or attributes of the user. The new file never grants more access than the old one.
pub fn copy(old: &File, new: &File) -> io::Result<bool> {
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
    match fremovexattr(new, ACCESS) {
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
    names.any(|name| name == ACCESS.as_bytes() || name.starts_with(b"user."))
}
