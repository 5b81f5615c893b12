//! Places with a user's policy file and a project's, and what is wrong with a file.

use std::path::Path;

use teamkeep_config::check::check;
use teamkeep_config::project::Trust;
use teamkeep_config::source::Source;
use teamkeep_config::{Effective, Files, layers};
use tempfile::TempDir;

/// A user's file and a project with one.
pub struct Place {
    pub dir: TempDir,
    pub files: Files,
}

impl Place {
    pub fn new(user: &str, project: &str) -> Place {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        std::fs::create_dir_all(at("project/.claude")).unwrap();
        std::fs::create_dir_all(at("keep")).unwrap();
        let files = Files {
            organization: None,
            user: at("user.toml"),
            project: Some(at("project/.claude/teamkeep.toml")),
            trust: at("keep/trust.json"),
            cache: at("keep/policy/.understood"),
        };
        let place = Place { dir, files };
        if !user.is_empty() {
            std::fs::write(&place.files.user, user).unwrap();
        }
        if !project.is_empty() {
            std::fs::write(place.project(), project).unwrap();
        }
        place
    }

    pub fn project(&self) -> &Path {
        self.files.project.as_deref().unwrap()
    }

    pub fn load(&self) -> Effective {
        layers::load(&self.files)
    }

    pub fn trust(&self) {
        let project = self.load().project.unwrap();
        Trust::change(&self.dir.path().join("keep"), |files| files.insert(project.name, project.hash))
            .unwrap();
    }
}

pub fn codes(effective: &Effective) -> Vec<&'static str> {
    effective.problems.iter().map(|problem| problem.code.name()).collect()
}

/// `line:column code` of each problem of a text.
pub fn found(text: &str) -> Vec<String> {
    let problems = check(&Source::new(Path::new("x.toml"), text)).problems;
    let place = |at: Option<(usize, usize)>| at.map(|(line, column)| format!("{line}:{column}")).unwrap();
    problems.iter().map(|problem| format!("{} {}", place(problem.at), problem.code.name())).collect()
}
