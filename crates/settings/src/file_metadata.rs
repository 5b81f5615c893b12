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
pub(super) fn copy_metadata(old: &File, new: &File) -> io::Result<bool> {
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

#[cfg(test)]
mod tests {
    use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};

    use super::*;

    /// A list in the kernel's format: `user::rw-, user:1:rw-, group::---, mask::rw-, other::---`.
    fn list() -> Vec<u8> {
        let mut bytes = 2_u32.to_le_bytes().to_vec();
        let nobody = u32::MAX;
        for (tag, may, id) in
            [(1_u16, 6_u16, nobody), (2, 6, 1), (4, 0, nobody), (0x10, 6, nobody), (0x20, 0, nobody)]
        {
            bytes.extend(tag.to_le_bytes());
            bytes.extend(may.to_le_bytes());
            bytes.extend(id.to_le_bytes());
        }
        bytes
    }

    fn pair() -> (tempfile::TempDir, File, File) {
        let dir = tempfile::tempdir().unwrap();
        let [old, new] = ["old", "new"].map(|name| File::create_new(dir.path().join(name)).unwrap());
        for file in [&old, &new] {
            file.set_permissions(Permissions::from_mode(0o600)).unwrap();
        }
        (dir, old, new)
    }

    fn set(file: &File, name: &str, value: &[u8]) -> bool {
        match fsetxattr(file, name, value, XattrFlags::empty()) {
            // Not every file system supports them.
            Err(Errno::NOTSUP) => false,
            other => other.map(|()| true).unwrap(),
        }
    }

    #[test]
    fn default_list_of_the_directory_grants_no_access() {
        let (_dir, old, new) = pair();
        set(&new, ACCESS, &list());
        assert!(copy_metadata(&old, &new).unwrap());
        assert!(fgetxattr(&new, ACCESS, &mut [0; 512][..]).is_err());
        assert_eq!(new.metadata().unwrap().mode() & 0o7777, 0o600);
    }

    #[test]
    fn a_file_with_a_list_attributes_or_hard_links_is_not_replaced() {
        for (name, value) in [(ACCESS, list()), ("user.note", b"mine".to_vec())] {
            let (_dir, old, new) = pair();
            let is_set = set(&old, name, &value);
            assert_eq!(copy_metadata(&old, &new).unwrap(), !is_set, "{name}");
        }
        let (dir, old, new) = pair();
        std::fs::hard_link(dir.path().join("old"), dir.path().join("other")).unwrap();
        assert!(!copy_metadata(&old, &new).unwrap());
    }
}
