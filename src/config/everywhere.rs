//! The rules that can apply in some session of this user: the user's own and those of every trusted project.

use super::layers::{self, Files};
use super::trust::Trust;
use super::{Code, Rule};

/// The rules of all sessions.
#[derive(Debug, Clone, Default)]
pub struct Everywhere {
    /// The user's, then those of the projects; a rule may be there more than once.
    pub rules: Vec<Rule>,
    /// Whether a file could not be used, so that rules may be missing.
    pub is_partial: bool,
}

/// Reads the user's file, and each project's file that is trusted with its current content.
pub fn everywhere(files: &Files) -> Everywhere {
    let user = layers::load(&Files { project: None, ..files.clone() });
    let mut all = Everywhere { is_partial: user.is_broken(), rules: user.config.rule };
    let trust = Trust::load(&files.trust);
    all.is_partial |= trust.is_err();
    for (file, _) in trust.iter().flat_map(Trust::files) {
        let effective = layers::load(&Files { project: Some(file.to_path_buf()), ..files.clone() });
        all.is_partial |= effective.problems.iter().any(|problem| problem.code == Code::Unreadable);
        // This adds the user's rules again. They need the same hooks, so that does no harm.
        all.rules.extend(effective.config.rule);
    }
    all
}
