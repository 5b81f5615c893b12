//! Writes a run's files into a directory, never over another file and never through a link.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::dir_handle::DirHandle;
use super::files::FilePlan;
use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::fs;

/// Writes the plan, and returns what could not be read from the archive. A missing directory is created.
///
/// # Errors
/// The directory is a link, or is not empty without `force`; a file already exists; writing fails. Written files are
/// then removed.
pub fn write(archive: &Archive, plan: &FilePlan, directory: &Path, force: bool) -> Result<Vec<String>> {
    let mut tree = Tree::open(directory)?;
    let written = tree.check(plan, force).and_then(|()| tree.write_files(archive, plan));
    if written.is_err() {
        tree.remove_created();
    }
    written
}

/// The directory and its created files.
struct Tree {
    root: DirHandle,
    /// The directory itself, if it was created.
    created_root: Option<PathBuf>,
    /// Directories and files in the order of creation.
    created: Vec<(String, bool)>,
}

impl Tree {
    fn open(directory: &Path) -> Result<Tree> {
        let made_root = match directory.symlink_metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                fs::private_dir(directory)?;
                Some(directory.to_path_buf())
            }
            _ => None,
        };
        Ok(Tree { root: DirHandle::open(directory)?, created_root: made_root, created: Vec::new() })
    }

    /// Checks that nothing is in the way.
    fn check(&self, plan: &FilePlan, force: bool) -> Result<()> {
        let what = || format!("cannot restore to {}", self.root.path.display());
        if !force && !self.root.names()?.is_empty() {
            return Err(Error::caused(what(), "it is not empty")
                .hint("choose another directory; --force adds to this one and overwrites nothing"));
        }
        let places: BTreeSet<&str> = plan.files.iter().map(|file| file.path.as_str()).collect();
        for place in places {
            if self.is_taken(place)? {
                return Err(Error::caused(what(), format!("{place} already exists"))
                    .hint("nothing was written; choose another directory"));
            }
        }
        Ok(())
    }

    fn is_taken(&self, place: &str) -> Result<bool> {
        let (dirs, name) = place.rsplit_once('/').unwrap_or(("", place));
        let mut folder: Option<DirHandle> = None;
        for dir in dirs.split('/').filter(|dir| !dir.is_empty()) {
            match folder.as_ref().unwrap_or(&self.root).open_dir(dir)? {
                Some(child) => folder = Some(child),
                None => return Ok(false),
            }
        }
        Ok(folder.as_ref().unwrap_or(&self.root).metadata(name)?.is_some())
    }

    fn write_files(&mut self, archive: &Archive, plan: &FilePlan) -> Result<Vec<String>> {
        let mut lost = Vec::new();
        for file in &plan.files {
            if let Some(text) = &file.text {
                self.write_file(&file.path, text.as_bytes())?;
                continue;
            }
            match archive.objects.get(&file.object) {
                Ok(bytes) => self.write_file(&file.path, &bytes)?,
                Err(error) => lost.push(format!("{} is skipped: {error}", file.path)),
            }
        }
        Ok(lost)
    }

    fn write_file(&mut self, place: &str, bytes: &[u8]) -> Result<()> {
        let (dirs, name) = place.rsplit_once('/').unwrap_or(("", place));
        let (mut folder, mut way): (Option<DirHandle>, String) = (None, String::new());
        for dir in dirs.split('/').filter(|dir| !dir.is_empty()) {
            way = if way.is_empty() { dir.to_owned() } else { format!("{way}/{dir}") };
            let (child, made) = folder.as_ref().unwrap_or(&self.root).open_or_create_dir(dir)?;
            if made {
                self.created.push((way.clone(), true));
            }
            folder = Some(child);
        }
        folder.as_ref().unwrap_or(&self.root).create(name, bytes)?;
        self.created.push((place.to_owned(), false));
        Ok(())
    }

    /// Removes the created files, last first. Files of others stay.
    fn remove_created(&self) {
        for (place, is_dir) in self.created.iter().rev() {
            let path = self.root.path.join(place);
            let _ = if *is_dir { std::fs::remove_dir(path) } else { std::fs::remove_file(path) };
        }
        if let Some(root) = &self.created_root {
            let _ = std::fs::remove_dir(root);
        }
    }
}
