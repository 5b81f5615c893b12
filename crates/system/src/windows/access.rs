//! Who can access a file. The access list of the user's profile keeps others out; the lists of single files are not read.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;

use winapi_util::file::information;

/// Whether this module can tell which other users have access.
pub const FINDS_OTHERS: bool = false;

/// Users have no numbers.
pub fn user_id() -> u32 {
    0
}

/// Whether this process can change what applies to every user. Not known before it tries.
pub fn is_administrator() -> bool {
    true
}

pub fn other_owner(_: &Metadata) -> Option<u32> {
    None
}

pub fn open_mode(_: &Metadata) -> Option<u32> {
    None
}

pub fn is_writable(_: u32) -> bool {
    false
}

pub fn written_by_others(_: &Metadata) -> Option<String> {
    None
}

/// Whether Windows runs a file with this name.
pub fn can_execute(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    matches!(extension.as_deref(), Some("exe" | "com" | "bat" | "cmd"))
}

/// Checks that a file is not marked as read-only.
pub fn check_writable(path: &Path) -> io::Result<()> {
    if path.metadata()?.permissions().readonly() { Err(ErrorKind::PermissionDenied.into()) } else { Ok(()) }
}

/// Checks that this user can list a directory.
pub fn check_usable(dir: &Path) -> io::Result<()> {
    std::fs::read_dir(dir).map(drop)
}

pub fn make_private(_: &Path) -> io::Result<()> {
    Ok(())
}

pub fn restrict(_: &Path) -> io::Result<()> {
    Ok(())
}

pub fn make_public(_: &File) -> io::Result<()> {
    Ok(())
}

pub fn make_public_dir(_: &Path) -> io::Result<()> {
    Ok(())
}

pub fn exposure(_: &Metadata) -> Option<String> {
    None
}

pub fn closed_mode(_: &Metadata, _: bool) -> Option<u32> {
    None
}

/// Returns `false` if `new` must not replace `old`, because that has hard links. A new file gets the access list of its directory.
pub fn copy_access(old: &File, _: &File) -> io::Result<bool> {
    Ok(information(old)?.number_of_links() < 2)
}
