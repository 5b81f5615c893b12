//! The parts that `install` and `uninstall` share: the settings file that they change, its install record, and the hooks that
//! the policy in force needs. And the skill that is installed beside them.

use std::path::{Path, PathBuf};

use super::output;
use teamkeep_config::{Code, Problem, misnamed_file};
use teamkeep_model::unicode::escape;
use teamkeep_model::words::FEW;
use teamkeep_settings::document::{check_strict, lenient_data};
use teamkeep_settings::file::SettingsFile;
use teamkeep_settings::hook_command::{HookEntry, calls};
use teamkeep_settings::install_records::{AddedVariables, InstallRecords, Record, hash};
use teamkeep_settings::layer::{SettingsScope, absolute, layers, managed_with_hooks, running};
use teamkeep_settings::needs::{Needs, Tools};
use teamkeep_settings::plan::{self, differing, install_command};
use teamkeep_settings::program::{HookProgram, shell_invocation};
use teamkeep_settings::variables::{self, TASKS, TEAMS, is_on, value};
use teamkeep_settings::version::{ClientVersion, FIRST_WITH_TEAMS, Version};
use teamkeep_system::command::quoted;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::{fs, os};
use teamkeep_terminal::Context;

#[derive(Debug, clap::Args)]
pub struct SettingsTarget {
    /// Which settings file to change
    #[arg(long, value_enum, default_value_t)]
    scope: SettingsScope,
    /// Settings file to change, instead of the scope's
    #[arg(long, value_name = "PATH", conflicts_with = "scope")]
    settings: Option<PathBuf>,
    /// Print the change without writing it
    #[arg(long)]
    pub dry_run: bool,
    /// No effect: install and uninstall never prompt
    #[arg(long, short)]
    yes: bool,
}

impl SettingsTarget {
    pub fn of_user() -> SettingsTarget {
        SettingsTarget { scope: SettingsScope::User, settings: None, dry_run: false, yes: true }
    }

    pub fn read(&self, context: &Context) -> Result<SettingsFile> {
        let path = match &self.settings {
            Some(path) => absolute(path)?,
            None => self.scope.path(&context.env, &context.paths)?,
        };
        SettingsFile::read(&path)
    }

    pub fn is_managed(&self) -> bool {
        self.settings.is_none() && self.scope == SettingsScope::Managed
    }

    /// The file of managed settings that has teamkeep's hooks already, unless the user names another file.
    pub fn covering_file(&self, context: &Context) -> Option<PathBuf> {
        let layers = self.settings.is_none().then(|| layers(&context.env, &context.paths))?;
        managed_with_hooks(&layers).map(|layer| layer.path.clone())
    }

    /// Whether other people get the file as well.
    pub fn is_shared(&self) -> bool {
        self.settings.is_none() && self.scope == SettingsScope::Project
    }

    /// The command line of another subcommand for the same file.
    pub fn command(&self, context: &Context, subcommand: &str, file: &SettingsFile) -> String {
        let call = format!("{} {subcommand}", shell_invocation(&context.env));
        match &self.settings {
            Some(_) => format!("{call} --settings {}", quoted(&file.path.to_string_lossy())),
            None => call + self.scope.option(),
        }
    }
}

pub fn print_diff(context: &Context, file: &SettingsFile, after: &[u8]) -> Result<()> {
    let text = |bytes| String::from_utf8_lossy(bytes);
    let changes = plan::diff(&text(file.bytes()), &text(after));
    let path = file.path.display().to_string();
    let path = escape(&path);
    // The settings are JSON and may contain any text.
    output::print_json_text(context, &format!("--- {path}\n+++ {path}\n{changes}"))?;
    output::propose_again(context, None);
    Ok(())
}

/// Lists the custom hooks that call teamkeep, which are left unchanged. Returns whether there are any.
pub fn list_custom_hooks(context: &Context, content: &[u8]) -> bool {
    let custom: Vec<HookEntry> =
        calls(&lenient_data(content)).into_iter().filter(|entry| !entry.is_written()).collect();
    for entry in custom.iter().take(FEW) {
        let line = entry.hook().get("command").and_then(|line| line.as_str()).unwrap_or_default();
        let line: String = line.chars().take(100).collect();
        context.ui.eprint_line(&format!(
            "note: left unchanged: your {} hook also calls teamkeep: `{line}`",
            entry.event
        ));
    }
    if custom.len() > FEW {
        context.ui.eprint_line(&format!("note: and {} more", custom.len() - FEW));
    }
    !custom.is_empty()
}

/// The error for a file that this program must not touch.
pub fn edit_error(file: &SettingsFile, cause: String) -> Error {
    let error = Error::caused(format!("cannot edit {}", file.path.display()), cause)
        .hint("nothing was changed; fix the file, or choose another one: --settings PATH");
    match check_strict(file.bytes()).err() {
        Some(flaw) => error.hint(flaw.edit(&file.path)),
        None => error,
    }
}

/// The hooks that the policy needs in any session of this user. If not all rules can be read, the installed hooks are
/// kept.
pub fn needed_hooks(context: &Context, installed: &[HookEntry]) -> Needs {
    let (mut needs, is_partial) = Needs::of_user(&context.policy_files());
    if is_partial || misnamed_file(&context.env).is_some() {
        needs.add_entries(installed);
        context.ui.eprint_line(
            "note: some policy files cannot be used, so no hook is removed; see: teamkeep config check",
        );
    }
    needs
}

/// Prints which hooks the policy needs in addition to those of every install.
pub fn print_hooks_of_policy(context: &Context, needs: &Needs, wanted: &[HookEntry]) {
    let builtin = Needs::builtin();
    for need in needs.hooks() {
        let (event, known) = (need.event.name(), builtin.tools(need.event));
        let more = need.tools.beyond(known.unwrap_or(&Tools::Some(Vec::new()))).join(", ");
        let note = match wanted.iter().any(|entry| entry.event == event) {
            true if need.condition.is_some() => format!("the {event} hook also runs for git in {more}"),
            true if !more.is_empty() => format!("the {event} hook also runs for {more}"),
            false if known.is_none() => format!("this version of Claude Code does not have {event}"),
            _ => continue,
        };
        context.ui.eprint_line(&format!("note: {note}, which the policy needs"));
    }
}

/// The settings files without hooks that the policy needs, each as a warning with the command that fixes it.
pub fn missing_hooks(context: &Context) -> Vec<Problem> {
    let needs = Needs::of_user(&context.policy_files()).0;
    if needs == Needs::builtin() {
        return Vec::new();
    }
    let layers = layers(&context.env, &context.paths);
    let command = install_command(&context.env, &layers);
    let problem = |path: &Path, message: String| {
        let hint = Some(command.clone());
        Problem { hint, ..Problem::of_file(Code::RuleNotAsked, path, message) }
    };
    if running(&layers).all(|layer| layer.written().is_empty()) {
        let message = "the policy needs hooks that are not installed".to_owned();
        return vec![problem(&context.paths.config, message)];
    }
    // The version does not change which tools the policy needs.
    let client = ClientVersion::Unknown(String::new());
    let differing = differing(running(&layers), &client, &needs).into_iter();
    differing
        .map(|(layer, difference)| {
            let message = format!("the hooks are not those that the policy needs ({difference})");
            problem(&layer.path, message)
        })
        .collect()
}

/// Prints what this version of Claude Code does not support.
pub fn print_unsupported(context: &Context, version: Version) {
    let missing = plan::unknown_to(version);
    if !missing.is_empty() {
        let missing = missing.join(", ");
        context.ui.eprint_line(&format!("note: Claude Code {version} does not support {missing}"));
        context.ui.eprint_line("hint: run install again after an upgrade of Claude Code");
    }
    if version < FIRST_WITH_TEAMS {
        let line = format!("note: agent teams need Claude Code {FIRST_WITH_TEAMS} or later");
        context.ui.eprint_line(&line);
    }
}

/// The change of a settings file.
pub struct NewContent<'a> {
    pub context: &'a Context,
    pub records: &'a InstallRecords,
    pub file: &'a SettingsFile,
    pub after: &'a [u8],
    /// The variables that it adds, beside those of earlier installs.
    pub added: &'a AddedVariables,
}

impl NewContent<'_> {
    /// Keeps a backup, replaces the file, and records the install. Returns the path of the backup. Without a program, the
    /// hooks are unchanged.
    pub fn write(&self, program: Option<&HookProgram>, client: &ClientVersion) -> Result<Option<PathBuf>> {
        let (records, real) = (self.records, &self.file.real);
        let earlier = records.find(real);
        // The install record is written first: a record without its file is ignored, but a file without a record cannot be
        // restored exactly.
        let backup = self.remember(program, client)?;
        if let Err(error) = self.file.replace(self.after) {
            match earlier {
                Some(earlier) => records.write(real, &earlier)?,
                None => records.remove(real)?,
            }
            return Err(error);
        }
        Ok(backup)
    }

    /// Records the content before and after. Returns the path of the backup.
    pub fn remember(&self, program: Option<&HookProgram>, client: &ClientVersion) -> Result<Option<PathBuf>> {
        let NewContent { context, records, file, after, added } = self;
        // After a repeated install, the version and the content to restore are still those before the first.
        let known = records.find(&file.real);
        let earlier = known.clone().filter(|earlier| earlier.has_installed(file.bytes()));
        let mut record = Record::new(context.clock.now().to_string(), &file.path, after);
        if let Some(known) = known {
            (record.command, record.skill) = (known.command, known.skill);
            record.variables = variables::still_set(&known.variables, file.bytes());
        }
        if let Some(program) = program {
            program.as_str().clone_into(&mut record.command);
        }
        record.client = match client {
            ClientVersion::Known(version) => Some(version.to_string()),
            ClientVersion::Unknown(_) => earlier.as_ref().and_then(|earlier| earlier.client.clone()),
        };
        let mut backup = None;
        if let Some(content) = &file.content {
            backup = Some(records.save_content(&file.real, content)?.1);
            if let Some(earlier) = earlier {
                record.original = earlier.original;
                record.made_directory = earlier.made_directory;
                record.made_parent = earlier.made_parent;
            } else {
                let original = without_installed(file, content, &record.variables)?;
                record.original = Some(records.save_content(&file.real, &original)?.0);
            }
        } else {
            let made = file.make_directory()?;
            record.made_directory =
                made > 0 || file.real.parent().is_some_and(|directory| records.created_directory(directory));
            record.made_parent = made > 1;
        }
        record.variables.names.extend(added.names.iter().cloned());
        record.variables.with_env |= added.with_env;
        records.write(&file.real, &record)?;
        Ok(backup)
    }
}

/// A content of a settings file without the hooks and the added variables.
pub fn without_installed(file: &SettingsFile, content: &[u8], added: &AddedVariables) -> Result<Vec<u8>> {
    let without = plan::without_hooks(content).and_then(|content| variables::remove(&content, added));
    without.map_err(|cause| edit_error(file, cause))
}

/// Prints which variables were added, and which ones have another value that disables what they enable.
pub fn print_variables(context: &Context, file: &SettingsFile, after: &[u8], added: &AddedVariables) {
    let (print, path) = (|line: String| context.ui.eprint_line(&line), file.path.display());
    let settings = lenient_data(after);
    let kept = [TEAMS, TASKS].into_iter().filter_map(|name| Some((name, value(&settings, name)?)));
    let off: Vec<_> = kept.filter(|(_, value)| !is_on(value)).collect();
    if !added.is_empty() {
        print(format!("set {} to 1 in {path}", added.names.join(" and ")));
    } else if off.is_empty() {
        print(format!("nothing to do: agent teams and task tools are enabled in {path}"));
    }
    for (name, value) in &off {
        print(format!("note: left unchanged: {name} is {value:?} in {path}"));
    }
    if !off.is_empty() {
        let file = quoted(&file.path.to_string_lossy());
        let edit = os::shell::edit(&file, None);
        print(format!("hint: to enable it, set it to \"1\" under `env`: {edit}"));
    }
}

/// The skill of this version.
const SKILL_TEXT: &str = include_str!("../../skills/team-history/SKILL.md");

/// Maximum size of a skill that is compared.
const MAX_SKILL_BYTES: u64 = 1 << 20;

/// A file for the skill.
#[derive(Debug)]
pub struct Skill {
    pub path: PathBuf,
    found: Option<Vec<u8>>,
}

/// A change of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillChange {
    None,
    Written,
    Removed,
    /// It is not the one that was installed, so it is left unchanged.
    Foreign,
}

impl Skill {
    /// The skill beside a settings file.
    ///
    /// # Errors
    /// The file cannot be read, or is not a regular file.
    pub fn beside(settings: &Path) -> Result<Skill> {
        let dir = settings.parent().unwrap_or(Path::new("."));
        let path = dir.join("skills/team-history/SKILL.md");
        let read = fs::if_exists(fs::read_regular(&path, MAX_SKILL_BYTES)).map_err(|error| {
            Error::from(error).hint("nothing was changed; move the file, then run the command again")
        })?;
        Ok(Skill { path, found: read.map(|(found, _)| found) })
    }

    /// The hash of the installed skill.
    pub fn hash() -> String {
        hash(SKILL_TEXT.as_bytes())
    }

    pub fn exists(&self) -> bool {
        self.found.is_some()
    }

    fn is(&self, installed: Option<&str>) -> bool {
        self.found
            .as_ref()
            .is_some_and(|found| found == SKILL_TEXT.as_bytes() || installed == Some(&hash(found)))
    }

    /// The change that an install makes, if the skill with the hash `installed` was installed before.
    pub fn change(&self, installed: Option<&str>) -> SkillChange {
        match &self.found {
            Some(found) if found == SKILL_TEXT.as_bytes() => SkillChange::None,
            Some(_) if !self.is(installed) => SkillChange::Foreign,
            _ => SkillChange::Written,
        }
    }

    pub fn write(&self) -> Result<()> {
        Ok(fs::write_atomic(&self.path, SKILL_TEXT.as_bytes())?)
    }

    /// Removes the skill if it is the installed one, with directories that are empty then.
    pub fn remove(&self, installed: Option<&str>) -> Result<SkillChange> {
        if self.found.is_none() {
            return Ok(SkillChange::None);
        }
        if !self.is(installed) {
            return Ok(SkillChange::Foreign);
        }
        std::fs::remove_file(&self.path).map_err(|error| fs::with_path(error, "remove", &self.path))?;
        // Directories with other files stay.
        let parents = self.path.ancestors().skip(1).take(2);
        for dir in parents {
            if std::fs::remove_dir(dir).is_err() {
                break;
            }
        }
        Ok(SkillChange::Removed)
    }
}
