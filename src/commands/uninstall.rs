//! `teamkeep uninstall`: removes the hooks from a settings file, and the variables that `install` added.

use super::installation::{
    SettingsTarget, Skill, SkillChange, list_custom_hooks, print_diff, without_installed,
};
use teamkeep_model::words::count;
use teamkeep_settings::document::lenient_data;
use teamkeep_settings::file::SettingsFile;
use teamkeep_settings::install_records::{AddedVariables, InstallRecords, Record};
use teamkeep_settings::{hook_command, managed, variables};
use teamkeep_system::error::Result;
use teamkeep_system::fs::Lock;
use teamkeep_terminal::Context;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  teamkeep uninstall
  teamkeep uninstall --scope project --yes")]
pub struct Args {
    #[command(flatten)]
    target: SettingsTarget,
}

pub fn run(context: &Context, args: &Args) -> Result<()> {
    let is_managed = args.target.is_managed();
    if is_managed && !args.target.dry_run {
        managed::check_root()?;
    }
    let records =
        if is_managed { managed::known_records() } else { InstallRecords::at(context.paths.installs()) };
    let _lock = if args.target.dry_run { None } else { lock(context, &records)? };
    let files = if is_managed { managed::installed_files()? } else { vec![args.target.read(context)?] };
    files.iter().try_for_each(|file| remove(context, args, &records, file))
}

/// Removes the hooks from one file.
fn remove(context: &Context, args: &Args, records: &InstallRecords, file: &SettingsFile) -> Result<()> {
    let print = |line: String| context.ui.eprint_line(&line);
    let known = records.find(&file.real);
    let installed_skill = known.as_ref().and_then(|record| record.skill.clone());
    let added = known.as_ref().map(|record| variables::still_set(&record.variables, file.bytes()));
    let added = added.unwrap_or_default();
    let record = known.filter(|record| record.has_installed(file.bytes()));
    let (after, how) = content_before(records, file, record.as_ref(), &added)?;
    let path = file.path.display();
    if after == file.content {
        print(format!("nothing to do: {path} has no teamkeep hooks"));
    } else if args.target.dry_run {
        print_diff(context, file, after.as_deref().unwrap_or_default())?;
    } else {
        // A store that is not writable must not prevent an uninstall.
        let backup = records.save_content(&file.real, file.bytes());
        let hooks = hook_command::ours(&lenient_data(file.bytes())).len();
        let mut removed = added.names.clone();
        if hooks > 0 || removed.is_empty() {
            removed.insert(0, count(hooks, "hook"));
        }
        let removed = removed.join(" and ");
        if let Some(content) = &after {
            file.replace(content)?;
            print(format!("removed {removed} from {path}{how}"));
        } else {
            file.remove()?;
            let why = if record.is_some() { "install had created the file" } else { "it had nothing else" };
            print(format!("removed {path} with its {removed} ({why})"));
            // Removes only empty directories.
            if let Some(record) = record.filter(|record| record.made_directory) {
                let directories = file.real.ancestors().skip(1).take(1 + usize::from(record.made_parent));
                directories.for_each(|directory| drop(std::fs::remove_dir(directory)));
            }
        }
        match backup {
            Ok((_, backup)) => print(format!("backup: {}", backup.display())),
            Err(error) => print(format!("note: no backup was kept: {error}")),
        }
        if let Err(error) = records.remove(&file.real) {
            print(format!("note: cannot delete the install record: {error}"));
        }
    }
    if let Some(installed) = installed_skill {
        remove_skill(context, &args.target, file, &installed)?;
    }
    if let Some(content) = &after {
        list_custom_hooks(context, content);
    }
    Ok(())
}

/// Removes the skill that was installed beside the settings file.
fn remove_skill(
    context: &Context,
    target: &SettingsTarget,
    file: &SettingsFile,
    installed: &str,
) -> Result<()> {
    let skill = Skill::beside(&file.real)?;
    let path = skill.path.display();
    let line = match target.dry_run {
        true => format!("would remove the skill {path}"),
        false => match skill.remove(Some(installed))? {
            SkillChange::Removed => format!("removed the skill {path}"),
            SkillChange::Foreign => format!("note: the skill {path} is left unchanged: it was edited"),
            SkillChange::None | SkillChange::Written => return Ok(()),
        },
    };
    context.ui.eprint_line(&line);
    Ok(())
}

/// Locks out other installs. If the store is not writable, there is no lock.
fn lock(context: &Context, records: &InstallRecords) -> Result<Option<Lock>> {
    match records.try_lock() {
        Ok(Some(lock)) => Ok(Some(lock)),
        Ok(None) => Err(records.busy()),
        Err(error) => {
            context.ui.eprint_line(&format!("note: cannot write the install records: {error}"));
            Ok(None)
        }
    }
}

/// The content to restore, and how: the exact previous content if nothing else changed since the install, else the present
/// content without teamkeep's hooks and variables. None for a file that install created.
fn content_before(
    records: &InstallRecords,
    file: &SettingsFile,
    record: Option<&Record>,
    added: &AddedVariables,
) -> Result<(Option<Vec<u8>>, &'static str)> {
    let Some(content) = &file.content else { return Ok((None, "")) };
    let original = match record {
        Some(Record { original: None, .. }) => return Ok((None, "")),
        Some(Record { original: Some(original), .. }) => records.saved_content(&file.real, original),
        None => None,
    };
    if original.is_some() {
        return Ok((original, "; restored its previous content"));
    }
    let without = without_installed(file, content, added)?;
    // It was edited, or another tool has put it there. Without hooks, it would only disable those of users.
    if managed::is_rest_of_install(&file.path, &without) {
        return Ok((None, ""));
    }
    Ok((Some(without), ""))
}
