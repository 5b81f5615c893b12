//! The owner, mode and extended attributes of a file that is replaced.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;

/// The access control list of a file. With a list, the group bits of the mode are its mask; a mode without its list
/// would grant access to others.
const ACCESS: &str = "system.posix_acl_access";
/// The kernel's limit for all names, and for one value, in bytes.
const MAX_XATTR_BYTES: usize = 64 * 1024;

/// Gives `new` the owner, mode and attributes of `old`. Returns `false` if it cannot have all of them, or if `old` has
/// hard links: then it must not replace it. The new file never grants more access than the old one.
pub(super) fn copy_metadata(old: &File, new: &File) -> io::Result<bool> {
    let then = old.metadata()?;
    if then.nlink() > 1 {
        return Ok(false);
    }
    // Only a privileged user can change the owner, or set a group of others.
    let _ = fchown(new, Some(then.uid()), Some(then.gid()));
    let now = new.metadata()?;
    if (now.uid(), now.gid()) != (then.uid(), then.gid()) {
        return Ok(false);
    }
    let Ok(names) = xattr_names(old) else { return Ok(false) };
    // The directory may have given it a default list.
    match fremovexattr(new, ACCESS) {
        Ok(()) | Err(Errno::NODATA | Errno::NOTSUP) => {}
        Err(_) => return Ok(false),
    }
    new.set_permissions(Permissions::from_mode(then.mode() & 0o7700))?;
    for name in names {
        let Ok(value) = xattr(old, &name) else { return Ok(false) };
        // Some attributes only the system can set.
        let has_value = xattr(new, &name).is_ok_and(|now| now == value);
        if !has_value && fsetxattr(new, name.as_slice(), &value, XattrFlags::empty()).is_err() {
            return Ok(false);
        }
    }
    // With a list, this is its mask.
    new.set_permissions(Permissions::from_mode(then.mode() & 0o7777))?;
    Ok(new.metadata()?.mode() & 0o7777 == then.mode() & 0o7777)
}

fn xattr_names(file: &File) -> rustix::io::Result<Vec<Vec<u8>>> {
    let mut names = vec![0; MAX_XATTR_BYTES];
    let length = match flistxattr(file, names.as_mut_slice()) {
        Err(Errno::NOTSUP) => 0,
        length => length?,
    };
    names.truncate(length);
    Ok(names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect())
}

fn xattr(file: &File, name: &[u8]) -> rustix::io::Result<Vec<u8>> {
    let mut value = vec![0; MAX_XATTR_BYTES];
    let length = fgetxattr(file, name, value.as_mut_slice())?;
    value.truncate(length);
    Ok(value)
}

#[cfg(test)]
mod tests {
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
    fn access_control_list_is_copied_with_its_mode() {
        let (_dir, old, new) = pair();
        let listed = set(&old, ACCESS, &list());
        assert!(copy_metadata(&old, &new).unwrap());
        assert_eq!(xattr(&new, ACCESS.as_bytes()).ok(), listed.then(list));
        let mode = |file: &File| file.metadata().unwrap().mode() & 0o7777;
        assert_eq!((mode(&new), mode(&old)), if listed { (0o660, 0o660) } else { (0o600, 0o600) });
    }

    #[test]
    fn default_list_of_the_directory_grants_no_access() {
        let (_dir, old, new) = pair();
        set(&new, ACCESS, &list());
        assert!(copy_metadata(&old, &new).unwrap());
        assert!(xattr(&new, ACCESS.as_bytes()).is_err());
        assert_eq!(new.metadata().unwrap().mode() & 0o7777, 0o600);
    }

    #[test]
    fn attributes_are_copied_unless_there_is_a_hard_link() {
        let (dir, old, new) = pair();
        let kept = set(&old, "user.note", b"mine");
        assert!(copy_metadata(&old, &new).unwrap());
        assert_eq!(xattr(&new, b"user.note").ok(), kept.then(|| b"mine".to_vec()));
        std::fs::hard_link(dir.path().join("old"), dir.path().join("other")).unwrap();
        assert!(!copy_metadata(&old, &new).unwrap());
    }
}
